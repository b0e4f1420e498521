"""Writes tests/golden/models/: tiny random models in sentence-transformers' layout, and the vectors it gives for them.

    HF_HUB_OFFLINE=1 python reference/golden_models.py tests/golden/models [NAME ...]

needs torch, transformers, tokenizers, sentencepiece, safetensors and sentence-transformers (made with 6.2). Files:

    sentences.txt         one sentence a line, shared by all models; one line is empty, one is longer than any model takes
    NAME/                 a model directory
    NAME/padded.npy       of some models: the vector of PADDED
    NAME/query.npy, document.npy    of models with tasks: encode_query's and encode_document's vectors
    NAME/model2vec.npy    of one model: model2vec's own vectors
    NAME/expected.npy     float32 [sentences, dim]: SentenceTransformer(NAME).encode(sentences), one sentence at a time

Weights are drawn with a wide spread, so that a wrong activation, epsilon, position or token moves the vectors visibly.
Every tokenizer is trained on the sentences below, all of them written for this purpose.
"""

import collections
import contextlib
import json
import os
import shutil
import sys
import tempfile
import zlib

import numpy as np
import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as st
from sentence_transformers.base.modules.dense import Dense
from sentence_transformers.base.modules.normalize import Normalize
from sentence_transformers.base.modules.transformer import Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import (BertConfig, BertModel, BertTokenizer, DistilBertConfig, DistilBertModel, MPNetConfig, MPNetModel,
                          MPNetTokenizer, RobertaConfig, RobertaModel, RobertaTokenizer, XLMRobertaConfig, XLMRobertaModel,
                          XLMRobertaTokenizer)
from transformers.utils import logging

MAX_LENGTH = 40

# ---------------------------------------------------------------------------------------------------- text

TEXT = """
The baker opens his shop before the sun comes up.
Two children are building a boat out of old newspapers.
My sister plays the violin, but she prefers the piano.
The train to the coast leaves at seven in the morning.
Nobody knows who painted this picture of the harbour.
We walked along the river until it became dark.
A good teacher listens more than he speaks.
Please close the window; it is getting cold in here.
The library has 1,250 books about the history of science.
Is there a doctor in this small village?
Every winter the birds fly to warmer countries.
He forgot his keys, his phone and his umbrella again!
The soup needs a little more salt and pepper.
Water boils at 100 degrees and freezes at 0.
Our neighbours have a garden full of apple trees.
She reads the newspaper while drinking her coffee.
Der Bäcker öffnet seinen Laden, bevor die Sonne aufgeht.
Zwei Kinder bauen ein Boot aus alten Zeitungen.
Meine Schwester spielt Geige, aber sie mag das Klavier lieber.
Der Zug an die Küste fährt um sieben Uhr morgens ab.
Niemand weiß, wer dieses Bild des Hafens gemalt hat.
Wir gingen am Fluss entlang, bis es dunkel wurde.
Bitte schließen Sie das Fenster; es wird kalt hier drin.
Unsere Nachbarn haben einen Garten voller Apfelbäume.
Le boulanger ouvre sa boutique avant le lever du soleil.
Deux enfants construisent un bateau avec de vieux journaux.
Ma sœur joue du violon, mais elle préfère le piano.
Le train pour la côte part à sept heures du matin.
Nous avons marché le long de la rivière jusqu'à la nuit.
Fermez la fenêtre, s'il vous plaît ; il commence à faire froid.
El panadero abre su tienda antes de que salga el sol.
Dos niños construyen un barco con periódicos viejos.
Mi hermana toca el violín, pero prefiere el piano.
¿Hay un médico en este pequeño pueblo?
Caminamos por la orilla del río hasta que se hizo de noche.
Пекарь открывает свою лавку до восхода солнца.
Двое детей строят лодку из старых газет.
Моя сестра играет на скрипке, но предпочитает пианино.
Поезд на побережье отправляется в семь часов утра.
Мы шли вдоль реки, пока не стало темно.
Ο φούρναρης ανοίγει το μαγαζί του πριν βγει ο ήλιος.
Δύο παιδιά φτιάχνουν μια βάρκα από παλιές εφημερίδες.
يفتح الخباز دكانه قبل شروق الشمس.
طفلان يبنيان قاربا من الصحف القديمة.
مشينا على ضفة النهر حتى حل الظلام.
बेकर सूरज निकलने से पहले अपनी दुकान खोलता है।
दो बच्चे पुराने अख़बारों से नाव बना रहे हैं।
हम अंधेरा होने तक नदी के किनारे चलते रहे।
面包师在太阳升起之前开店。
两个孩子用旧报纸做了一条船。
我们沿着河走，直到天黑。
火车早上七点开往海边。
パン屋は日が昇る前に店を開ける。
二人の子どもが古い新聞で舟を作っている。
""".strip().split("\n")

