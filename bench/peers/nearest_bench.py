"""Times nearest neighbors both ways, calque's one pass (first in f32, then in 8 bits) against FAISS's IndexFlatIP searched twice, in turn.

    python nearest_bench.py BENCH_NEAREST VECTORS N DIM [K [THREADS [ROUNDS]]]

VECTORS is a file of f32 numbers alone with DIM in a row (a cache of calque's, say), or "random". Its first 2 N rows, scaled to
length 1, are the two sides. FAISS is asked once for each direction, with all threads, after a search for its best block sizes.
TSV on standard output, and how many neighbors differ.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import faiss
import numpy as np


def sides(path, n, dim):
    if path == "random":
        rows = np.random.default_rng(1).standard_normal((2 * n, dim), dtype=np.float32)
    else:
        rows = np.fromfile(path, dtype=np.float32, count=2 * n * dim).reshape(-1, dim)
        rows = rows[np.random.default_rng(1).permutation(len(rows))]
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    half = len(rows) // 2
    return np.ascontiguousarray(rows[:half]), np.ascontiguousarray(rows[half:2 * half])


def peak_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def search(x, y, k):
    index = faiss.IndexFlatIP(x.shape[1])
    index.add(y)
    return index.search(x, k)[1]


def main():
    program, path, n, dim = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    k, threads, rounds = (int(a) for a in (sys.argv[5:] + ["4", "2", "3"][len(sys.argv) - 5:])[:3])
    x, y = sides(path, n, dim)
    faiss.omp_set_num_threads(threads)
    best = None
    small = x[:4096]
    for queries in (1024, 4096, 16384):
        for columns in (1024, 4096, 16384):
            faiss.cvar.distance_compute_blas_query_bs, faiss.cvar.distance_compute_blas_database_bs = queries, columns
            start = time.perf_counter()
            search(small, y[:65536], k)
            seconds = time.perf_counter() - start
            if best is None or seconds < best[0]:
                best = (seconds, queries, columns)
    faiss.cvar.distance_compute_blas_query_bs, faiss.cvar.distance_compute_blas_database_bs = best[1:]
    print(f"# FAISS {faiss.__version__}, blocks {best[1]} x {best[2]}; {len(x)} x {len(y)} x {dim}, k {k}, {threads} threads",
          flush=True)
    with tempfile.TemporaryDirectory() as work:
        np.save(os.path.join(work, "x.npy"), x)
        np.save(os.path.join(work, "y.npy"), y)
        ours = subprocess.Popen([program, os.path.join(work, "x.npy"), os.path.join(work, "y.npy"), str(k), str(threads),
                                 os.path.join(work, "out")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ours.stdout.readline()
        passes = ("f32", "int8")
        times = {name: [] for name in passes + ("FAISS",)}
        found = {}
        for _ in range(rounds):
            for name in passes:
                ours.stdin.write(name + "\n")
                ours.stdin.flush()
                times[name].append(float(ours.stdout.readline()))
                found[name] = np.fromfile(os.path.join(work, "out"), dtype=np.uint32)
            start = time.perf_counter()
            x_in_y, y_in_x = search(x, y, k), search(y, x, k)
            times["FAISS"].append(time.perf_counter() - start)
        usage = peak_mib(ours.pid)
        ours.stdin.close()
        ours.wait()
    flops = 2.0 * len(x) * len(y) * dim
    print("side\tmedian_s\tmin_s\tmax_s\tGop/s\tratio")
    for name, t in times.items():
        work_done = flops * (2 if name == "FAISS" else 1)
        ratio = statistics.median(y / x for x, y in zip(t, times["FAISS"]))
        print(f"{name}\t{statistics.median(t):.2f}\t{min(t):.2f}\t{max(t):.2f}\t{work_done / statistics.median(t) / 1e9:.1f}\t{ratio:.2f}")
    theirs = np.concatenate([x_in_y.ravel(), y_in_x.ravel()])
    inputs = (x.nbytes + y.nbytes) / 2**20
    print(f"# calque's peak memory {usage:.0f} MiB, inputs {inputs:.0f} MiB; int8 and f32 differ in {(found['f32'] != found['int8']).sum()}, "
          f"calque and FAISS in {(found['f32'] != theirs).sum()} of {theirs.size} neighbors")


if __name__ == "__main__":
    main()
