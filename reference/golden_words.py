"""Writes vocabularies of whole words into tests/golden/token, and the ids that Hugging Face's `tokenizers` gives with them.

    python reference/golden_words.py tests/golden/token sample/train

words-marked is what calque must make of the same text by itself: every normalization and cut here is Hugging Face's, only the
counting is Python's. Its text is sentences.json, already there, then both columns of each file of sample/train, in the order of
their names; sample.json has the ids of the second column of the first line and of every 70th after it.
words-plain and words-split are vocabularies that others may have. Needs tokenizers.
"""
import collections
import glob
import gzip
import json
import os
import re
import sys

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from tokenizers.decoders import Metaspace

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
BLANK = "\u2581"


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


def count(normalizer, pre_tokenizer, sentences, size):
    """The most frequent words behind the special tokens; of words as frequent, the first by their bytes."""
    counts = collections.Counter()
    for sentence in sentences:
        for part in re.split("|".join(SPECIALS), sentence):
            normal = normalizer.normalize_str(part) if normalizer else part
            counts.update(word for word, _ in pre_tokenizer.pre_tokenize_str(normal))
    words = sorted(counts, key=lambda w: (-counts[w], w.encode()))[: size - len(SPECIALS)]
    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(SPECIALS + words)}, unk_token="<unk>"))
    t.add_special_tokens(SPECIALS)
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizer
    t.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 0))
    return t


def main():
    root, sample = sys.argv[1:]

    def finish(name, tokenizer):
        os.makedirs(os.path.join(root, name), exist_ok=True)
        write_json(os.path.join(root, name, "tokenizer.json"), json.loads(tokenizer.to_str()))
        write_json(os.path.join(root, name, "ids.json"), [e.ids for e in tokenizer.encode_batch(sentences)])

    with open(os.path.join(root, "sentences.json"), encoding="utf-8") as f:
        sentences = json.load(f)
    lines = []
    for path in sorted(glob.glob(os.path.join(sample, "*.tsv.gz"))):
        with gzip.open(path, "rt", encoding="utf-8") as f:
            lines.append([line.rstrip("\n").split("\t") for line in f])
    text = sentences + [column for file in lines for line in file for column in line]
    some = [line[1] for file in lines for line in file[::70]]

    normal = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("\u00ad", ""), normalizers.Replace("\u200b", " "), normalizers.Replace("\ufeff", " "),
                                   normalizers.Replace(BLANK, " "), normalizers.Replace(Regex("\\s+"), " "), normalizers.Strip()])
    marks = pre_tokenizers.Split(Regex(BLANK + "?(?!" + BLANK + ")[\\p{P}\\p{S}]"), "isolated")
    t = count(normal, pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), marks]), text, 2500)
    t.decoder = Metaspace()
    finish("words-marked", t)
    encoded = t.encode_batch(some)
    write_json(os.path.join(root, "words-marked", "sample.json"), [e.ids for e in encoded])
    # What is known comes back as it was.
    known = [(e, s) for e, s in zip(encoded, some) if 3 not in e.ids]
    assert len(known) > 50 and all(t.decode(e.ids) == normal.normalize_str(s) for e, s in known)
    n, unknown = sum(len(e.ids) - 2 for e in encoded), sum(e.ids.count(3) for e in encoded)
    print(f"{t.get_vocab_size()} words, {len(encoded)} sentences, {len(known)} of them known, {unknown} of {n} words unknown", file=sys.stderr)

    finish("words-plain", count(normalizers.Lowercase(), pre_tokenizers.Whitespace(), sentences, 500))
    finish("words-split", count(None, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), marks]), sentences, 300))


if __name__ == "__main__":
    main()
