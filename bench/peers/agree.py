"""Compares two files of vectors row by row; fails when any cosine is below the limit.

    python agree.py A.npy B.npy TEXTS [LIMIT]
"""

import sys

import numpy as np

a, b = (np.load(path).astype(np.float64) for path in sys.argv[1:3])
limit = float(sys.argv[4]) if len(sys.argv) > 4 else 0.99999
with open(sys.argv[3], encoding="utf-8") as f:
    texts = [line.rstrip("\n") for line in f]
if a.shape != b.shape or len(a) != len(texts):
    sys.exit(f"shapes differ: {a.shape} and {b.shape} for {len(texts)} texts")
cosine = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
print(f"{len(a)} sentences: min cosine {cosine.min():.9f}, mean {cosine.mean():.9f}, "
      f"max difference of an element {np.abs(a - b).max():.2e}")
bad = np.flatnonzero(~(cosine >= limit))
for i in bad[:20]:
    print(f"  line {i + 1}: {cosine[i]:.6f}  {texts[i][:100]}")
sys.exit(f"{len(bad)} below {limit}" if len(bad) else 0)
