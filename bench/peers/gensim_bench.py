"""Trains word vectors with gensim's Word2Vec and says how fast; with --save, what an evaluator needs to work out the loss.

    python -m venv VENV && VENV/bin/pip install gensim==4.4.0
    VENV/bin/python gensim_bench.py CORPUS [--mode file|iterable] [--threads 2] [--dim 100] [--window 5] [--negative 5]
                                    [--sample 1e-3] [--alpha 0.01] [--epochs 1] [--min-count 1] [--seed 1] [--cbow] [--save PREFIX]

CORPUS has one sentence or document a line, tokens separated by blanks; gensim cuts lines after 10,000 tokens.
  file      gensim reads and splits the file itself, without Python's lock: its fastest way
  iterable  gensim's LineSentence, read by one Python thread that hands out jobs of 10,000 words: its usual way

A line of TSV on standard output. Seconds are those of Word2Vec.train() on the wall: reading, splitting and subsampling are in
them, the count of the vocabulary (vocab_s) and the first vectors are not. cpu_s are the processor's seconds of the same stretch,
all threads together: on a machine that is not idle, the truer figure.
  raw_words/s        tokens read, over all epochs, also those that the subsampling or --min-count drops, a second
  effective_words/s  only tokens that are left and trained on: what gensim calls words/s in its log

--save writes PREFIX.in.npy (vectors), PREFIX.out.npy (output weights), both f32 [words, dim], and PREFIX.vocab: WORD TAB COUNT of
each row in their order.
"""

import argparse
import os
import sys
import time

COLUMNS = ("peer", "mode", "threads", "dim", "window", "negative", "epochs", "vocab_s", "train_s", "cpu_s",
           "raw_words", "raw_words/s", "effective_words", "effective_words/s")


# The peers' common options; first: what stands before the corpus.
def options(first=()):
    parser = argparse.ArgumentParser()
    for name in first:
        parser.add_argument(name)
    parser.add_argument("corpus")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--negative", type=int, default=5)
    parser.add_argument("--sample", type=float, default=1e-3)
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--min-count", type=int, default=1)
    parser.add_argument("--cbow", action="store_true")
    return parser


def report(*values):
    print("\t".join(COLUMNS))
    print("\t".join(f"{v:.2f}" if isinstance(v, float) else str(v) for v in values))


def main():
    parser = options()
    parser.add_argument("--mode", choices=("file", "iterable"), default="file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", metavar="PREFIX")
    o = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads are gensim's own

    import gensim
    import numpy as np
    from gensim.models import word2vec

    if word2vec.FAST_VERSION < 0:
        sys.exit("gensim has no compiled routines here: it would be some 50 times slower than it can be")
    corpus = {"corpus_file": o.corpus} if o.mode == "file" else {"corpus_iterable": word2vec.LineSentence(o.corpus)}
    model = word2vec.Word2Vec(vector_size=o.dim, window=o.window, negative=o.negative, sample=o.sample, alpha=o.alpha,
                              min_count=o.min_count, seed=o.seed, workers=o.threads, sg=not o.cbow)
    start = time.perf_counter()
    model.build_vocab(**corpus)
    vocab_s = time.perf_counter() - start
    start, cpu_start = time.perf_counter(), time.process_time()
    effective, raw = model.train(**corpus, total_examples=model.corpus_count, total_words=model.corpus_total_words,
                                 epochs=o.epochs)
    train_s, cpu_s = time.perf_counter() - start, time.process_time() - cpu_start
    report(f"gensim {gensim.__version__} {'cbow' if o.cbow else 'skip-gram'}", o.mode, o.threads, o.dim, o.window, o.negative,
           o.epochs, vocab_s, train_s, cpu_s, raw, round(raw / train_s), effective, round(effective / train_s))
    if o.save:
        np.save(o.save + ".in.npy", model.wv.vectors.astype(np.float32, copy=False))
        np.save(o.save + ".out.npy", model.syn1neg.astype(np.float32, copy=False))
        with open(o.save + ".vocab", "w", encoding="utf-8", newline="\n") as vocabulary:
            for word in model.wv.index_to_key:
                vocabulary.write(f"{word}\t{model.wv.get_vecattr(word, 'count')}\n")


if __name__ == "__main__":
    main()
