"""Saves models with calque and loads the result with sentence-transformers: do both give the same vectors?

    HF_HUB_OFFLINE=1 python reference/check_saved.py build/release/src/cli/calque SENTENCES MODEL...

needs sentence-transformers. SENTENCES is a text file, a sentence a line. Each MODEL is copied by `calque model new --kind
copy`, opened by both, and the min cosine and the max difference over all sentences are printed; exit status 1 when a
cosine is below 0.99999. A sentence without tokens is left out (a maximum over nothing is minus infinity there, zero here).
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
from sentence_transformers import SentenceTransformer


def main():
    program, sentences, models = sys.argv[1], sys.argv[2], sys.argv[3:]
    lines = [line.rstrip("\n") for line in open(sentences, encoding="utf8")]
    failed = False
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            copy, vectors = os.path.join(folder, "model"), os.path.join(folder, "vectors.npy")
            subprocess.run([program, "model", "new", "--kind", "copy", "--from", model, copy], check=True)
            subprocess.run([program, "encode", "--model", copy, "--output", vectors, sentences], check=True)
            ours = np.load(vectors).astype(np.float64)
            peer = SentenceTransformer(copy, device="cpu")
            theirs = np.stack([peer.encode([s], show_progress_bar=False)[0] for s in lines]).astype(np.float64)
            some = np.isfinite(theirs).all(1) & (np.abs(theirs).sum(1) > 0)
            a, b = ours[some], theirs[some]
            cosine = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
            print(f"{model}: min cosine {cosine.min():.7f}, max difference {np.abs(a - b).max():.1e}", flush=True)
            failed |= bool(cosine.min() < 0.99999)
    sys.exit(failed)


main()
