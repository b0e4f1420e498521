"""Writes tests/golden/rerankers/: tiny random cross-encoders, and the logits that transformers gives for pairs of texts.

    HF_HUB_OFFLINE=1 python reference/golden_rerankers.py tests/golden/rerankers [NAME ...]

needs what golden_models.py needs (made with transformers 5.24 and sentence-transformers 6.2). Tokenizers are those of
tests/golden/models, which that program wrote. Files:

    pairs.tsv          query, passage: one is empty, several are longer than any model takes
    NAME/              a model directory
    NAME/logits.npy    float32 [pairs]: each pair on its own, without padding
    three-labels/      a model that is no reranker, without logits

Names that end in -saved are directories as sentence-transformers' CrossEncoder.save writes them, with modules.json.
"""

import os
import shutil
import sys

import numpy as np
import torch
from golden_models import MAX_LENGTH, SIZES, randomize, read_json, write_json
from sentence_transformers import CrossEncoder
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertForSequenceClassification,
                          DebertaV2Config, DebertaV2ForSequenceClassification, DistilBertConfig,
                          DistilBertForSequenceClassification, ElectraConfig, ElectraForSequenceClassification,
                          ModernBertConfig, ModernBertForSequenceClassification, XLMRobertaConfig,
                          XLMRobertaForSequenceClassification)
from transformers.utils import logging

LONG = " ".join(["The train to the coast leaves at seven, and the children walk along the river."] * 4)
PAIRS = [
    ("Who opens his shop early?", "The baker opens his shop before the sun comes up."),
    ("Who opens his shop early?", "Zwei Kinder bauen ein Boot aus alten Zeitungen."),
    ("violin", "Ma sœur joue du violon, mais elle préfère le piano."),
    ("Wann fährt der Zug?", "Поезд на побережье отправляется в семь часов утра."),
    ("a boat of paper", "两个孩子用旧报纸做了一条船。"),
    ("a boat of paper", ""),
    ("piano", LONG),
    (LONG, "piano"),
    (LONG, LONG[7:]),
    ("The doctor of this village walked along the river until it became dark, and nobody knows who he is.", LONG),
]


def bert(n, **changes):
    return BertForSequenceClassification(BertConfig(vocab_size=n, max_position_embeddings=MAX_LENGTH + 8,
                                                    **{"num_labels": 1, **SIZES, **changes}))


def three_labels(n):
    return bert(n, num_labels=3, hidden_size=12, num_hidden_layers=1, intermediate_size=12)


def xlmr(n):
    return XLMRobertaForSequenceClassification(
        XLMRobertaConfig(vocab_size=n, max_position_embeddings=MAX_LENGTH + 2, type_vocab_size=1, layer_norm_eps=1e-5,
                         pad_token_id=1, bos_token_id=0, eos_token_id=2, num_labels=1, **SIZES))


def modernbert(n, **changes):
    return ModernBertForSequenceClassification(
        ModernBertConfig(vocab_size=n, max_position_embeddings=64, pad_token_id=0, bos_token_id=2, eos_token_id=3,
                         cls_token_id=2, sep_token_id=3, local_attention=8, global_attn_every_n_layers=2,
                         attn_implementation="eager", num_labels=1, **{**SIZES, **changes}))


def modernbert_mean(n):
    return modernbert(n, classifier_pooling="mean", classifier_bias=True, norm_bias=True, classifier_activation="silu",
                      num_hidden_layers=1)


def electra(n):
    return ElectraForSequenceClassification(ElectraConfig(vocab_size=n, embedding_size=20, num_labels=1,
                                                          max_position_embeddings=MAX_LENGTH + 8, **SIZES))


def distilbert(n):
    return DistilBertForSequenceClassification(DistilBertConfig(vocab_size=n, dim=24, n_heads=3, n_layers=1, hidden_dim=40,
                                                                max_position_embeddings=MAX_LENGTH + 8, num_labels=1))


def deberta(n):
    return DebertaV2ForSequenceClassification(
        DebertaV2Config(vocab_size=n, relative_attention=True, position_buckets=8, max_relative_positions=30,
                        pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
                        position_biased_input=False, type_vocab_size=0, max_position_embeddings=MAX_LENGTH + 8,
                        pooler_hidden_size=24, num_labels=1, **SIZES))


# name: model, and the directory of its tokenizer
MODELS = {
    "bert": (bert, "bert-uncased"),  # the shape of ms-marco-MiniLM
    "bert-vocab": (lambda n: bert(n, num_hidden_layers=1), "bert-uncased-vocab"),  # vocab.txt alone
    "bert-saved": (lambda n: bert(n, num_hidden_layers=1), "bert-uncased"),
    "xlmr": (xlmr, "xlmr-both"),  # of mmarco-mMiniLMv2 and bge-reranker
    "modernbert": (modernbert, "bert-cased"),
    "modernbert-mean": (modernbert_mean, "bert-cased"),
    "electra": (electra, "bert-uncased"),
    "distilbert": (distilbert, "bert-uncased"),
    "deberta": (deberta, "bert-uncased"),
    "three-labels": (three_labels, "bert-uncased"),
}


def tokenizer_files(source, directory):
    for file in ("tokenizer.json", "vocab.txt"):
        if os.path.exists(os.path.join(source, file)):
            shutil.copy(os.path.join(source, file), directory)
    config = read_json(source, "tokenizer_config.json")
    config["model_max_length"] = MAX_LENGTH
    write_json(config, directory, "tokenizer_config.json")


def write(root, name):
    make, source = MODELS[name]
    directory = os.path.join(root, name)
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    tokenizer_files(os.path.join(root, "..", "models", source), directory)
    make_model = randomize(make(len(AutoTokenizer.from_pretrained(directory))), name, positions=0.7)
    if name in ("bert-vocab", "xlmr"):  # as sentence-transformers 4 and 5 write them
        make_model.config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity", "version": "4.0.1"}
    make_model.save_pretrained(directory)
    if name.endswith("-saved"):
        tokenizer = os.path.join(directory, "tokenizer.json")
        kept = open(tokenizer, "rb").read()
        CrossEncoder(directory, device="cpu", local_files_only=True).save_pretrained(directory, create_model_card=False)
        with open(tokenizer, "wb") as f:
            f.write(kept)
    if name == "three-labels":
        return
    model = AutoModelForSequenceClassification.from_pretrained(directory).eval()
    tokenizer = AutoTokenizer.from_pretrained(directory)
    logits = []
    for query, passage in PAIRS:
        features = tokenizer([[query, passage]], truncation=True, max_length=MAX_LENGTH, return_tensors="pt")
        logits.append(model(**features).logits[0, 0].numpy())
    logits = np.array(logits, np.float32)
    theirs = CrossEncoder(directory, device="cpu", local_files_only=True)
    scores = theirs.predict([list(pair) for pair in PAIRS], batch_size=1, show_progress_bar=False,
                            activation_fn=torch.nn.Identity())
    assert np.abs(scores - logits).max() < 1e-5, (name, scores, logits)
    np.save(os.path.join(directory, "logits.npy"), logits)
    print(name, type(theirs.activation_fn).__name__, np.round(logits, 3))


def main():
    root, wanted = sys.argv[1], sys.argv[2:]
    logging.set_verbosity_error()
    os.makedirs(root, exist_ok=True)
    with open(os.path.join(root, "pairs.tsv"), "w", encoding="utf8") as f:
        f.writelines(f"{query}\t{passage}\n" for query, passage in PAIRS)
    with torch.no_grad():
        for name in wanted or MODELS:
            write(root, name)


if __name__ == "__main__":
    main()
