"""Writes the families' models among tests/golden/models/: tiny random encoders newer than BERT, and the vectors that
transformers gives for them.

    HF_HUB_OFFLINE=1 python reference/golden_families.py tests/golden/models [NAME ...]

needs torch and transformers (made with 4.57; those whose name ends in -5, which have to be asked for, with 5.24).
ModernBERT's vectors are transformers', and so are all of 5.24. The published layouts of Nomic BERT, GTE and JinaBERT have
code of their own, which is not in transformers: their vectors come from the plain functions below, written from the
papers and the keys and names of the published configurations. Sentences and the tokenizer are those of
reference/golden_models.py, which has to have run: NAME takes the tokenizer files of bert-cased. Files as there. Windows
of local attention are far shorter than the sentences, so that what lies outside of them matters.
"""

import json
import math
import os
import shutil
import sys
import zlib

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoModel, AutoTokenizer, ModernBertConfig, ModernBertModel
from transformers.utils import logging

MAX_LENGTH = 40
SIZES = dict(hidden_size=24, num_attention_heads=2, num_hidden_layers=4, intermediate_size=28)  # no multiples of 16


def randomize(module, name):
    """Draws all parameters anew, the same for the same name on every machine."""
    r = np.random.default_rng(zlib.crc32(name.encode()))
    for key, p in sorted(module.state_dict().items()):
        if "norm" in key.lower() or "ln" in key.lower().split("."):
            value = r.normal(1.0 if key.endswith("weight") else 0.0, 0.25, p.shape)
        elif "embed" in key:
            value = r.normal(0.0, 1.0, p.shape)
        elif p.ndim == 2:
            value = r.normal(0.0, 1.3 / np.sqrt(p.shape[1]), p.shape)
        else:
            value = r.normal(0.0, 0.2, p.shape)
        p.copy_(torch.from_numpy(value.astype(np.float32)))
    return module.eval()


def write_json(value, *path):
    with open(os.path.join(*path), "w", encoding="utf8") as f:
        json.dump(value, f, indent=2)


def begin(root, name, tokenizer, dim, pooling, max_length=MAX_LENGTH):
    """The directory with all but config.json and the weights."""
    directory = os.path.join(root, name)
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(os.path.join(directory, "1_Pooling"))
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(os.path.join(root, tokenizer, file), directory)
    kinds = "sentence_transformers.models."
    write_json([{"idx": 0, "name": "0", "path": "", "type": kinds + "Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": kinds + "Pooling"}], directory, "modules.json")
    write_json({"max_seq_length": max_length, "do_lower_case": False}, directory, "sentence_bert_config.json")
    write_json({"word_embedding_dimension": dim, f"pooling_mode_{pooling}": True}, directory, "1_Pooling", "config.json")
    return directory


def finish(root, directory, run, pooling, max_length=MAX_LENGTH):
    """The vectors by run(ids) -> [tokens, dim], one sentence at a time."""
    tokenizer = AutoTokenizer.from_pretrained(directory)
    with open(os.path.join(root, "sentences.txt"), encoding="utf8") as f:
        sentences = f.read().split("\n")[:-1]
    vectors = []
    for sentence in sentences:
        ids = tokenizer(sentence.strip(), truncation=True, max_length=max_length)["input_ids"]
        tokens = run(torch.tensor([ids]))[0].numpy()
        vectors.append({"cls_token": tokens[0], "mean_tokens": tokens.mean(0), "lasttoken": tokens[-1]}[pooling])
    vectors = np.stack(vectors)
    assert vectors.dtype == np.float32 and np.isfinite(vectors).all()
    np.save(os.path.join(directory, "expected.npy"), vectors)
    size = sum(os.path.getsize(os.path.join(r, f)) for r, _, files in os.walk(directory) for f in files)
    spread = np.abs(vectors - vectors.mean(0)).mean() / np.abs(vectors).mean()
    print(f"{os.path.basename(directory):24} {vectors.shape} {size / 1024:6.0f} kB  spread {spread:.2f}")


def published(root, name, model_class, config, pooling, with_gradients=True):
    """A family whose code is in transformers. Gradients go by transformers' names of parameters, which must be the file's."""
    directory = begin(root, name, "bert-cased", config.hidden_size, pooling)
    randomize(model_class(config), name).save_pretrained(directory)
    model = AutoModel.from_pretrained(directory, attn_implementation="eager").eval()
    finish(root, directory, lambda ids: model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state,
           pooling)
    if with_gradients:
        gradients(directory, pooling)


