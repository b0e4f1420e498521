"""Adds to tests/golden/models tiny random models of decoders' shape, and the vectors sentence-transformers gives for them.

    HF_HUB_OFFLINE=1 python reference/golden_decoders.py tests/golden/models [NAME ...]

The files are golden_models.py's, whose sentences.txt is read. prompted.npy has the vectors with the prompt "query", where there
is one. Needs torch, transformers (made with 4.57) and sentence-transformers (3.4).
"""
import json
import os
import shutil
import sys
import tempfile
import zlib

os.environ["HF_HUB_OFFLINE"] = "1"
import golden_regex_tokenizers as tokenizers_of
import numpy as np
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers import models as st
from transformers import (Gemma3TextConfig, Gemma3TextModel, LlamaConfig, LlamaModel, MistralConfig, MistralModel, PreTrainedTokenizerFast, Qwen2Config,
                          Qwen2Model, Qwen3Config, Qwen3Model)

MAX_LENGTH = 40
SIZES = dict(hidden_size=24, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3, intermediate_size=40, max_position_embeddings=64, use_cache=False)
INSTRUCTION = "Find it.\nQuery: "


class Kept(str):
    """A sentence whose blanks at either end stay, as they do from sentence-transformers 6 on."""

    def __str__(self):
        return self

    def strip(self):
        return self

    def __radd__(self, prompt):
        return Kept(str.__add__(prompt, self))


def wrapped(t, **tokens):
    return PreTrainedTokenizerFast(tokenizer_object=t, model_max_length=MAX_LENGTH, clean_up_tokenization_spaces=False, **tokens)


def qwen():
    return wrapped(tokenizers_of.qwen2(420), eos_token="<|endoftext|>", pad_token="<|endoftext|>", padding_side="left")


def llama():
    return wrapped(tokenizers_of.llama3(420), bos_token="<|begin_of_text|>", eos_token="<|end_of_text|>", pad_token="<|end_of_text|>")


