"""Writes the families' models among tests/golden/models/: tiny random encoders newer than BERT, and the vectors that
transformers gives for them.

    HF_HUB_OFFLINE=1 python reference/golden_families.py tests/golden/models [NAME ...]

needs torch and transformers (made with 4.57). Sentences and the tokenizer are those of reference/golden_models.py, which
has to have run: NAME takes the tokenizer files of bert-cased. Files as there. Windows of local attention are far shorter
than the sentences, so that what lies outside of them matters.
"""

import json
import os
import shutil
import sys
import zlib

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer, ModernBertConfig, ModernBertModel
from transformers.utils import logging

MAX_LENGTH = 40
SIZES = dict(hidden_size=24, num_attention_heads=2, num_hidden_layers=4, intermediate_size=28)  # no multiples of 16


def randomise(module, name):
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


def published(root, name, model_class, config, pooling):
    """A family whose code is in transformers."""
    directory = begin(root, name, "bert-cased", config.hidden_size, pooling)
    randomise(model_class(config), name).save_pretrained(directory)
    model = AutoModel.from_pretrained(directory, attn_implementation="eager").eval()
    finish(root, directory, lambda ids: model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state, pooling)


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


FAMILIES = {"modernbert": modernbert, "modernbert-biases": modernbert_biases}


def main():
    root, wanted = sys.argv[1], sys.argv[2:]
    logging.set_verbosity_error()
    with torch.no_grad():
        for name, make in FAMILIES.items():
            if not wanted or name in wanted:
                make(root)


if __name__ == "__main__":
    main()
