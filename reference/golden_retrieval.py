"""Writes tests/golden/retrieval: judgements, a run, and what trec_eval says of them.

    python reference/golden_retrieval.py TREC_EVAL_9 TREC_EVAL_10 tests/golden/retrieval

The programs: 9.0.8, which keeps scores in f32, and 10.0, which keeps them in double precision and refuses files that do not have the
same topics. Relevance is graded, some documents are in the pool and not judged, scores have ties, some of them only in f32; topics without a relevant document, without judgements, without a run.
"""

import os
import random
import subprocess
import sys
import tempfile

MEASURES = ["num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "bpref", "recip_rank", "P.5,10,20", "recall.5,100,1000",
            "ndcg", "ndcg_cut.5,10,100"]


def write(program, flags, chosen, folder, path):
    files = [os.path.join(folder, name) for name in ("qrels.txt", "run.txt")]
    text = subprocess.run([program, *flags, *chosen, *files], check=True, capture_output=True, text=True).stdout
    with open(path, "w", encoding="utf8") as out:
        out.writelines("\t".join(line.split()) + "\n" for line in text.splitlines())


def main():
    nine, ten, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(11)
    qrels, run = [], []
    for topic in list(range(1, 16)) + [101]:
        documents = [f"d{i}" for i in range(120)] + ["D-é", "d1x", "d"]
        rng.shuffle(documents)
        judged = documents[: rng.randrange(1, 90)]
        if topic not in (13, 14):
            for document in judged:
                level = 0 if topic == 7 else rng.choice([-1, 0, 0, 0, 0, 1, 1, 2, 3])
                qrels.append(f"{topic} 0 {document} {level}")
        if topic not in (5, 6):
            for rank, document in enumerate(rng.sample(documents, rng.randrange(1, 100))):
                score = rng.choice([round(rng.uniform(-2, 9), 1), 3.0000000001, 3, 16777217.0, 16777216.0])
                run.append(f"{topic}\tQ0 {document} {rank} {score} golden")
    rng.shuffle(qrels)
    rng.shuffle(run)
    for name, lines in (("qrels.txt", qrels), ("run.txt", run)):
        with open(os.path.join(folder, name), "w", encoding="utf8") as out:
            out.write("\n".join(lines) + "\n")
    chosen = [a for m in MEASURES for a in ("-m", m)]
    common = {line.split()[0] for line in qrels} & {line.split()[0] for line in run}
    with tempfile.TemporaryDirectory() as work:
        for name, lines in (("qrels.txt", qrels), ("run.txt", run)):
            with open(os.path.join(work, name), "w", encoding="utf8") as out:
                out.writelines(line + "\n" for line in lines if line.split()[0] in common)
        write(ten, ["-q"], chosen, work, os.path.join(folder, "expected-10.txt"))
    write(nine, ["-q"], chosen, folder, os.path.join(folder, "expected.txt"))
    write(nine, ["-q", "-c"], chosen, folder, os.path.join(folder, "expected-complete.txt"))


main()
