"""Ranks documents as Terrier and Lucene do, by plain loops over analyzed text: the yardstick for `calque lexical run`.

    python reference/golden_lexical.py DOCUMENTS.tsv TOPICS.tsv FOLDER [MODEL[:NAME=VALUE]...]

Both files have lines of id, tab and terms separated by blanks; what the terms are was decided before (`calque lexical terms`).
Writes FOLDER/<model>.txt, TREC runs of at most 1000 documents, for the models named (all four, with default parameters). A variant
as dirichlet:mu=10 goes to dirichlet-mu-10.txt.

    python reference/golden_lexical.py tests/golden/lexical/documents.tsv tests/golden/lexical/topics.tsv tests/golden/lexical \
        dirichlet dirichlet-lucene bm25 bm25-terrier dirichlet:mu=10 bm25:k1=0.9:b=0.4

tf, qtf: how often a term is in the document, in the query; dl, avgdl: a document's length, the average; F, n: how often a term is
in the collection, and in how many documents; T, N: all terms and documents.

    dirichlet          Terrier 5, DirichletLM: log2(1 + tf / (mu F/T)) + log2(mu / (dl + mu)), summed over matching terms; mu 2500
    dirichlet-lucene   Lucene 8, LMDirichletSimilarity: qtf max(0, ln(1 + tf / (mu (F+1)/(T+1))) + ln(mu / (dl + mu))); mu 2000
    bm25               Lucene 8, BM25Similarity: qtf ln(1 + (N - n + .5) / (n + .5)) tf / (tf + k1 (1 - b + b dl/avgdl))
    bm25-terrier       Terrier 5, BM25: log2((N - n + .5) / (n + .5)) (k1 + 1) tf / (tf + k1 (1 - b + b dl/avgdl)) 9 qtf / (8 + qtf)

Documents without any term of the query are not ranked; of equal scores the document that stands first in the file comes first.
Each term's score is rounded to 2^-32, so that equal documents are equal whatever the order of the terms; lengths are exact, where
Lucene keeps them in a byte.
"""

import os
import sys
from collections import Counter
from math import log, log2

MODELS = ["dirichlet", "dirichlet-lucene", "bm25", "bm25-terrier"]
UNIT = 2.0**32


def read(path):
    with open(path, encoding="utf8") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    return [(name, terms.split()) for name, terms in rows]


def term_score(model, p, tf, qtf, dl, F, n, T, N):
    if model == "dirichlet":
        return log2(1 + tf / (p["mu"] * F / T)) + log2(p["mu"] / (dl + p["mu"]))
    if model == "dirichlet-lucene":
        score = log(1 + tf / (p["mu"] * (F + 1) / (T + 1))) + log(p["mu"] / (dl + p["mu"]))
        return qtf * max(0, score)
    saturated = tf / (tf + p["k1"] * (1 - p["b"] + p["b"] * dl / (T / N)))
    if model == "bm25":
        return qtf * log(1 + (N - n + 0.5) / (n + 0.5)) * saturated
    return log2((N - n + 0.5) / (n + 0.5)) * (p["k1"] + 1) * saturated * 9 * qtf / (8 + qtf)


def rank(model, p, query, postings, lengths, k):
    T, N = sum(lengths), len(lengths)
    scores = {}
    for term, qtf in Counter(query).items():
        found = postings.get(term, {})
        F, n = sum(found.values()), len(found)
        for document, tf in found.items():
            score = term_score(model, p, tf, qtf, lengths[document], F, n, T, N)
            scores[document] = scores.get(document, 0) + round(score * UNIT)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]


def main():
    documents, topics, folder = read(sys.argv[1]), read(sys.argv[2]), sys.argv[3]
    postings, lengths = {}, [len(terms) for _, terms in documents]
    for number, (_, terms) in enumerate(documents):
        for term, tf in Counter(terms).items():
            postings.setdefault(term, {})[number] = tf
    os.makedirs(folder, exist_ok=True)
    for variant in sys.argv[4:] or MODELS:
        model, *changes = variant.split(":")
        if model not in MODELS:
            sys.exit(f"there is no model '{model}', there are {', '.join(MODELS)}")
        p = {"mu": 2000 if model == "dirichlet-lucene" else 2500, "k1": 1.2, "b": 0.75}
        p.update((name, float(value)) for name, value in (change.split("=") for change in changes))
        name = variant.replace(":", "-").replace("=", "-")
        with open(os.path.join(folder, name + ".txt"), "w", encoding="utf8") as out:
            for topic, query in topics:
                for place, (document, score) in enumerate(rank(model, p, query, postings, lengths, 1000), 1):
                    out.write(f"{topic} Q0 {documents[document][0]} {place} {score / UNIT:.12g} reference\n")


main()