# ---------------------------------------------------------------------------------------------------- written from papers


class Weights:
    """Tensors drawn when they are first asked for by name."""

    def __init__(self, name):
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.tensors = {}

    def get(self, key, *shape):
        if key not in self.tensors:
            if "norm" in key.lower() or "_ln" in key:
                value = self.random.normal(1.0 if key.endswith("weight") else 0.0, 0.25, shape)
            elif "embed" in key:
                value = self.random.normal(0.0, 1.0, shape)
            else:
                value = self.random.normal(0.0, 1.3 / math.sqrt(shape[1]) if len(shape) == 2 else 0.2, shape)
            self.tensors[key] = torch.from_numpy(value.astype(np.float32))
        return self.tensors[key]

    def linear(self, x, name, n_out, bias=True):
        y = x @ self.get(name + ".weight", n_out, x.shape[-1]).T
        return y + self.get(name + ".bias", n_out) if bias else y

    def norm(self, x, name, eps):
        n = x.shape[-1]
        return torch.nn.functional.layer_norm(x, (n,), self.get(name + ".weight", n), self.get(name + ".bias", n), eps)

    def embed(self, ids, words, types, n_words, dim, n_types):
        return self.get(words + ".weight", n_words, dim)[ids] + self.get(types + ".weight", n_types, dim)[0]


def turn(x, frequencies):
    """Rotary positions: x [heads, tokens, columns], column j and j + half of the first 2 * half as a pair."""
    half = len(frequencies)
    angle = torch.arange(x.shape[1]).float()[:, None] * frequencies[None]
    a, b = x[..., :half], x[..., half:2 * half]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin(), x[..., 2 * half:]], -1)


def frequencies(theta, n_turned):
    return 1.0 / theta ** (torch.arange(0, n_turned, 2).float() / n_turned)


def attend(q, k, v, n_heads, turned=None, slopes=None):
    """[tokens, dim] each -> [tokens, dim]."""
    q, k, v = (x.reshape(len(x), n_heads, -1).transpose(0, 1) for x in (q, k, v))
    if turned is not None:
        q, k = turn(q, turned), turn(k, turned)
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if slopes is not None:
        at = torch.arange(q.shape[1])
        scores = scores - slopes[:, None, None] * (at[:, None] - at[None]).abs()
    return (scores.softmax(-1) @ v).transpose(0, 1).reshape(q.shape[1], -1)


def from_paper(root, name, config, forward, pooling):
    directory = begin(root, name, "bert-cased", SIZES["hidden_size"], pooling)
    w = Weights(name)
    write_json(config, directory, "config.json")
    finish(root, directory, lambda ids: forward(w, config, ids[0])[None], pooling)
    save_file(dict(sorted(w.tensors.items())), os.path.join(directory, "model.safetensors"), {"format": "pt"})


