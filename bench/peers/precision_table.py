"""The table of bench/precision.sh for one kind of texts.

    python precision_table.py KIND WORK [PEER...]

WORK/times: a line a round, processor seconds of starting and of encoding in f32, bf16, int8. WORK/seconds.PEER: a line a round of
a peer's; WORK/own.npy and WORK/vectors.PEER.npy: vectors of the same texts.
"""

import statistics
import sys

import numpy as np

kind, work, *peers = sys.argv[1:]
rounds = [[float(x) for x in line.split()] for line in open(f"{work}/times")]
own = {p: [r[2 * i + 1] - r[2 * i] for r in rounds] for i, p in enumerate(("f32", "bf16", "int8"))}
for precision, times in own.items():
    ratio = statistics.median(a / b for a, b in zip(own["f32"], times))
    print(f"{kind} calque {precision}: {statistics.median(times):.2f} s, {ratio:.2f} times f32's speed")
reference = np.load(f"{work}/own.npy").astype("f8")
reference /= np.linalg.norm(reference, axis=1, keepdims=True)
for peer in peers:
    times = [float(x) for x in open(f"{work}/seconds.{peer}")]
    per_round = len(times) // len(rounds)
    best = [min(times[i * per_round:(i + 1) * per_round]) for i in range(len(rounds))]
    vectors = np.load(f"{work}/vectors.{peer}.npy").astype("f8")
    cosines = (reference * vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).sum(1)
    ratios = ", ".join(f"{p} {statistics.median(b / a for a, b in zip(own[p], best)):.2f}" for p in own)
    print(f"{kind} {peer}: {statistics.median(best):.2f} s; calque is faster by {ratios}; "
          f"cosine to calque's f32: mean {cosines.mean():.5f}, least {cosines.min():.5f}")