def gemma():
    return wrapped(tokenizers_of.gemma(160), bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", unk_token="<unk>", mask_token="<mask>")


def randomize(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            spread = 0.3 if p.dim() == 1 else 1.6 / p.shape[-1] ** 0.5
            center = 1.0 if name.endswith("norm.weight") and "Gemma" not in type(model).__name__ else 0.0
            p.copy_(center + spread * torch.randn(p.shape, generator=generator))


def write(root, name, model_class, config, tokenizer, pooling, dense=(), normalize=True, dtype=None, prompts=None, task=False, default=None):
    folder = os.path.join(root, name)
    shutil.rmtree(folder, ignore_errors=True)
    seed = zlib.crc32(name.encode())
    torch.manual_seed(seed)
    model = model_class(config).eval()
    randomize(model, seed)
    with tempfile.TemporaryDirectory() as body:
        model.save_pretrained(body)
        tokenizer.save_pretrained(body)
        transformer = st.Transformer(body, max_seq_length=MAX_LENGTH)
    modules = [transformer, st.Pooling(config.hidden_size, pooling_mode=pooling)]
    for width in dense:
        modules.append(st.Dense(modules[-1].get_sentence_embedding_dimension() if len(modules) == 2 else modules[-1].out_features, width, bias=False, activation_function=torch.nn.Identity()))
        with torch.no_grad():
            modules[-1].linear.weight.normal_(0, 0.3, generator=torch.Generator().manual_seed(seed + width))
    if normalize:
        modules.append(st.Normalize())
    SentenceTransformer(modules=modules, prompts=prompts or {}, default_prompt_name=default).save(folder, create_model_card=False)
    if dtype or task:  # as checkpoints are published: narrow, and with the task's names
        path = os.path.join(folder, "model.safetensors")
        tensors = {("model." if task else "") + k: v.to(dtype) if dtype else v for k, v in load_file(path).items()}
        if task:
            tensors["lm_head.weight"] = torch.zeros(4, config.hidden_size, dtype=dtype)
        save_file(tensors, path, metadata={"format": "pt"})
    for extra in "README.md", "special_tokens_map.json", "vocab.json", "merges.txt", "chat_template.jinja", "generation_config.json":
        if os.path.exists(os.path.join(folder, extra)):
            os.remove(os.path.join(folder, extra))
    with open(os.path.join(root, "sentences.txt"), encoding="utf-8", newline="\n") as f:
        sentences = f.read().split("\n")[:-1]
    loaded = SentenceTransformer(folder, device="cpu", model_kwargs={"torch_dtype": torch.float32, "attn_implementation": "eager"})
    encode = lambda **options: np.concatenate([loaded.encode([Kept(s)], convert_to_numpy=True, **options) for s in sentences]).astype(np.float32)
    np.save(os.path.join(folder, "expected.npy"), encode())
    if prompts and "query" in prompts:
        np.save(os.path.join(folder, "prompted.npy"), encode(prompt_name="query"))
    print(name, encode().shape, sum(os.path.getsize(os.path.join(d, x)) for d, _, fs in os.walk(folder) for x in fs) // 1024, "KiB", flush=True)


def main():
    root, wanted = sys.argv[1], sys.argv[2:]
    q, l, g = qwen(), llama(), gemma()
    both = {"query": INSTRUCTION, "document": ""}
    table = {
        "qwen2-last": (Qwen2Model, Qwen2Config(vocab_size=len(q), rope_theta=1e6, **SIZES), q, "lasttoken", dict(prompts=both)),
        "qwen2-window": (Qwen2Model, Qwen2Config(vocab_size=len(q), use_sliding_window=True, sliding_window=6, max_window_layers=1, **SIZES), q, "mean", dict(normalize=False)),
        "qwen3-last": (Qwen3Model, Qwen3Config(vocab_size=len(q), head_dim=10, rope_theta=1e6, rms_norm_eps=1e-6, **SIZES), q, "lasttoken",
                       dict(prompts=both, dtype=torch.bfloat16, task=True)),
        "llama-scaled": (LlamaModel, LlamaConfig(vocab_size=len(l), head_dim=6, rope_theta=5e3, rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                 "original_max_position_embeddings": 16}, **SIZES), l, "mean", dict(task=True)),
        "llama-linear": (LlamaModel, LlamaConfig(vocab_size=len(l), attention_bias=True, mlp_bias=True, rope_scaling={"rope_type": "linear", "factor": 2.5}, **SIZES), l, "weightedmean", {}),
        "mistral-last": (MistralModel, MistralConfig(vocab_size=len(g), head_dim=8, sliding_window=7, **SIZES), g, "lasttoken", dict(dtype=torch.float16)),
        "gemma3-dense": (Gemma3TextModel, Gemma3TextConfig(vocab_size=len(g), head_dim=8, query_pre_attn_scalar=11, sliding_window=9, rope_theta=1e4, rope_local_base_freq=100.0,
                                                           layer_types=["sliding_attention", "full_attention", "sliding_attention"], use_bidirectional_attention=True, **SIZES), g, "mean",
                         dict(dense=(32, 24), dtype=torch.bfloat16, prompts={"query": "task: search result | query: ", "document": "title: none | text: "})),
        "gemma3-causal": (Gemma3TextModel, Gemma3TextConfig(vocab_size=len(g), head_dim=8, query_pre_attn_scalar=8, sliding_window=5, sliding_window_pattern=2, rope_scaling={"rope_type": "linear", "factor": 4.0},
                                                            **SIZES), g, "lasttoken", dict(default="query", prompts={"query": "query: "})),
        "qwen3-yarn": (Qwen3Model, Qwen3Config(vocab_size=len(q), head_dim=12, rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}, **SIZES), q, "lasttoken", {}),
    }
    for name, (model_class, config, tokenizer, pooling, options) in table.items():
        if not wanted or name in wanted:
            write(root, name, model_class, config, tokenizer, pooling, **options)


if __name__ == "__main__":
    main()
