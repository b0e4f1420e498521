"""Keeps the first layers of a transformer model, for comparisons on a small machine.

    python shrink.py MODEL LAYERS OUT
"""

import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
from sentence_transformers import SentenceTransformer

path, layers, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
model = SentenceTransformer(path, device="cpu", local_files_only=True)
body = model[0].auto_model
body.encoder.layer = body.encoder.layer[:layers]
body.config.num_hidden_layers = layers
model.save(out, create_model_card=False)
