"""Milliseconds a query of FAISS's IndexFlatIP, for comparison with bench_approximate's exact search of the same rows.

    python query_bench.py VECTORS N DIM
"""

import sys
import time

import faiss
import numpy as np


def main():
    path, n, dim = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rows = np.fromfile(path, dtype=np.float32, count=(1000 + n) * dim).reshape(-1, dim)
    faiss.omp_set_num_threads(2)
    index = faiss.IndexFlatIP(dim)
    index.add(rows[1000:])
    start = time.perf_counter()
    for query in range(20):
        index.search(rows[query : query + 1], 10)
    print(f"FAISS {faiss.__version__}\t{(time.perf_counter() - start) / 20 * 1e3:.1f} ms a query")


main()
