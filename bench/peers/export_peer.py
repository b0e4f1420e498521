"""Vectors of an exported model beside calque's: cosines by onnxruntime with PyPI's tokenizers, and by fastembed.

    export_peer.py [--fastembed] <JOBS.tsv
        a job         NAME, DIRECTORY, FILE, VECTORS.npy, SENTENCES.txt with tabs between
        DIRECTORY     what `calque model export` wrote
        FILE          one of its files: onnx/model.onnx
        VECTORS.npy   calque's vectors of the sentences, one per line
        --fastembed   also through fastembed's add_custom_model

Prints a TSV line for each: name, runtime, file, sentences, least and mean cosine, megabytes, sentences per second."""
import json
import os
import sys
import time

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

BATCH = 32


def cosines(a, b):
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    same = (lengths == 0) & (np.abs(a - b).max(axis=1) == 0)  # two of zeros agree
    return np.where(same, 1, (a * b).sum(axis=1) / np.maximum(lengths, 1e-30))


def run_onnx(directory, name, texts):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("THREADS", "1"))
    session = onnxruntime.InferenceSession(os.path.join(directory, name), options, ["CPUExecutionProvider"])
    config = json.load(open(os.path.join(directory, "tokenizer_config.json"), encoding="utf-8"))
    pad = json.load(open(os.path.join(directory, "config.json"), encoding="utf-8"))["pad_token_id"]
    tokenizer = Tokenizer.from_file(os.path.join(directory, "tokenizer.json"))
    tokenizer.enable_truncation(int(config["model_max_length"]))
    tokenizer.enable_padding(pad_id=pad, pad_token=config["pad_token"])
    wanted = {i.name for i in session.get_inputs()}
    out, start = [], time.time()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for i in range(0, len(order), BATCH):
        batch = tokenizer.encode_batch([texts[j] for j in order[i : i + BATCH]])
        ids = np.array([e.ids for e in batch], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.array([e.attention_mask for e in batch], dtype=np.int64)}
        feed["token_type_ids"] = np.zeros_like(ids)
        out.append(session.run(["sentence_embedding"], {k: v for k, v in feed.items() if k in wanted})[0])
    rows = np.concatenate(out)
    back = np.empty_like(rows)
    back[order] = rows
    return back, len(texts) / (time.time() - start)


def run_fastembed(model_name, directory, name, texts, dim):
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    known = f"{model_name}/{name}"
    TextEmbedding.add_custom_model(model=known, pooling=PoolingType.DISABLED, normalization=False,
                                   sources=ModelSource(hf=known), dim=dim, model_file=name)
    model = TextEmbedding(known, specific_model_path=directory, threads=1)
    start = time.time()
    return np.array(list(model.embed(texts, batch_size=BATCH))), len(texts) / (time.time() - start)


def run_job(name, directory, file, vectors, sentences):
    texts = open(sentences, encoding="utf-8").read().splitlines()
    ours = np.load(vectors)
    size = os.path.getsize(os.path.join(directory, file)) / 1e6
    runs = [("onnxruntime", run_onnx(directory, file, texts))]
    if "--fastembed" in sys.argv:
        runs.append(("fastembed", run_fastembed(name, directory, file, texts, ours.shape[1])))
    for who, (rows, speed) in runs:
        c = cosines(rows.astype(np.float64), ours.astype(np.float64))
        print(name, who, file, len(texts), f"{c.min():.6f}\t{c.mean():.6f}\t{size:.1f}\t{speed:.0f}", sep="\t", flush=True)


def main():
    for line in sys.stdin:
        run_job(*line.rstrip("\n").split("\t"))


main()