SENTENCES = [
    "The baker opens his shop before the sun comes up.",
    "",
    "violin",
    "NOBODY Knows Who Painted THIS Picture of the Harbour?!",
    "Der Zug an die Küste fährt um sieben Uhr morgens ab.",
    "Ma sœur préfère le piano ; où est la fenêtre ?",
    "¿Hay un médico en este pequeño pueblo?",
    "Поезд на побережье отправляется в семь часов утра.",
    "Ο φούρναρης ανοίγει το μαγαζί του πριν βγει ο ήλιος.",
    "مشينا على ضفة النهر حتى حل الظلام.",
    "दो बच्चे पुराने अख़बारों से नाव बना रहे हैं।",
    "两个孩子用旧报纸做了一条船。",
    "二人の子どもが古い新聞で舟を作っている。",
    "We walked home 😀 along the river 🚀🌊.",
    "  two   spaces  and a trailing one ",
    "cafe\u0301 and café, ﬁne Ｗｉｄｅ letters, 12½ km²",
    "e-mail: someone@example.org, 3.14 + 2,50 = (5.64) [ok] #42 'quoted' \"twice\"",
    "don't stop; it's the children's boat, isn't it? They're here.",
    "Donau" + "dampfschifffahrts" * 7 + "kapitän and a word of more than a hundred characters",
    " ".join(["The train to the coast leaves at seven, and the children walk along the river."] * 8),
    "長い文" * 60,
    "a",
    ".",
]
PADDED = "The <pad> boat <pad><pad> is of paper."  # RoBERTa counts no position for a pad token in the text


# ---------------------------------------------------------------------------------------------------- tokenizers


def wordpiece(lowercase, size=420, specials=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")):
    """A WordPiece vocabulary as {token: id}: all characters, then the substrings that save the most. (The stock trainer
    breaks ties by chance.)"""
    normalizer, splitter = normalizers.BertNormalizer(lowercase=lowercase), pre_tokenizers.BertPreTokenizer()
    count = collections.Counter()
    for line in TEXT:
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(line)):
            for i in range(len(word)):
                for j in range(i + 1, min(len(word), i + 6) + 1):
                    count["##" * (i > 0) + word[i:j]] += 1

    def length(token):
        return len(token.removeprefix("##"))

    ranked = sorted(count, key=lambda t: (length(t) > 1, -count[t] * (length(t) - 1), t))
    return {token: i for i, token in enumerate((list(specials) + ranked)[:size])}


def in_order(vocab):
    return [token for token, _ in sorted(vocab.items(), key=lambda item: item[1])]


def bert_tokenizer(lowercase):
    return BertTokenizer(vocab=wordpiece(lowercase), do_lower_case=lowercase, model_max_length=MAX_LENGTH)


def mpnet_tokenizer():
    vocab = in_order(wordpiece(True, 400, ("<s>", "<pad>", "</s>", "<unk>", "[UNK]"))) + ["<mask>"]
    return MPNetTokenizer(vocab={token: i for i, token in enumerate(vocab)}, do_lower_case=True, model_max_length=MAX_LENGTH)


def roberta_tokenizer():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    t.train_from_iterator(TEXT, trainer)
    model = json.loads(t.to_str())["model"]
    vocab = dict(model["vocab"])
    vocab["<mask>"] = len(vocab)
    return RobertaTokenizer(vocab=vocab, merges=[tuple(m) for m in model["merges"]], model_max_length=MAX_LENGTH)


