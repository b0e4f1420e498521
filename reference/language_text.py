"""The text that language identification learns from, and the texts it is measured on: a language's code, a tab and a
sentence a line.

    language_text.py train DATA        sentences of DATA/parallel/XX-YY/train-{tatoeba,anki,tico,tldr}.tsv.gz but for
                                       those held out
    language_text.py dev DATA          of the Tatoeba and Anki files, a tenth of a language's sentences, at most 500
    language_text.py test-NAME DATA    DATA/parallel/en-XX/test-NAME.tsv.gz, XX's side: tatoeba, ntrex, flores

Tatoeba's and Anki's sentences are CC BY 2.0 FR, TICO-19 is CC0, tldr CC BY 4.0; files under other licenses are left
out.
No sentence of the test files is trained on, in whichever language.

Two files are not of the language that they are named after. That of Malay (ms) has Tatoeba's macrolanguage, Indonesian
and Malay: a sentence that the Indonesian file has, too, is Indonesian. That of Slovenian (sl) has Slovak for training
and both for testing: in training it is sk, in test-tatoeba what has a letter that only Slovak has is. A sentence of a
test that several languages' files have has all of their codes, its file's own first."""

import glob
import gzip
import os
import random
import sys

KINDS = ("train-tatoeba", "train-anki", "train-tico", "train-tldr")
SHORT_SENTENCES = ("train-tatoeba", "train-anki")
SLOVAK = set("áéíóúýäôľĺŕňťďÁÉÍÓÚÝĽŇŤĎ")
MAX_SENTENCES, MAX_OTHERS, MAX_DEV = 20000, 5000, 500


def rows(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if len(columns) > 1:
                yield columns


def files(data, pattern):
    """(path, its two languages), in order."""
    for path in sorted(glob.glob(f"{data}/parallel/*/{pattern}.tsv.gz")):
        yield path, os.path.basename(os.path.dirname(path)).split("-")


def kind_of(path):
    return os.path.basename(path).split(".")[0]


def read_training(data):
    """sentences[language][sentence] = the kind of file it came from."""
    sentences = {}
    for path, languages in files(data, "train-*"):
        if kind_of(path) not in KINDS:
            continue
        for columns in rows(path):
            for language, sentence in zip(languages, columns):
                sentences.setdefault("sk" if language == "sl" else language, {}).setdefault(sentence, kind_of(path))
    return sentences


def read_tests(data, name):
    return [(language, columns[i]) for path, languages in files(data, f"test-{name}") for columns in rows(path)
            for i, language in enumerate(languages)]


def print_training(data, want_dev):
    sentences = read_training(data)
    held_out = {sentence for _, sentence in read_tests(data, "*")}
    indonesian = set(sentences["id"])
    for language in sorted(sentences):
        kinds = sentences[language]
        left = [s for s in sorted(kinds) if s not in held_out and not (language == "ms" and s in indonesian)]
        random.Random(language).shuffle(left)
        short = [s for s in left if kinds[s] in SHORT_SENTENCES]
        others = [s for s in left if kinds[s] not in SHORT_SENTENCES]
        n_dev = min(MAX_DEV, len(short) // 10)
        chosen = short[:n_dev] if want_dev else short[n_dev:][:MAX_SENTENCES] + others[:MAX_OTHERS]
        for sentence in chosen:
            print(language, sentence, sep="\t")


def print_test(data, name):
    tests = read_tests(data, name)
    of = {}
    sentences = read_training(data)
    for language, known in sentences.items():
        for sentence in known:
            of.setdefault(sentence, set()).add(language)
    for language, sentence in tests:
        of.setdefault(sentence, set()).add(language)
    printed = set()
    for language, sentence in tests:
        codes = [language] + sorted(of[sentence] - {language})
        if language == "sl" and "sk" not in codes and SLOVAK & set(sentence):
            codes.append("sk")
        if language != "en" and (language, sentence) not in printed:
            print(",".join(codes), sentence, sep="\t")
        printed.add((language, sentence))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    what, data = sys.argv[1:]
    if what in ("train", "dev"):
        print_training(data, what == "dev")
    elif what.startswith("test-"):
        print_test(data, what[len("test-"):])
    else:
        sys.exit(__doc__)


main()
