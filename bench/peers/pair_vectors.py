"""Makes vectors of twice the dimensions out of pairs of real ones, for sizes of which there is no real file.

    python pair_vectors.py VECTORS DIM N OUT.npy SEED

VECTORS: f32 numbers alone, DIM in a row. A row of OUT is two random rows of it beside each other.
"""

import sys

import numpy as np


def main():
    path, dim, n, out, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    rows = np.memmap(path, dtype=np.float32, mode="r").reshape(-1, dim)
    random = np.random.default_rng(seed)
    made = np.lib.format.open_memmap(out, mode="w+", dtype=np.float32, shape=(n, 2 * dim))
    for first in range(0, n, 50000):
        count = min(50000, n - first)
        for half in range(2):
            made[first : first + count, half * dim : (half + 1) * dim] = rows[random.integers(len(rows), size=count)]


main()
