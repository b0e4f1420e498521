"""Says how fast the original word2vec (Mikolov et al., word2vec.c) trains; to be read beside gensim_bench.py.

    cc -O3 -march=native -funroll-loops word2vec.c -o word2vec -lm -pthread
    python word2vec_bench.py WORD2VEC CORPUS [--threads 2] [--dim 100] [--window 5] [--negative 5] [--sample 1e-3] [--alpha 0.01]
                             [--epochs 1] [--min-count 1] [--cbow] [--save FILE]

The program's own figure is words a second of processor time, line ends included, so the wall clock is read here, at the first and
the last of its progress lines (one each 10,000 words of a thread): counting the vocabulary, the table of negatives and writing
the vectors are not in train_s, reading and splitting the text are. raw_words are the corpus's tokens over all epochs, without the
word </s> that the program counts at each line end, but with those that subsampling drops. vocab_s is all before the first line:
counting, first vectors, tables. cpu_s comes from the program's own figure.

--save keeps the vectors (word2vec's binary format). The program has no seed, and does not save its output weights.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from gensim_bench import options, report


def main():
    parser = options(first=("word2vec",))
    parser.add_argument("--save", metavar="FILE")
    o = parser.parse_args()
    with open(o.corpus, "rb") as corpus:
        n_tokens = sum(len(line.split()) for line in corpus)
    with tempfile.TemporaryDirectory() as work:  # the program takes paths of at most 99 bytes
        os.symlink(os.path.abspath(o.corpus), os.path.join(work, "corpus"))
        command = [os.path.abspath(o.word2vec), "-train", "corpus", "-output", "vectors", "-binary", 1, "-hs", 0, "-debug", 2,
                   "-size", o.dim, "-window", o.window, "-negative", o.negative, "-sample", o.sample, "-alpha", o.alpha,
                   "-iter", o.epochs, "-min-count", o.min_count, "-threads", o.threads, "-cbow", int(o.cbow)]
        start = time.perf_counter()
        run = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, cwd=work)
        seen, at, pace, n_counted = [], b"", 0, 0
        while piece := os.read(run.stdout.fileno(), 65536):
            now = time.perf_counter()
            at = (at + piece)[-4000:]
            if progress := re.findall(rb"Progress: ([0-9.]+)%", at):
                seen.append((now, float(progress[-1]) / 100))
            if counted := re.findall(rb"Words in train file: (\d+)\n", at):
                n_counted = int(counted[-1])
            if paces := re.findall(rb"Words/thread/sec: ([0-9.]+)k", at):
                pace = float(paces[-1]) * 1e3
        if run.wait() or len(seen) < 2:
            sys.exit(f"word2vec failed or the corpus is too small to time ({run.returncode})")
        if o.save:
            shutil.move(os.path.join(work, "vectors"), o.save)
    (first, before), (last, after) = seen[0], seen[-1]
    train_s = (last - first) / (after - before)
    raw = n_tokens * o.epochs
    report(f"word2vec.c {'cbow' if o.cbow else 'skip-gram'}", "file", o.threads, o.dim, o.window, o.negative, o.epochs,
           first - start, train_s, n_counted * o.epochs / pace, raw, round(raw / train_s), "-", "-")


if __name__ == "__main__":
    main()