def protobuf_fields(data):
    """The (number, value) pairs of a protobuf message's length-delimited and varint fields."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 2:
            n = varint()
            yield key >> 3, data[at:at + n]
            at += n
        else:
            at += {1: 8, 5: 4}[kind]
            yield key >> 3, None


# The few rules of a custom normalizer; the stock nmt_nfkc adds 300 kB to every model that carries it.
RULES = [("ﬁ", "fi"), ("½", "1⁄2"), ("²", "2"), ("e\u0301", "é"), ("　", " ")]
RULES += [(chr(code), chr(code - 0xFEE0)) for code in range(0xFF01, 0xFF5F)]


def sentencepiece_model(path, rules="custom", size=460, kind="unigram"):
    """Trains a SentencePiece model into `path`; returns its pieces with scores, and the compiled normalizer."""
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "text"), "w") as f:
            f.write("\n".join(TEXT) + "\n")
        with open(os.path.join(directory, "rules.tsv"), "w") as f:
            for source, target in RULES:
                f.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
        normalizer = {"normalization_rule_tsv": "rules.tsv"} if rules == "custom" else {"normalization_rule_name": rules}
        with contextlib.chdir(directory):  # the model keeps these names
            sentencepiece.SentencePieceTrainer.train(
                input="text", model_prefix="m", vocab_size=size, model_type=kind, character_coverage=1.0, unk_id=0, bos_id=1,
                eos_id=2, pad_id=-1, hard_vocab_limit=False, num_threads=1, minloglevel=2, **normalizer)
        shutil.copy(os.path.join(directory, "m.model"), path)
    p = sentencepiece.SentencePieceProcessor(model_file=path)
    with open(path, "rb") as f:
        spec = next(value for number, value in protobuf_fields(f.read()) if number == 3)
    charsmap = next(value for number, value in protobuf_fields(spec) if number == 2)
    return [(p.id_to_piece(i), p.get_score(i)) for i in range(p.get_piece_size())], charsmap, p


def xlmr_tokenizer(path, **options):
    """XLM-R's arrangement of a SentencePiece model: <s> <pad> </s> <unk>, its pieces from the fourth on, <mask>."""
    pieces, charsmap, processor = sentencepiece_model(path, **options)
    vocab = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + pieces[3:] + [("<mask>", 0.0)]
    tokenizer = XLMRobertaTokenizer(vocab=vocab, _spm_precompiled_charsmap=charsmap, model_max_length=MAX_LENGTH)
    for sentence in SENTENCES:  # both implementations must agree, else the sentence is no test of ours
        ours = [{0: 3, 1: 0, 2: 2}.get(i, i + 1) for i in processor.encode(sentence)]
        theirs = tokenizer(sentence, add_special_tokens=False)["input_ids"]
        assert ours == theirs, (sentence, processor.encode(sentence, out_type=str), tokenizer.tokenize(sentence))
    return tokenizer


# ---------------------------------------------------------------------------------------------------- bodies

SIZES = dict(hidden_size=24, num_attention_heads=3, num_hidden_layers=2, intermediate_size=40)  # no multiples of 16


def randomize(module, name, positions=0.5):
    """Draws all parameters anew, the same for the same name on every machine; positions: the spread of embeddings other
    than words'."""
    r = np.random.default_rng(zlib.crc32(name.encode()))
    for key, p in sorted(module.state_dict().items()):
        if not p.is_floating_point():
            continue
        if "norm" in key.lower():
            value = r.normal(1.0 if key.endswith("weight") else 0.0, 0.25, p.shape)
        elif p.ndim == 2 and "embed" not in key:
            value = r.normal(0.0, 1.3 / np.sqrt(p.shape[1]), p.shape)
        elif "relative" in key:
            value = r.normal(0.0, 1.0, p.shape)
        elif p.ndim == 2:
            value = r.normal(0.0, 1.5 if "word" in key else positions, p.shape)
        else:
            value = r.normal(0.0, 0.2, p.shape)
        p.copy_(torch.from_numpy(value.astype(np.float32)))
    return module.eval()


SMALL = dict(hidden_size=12, num_attention_heads=3, num_hidden_layers=1, intermediate_size=20)


def bert(name, tokenizer, **changes):
    config = dict(SMALL if name.startswith(("pool", "dense")) else SIZES, vocab_size=len(tokenizer), max_position_embeddings=MAX_LENGTH + 8,
                  pad_token_id=tokenizer.pad_token_id, **changes)
    return randomize(BertModel(BertConfig(**config), add_pooling_layer=False), name)


def distilbert(name, tokenizer):
    return randomize(DistilBertModel(DistilBertConfig(vocab_size=len(tokenizer), dim=24, n_heads=3, n_layers=2, hidden_dim=40,
                                                      max_position_embeddings=MAX_LENGTH + 8)), name)


def roberta(name, tokenizer, config=RobertaConfig, model=RobertaModel, **changes):
    return randomize(model(config(**dict(SIZES, vocab_size=len(tokenizer), max_position_embeddings=MAX_LENGTH + 2,
                                         type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1, bos_token_id=0,
                                         eos_token_id=2, **changes)), add_pooling_layer=False), name)


def xlmr(name, tokenizer, **changes):
    return roberta(name, tokenizer, XLMRobertaConfig, XLMRobertaModel, **changes)


def mpnet(name, tokenizer):
    return randomize(MPNetModel(MPNetConfig(**dict(SIZES, vocab_size=len(tokenizer), max_position_embeddings=MAX_LENGTH + 2,
                                                   pad_token_id=1, bos_token_id=0, eos_token_id=2)),
                                add_pooling_layer=False), name)


