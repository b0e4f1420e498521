"""Writes into tests/golden/models/ tiny random models of older architectures, and sentence-transformers' vectors for them.

    HF_HUB_OFFLINE=1 python reference/golden_encoders.py tests/golden/models [NAME ...]

needs torch, transformers (4.57 was used), sentence-transformers (3.4) and what golden_models.py wrote: sentences.txt, and
the tokenizers of its models. NAME/expected.npy holds one row a sentence, each encoded on its own.
"""

import os
import shutil
import sys
import tempfile
import zlib

import numpy as np
import torch
from sentence_transformers import SentenceTransformer, models
from transformers import (AlbertConfig, AlbertModel, ElectraConfig, ElectraModel, ErnieConfig, ErnieModel)

MAX_LENGTH = 40
SIZES = dict(hidden_size=24, num_attention_heads=3, num_hidden_layers=2, intermediate_size=40)  # no multiples of 16


def randomise(module, name):
    """Draws all parameters anew, the same for the same name on every machine, wide enough that a wrong term shows."""
    r = np.random.default_rng(zlib.crc32(name.encode()))
    for key, p in sorted(module.state_dict().items()):
        if not p.is_floating_point():
            continue
        if "norm" in key.lower():
            value = r.normal(1.0 if key.endswith("weight") else 0.0, 0.25, p.shape)
        elif p.ndim >= 2 and "embeddings." not in key:
            value = r.normal(0.0, 1.3 / np.sqrt(p[0].numel()), p.shape)
        elif p.ndim == 2:
            value = r.normal(0.0, 1.5 if "word" in key else 0.5, p.shape)
        else:
            value = r.normal(0.0, 0.2, p.shape)
        p.copy_(torch.from_numpy(value.astype(np.float32)))
    return module.eval()


def electra():
    return ElectraModel(ElectraConfig(vocab_size=420, embedding_size=20, max_position_embeddings=MAX_LENGTH + 8, **SIZES))


def electra_equal():
    return ElectraModel(ElectraConfig(vocab_size=420, embedding_size=24, max_position_embeddings=MAX_LENGTH + 8, **SIZES))


def albert(**changes):
    config = dict(SIZES, vocab_size=420, embedding_size=20, max_position_embeddings=MAX_LENGTH + 8, pad_token_id=0, **changes)
    return AlbertModel(AlbertConfig(**config), add_pooling_layer=False)


def albert_groups():
    return AlbertModel(
        AlbertConfig(**dict(SIZES, num_hidden_layers=4), vocab_size=420, embedding_size=24, num_hidden_groups=2,
                     inner_group_num=2, hidden_act="gelu", max_position_embeddings=MAX_LENGTH + 8, pad_token_id=0),
        add_pooling_layer=False)


def ernie():
    return ErnieModel(ErnieConfig(vocab_size=420, use_task_id=True, task_type_vocab_size=3, type_vocab_size=4,
                                  max_position_embeddings=MAX_LENGTH + 8, **SIZES), add_pooling_layer=False)


# name -> the body, and the model whose tokenizer it takes
MODELS = {
    "electra": (electra, "bert-uncased"),
    "electra-equal": (electra_equal, "bert-cased"),
    "albert": (albert, "bert-uncased"),
    "albert-groups": (albert_groups, "bert-uncased"),
    "ernie": (ernie, "bert-uncased"),
}


def write(root, name, sentences):
    make, source = MODELS[name]
    directory = os.path.join(root, name)
    shutil.rmtree(directory, ignore_errors=True)
    with tempfile.TemporaryDirectory() as body:
        randomise(make(), name).save_pretrained(body)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(os.path.join(root, source, file), body)
        transformer = models.Transformer(body, max_seq_length=MAX_LENGTH)
        pooling = models.Pooling(transformer.get_word_embedding_dimension(), "mean")
        SentenceTransformer(modules=[transformer, pooling], device="cpu").save(directory, create_model_card=False)
    for file in ("tokenizer.json", "tokenizer_config.json"):  # as they were: the longer ones say the same
        shutil.copy(os.path.join(root, source, file), directory)
    for file in ("vocab.txt", "special_tokens_map.json", "README.md"):
        if os.path.exists(os.path.join(directory, file)):
            os.remove(os.path.join(directory, file))
    model = SentenceTransformer(directory, device="cpu", local_files_only=True)
    vectors = np.stack([model.encode([s], show_progress_bar=False)[0] for s in sentences])
    assert vectors.dtype == np.float32 and np.isfinite(vectors).all(), directory
    np.save(os.path.join(directory, "expected.npy"), vectors)
    size = sum(os.path.getsize(os.path.join(r, f)) for r, _, files in os.walk(directory) for f in files)
    spread = np.abs(vectors - vectors.mean(0)).mean() / np.abs(vectors).mean()
    print(f"{name:20} {vectors.shape} {size / 1024:6.0f} kB  spread {spread:.2f}")


def main():
    root, wanted = sys.argv[1], sys.argv[2:] or MODELS
    with open(os.path.join(root, "sentences.txt"), encoding="utf8") as f:
        sentences = f.read().split("\n")[:-1]
    with torch.no_grad():
        for name in wanted:
            write(root, name, sentences)


main()
