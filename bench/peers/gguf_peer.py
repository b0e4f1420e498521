"""Vectors of an exported GGUF file beside calque's: the gguf package reads it, NumPy computes what llama.cpp's
architecture "bert" does, with exact GELU. Token ids come from tokenizer.json of the ONNX export.

    gguf_peer.py FILE.gguf TOKENIZER.json VECTORS.npy SENTENCES.txt

Prints a TSV line: file, sentences, least and mean cosine, tokens whose piece differs from tokenizer.json's."""
import os
import sys
from math import erf

import numpy as np
from gguf import GGUFReader, dequantize
from tokenizers import Tokenizer

gelu = np.vectorize(lambda x: x * (1 + erf(x / 2**0.5)) / 2)


def normalize(x, weights, name, eps):
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    return x * weights[name + ".weight"] + weights[name + ".bias"]


def linear(x, weights, name):
    return x @ weights[name + ".weight"].T + weights[name + ".bias"]


def encode(ids, weights, values):
    eps = values["bert.attention.layer_norm_epsilon"]
    n_heads = values["bert.attention.head_count"]
    x = weights["token_embd.weight"][ids] + weights["position_embd.weight"][: len(ids)]
    if "token_types.weight" in weights:
        x = x + weights["token_types.weight"][0]
    x = normalize(x, weights, "token_embd_norm", eps)
    for layer in range(values["bert.block_count"]):
        b = f"blk.{layer}."
        q, k, v = (linear(x, weights, b + "attn_" + c).reshape(len(ids), n_heads, -1) for c in "qkv")
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(q.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        context = np.einsum("hij,jhd->ihd", scores, v).reshape(len(ids), -1)
        x = normalize(linear(context, weights, b + "attn_output") + x, weights, b + "attn_output_norm", eps)
        up = linear(x, weights, b + "ffn_up")
        x = normalize(linear(gelu(up), weights, b + "ffn_down") + x, weights, b + "layer_output_norm", eps)
    return {1: x.mean(axis=0), 2: x[0], 3: x[-1]}[values["bert.pooling_type"]]


def main():
    path, tokenizer, vectors, sentences = sys.argv[1:5]
    reader = GGUFReader(path)
    values = {k: f.contents() for k, f in reader.fields.items()}
    weights = {t.name: dequantize(t.data, t.tensor_type).astype(np.float64) for t in reader.tensors}
    tokenizer = Tokenizer.from_file(tokenizer)
    tokenizer.no_padding()  # which a tokenizer.json may have
    tokenizer.enable_truncation(values["bert.context_length"])
    is_wordpiece = values["tokenizer.ggml.model"] == "bert"
    different = 0
    for i, (piece, kind) in enumerate(zip(values["tokenizer.ggml.tokens"], values["tokenizer.ggml.token_type"])):
        wanted = tokenizer.id_to_token(i)
        if is_wordpiece and kind == 1 and wanted:
            wanted = wanted[2:] if wanted.startswith("##") else "\u2581" + wanted
        different += wanted is not None and piece != wanted
    ours = np.load(vectors)
    texts = open(sentences, encoding="utf-8").read().splitlines()
    rows = np.array([encode(tokenizer.encode(t).ids, weights, values) for t in texts])
    c = (rows * ours).sum(axis=1) / (np.linalg.norm(rows, axis=1) * np.linalg.norm(ours, axis=1))
    print(os.path.basename(path), len(texts), f"{c.min():.6f}\t{c.mean():.6f}\t{different}", sep="\t")


main()