def dense(name, n_in, n_out, activation, bias=True):
    return randomize(Dense(n_in, n_out, bias=bias, activation_function=activation), name + "/dense")


# ---------------------------------------------------------------------------------------------------- directories


def read_json(*path):
    with open(os.path.join(*path)) as f:
        return json.load(f)


def write_json(value, *path):
    with open(os.path.join(*path), "w") as f:
        json.dump(value, f, indent=1, ensure_ascii=False)


def compact_tokenizer(directory):
    """The same tokenizer.json on fewer bytes."""
    for root, _, files in os.walk(directory):
        if "tokenizer.json" in files:
            value = read_json(root, "tokenizer.json")
            with open(os.path.join(root, "tokenizer.json"), "w") as f:
                json.dump(value, f, ensure_ascii=False, separators=(",", ":"))


def published_layout(directory):
    """Rewrites the JSON files the way models published before sentence-transformers 5 have them."""
    entries = read_json(directory, "modules.json")
    for entry in entries:
        kind = entry["type"].split(".")[-1]
        entry["type"] = "sentence_transformers.models." + kind
        at = os.path.join(directory, entry["path"])
        if kind == "Pooling":
            new = read_json(at, "config.json")
            modes = [new["pooling_mode"]] if isinstance(new["pooling_mode"], str) else new["pooling_mode"]
            keys = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean", "pooling_mode_max_tokens": "max",
                    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
                    "pooling_mode_weightedmean_tokens": "weightedmean", "pooling_mode_lasttoken": "lasttoken"}
            old = {"word_embedding_dimension": new["embedding_dimension"]}
            old.update({key: mode in modes for key, mode in keys.items()})
            write_json(old, at, "config.json")
        elif kind == "Dense":
            new = read_json(at, "config.json")
            write_json({key: new[key] for key in ("in_features", "out_features", "bias", "activation_function")},
                       at, "config.json")
        elif kind == "Transformer":
            write_json({"max_seq_length": MAX_LENGTH, "do_lower_case": False}, at, "sentence_bert_config.json")
            tokenizer = read_json(at, "tokenizer_config.json")
            tokenizer["model_max_length"] = 512
            write_json(tokenizer, at, "tokenizer_config.json")
    write_json(entries, directory, "modules.json")
    write_json({"__version__": {"sentence_transformers": "2.0.0", "transformers": "4.6.1", "pytorch": "1.8.1"}},
               directory, "config_sentence_transformers.json")


def rewrite_weights(directory, change, file="model.safetensors"):
    path = os.path.join(directory, file)
    save_file({k: v.contiguous() for k, v in (change(k, v) for k, v in load_file(path).items())}, path, {"format": "pt"})


def old_names(key, value):
    """As in checkpoints converted from TensorFlow: gamma and beta, everything under "bert."."""
    return "bert." + key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"), value


def vocab_txt(directory, lowercase):
    """Replaces tokenizer.json by vocab.txt and what older models say about it."""
    vocab = read_json(directory, "tokenizer.json")["model"]["vocab"]
    os.remove(os.path.join(directory, "tokenizer.json"))
    with open(os.path.join(directory, "vocab.txt"), "w") as f:
        f.write("\n".join(in_order(vocab)) + "\n")
    write_json({"do_lower_case": lowercase, "unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]",
                "cls_token": "[CLS]", "mask_token": "[MASK]", "tokenize_chinese_chars": True, "strip_accents": None,
                "tokenizer_class": "BertTokenizer", "model_max_length": MAX_LENGTH}, directory, "tokenizer_config.json")


class Writer:
    def __init__(self, root):
        self.root = root

    def transformer(self, body, tokenizer, **options):
        torch.manual_seed(1)  # for the unused pooler that loading adds
        with tempfile.TemporaryDirectory() as directory:
            body.save_pretrained(directory)
            tokenizer.save_pretrained(directory)
            return Transformer(directory, max_seq_length=MAX_LENGTH, **options)

    def save(self, name, parts, edit=None, **options):
        """Saves a model made of modules, lets `edit` rework the directory, and writes the vectors."""
        directory = os.path.join(self.root, name)
        shutil.rmtree(directory, ignore_errors=True)
        SentenceTransformer(modules=parts, device="cpu", **options).save(directory, create_model_card=False)
        self.finish(directory, edit)

    def finish(self, directory, edit=None, after=None):
        compact_tokenizer(directory)
        if edit:
            edit(directory)
        model = SentenceTransformer(directory, device="cpu", local_files_only=True,
                                    model_kwargs={"dtype": torch.float32})  # else f16 weights would compute in f16
        vectors = np.stack([model.encode([s], batch_size=1, show_progress_bar=False)[0] for s in SENTENCES])
        assert vectors.dtype == np.float32 and np.isfinite(vectors).all(), directory
        np.save(os.path.join(directory, "expected.npy"), vectors)
        if os.path.basename(directory) in ("roberta-mean", "mpnet-mean"):
            np.save(os.path.join(directory, "padded.npy"), model.encode([PADDED], show_progress_bar=False))
        if after:
            after(directory)
        size = sum(os.path.getsize(os.path.join(r, f)) for r, _, files in os.walk(directory) for f in files)
        spread = np.abs(vectors - vectors.mean(0)).mean() / np.abs(vectors).mean()
        print(f"{os.path.basename(directory):24} {vectors.shape} {size / 1024:6.0f} kB  spread {spread:.2f}")


