"""F1 of sentences' ends, of calque and its peers: sentences.py PROGRAM DATA. See bench/sentences.sh."""

import gzip
import re
import subprocess
import sys

LANGUAGES = "de en es fr ja ru th tr zh".split()
NO_BLANKS = ("ja", "zh")
REGEX = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"”»')]))\s+(?=[^a-zа-яà-ÿşğıç])")


def ends(sentences):
    """Where sentences end, in characters that are not blanks."""
    found, n = set(), 0
    for sentence in sentences:
        n += len("".join(sentence.split()))
        found.add(n)
    return found


def f1(gold, found):
    gold, found = ends(gold), ends(found)
    return 200 * len(gold & found) / (len(gold) + len(found))


def by_regex(text, language):
    return re.split(r"(?<=[。！？!?])", text) if language in NO_BLANKS else REGEX.split(text)


def by_calque(program):
    def split(text, language):
        printed = subprocess.run([program, "data", "sentences", "--quiet", "--language", language], input=text,
                                 capture_output=True, text=True, check=True).stdout
        return [line.split("\t")[3] for line in printed.splitlines()]
    return split


def by_pysbd(text, language):
    import pysbd
    return pysbd.Segmenter(language=language, clean=False).segment(text)


def by_sentence_splitter(text, language):
    from sentence_splitter import SentenceSplitter
    return SentenceSplitter(language=language).split(text)


def by_blingfire(text, language):
    import blingfire
    return blingfire.text_to_sentences(text).split("\n")


def by_crfcut(text, language):
    from pythainlp.tokenize import sent_tokenize
    return sent_tokenize(text, engine="crfcut")


def main(program, data):
    splitters = [("calque", by_calque(program), LANGUAGES), ("regex", by_regex, LANGUAGES),
                 ("pySBD", by_pysbd, [l for l in LANGUAGES if l not in ("th", "tr")]),
                 ("sentence-splitter", by_sentence_splitter, [l for l in LANGUAGES if l not in ("th", "ja", "zh")]),
                 ("Bling Fire", by_blingfire, LANGUAGES), ("crfcut", by_crfcut, ["th"])]
    print("", *LANGUAGES, sep="\t")
    for name, split, languages in splitters:
        cells = []
        for language in LANGUAGES:
            with gzip.open(f"{data}/splits/{language}.dev.txt.gz", "rt", encoding="utf-8") as lines:
                gold = [line.strip() for line in lines if line.strip()]
            text = ("" if language in NO_BLANKS else " ").join(gold)
            cells.append("%.1f" % f1(gold, split(text, language)) if language in languages else "–")
        print(name, *cells, sep="\t", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
