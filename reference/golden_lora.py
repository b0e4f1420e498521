"""Writes jina-v3 among tests/golden/models/: a tiny random model as jina-embeddings-v3 is published, with an adaptation of
its weights for each task, and jina-v3-transformers, the same without adaptations as transformers saves it.

    HF_HUB_OFFLINE=1 python reference/golden_lora.py tests/golden/models

needs torch and transformers (made with 5.24, the first that has the architecture). Vectors are those of transformers'
JinaEmbeddingsV3Model. The published code is not in transformers: names, the fused projection and the shapes of the
factors are those of the published files, and a task's weights are W + alpha / rank * B A for linear layers, W + alpha /
rank * A B for tables. expected.npy has no task; TASK.npy has the task's weights and its prompt.
"""

import json
import os
import sys
import zlib

import numpy as np
import torch
from golden_families import MAX_LENGTH, SIZES, begin, finish, randomize, vocab_size, write_json
from safetensors.torch import save_file
from transformers import AutoTokenizer, JinaEmbeddingsV3Config, JinaEmbeddingsV3Model
from transformers.utils import logging

TASKS = {"retrieval.query": "Find: ", "retrieval.passage": "A text: ", "text-matching": ""}
RANK, ALPHA = 3, 2


def published_names(state, n_layers):
    """transformers' tensors under the published names; the three projections are one."""
    out = {}
    for key, value in state.items():
        if ".self_attn." not in key or ".o_proj." in key:
            for old, new in (("embeddings.LayerNorm", "emb_ln"), ("layers.", "encoder.layers."),
                             ("self_attn.o_proj", "mixer.out_proj"), ("post_attention_layernorm", "norm1"),
                             ("post_mlp_layernorm", "norm2")):
                key = key.replace(old, new)
            out[key] = value
    for i in range(n_layers):
        for end in ("weight", "bias"):
            parts = [state[f"layers.{i}.self_attn.{p}_proj.{end}"] for p in "qkv"]
            out[f"encoder.layers.{i}.mixer.Wqkv.{end}"] = torch.cat(parts)
    return out


def transformers_names(published, n_layers):
    out = {}
    for key, value in published.items():
        if ".Wqkv." in key:
            for part, p in zip(value.chunk(3), "qkv"):
                out[key.replace("encoder.layers", "layers").replace("mixer.Wqkv", f"self_attn.{p}_proj")] = part
            continue
        for new, old in (("emb_ln", "embeddings.LayerNorm"), ("encoder.layers.", "layers."),
                         ("mixer.out_proj", "self_attn.o_proj"), ("norm1", "post_attention_layernorm"),
                         ("norm2", "post_mlp_layernorm")):
            key = key.replace(new, old)
        out[key] = value
    return out


def adapted(tensors, task):
    """The weights of a task, under the published names without parametrizations."""
    out = {}
    for key, value in tensors.items():
        if ".pooler." in key:
            continue
        if key.endswith(".original"):
            stem = key[:-len("original")]
            a, b = tensors[stem + "0.lora_A"][task], tensors[stem + "0.lora_B"][task]
            product = a @ b if ".embeddings." in key else b @ a
            out[key.replace(".parametrizations.weight.original", ".weight")] = value + product * (ALPHA / RANK)
        elif "lora" not in key:
            out[key] = value
    return {key.removeprefix("roberta."): value for key, value in out.items()}


def main():
    root = sys.argv[1]
    logging.set_verbosity_error()
    torch.set_grad_enabled(False)
    config = JinaEmbeddingsV3Config(vocab_size=vocab_size(root, "bert-cased"), max_position_embeddings=64, type_vocab_size=1,
                                    pad_token_id=0, bos_token_id=2, eos_token_id=3, layer_norm_eps=1e-5,
                                    rope_parameters={"rope_theta": 200.0, "rope_type": "default"}, **SIZES)
    model = randomize(JinaEmbeddingsV3Model(config, add_pooling_layer=False), "jina-v3")

    def run(ids):
        return model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state

    plain = begin(root, "jina-v3-transformers", "bert-cased", config.hidden_size, "mean_tokens")
    model.save_pretrained(plain)
    finish(root, plain, run, "mean_tokens")

    directory = begin(root, "jina-v3", "bert-cased", config.hidden_size, "mean_tokens")
    random = np.random.default_rng(zlib.crc32(b"jina-v3 adaptations"))
    tensors = {}
    for key, value in published_names(model.state_dict(), config.num_hidden_layers).items():
        key, value = "roberta." + key, value.clone()  # the model is given other weights below
        if value.ndim == 1:
            tensors[key] = value
            continue
        stem = key.removesuffix("weight") + "parametrizations.weight."
        rows, cols = value.shape
        shapes = ((rows, RANK), (RANK, cols)) if ".embeddings." in key else ((RANK, cols), (rows, RANK))
        tensors[stem + "original"] = value
        for factor, shape in zip("AB", shapes):
            drawn = random.normal(0, 0.4, (len(TASKS), *shape)).astype(np.float32)
            tensors[stem + "0.lora_" + factor] = torch.from_numpy(drawn)
    for end in ("original", "0.lora_A", "0.lora_B"):  # what the published file has and no vector needs
        tensors["roberta.pooler.dense.parametrizations.weight." + end] = torch.zeros(2, 2)
    save_file({k: v.contiguous() for k, v in tensors.items()}, os.path.join(directory, "model.safetensors"), {"format": "pt"})
    write_json(dict(model_type="xlm-roberta", architectures=["XLMRobertaLoRA"], auto_map={"AutoModel": "elsewhere"},
                    position_embedding_type="rotary", rotary_emb_base=200.0, lora_adaptations=list(TASKS), lora_rank=RANK,
                    lora_alpha=ALPHA, lora_dropout_p=0.0, lora_main_params_trainable=False, load_trained_adapters=True,
                    task_instructions=TASKS, emb_pooler="mean", use_flash_attn=True, truncate_dim=None,
                    max_position_embeddings=64, type_vocab_size=1, vocab_size=config.vocab_size, layer_norm_eps=1e-5,
                    hidden_act="gelu", hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, pad_token_id=0,
                    **SIZES), directory, "config.json")
    write_json({"prompts": TASKS, "default_prompt_name": None, "similarity_fn_name": "cosine"}, directory,
               "config_sentence_transformers.json")
    with open(os.path.join(directory, "modules.json"), encoding="utf8") as f:
        modules = json.load(f)
    modules[0].update(type="custom_st.Transformer", kwargs=["task"])
    write_json(modules, directory, "modules.json")

    tokenizer = AutoTokenizer.from_pretrained(directory)
    with open(os.path.join(root, "sentences.txt"), encoding="utf8") as f:
        sentences = f.read().split("\n")[:-1]
    for task in (None, *TASKS):
        if task:
            model.load_state_dict(transformers_names(adapted(tensors, list(TASKS).index(task)), config.num_hidden_layers))
        vectors = []
        for sentence in sentences:
            text = (TASKS[task] if task else "") + sentence.strip()
            ids = tokenizer(text, truncation=True, max_length=MAX_LENGTH)["input_ids"]
            vectors.append(run(torch.tensor([ids]))[0].mean(0).numpy())
        np.save(os.path.join(directory, f"{task or 'expected'}.npy"), np.stack(vectors))
        print(task, np.abs(vectors).mean())


if __name__ == "__main__":
    main()
