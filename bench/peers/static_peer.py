"""Encodes a file's lines with a static model on one thread; prints the seconds of the best of three rounds.

    python static_peer.py model2vec|sentence-transformers MODEL TEXTS VECTORS.npy
"""

import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np  # noqa: E402

peer, model, texts, out = sys.argv[1:5]
with open(texts, encoding="utf-8", newline="\n") as f:
    sentences = f.read().rstrip("\n").split("\n")
if peer == "model2vec":
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = os.path.join(model, "0_StaticEmbedding")
    static = StaticModel(load_file(os.path.join(folder, "model.safetensors"))["embedding.weight"],
                         Tokenizer.from_file(os.path.join(folder, "tokenizer.json")))

    def encode():
        return static.encode(sentences, max_length=None, use_multiprocessing=False, batch_size=1024)
else:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    static = SentenceTransformer(model, device="cpu")

    def encode():
        return static.encode(sentences, batch_size=1024, show_progress_bar=False)


best = float("inf")
for _ in range(3):
    start = time.process_time()
    vectors = encode()
    best = min(best, time.process_time() - start)
np.save(out, vectors.astype(np.float32))
print(f"{best:.6f}")
