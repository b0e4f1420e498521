"""Compares calque's vectors with sentence-transformers' on 300 sentences in 20 scripts, for every model of
tests/golden/models that sentence-transformers opens by itself: made-up words of the letters of each script.

    HF_HUB_OFFLINE=1 CALQUE_LIBRARY=build/release/src/libcalque.so PYTHONPATH=python \\
        python reference/check_scripts.py tests/golden/models

needs torch, transformers and sentence-transformers. Fails where a cosine is below 1 - 1e-6.
"""

import os
import sys
import unicodedata
import warnings

import numpy as np
from sentence_transformers import SentenceTransformer
from transformers.utils import logging

import calque

SCRIPTS = {
    "Latin": (0x41, 0x17F), "Greek": (0x391, 0x3CE), "Cyrillic": (0x410, 0x45F), "Armenian": (0x531, 0x586),
    "Hebrew": (0x5D0, 0x5EA), "Arabic": (0x621, 0x64A), "Devanagari": (0x904, 0x94D), "Bengali": (0x985, 0x9CD),
    "Gurmukhi": (0xA05, 0xA4D), "Gujarati": (0xA85, 0xACD), "Tamil": (0xB85, 0xBCD), "Telugu": (0xC05, 0xC4D),
    "Thai": (0xE01, 0xE4E), "Georgian": (0x10D0, 0x10F0), "Ethiopic": (0x1200, 0x1248), "Khmer": (0x1780, 0x17D3),
    "Hiragana": (0x3041, 0x3093), "Katakana": (0x30A1, 0x30FA), "Han": (0x4E00, 0x5E00), "Hangul": (0xAC00, 0xB000),
}  # fmt: skip
NEEDS_CODE = ("jina-v2",)  # opens as plain BERT, without the linear biases that its published code adds
# What this version of transformers does not open: published layouts with code of their own, old classes and values.
NOT_OPENED = ("deberta-spm", "gte", "jina-v3", "modernbert-biases", "nomic", "xlmr-model")
UNSPACED = ("Thai", "Khmer", "Hiragana", "Katakana", "Han")
PER_SCRIPT = 15


def sentences():
    random = np.random.default_rng(1)
    out = []
    for name, (first, last) in SCRIPTS.items():
        letters = [chr(c) for c in range(first, last + 1) if unicodedata.category(chr(c))[0] in "LM"]
        for i in range(PER_SCRIPT):
            words = ["".join(random.choice(letters, random.integers(1, 9))) for _ in range(random.integers(1, 16))]
            text = ("" if name in UNSPACED else " ").join(words)
            out.append(text + (".", "?", " 1,234!", "。")[i % 4])
    assert len(out) == 300
    return out


def main():
    root, texts = sys.argv[1], sentences()
    logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    n_models, failed = 0, []
    for name in sorted(os.listdir(root)):
        directory = os.path.join(root, name)
        if not os.path.exists(os.path.join(directory, "expected.npy")) or name in NEEDS_CODE + NOT_OPENED:
            continue
        theirs = SentenceTransformer(directory, device="cpu")
        a = np.stack([theirs.encode(t, show_progress_bar=False) for t in texts])  # one by one: no padding
        b = np.asarray(calque.SentenceTransformer(directory).encode(texts))
        assert np.isfinite(a).all() and (np.linalg.norm(a, axis=1) > 0).all(), name
        cosine = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
        print("%-26s 1 - cosine at most %8.1e, difference %8.1e" % (name, 1 - cosine.min(), np.abs(a - b).max()))
        n_models += 1
        if not 1 - cosine.min() <= 1e-6:  # of numbers that are none, too
            failed.append(name)
    print("%d models; %s" % (n_models, "failed: " + ", ".join(failed) if failed else "all agree"))
    return bool(failed) or n_models < 70


if __name__ == "__main__":
    sys.exit(main())
