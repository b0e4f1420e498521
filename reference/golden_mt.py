"""Writes tests/golden/mt/scores.txt: BLEU, chrF and METEOR that src/eval/ must reproduce, of the texts that lie there.

    python reference/golden_mt.py tests/golden/mt

needs sacrebleu and nltk (made with sacrebleu 2.6.0 and nltk 3.10). Each record is a line of settings and figures of the
corpus, and a line of the sentences' scores; "refs" is how many of the references are taken:

    bleu    TOKENS SMOOTHING VALUE LOWERCASE EFFECTIVE REFS  SCORE PENALTY  correct 1..4  total 1..4  LENGTH REF_LENGTH
    chrf    CHAR_ORDER WORD_ORDER BETA LOWERCASE WHITESPACE REFS  SCORE
    meteor  STEMS SYNONYMS REFERENCE

meteor's second line has SCORE/MATCHES/CHUNKS of each sentence against one reference. NLTK aligns greedily: it may find
more chunks than need be. Its WordNet is stood in for by synonyms.tsv, looked up by stem.
"""

import os
import sys

from nltk.stem.snowball import SnowballStemmer
from nltk.translate import meteor_score
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

folder = sys.argv[1]


def lines_of(name):
    with open(os.path.join(folder, name), encoding="utf8", newline="\n") as file:
        return file.read().split("\n")[:-1]


hypotheses = lines_of("hypotheses.txt")
references = [lines_of(f"reference-{r}.txt") for r in (1, 2, 3)]


def row(values):
    return " ".join(repr(float(v)) for v in values)


def bleu(out, tokens, smoothing, value, lowercase, effective, n):
    value_or_none = None if value < 0 else value
    options = dict(tokenize=tokens, smooth_method=smoothing, smooth_value=value_or_none, lowercase=lowercase)
    r = BLEU(effective_order=effective, **options).corpus_score(hypotheses, references[:n])
    added = 0 if smoothing != "add-k" else 1 if value < 0 else value
    counts = [[c - added * (i > 0) for i, c in enumerate(x)] for x in (r.counts, r.totals)]
    each = BLEU(effective_order=True, **options)
    print("bleu", tokens, smoothing, value, int(lowercase), int(effective), n, row([r.score, r.bp]),
          *(round(c) for x in counts for c in x), r.sys_len, r.ref_len, file=out)
    print(row(each.sentence_score(h, [x[i] for x in references[:n]]).score for i, h in enumerate(hypotheses)), file=out)


def chrf(out, chars, words, beta, lowercase, whitespace, n):
    m = CHRF(char_order=chars, word_order=words, beta=beta, lowercase=lowercase, whitespace=whitespace)
    score = m.corpus_score(hypotheses, references[:n]).score
    print("chrf", chars, words, beta, int(lowercase), int(whitespace), n, row([score]), file=out)
    print(row(m.sentence_score(h, [x[i] for x in references[:n]]).score for i, h in enumerate(hypotheses)), file=out)


class Word:
    def __init__(self, word):
        self.word = word

    def name(self):
        return self.word


class Set:
    def __init__(self, words):
        self.words = words

    def lemmas(self):
        return [Word(w) for w in self.words]


class Synonyms:
    def __init__(self, stem):
        rows = [line.split("\t") for line in lines_of("synonyms.tsv") if line and not line.startswith("#")]
        self.sets = [Set([stem(w) for w in words]) for words in rows]

    def synsets(self, word):
        return [s for s in self.sets if word in s.words]


class NoStems:
    def stem(self, word):
        return word


class NoSynonyms:
    def synsets(self, word):
        return []


def meteor(out, stems, synonyms, reference):
    tokenize = Tokenizer13a()
    stemmer = SnowballStemmer("english") if stems else NoStems()
    wordnet = Synonyms(stemmer.stem) if synonyms else NoSynonyms()
    print("meteor", int(stems), int(synonyms), reference + 1, file=out)
    figures = []
    for h, r in zip(hypotheses, references[reference]):
        h, r = tokenize(h.rstrip()).split(), tokenize(r.rstrip()).split()
        score = meteor_score.single_meteor_score(r, h, stemmer=stemmer, wordnet=wordnet)
        numbered = meteor_score._generate_enums(h, r)
        matches, _, _ = meteor_score._enum_align_words(*numbered, stemmer=stemmer, wordnet=wordnet)
        figures.append(f"{100 * score!r}/{len(matches)}/{meteor_score._count_chunks(matches) if matches else 0}")
    print(*figures, file=out)


def main():
    with open(os.path.join(folder, "scores.txt"), "w", encoding="utf8") as out:
        for n in (1, 2, 3):
            for tokens in ("13a", "intl", "zh", "char", "none"):
                bleu(out, tokens, "exp", -1, False, False, n)
            for smoothing in ("floor", -1), ("floor", 0.01), ("floor", 0), ("add-k", -1), ("add-k", 0.5), ("none", -1):
                bleu(out, "13a", *smoothing, False, False, n)
            bleu(out, "13a", "exp", -1, True, True, n)
            bleu(out, "intl", "exp", -1, True, False, n)
            for options in ((6, 0, 2), (6, 2, 2), (6, 0, 1), (3, 1, 3), (1, 0, 0.5)):
                for lowercase in (False, True):
                    chrf(out, *options, lowercase, False, n)
            chrf(out, 6, 2, 2, False, True, n)
        for reference in (0, 1, 2):
            for stems in (False, True):
                for synonyms in (False, True):
                    meteor(out, stems, synonyms, reference)


main()
