"""Times clustering: `calque cluster` with either first pass against sentence-transformers' community_detection, and compares the clusters.

    python cluster_bench.py CALQUE VECTORS N DIM

VECTORS: f32 numbers alone, DIM in a row, of which the first N are clustered (threshold 0.75, 10 or more, two threads). The program is
timed whole, the peer without its start. TSV on standard output.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from sentence_transformers.util import community_detection


def main():
    program, path, n, dim = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    vectors = np.fromfile(path, dtype=np.float32, count=n * dim).reshape(-1, dim)
    torch.set_num_threads(2)
    start = time.perf_counter()
    theirs = community_detection(vectors, threshold=0.75, min_community_size=10)
    print(f"side\tseconds\tclusters\tmembers\tin other places\nsentence-transformers\t{time.perf_counter() - start:.1f}\t"
          f"{len(theirs)}\t{sum(map(len, theirs))}\t")
    want = [(i, row) for i, members in enumerate(theirs) for row in members]
    with tempfile.TemporaryDirectory() as work:
        np.save(os.path.join(work, "v.npy"), vectors)
        for first_pass in ("f32", "int8"):
            start = time.perf_counter()
            text = subprocess.run([program, "cluster", os.path.join(work, "v.npy"), "--first-pass", first_pass, "--threads", "2"],
                                  check=True, capture_output=True, text=True).stdout
            seconds = time.perf_counter() - start
            got = [(int(c) - 1, int(row) - 1) for c, _, row in (line.split("\t") for line in text.splitlines())]
            print(f"calque {first_pass}\t{seconds:.1f}\t{got[-1][0] + 1 if got else 0}\t{len(got)}\t"
                  f"{sum(a != b for a, b in zip(got, want)) + abs(len(got) - len(want))}")


main()
