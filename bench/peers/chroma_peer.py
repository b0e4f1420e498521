"""A Chroma collection of an index's documents, queried through the exported ONNX: its first ten beside `calque search`'s.

    chroma_peer.py DIRECTORY PROGRAM INDEX IDS QUERIES
        DIRECTORY   what `calque model export` wrote for the index's model
        PROGRAM     calque
        IDS         a file of the index's ids, one per line: `calque index get` prints these documents
        QUERIES     a file of queries, one per line

Prints TSV: "chroma", documents, queries, how many have the same first ten in the same order. Documents whose cosines
differ by less than 1e-5 count as equal, in any order. Exits with 1 if a query has another ten."""
import json
import os
import subprocess
import sys

import chromadb
import numpy as np
import onnxruntime
from chromadb.api.types import EmbeddingFunction
from tokenizers import Tokenizer

directory, program, index, ids_file, queries_file = sys.argv[1:]


class Exported(EmbeddingFunction):
    def __init__(self):
        self.session = onnxruntime.InferenceSession(os.path.join(directory, "onnx/model.onnx"),
                                                    providers=["CPUExecutionProvider"])
        config = json.load(open(os.path.join(directory, "tokenizer_config.json"), encoding="utf-8"))
        pad = json.load(open(os.path.join(directory, "config.json"), encoding="utf-8"))["pad_token_id"]
        self.tokenizer = Tokenizer.from_file(os.path.join(directory, "tokenizer.json"))
        self.tokenizer.enable_truncation(int(config["model_max_length"]))
        self.tokenizer.enable_padding(pad_id=pad, pad_token=config["pad_token"])
        self.wanted = {i.name for i in self.session.get_inputs()}

    def __call__(self, input):
        rows = []
        for i in range(0, len(input), 32):
            batch = self.tokenizer.encode_batch(list(input[i : i + 32]))
            ids = np.array([e.ids for e in batch], dtype=np.int64)
            feed = {"input_ids": ids, "attention_mask": np.array([e.attention_mask for e in batch], dtype=np.int64),
                    "token_type_ids": np.zeros_like(ids)}
            rows += list(self.session.run(["sentence_embedding"], {k: v for k, v in feed.items() if k in self.wanted})[0])
        return rows


def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


ids = open(ids_file, encoding="utf-8").read().split("\n")[:-1]
queries = open(queries_file, encoding="utf-8").read().split("\n")[:-1]
documents = [json.loads(line) for line in run("index", "get", index, *ids).splitlines()]
assert [d["id"] for d in documents] == ids

client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
collection = client.create_collection("exported", embedding_function=Exported(),
                                      configuration={"hnsw": {"space": "cosine", "ef_search": len(ids)}})
for i in range(0, len(documents), 200):
    part = documents[i : i + 200]
    collection.add(ids=[d["id"] for d in part], documents=[d["text"] for d in part])
found = collection.query(query_texts=queries, n_results=10)

same = 0
for query, theirs, distances in zip(queries, found["ids"], found["distances"]):
    lines = run("search", "--ranking", "dense", "--precision", "f32", "--quiet", index, query).splitlines()
    ours = [(line.split("\t")[1], float(line.split("\t")[0])) for line in lines]
    cosines = {i: 1 - d for i, d in zip(theirs, distances)}
    is_same = len(ours) == 10 and all(
        a == b or abs(cosines[b] - score) < 1e-5 for (a, score), b in zip(ours, theirs))
    same += is_same
    if not is_same:
        print(f"{query}: {ours}, Chroma {list(cosines.items())}", file=sys.stderr)
print("chroma", len(ids), len(queries), same, sep="\t")
sys.exit(same != len(queries))
