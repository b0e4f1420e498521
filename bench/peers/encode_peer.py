"""sentence-transformers, from the start of the process to the vectors of a file.

    python encode_peer.py MODEL TEXTS OUT.npy [THREADS [BATCH]]
"""

import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
import torch
from sentence_transformers import SentenceTransformer

model_path, texts, out = sys.argv[1:4]
if len(sys.argv) > 4:
    torch.set_num_threads(int(sys.argv[4]))
with open(texts, encoding="utf-8") as f:
    sentences = [line.rstrip("\n") for line in f]
model = SentenceTransformer(model_path, device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32})
np.save(out, model.encode(sentences, batch_size=int(sys.argv[5]) if len(sys.argv) > 5 else 32, show_progress_bar=False))
