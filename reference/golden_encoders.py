"""Writes into tests/golden/models/ tiny random models of older architectures, and sentence-transformers' vectors for them.

    HF_HUB_OFFLINE=1 python reference/golden_encoders.py tests/golden/models [NAME ...]

needs torch, transformers (4.57 was used), sentence-transformers (3.4) and what golden_models.py wrote: sentences.txt, and
the tokenizers of its models. NAME/expected.npy holds one row a sentence, each encoded on its own.
"""

import json
import os
import shutil
import sys
import tempfile
import zlib

import numpy as np
import torch
from sentence_transformers import SentenceTransformer, models
from transformers import (AlbertConfig, AlbertModel, DebertaV2Config, DebertaV2Model, ElectraConfig, ElectraModel,
                          ErnieConfig, ErnieModel, T5Config, T5EncoderModel, MT5Config, MT5EncoderModel, XLMRobertaXLConfig,
                          XLMRobertaXLModel)

MAX_LENGTH = 40
SIZES = dict(hidden_size=24, num_attention_heads=3, num_hidden_layers=2, intermediate_size=40)  # no multiples of 16


def randomize(module, name):
    """Draws all parameters anew, the same for the same name on every machine, wide enough that a wrong term shows."""
    r = np.random.default_rng(zlib.crc32(name.encode()))
    for key, p in sorted(module.state_dict().items()):
        if not p.is_floating_point():
            continue
        if "norm" in key.lower():
            value = r.normal(1.0 if key.endswith("weight") else 0.0, 0.25, p.shape)
        elif p.ndim >= 2 and "embeddings" not in key:
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
                     inner_group_num=2, hidden_act="gelu", hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, max_position_embeddings=MAX_LENGTH + 8, pad_token_id=0),
        add_pooling_layer=False)


def ernie():
    return ErnieModel(ErnieConfig(vocab_size=420, use_task_id=True, task_type_vocab_size=3, type_vocab_size=4,
                                  max_position_embeddings=MAX_LENGTH + 8, **SIZES), add_pooling_layer=False)


def deberta(**changes):
    """As DeBERTa v3: logarithmic buckets, reached early and passed by the longest sentences."""
    config = dict(SIZES, vocab_size=420, relative_attention=True, position_buckets=8, max_relative_positions=30,
                  pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False,
                  type_vocab_size=0, max_position_embeddings=MAX_LENGTH + 8)
    return DebertaV2Model(DebertaV2Config(**dict(config, **changes)))


def deberta_plain():
    """Without most of what v2 and v3 add: a bucket a distance, and projections of the distances' own."""
    return deberta(position_buckets=-1, max_relative_positions=11, share_att_key=False, norm_rel_ebd="none",
                   position_biased_input=True, type_vocab_size=2, pos_att_type="c2p|p2c")


def t5(model=T5EncoderModel, config=T5Config, **changes):
    """Heads together wider than the model, and few buckets, so that most distances share theirs."""
    sizes = dict(vocab_size=421, d_model=24, d_kv=10, num_heads=3, num_layers=2, d_ff=40, relative_attention_num_buckets=10)
    return model(config(**dict(sizes, **changes)))


def xlmr_xl():
    return XLMRobertaXLModel(XLMRobertaXLConfig(
        vocab_size=421, max_position_embeddings=MAX_LENGTH + 2, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1,
        bos_token_id=0, eos_token_id=2, hidden_dropout_prob=0.1, **SIZES), add_pooling_layer=False)


def sentence_t5(name):
    """What sentence-t5 puts behind its encoder."""
    dense = models.Dense(24, 16, bias=False, activation_function=torch.nn.Identity())
    return [randomize(dense, name + "/dense"), models.Normalize()]


def spm_files(root, sentences):
    """DeBERTa v3's tokenizer files: a SentencePiece model with BERT's special tokens, and no tokenizer.json."""
    import sentencepiece  # needed here only
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([s for s in sentences if s]), model_prefix=os.path.join(root, "spm"), vocab_size=330,
        model_type="unigram", character_coverage=1.0, hard_vocab_limit=False, num_threads=1, minloglevel=2,
        normalization_rule_name="identity", pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]",
        eos_piece="[SEP]", unk_piece="[UNK]")
    os.remove(os.path.join(root, "spm.vocab"))
    with open(os.path.join(root, "tokenizer_config.json"), "w") as f:
        json.dump({"do_lower_case": False, "vocab_type": "spm"}, f)
    return ["spm.model", "tokenizer_config.json"]


# name -> the body, and the model whose tokenizer it takes
MODELS = {
    "electra": (electra, "bert-uncased"),
    "electra-equal": (electra_equal, "bert-cased"),
    "albert": (albert, "bert-uncased"),
    "albert-groups": (albert_groups, "bert-uncased"),
    "ernie": (ernie, "bert-uncased"),
    "deberta": (deberta, "bert-uncased"),
    "deberta-c2p": (lambda: deberta(pos_att_type=["c2p"]), "bert-uncased"),
    "t5": (t5, "roberta-mean", sentence_t5),
    "t5-gated": (lambda: t5(feed_forward_proj="gated-gelu"), "roberta-mean"),
    "mt5": (lambda: t5(MT5EncoderModel, MT5Config), "roberta-mean"),
    "xlmr-xl": (xlmr_xl, "roberta-mean"),
    "deberta-spm": (lambda: deberta(num_hidden_layers=1), spm_files),
    "deberta-plain": (deberta_plain, "bert-uncased"),
}


def encode(model, sentence):
    """Without the strip() that sentence-transformers had before version 5: byte-level tokenizers see outer spaces."""
    features = model.tokenizer([sentence], truncation="longest_first", max_length=MAX_LENGTH, return_tensors="pt")
    return model(features)["sentence_embedding"][0].numpy()


def write(root, name, sentences):
    make, source, *more = MODELS[name]
    directory = os.path.join(root, name)
    shutil.rmtree(directory, ignore_errors=True)
    with tempfile.TemporaryDirectory() as body:
        randomize(make(), name).save_pretrained(body)
        files = ["tokenizer.json", "tokenizer_config.json"]
        if callable(source):
            files = source(body, sentences)
        else:
            for file in files:
                shutil.copy(os.path.join(root, source, file), body)
        transformer = models.Transformer(body, max_seq_length=MAX_LENGTH)
        pooling = models.Pooling(transformer.get_word_embedding_dimension(), "mean")
        modules = [transformer, pooling] + (more[0](name) if more else [])
        SentenceTransformer(modules=modules, device="cpu").save(directory, create_model_card=False)
        for file in files:  # as they were: the longer ones say the same
            shutil.copy(os.path.join(body, file), directory)
    extra = {"tokenizer.json", "vocab.txt", "special_tokens_map.json", "added_tokens.json", "README.md"}
    for file in extra - set(files):
        if os.path.exists(os.path.join(directory, file)):
            os.remove(os.path.join(directory, file))
    model = SentenceTransformer(directory, device="cpu", local_files_only=True)
    vectors = np.stack([encode(model, s) for s in sentences])
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
