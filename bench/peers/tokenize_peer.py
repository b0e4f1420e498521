"""Hugging Face's tokenizers (Rust) on one thread: prints what bench_tokenize prints.

    python tokenize_peer.py DIRECTORY TEXT [ROUNDS]     DIRECTORY has a tokenizer.json
    python tokenize_peer.py --train DIRECTORY TEXT N    a byte-level BPE of N pieces, as GPT-2's and RoBERTa's
"""

import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import ByteLevelBPETokenizer, Tokenizer  # noqa: E402


def train(directory, text, n):
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train([text], vocab_size=int(n), special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.save(os.path.join(directory, "tokenizer.json"))


def measure(directory, text, rounds=5):
    tokenizer = Tokenizer.from_file(os.path.join(directory, "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with open(text, encoding="utf-8", newline="\n") as f:
        sentences = f.read().split("\n")
    if sentences[-1] == "":
        sentences.pop()
    best = float("inf")
    for _ in range(int(rounds)):
        start = time.process_time()
        encoded = tokenizer.encode_batch_fast(sentences)
        best = min(best, time.process_time() - start)
    ids = [e.ids for e in encoded]
    total = sum(i * (place + 1) for row in ids for place, i in enumerate(row))
    print(len(ids), sum(map(len, ids)), total, f"{best:.6f}")


if sys.argv[1] == "--train":
    train(*sys.argv[2:5])
else:
    measure(*sys.argv[1:4])
