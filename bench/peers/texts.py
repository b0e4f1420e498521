"""Draws test sentences from a data folder (parallel/XX-YY/test-*.tsv.gz).

    python texts.py agree DATA OUT [N]    N sentences (2,000) of every language there, in turn
    python texts.py short DATA OUT        both columns of en-de/test-tatoeba: everyday sentences
    python texts.py long  DATA OUT        both columns of en-de/test-ntrex, joined by fours
    python texts.py train DATA OUT N [M]  N pairs of en-de's training files, no source or target twice, of at most M characters
    python texts.py words DATA OUT        both columns of every training file, in lower case, words separated by single blanks
"""

import collections
import glob
import gzip
import os
import sys


def columns(path):
    """The two columns of a file as lists."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t")[:2] for line in f]
    return [r[0] for r in rows], [r[1] for r in rows]


def every_language(data, n):
    """Rounds over all (language, file) columns, so that each gives alike; no sentence twice."""
    pools = collections.OrderedDict()
    for path in sorted(glob.glob(os.path.join(data, "parallel", "*", "test-*.tsv.gz"))):
        pair = os.path.basename(os.path.dirname(path)).split("-")
        for language, column in zip(pair, columns(path)):
            pools.setdefault(language, []).append(iter(column[::7]))
    seen, out = set(), []
    while len(out) < n and any(pools.values()):
        for language in list(pools):
            if not pools[language]:
                continue
            source = pools[language].pop(0)
            sentence = next(source, None)
            if sentence is None:
                continue
            pools[language].append(source)
            if sentence not in seen and len(out) < n:
                seen.add(sentence)
                out.append(sentence)
    return out


def training_pairs(data, n, longest):
    """Unique on both sides and short enough for every length limit, so that both trainers draw the same batches."""
    seen, rows = set(), []
    for path in sorted(glob.glob(os.path.join(data, "parallel", "en-de", "train-*.tsv.gz"))):
        if path.endswith("train-dict.tsv.gz"):
            continue
        for source, target in zip(*columns(path)):
            if source in seen or target in seen or not source.strip() or not target.strip():
                continue
            if len(source) > longest or len(target) > longest or source != source.strip() or target != target.strip():
                continue
            seen.update((source, target))
            rows.append(source + "\t" + target)
    return rows[::max(1, len(rows) // n)][:n]


def words(data):
    """Every line of every training file, one column behind the other."""
    lines = []
    for path in sorted(glob.glob(os.path.join(data, "parallel", "*", "train-*.tsv.gz"))):
        for column in columns(path):
            lines += [" ".join(line.lower().split()) for line in column]
    return [line for line in lines if line]


def main():
    kind, data, path = sys.argv[1:4]
    if kind == "agree":
        texts = every_language(data, int(sys.argv[4]) if len(sys.argv) > 4 else 2000)
    elif kind == "train":
        texts = training_pairs(data, int(sys.argv[4]), int(sys.argv[5]) if len(sys.argv) > 5 else 200)
    elif kind == "words":
        texts = words(data)
    elif kind == "short":
        source, target = columns(os.path.join(data, "parallel", "en-de", "test-tatoeba.tsv.gz"))
        texts = source + target
    else:
        texts = []
        for column in columns(os.path.join(data, "parallel", "en-de", "test-ntrex.tsv.gz")):
            texts += [" ".join(column[i:i + 4]) for i in range(0, len(column) - 3, 4)]
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(t + "\n" for t in texts))
    print(f"{len(texts)} texts, {sum(map(len, texts)) / len(texts):.0f} characters on average", file=sys.stderr)


if __name__ == "__main__":
    main()