# ---------------------------------------------------------------------------------------------------- the models


def bert_model(w, name, tokenizer=None, pooling="mean", more=(), edit=None, pooling_options={}, transformer={}, options={},
               **changes):
    tokenizer = tokenizer or bert_tokenizer(True)
    body = bert(name, tokenizer, **changes)
    w.save(name, [w.transformer(body, tokenizer, **transformer),
                  st.Pooling(body.config.hidden_size, pooling, **pooling_options), *more], edit, **options)


def make_models(w, wanted):
    made = {}

    def model(function):
        made[function.__name__.replace("_", "-")] = function

    @model
    def bert_uncased():  # the shape of all-MiniLM-L6-v2, in the layout it was published in
        bert_model(w, "bert-uncased", more=[Normalize()], edit=published_layout)

    @model
    def bert_uncased_vocab():
        bert_model(w, "bert-uncased-vocab", edit=lambda d: (vocab_txt(d, True), rewrite_weights(d, old_names)))

    @model
    def bert_cased():
        bert_model(w, "bert-cased", bert_tokenizer(False), "cls")

    @model
    def bert_cased_vocab():
        bert_model(w, "bert-cased-vocab", bert_tokenizer(False), edit=lambda d: (published_layout(d), vocab_txt(d, False)))

    @model
    def bert_lower():  # sentence_bert_config.json lower-cases before a cased tokenizer
        def lower(d):
            config = read_json(d, "sentence_bert_config.json")
            write_json(dict(config, do_lower_case=True), d, "sentence_bert_config.json")
        bert_model(w, "bert-lower", bert_tokenizer(False), edit=lambda d: (published_layout(d), lower(d)))

    @model
    def bert_gelu_new():
        bert_model(w, "bert-gelu-new", hidden_act="gelu_new")

    @model
    def bert_relu_f16():
        bert_model(w, "bert-relu-f16", hidden_act="relu", layer_norm_eps=1e-5,
                   edit=lambda d: rewrite_weights(d, lambda k, v: (k, v.half())))

    @model
    def bert_bf16():
        bert_model(w, "bert-bf16", edit=lambda d: rewrite_weights(d, lambda k, v: (k, v.bfloat16())))

    @model
    def bert_prompt():  # the default prompt is in the text but not in the mean
        bert_model(w, "bert-prompt", pooling_options={"include_prompt": False},
                   options={"prompts": {"query": "the question: ", "passage": "a text: "}, "default_prompt_name": "query"})

    @model
    def bert_prompt_pooled():
        bert_model(w, "bert-prompt-pooled", options={"prompts": {"query": "the question: "}, "default_prompt_name": "query"})

    for mode in ("max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"):
        for form, edit in (("old", published_layout), ("new", None)):
            name = f"pool-{mode.split('_tok')[0].replace('_', '-')}-{form}"
            made[name] = lambda name=name, mode=mode, edit=edit: bert_model(w, name, pooling=mode, edit=edit)

    for form, edit in (("old", published_layout), ("new", None)):
        name = "pool-all-" + form
        made[name] = lambda name=name, edit=edit: bert_model(
            w, name, pooling=["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"], edit=edit)

    @model
    def pool_order_new():  # the new form keeps the order it names
        bert_model(w, "pool-order-new", pooling=["mean", "cls"])

    @model
    def labse():  # cls, Dense with Tanh, Normalize
        bert_model(w, "labse", bert_tokenizer(False), "cls", [dense("labse", 24, 24, torch.nn.Tanh()), Normalize()],
                   edit=published_layout)

    @model
    def distilbert_dense():  # the shape of distiluse-base-multilingual
        name, tokenizer = "distilbert-dense", bert_tokenizer(False)
        w.save(name, [w.transformer(distilbert(name, tokenizer), tokenizer), st.Pooling(24, "mean"),
                      dense(name, 24, 20, torch.nn.Tanh())], published_layout)

    @model
    def dense_identity():
        bert_model(w, "dense-identity", more=[dense("dense-identity", 12, 33, torch.nn.Identity())])

    @model
    def dense_no_bias():
        bert_model(w, "dense-no-bias", more=[dense("dense-no-bias/1", 12, 17, torch.nn.Identity(), bias=False),
                                             dense("dense-no-bias/2", 17, 10, torch.nn.Tanh(), bias=False)])

    @model
    def dense_pickle():  # as older models store it: pytorch_model.bin
        def pickle(d):
            published_layout(d)
            path = os.path.join(d, "2_Dense", "model.safetensors")
            torch.save(load_file(path), os.path.join(d, "2_Dense", "pytorch_model.bin"))
            os.remove(path)
        bert_model(w, "dense-pickle", more=[dense("dense-pickle", 12, 8, torch.nn.Tanh())], edit=pickle)

    @model
    def roberta_mean():
        name, tokenizer = "roberta-mean", roberta_tokenizer()
        w.save(name, [w.transformer(roberta(name, tokenizer), tokenizer), st.Pooling(24, "mean")])

    @model
    def roberta_files():  # vocab.json and merges.txt instead of tokenizer.json
        def files(d):
            published_layout(d)
            value = read_json(d, "tokenizer.json")["model"]
            os.remove(os.path.join(d, "tokenizer.json"))
            write_json(value["vocab"], d, "vocab.json")
            with open(os.path.join(d, "merges.txt"), "w") as f:
                f.write("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in value["merges"]))
        name, tokenizer = "roberta-files", roberta_tokenizer()
        w.save(name, [w.transformer(roberta(name, tokenizer), tokenizer), st.Pooling(24, "cls"), Normalize()], files)

    def with_unigram(name, body, parts, edit=None, remove=None, **options):
        with tempfile.TemporaryDirectory() as scratch:
            spm = os.path.join(scratch, "sentencepiece.bpe.model")
            tokenizer = xlmr_tokenizer(spm, **options)
            directory = os.path.join(w.root, name)
            shutil.rmtree(directory, ignore_errors=True)
            first = w.transformer(body(name, tokenizer), tokenizer)
            SentenceTransformer(modules=[first, *parts], device="cpu").save(directory, create_model_card=False)
            shutil.copy(spm, directory)
        w.finish(directory, edit, lambda d: remove and os.remove(os.path.join(d, remove)))

    @model
    def xlmr_both():
        with_unigram("xlmr-both", xlmr, [st.Pooling(24, "mean")], published_layout)

    @model
    def xlmr_model():  # the SentencePiece file alone, with SentencePiece's stock normalizer
        with_unigram("xlmr-model", xlmr, [st.Pooling(24, "cls"), Normalize()], remove="tokenizer.json", rules="nmt_nfkc")

    @model
    def bert_xlmr():  # a BERT body under XLM-R's tokenizer, as multilingual MiniLM L12; tokenizer.json alone
        with_unigram("bert-xlmr", bert, [st.Pooling(24, "mean")], published_layout, remove="sentencepiece.bpe.model")

    @model
    def mpnet_mean():  # the shape of all-mpnet-base-v2
        name, tokenizer = "mpnet-mean", mpnet_tokenizer()
        w.save(name, [w.transformer(mpnet(name, tokenizer), tokenizer), st.Pooling(24, "mean"), Normalize()],
               published_layout)

    @model
    def plain_bert():  # no modules.json: mean pooling
        name, tokenizer = "plain-bert", bert_tokenizer(True)
        directory = os.path.join(w.root, name)
        shutil.rmtree(directory, ignore_errors=True)
        bert(name, tokenizer).save_pretrained(directory)
        tokenizer.save_pretrained(directory)
        w.finish(directory)

    @model
    def plain_xlmr():
        name = "plain-xlmr"
        directory = os.path.join(w.root, name)
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        tokenizer = xlmr_tokenizer(os.path.join(directory, "sentencepiece.bpe.model"))
        xlmr(name, tokenizer).save_pretrained(directory)
        tokenizer.save_pretrained(directory)
        w.finish(directory)

    @model
    def static_mean():
        t = Tokenizer.from_str(bert_tokenizer(True)._tokenizer.to_str())
        w.save("static-mean", [randomize(st.StaticEmbedding(t, embedding_dim=24), "static-mean")])

    @model
    def static_normalized():
        with tempfile.TemporaryDirectory() as scratch:
            t = xlmr_tokenizer(os.path.join(scratch, "m"))._tokenizer
        t.no_truncation()
        w.save("static-normalized", [randomize(st.StaticEmbedding(t, embedding_dim=20), "static-normalized"), Normalize()])

    def bilstm(name, n_layers, tokenizer, more=(), pooling="max", bidirectional=True):
        r = np.random.default_rng(zlib.crc32(name.encode()))
        table = r.normal(0, 0.7, (len(tokenizer), 18)).astype(np.float32)
        lstm = randomize(st.LSTM(18, 11, num_layers=n_layers, bidirectional=bidirectional), name)
        w.save(name, [st.WordEmbeddings(tokenizer, table, update_embeddings=True, max_seq_length=MAX_LENGTH), lstm,
                      st.Pooling(22 if bidirectional else 11, pooling), *more])

    @model
    def bilstm_max():
        bilstm("bilstm-max", 1, bert_tokenizer(True))

    @model
    def bilstm_deep():
        with tempfile.TemporaryDirectory() as scratch:
            tokenizer = xlmr_tokenizer(os.path.join(scratch, "m"))
        bilstm("bilstm-deep", 2, tokenizer, [dense("bilstm-deep", 22, 16, torch.nn.Identity()), Normalize()])

    @model
    def lstm_forward():
        bilstm("lstm-forward", 1, bert_tokenizer(False), pooling="mean", bidirectional=False)

    def static(name, edit, dim=16, **options):
        t = Tokenizer.from_str(bert_tokenizer(True)._tokenizer.to_str())
        w.save(name, [randomize(st.StaticEmbedding(t, embedding_dim=dim), name)], edit, **options)

    @model
    def static_truncation():  # the tokenizer's own truncation, which counts no special tokens
        def truncate(d):
            at = os.path.join(d, read_json(d, "modules.json")[0]["path"])
            value = read_json(at, "tokenizer.json")
            value["truncation"] = {"direction": "Right", "max_length": 12, "strategy": "LongestFirst", "stride": 0}
            write_json(value, at, "tokenizer.json")
        static("static-truncation", truncate)

    def model2vec(d, tensors, normalize=False):
        """The layout that model2vec writes, with its names of tensors."""
        at = os.path.join(d, read_json(d, "modules.json")[0]["path"])
        table = load_file(os.path.join(at, "model.safetensors"))["embedding.weight"].numpy()
        made = tensors(table, np.random.default_rng(7))
        for file in os.listdir(at):
            if file != "tokenizer.json":
                os.remove(os.path.join(at, file))
        save_file({k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in made.items()}, os.path.join(d, "model.safetensors"))
        if at != d and at != os.path.join(d, ""):
            shutil.move(os.path.join(at, "tokenizer.json"), os.path.join(d, "tokenizer.json"))
        write_json({"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": normalize,
                    "embedding_dtype": made["embeddings"].dtype.name}, d, "config.json")
        kinds = ["StaticEmbedding"] + ["Normalize"] * normalize
        write_json([{"idx": i, "name": str(i), "path": "." if i == 0 else f"{i}_{kind}",
                     "type": "sentence_transformers.models." + kind} for i, kind in enumerate(kinds)], d, "modules.json")

    def shared_rows(table, r):
        rows = 60
        return {"embeddings": table[:rows], "mapping": r.integers(0, rows, len(table)),
                "weights": r.uniform(0.1, 2, len(table))}

    @model
    def model2vec_mapping():  # vocabulary quantization: rows shared, a weight for each token
        from model2vec import StaticModel  # 0.10; its own library's vectors, which leave unknown tokens out
        static("model2vec-mapping", lambda d: model2vec(d, shared_rows, True))
        directory = os.path.join(w.root, "model2vec-mapping")
        vectors = StaticModel.from_pretrained(directory).encode(SENTENCES, max_length=None)
        np.save(os.path.join(directory, "model2vec.npy"), vectors.astype(np.float32))

    @model
    def model2vec_weights():
        static("model2vec-weights", lambda d: model2vec(d, lambda t, r: {
            "embeddings": t.astype(np.float16), "weights": r.uniform(0.1, 2, len(t)).astype(np.float32)}))

    @model
    def model2vec_int8():
        static("model2vec-int8", lambda d: model2vec(d, lambda t, r: {
            "embeddings": np.clip(np.round(t * 40), -127, 127).astype(np.int8)[:80],
            "mapping": r.integers(0, 80, len(t)).astype(np.int32), "weights": r.uniform(0.1, 2, len(t)).astype(np.float32)}))

    @model
    def truncate_dim():  # saved with the model, applied by encode
        bert_model(w, "truncate-dim", options={"truncate_dim": 7}, more=[Normalize()])

    def shard(d, pickled=False):
        """Divides model.safetensors into three files with an index, as large models have them."""
        tensors = load_file(os.path.join(d, "model.safetensors"))
        os.remove(os.path.join(d, "model.safetensors"))
        stem, end = ("pytorch_model", "bin") if pickled else ("model", "safetensors")
        places = {name: f"{stem}-{i % 3 + 1:05}-of-00003.{end}" for i, name in enumerate(sorted(tensors))}
        for file in sorted(set(places.values())):
            part = {k: v.contiguous() for k, v in tensors.items() if places[k] == file}
            if pickled:
                torch.save(part, os.path.join(d, file))
            else:
                save_file(part, os.path.join(d, file), {"format": "pt"})
        total = sum(t.numel() * t.element_size() for t in tensors.values())
        write_json({"metadata": {"total_size": total}, "weight_map": places}, d, f"{stem}.{end}.index.json")

    @model
    def pool_sharded():
        bert_model(w, "pool-sharded", edit=shard)

    @model
    def pool_sharded_pickle():
        bert_model(w, "pool-sharded-pickle", edit=lambda d: shard(d, True))

    @model
    def pool_norm_dropout():  # LayerNorm and Dropout behind the pooling
        norm = randomize(st.LayerNorm(12), "pool-norm-dropout/norm")
        bert_model(w, "pool-norm-dropout", more=[norm, st.Dropout(0.3)])

    @model
    def weighted_layers():
        def published(d):
            at = os.path.join(d, read_json(d, "modules.json")[1]["path"])
            write_json({"word_embedding_dimension": 24, "layer_start": 1, "num_hidden_layers": 2}, at, "config.json")
        name, tokenizer = "weighted-layers", bert_tokenizer(True)
        body = bert(name, tokenizer, output_hidden_states=True)
        layers = st.WeightedLayerPooling(24, num_hidden_layers=2, layer_start=1,
                                         layer_weights=torch.nn.Parameter(torch.tensor([0.3, 1.9])))
        w.save(name, [w.transformer(body, tokenizer), layers, st.Pooling(24, "mean")], published)

    @model
    def cnn():
        name, tokenizer = "cnn", bert_tokenizer(True)
        table = np.random.default_rng(zlib.crc32(name.encode())).normal(0, 0.7, (len(tokenizer), 10)).astype(np.float32)
        w.save(name, [st.WordEmbeddings(tokenizer, table, update_embeddings=True, max_seq_length=MAX_LENGTH),
                      randomize(st.CNN(10, out_channels=7, kernel_sizes=[1, 3, 5]), name), st.Pooling(21, ["max", "mean"])])

    def two_tasks(name, old=False):
        """A Router of two static models, and its vectors for queries."""
        def asym(d):  # the layout of sentence-transformers before 5
            entries = read_json(d, "modules.json")
            at = os.path.join(d, entries[0]["path"])
            value = read_json(at, "router_config.json")
            os.remove(os.path.join(at, "router_config.json"))
            value["types"] = {k: "sentence_transformers.models." + v.split(".")[-1] for k, v in value["types"].items()}
            value["parameters"] = {"allow_empty_key": True}
            write_json(value, at, "config.json")
            entries[0]["type"] = "sentence_transformers.models.Asym"
            write_json(entries, d, "modules.json")
        t = Tokenizer.from_str(bert_tokenizer(True)._tokenizer.to_str())
        routes = {task: [randomize(st.StaticEmbedding(t, embedding_dim=5), f"{name}/{task}")]
                  for task in ("query", "document")}
        routes["query"].append(dense(name, 5, 5, torch.nn.Tanh()))
        router = st.Router(routes, default_route=None if old else "document")
        w.save(name, [router, Normalize()], asym if old else None, prompts={"query": "the question: ", "passage": "a text: "})
        model = SentenceTransformer(os.path.join(w.root, name), device="cpu", local_files_only=True)
        np.save(os.path.join(w.root, name, "query.npy"), model.encode_query(SENTENCES, batch_size=1, show_progress_bar=False))
        np.save(os.path.join(w.root, name, "document.npy"), model.encode_document(SENTENCES, batch_size=1, show_progress_bar=False))

    @model
    def router():
        two_tasks("router")

    @model
    def asym():
        two_tasks("asym", True)

    for name, make in made.items():
        if not wanted or name in wanted:
            make()


def main():
    root, wanted = sys.argv[1], sys.argv[2:]
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    os.makedirs(root, exist_ok=True)
    with open(os.path.join(root, "sentences.txt"), "w") as f:
        f.write("".join(s + "\n" for s in SENTENCES))
    with torch.no_grad():
        make_models(Writer(root), set(wanted))


if __name__ == "__main__":
    main()