def nomic_forward(w, c, ids):
    dim, n_heads = c["n_embd"], c["n_head"]
    x = w.embed(ids, "embeddings.word_embeddings", "embeddings.token_type_embeddings", c["vocab_size"], dim, 2)
    x = w.norm(x, "emb_ln", c["layer_norm_epsilon"])
    turned = frequencies(c["rotary_emb_base"], int(dim // n_heads * c["rotary_emb_fraction"]))
    for i in range(c["n_layer"]):
        p = f"encoder.layers.{i}."
        q, k, v = w.linear(x, p + "attn.Wqkv", 3 * dim, c["qkv_proj_bias"]).split(dim, -1)
        y = w.linear(attend(q, k, v, n_heads, turned), p + "attn.out_proj", dim, c["qkv_proj_bias"])
        x = w.norm(x + y, p + "norm1", c["layer_norm_epsilon"])
        up, gate = w.linear(x, p + "mlp.fc11", c["n_inner"], False), w.linear(x, p + "mlp.fc12", c["n_inner"], False)
        y = w.linear(up * torch.nn.functional.silu(gate), p + "mlp.fc2", dim, False)
        x = w.norm(x + y, p + "norm2", c["layer_norm_epsilon"])
    return x


def nomic(root):
    config = dict(model_type="nomic_bert", activation_function="swiglu", causal=False, n_embd=24, n_head=2, n_inner=28,
                  n_layer=3, n_positions=64, prenorm=False, parallel_block=False, qkv_proj_bias=False, mlp_fc1_bias=False,
                  mlp_fc2_bias=False, resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0, rotary_emb_base=1000,
                  rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None,
                  rotary_scaling_factor=None, type_vocab_size=2, layer_norm_epsilon=1e-12, use_rms_norm=False,
                  scale_attn_weights=True, vocab_size=vocab_size(root, "bert-cased"))
    from_paper(root, "nomic", config, nomic_forward, "mean_tokens")


def gte_forward(w, c, ids):
    dim, n_heads, ffn, eps = c["hidden_size"], c["num_attention_heads"], c["intermediate_size"], c["layer_norm_eps"]
    x = w.embed(ids, "embeddings.word_embeddings", "embeddings.token_type_embeddings", c["vocab_size"], dim, 1)
    x = w.norm(x, "embeddings.LayerNorm", eps)
    factor, columns = c["rope_scaling"]["factor"], dim // n_heads
    turned = frequencies(c["rope_theta"] * factor, columns) / factor ** (2 / columns)
    for i in range(c["num_hidden_layers"]):
        p = f"encoder.layer.{i}."
        q, k, v = w.linear(x, p + "attention.qkv_proj", 3 * dim).split(dim, -1)
        y = w.linear(attend(q, k, v, n_heads, turned), p + "attention.o_proj", dim)
        x = w.norm(x + y, p + "attn_ln", eps)
        up, gate = w.linear(x, p + "mlp.up_gate_proj", 2 * ffn, False).split(ffn, -1)
        x = w.norm(x + w.linear(torch.nn.functional.gelu(gate) * up, p + "mlp.down_proj", dim), p + "mlp_ln", eps)
    return x


def gte(root):
    config = dict(model_type="new", hidden_act="gelu", hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
                  layer_norm_eps=1e-12, layer_norm_type="layer_norm", logn_attention_scale=False,
                  logn_attention_clip1=False, max_position_embeddings=64, pack_qkv=True, position_embedding_type="rope",
                  rope_scaling={"factor": 8.0, "type": "ntk"}, rope_theta=200, type_vocab_size=1,
                  vocab_size=vocab_size(root, "bert-cased"), **SIZES)
    from_paper(root, "gte", config, gte_forward, "cls_token")


def alibi_slopes(n):
    """Geometric for a power of two, else those below it and every other one above."""
    power = 2 ** int(math.log2(n))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return torch.tensor(slopes + [2 ** (-8 * (i + 1) / (2 * power)) for i in range(2 * power)][0::2][:n - power])


def jina_v2_forward(w, c, ids):
    dim, n_heads, ffn, eps = c["hidden_size"], c["num_attention_heads"], c["intermediate_size"], c["layer_norm_eps"]
    x = w.embed(ids, "embeddings.word_embeddings", "embeddings.token_type_embeddings", c["vocab_size"], dim, 2)
    x = w.norm(x, "embeddings.LayerNorm", eps)
    for i in range(c["num_hidden_layers"]):
        p = f"encoder.layer.{i}."
        q, k, v = (w.linear(x, p + "attention.self." + part, dim) for part in ("query", "key", "value"))
        y = w.linear(attend(q, k, v, n_heads, slopes=alibi_slopes(n_heads)), p + "attention.output.dense", dim)
        x = w.norm(x + y, p + "attention.output.LayerNorm", eps)
        gate, up = w.linear(x, p + "mlp.gated_layers", 2 * ffn, False).split(ffn, -1)
        x = w.norm(x + w.linear(torch.nn.functional.gelu(gate) * up, p + "mlp.wo", dim), p + "mlp.layernorm", eps)
    return x


def jina_v2(root):
    config = dict(model_type="bert", position_embedding_type="alibi", feed_forward_type="geglu", hidden_act="gelu",
                  hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.0, layer_norm_eps=1e-12,
                  max_position_embeddings=64, type_vocab_size=2, pad_token_id=0,
                  vocab_size=vocab_size(root, "bert-cased"), **dict(SIZES, num_attention_heads=6))
    from_paper(root, "jina-v2", config, jina_v2_forward, "mean_tokens")


# ---------------------------------------------------------------------------------------------------- transformers'


TEXTS = ["The baker opens his shop.", "My sister plays the violin, but she prefers the piano.", "No!",
         "Water boils at 100 degrees.", "Der Zug geht um sieben."]  # those of tests/model/test_gradients.c


def gradients(directory, pooling):
    """gradients.safetensors: all parameters' gradients of the sum of ((7 s + 3 j) mod 11 - 5) y[s, j], y the vectors of
    TEXTS."""
    model = AutoModel.from_pretrained(directory, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(directory)
    with torch.enable_grad():
        loss = 0
        for s, text in enumerate(TEXTS):
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            tokens = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
            y = tokens[0] if pooling == "cls_token" else tokens.mean(0)
            loss = loss + (((7 * s + 3 * torch.arange(len(y))) % 11 - 5) * y).sum()
        loss.backward()
    save_file({key: p.grad for key, p in model.named_parameters() if p.grad is not None},
              os.path.join(directory, "gradients.safetensors"))


def vocab_size(root, name):
    with open(os.path.join(root, name, "tokenizer.json"), encoding="utf8") as f:
        return len(json.load(f)["model"]["vocab"])


def modernbert(root):
    config = ModernBertConfig(vocab_size=vocab_size(root, "bert-cased"), max_position_embeddings=64, pad_token_id=0,
                              bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3, local_attention=8,
                              global_attn_every_n_layers=3, global_rope_theta=160000.0, local_rope_theta=100.0,
                              reference_compile=False, **SIZES)
    published(root, "modernbert", ModernBertModel, config, "cls_token")


def modernbert_biases(root):  # with everything that the published ones leave out
    config = ModernBertConfig(vocab_size=vocab_size(root, "bert-cased"), max_position_embeddings=64, pad_token_id=0,
                              bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3, local_attention=6,
                              global_attn_every_n_layers=2, global_rope_theta=1000.0, local_rope_theta=None,
                              norm_bias=True, attention_bias=True, mlp_bias=True, hidden_activation="silu",
                              reference_compile=False, **SIZES)
    published(root, "modernbert-biases", ModernBertModel, config, "mean_tokens")


# ------------------------------------------------------------------------------------- as transformers 5.24 has them


def modernbert_5(root):  # kinds of layers by name, rotary positions of each kind
    config = ModernBertConfig(vocab_size=vocab_size(root, "bert-cased"), max_position_embeddings=64, pad_token_id=0,
                              bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3, local_attention=8,
                              layer_types=["sliding_attention", "full_attention", "full_attention", "sliding_attention"],
                              rope_parameters={"full_attention": {"rope_type": "linear", "rope_theta": 500.0, "factor": 2.0},
                                               "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}, **SIZES)
    published(root, "modernbert-5", ModernBertModel, config, "mean_tokens", with_gradients=False)


def nomic_5(root):
    from transformers import NomicBertConfig, NomicBertModel
    config = NomicBertConfig(vocab_size=vocab_size(root, "bert-cased"), max_position_embeddings=64,
                             rope_parameters={"rope_type": "default", "rope_theta": 300.0}, **SIZES)
    published(root, "nomic-5", NomicBertModel, config, "mean_tokens", with_gradients=False)


def gte_5(root):
    from transformers import GteConfig, GteModel
    config = GteConfig(vocab_size=vocab_size(root, "bert-cased"), max_position_embeddings=64, pad_token_id=0,
                       rope_parameters={"rope_type": "linear", "rope_theta": 300.0, "factor": 2.0}, **SIZES)
    published(root, "gte-5", GteModel, config, "cls_token", with_gradients=False)


def eurobert_5(root):
    from transformers import EuroBertConfig, EuroBertModel
    config = EuroBertConfig(vocab_size=vocab_size(root, "bert-cased"), max_position_embeddings=64, pad_token_id=0,
                            bos_token_id=2, eos_token_id=3, mask_token_id=4, num_key_value_heads=1, mlp_bias=True,
                            rope_parameters={"rope_type": "default", "rope_theta": 300.0}, **SIZES)
    published(root, "eurobert-5", EuroBertModel, config, "mean_tokens", with_gradients=False)


FAMILIES_5 = {"modernbert-5": modernbert_5, "nomic-5": nomic_5, "gte-5": gte_5, "eurobert-5": eurobert_5}
FAMILIES = {"modernbert": modernbert, "modernbert-biases": modernbert_biases, "nomic": nomic, "gte": gte,
            "jina-v2": jina_v2}


def main():
    root, wanted = sys.argv[1], sys.argv[2:]
    logging.set_verbosity_error()
    with torch.no_grad():
        for name, make in {**FAMILIES, **FAMILIES_5}.items():
            if name in wanted or (not wanted and name in FAMILIES):
                make(root)


if __name__ == "__main__":
    main()
