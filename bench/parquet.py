"""`calque data convert --from parquet` beside PyArrow: the same rows, seconds of processor time, memory.

    python bench/parquet.py build/release/calque WORK ROWS PAIRS.tsv.gz...

needs pyarrow. WORK receives one file a compression, of ROWS pairs (id, translation.en, translation.de) drawn from PAIRS,
repeated where they are too few, in row groups of 100,000. Each command runs three times, in turn; the median is printed.
"""

import gzip
import os
import re
import statistics
import sys

# What a user of PyArrow would write: columns to lists, a row a line.
PYARROW = """
import sys, pyarrow as pa, pyarrow.parquet as pq
pa.set_cpu_count(1)
t = pq.read_table(sys.argv[1], columns=["translation.en", "translation.de"], use_threads=False).flatten()
with open(sys.argv[2], "w", encoding="utf8") as out:
    for b in t.to_batches():
        for row in zip(*(c.to_pylist() for c in b.columns)):
            out.write("\\t".join(v.replace("\\t", " ") for v in row) + "\\n")
"""


COMPRESSIONS = ["none", "snappy", "zstd"]


def make(folder, n, files):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pairs = []
    for name in files:
        with gzip.open(name, "rt", encoding="utf8") as lines:
            pairs += [tuple(line.rstrip("\n").split("\t")[:2]) for line in lines]
    pairs = [p for p in pairs if len(p) == 2 and p[0].strip() and p[1].strip()]
    rows = [{"en": a, "de": b} for a, b in (pairs * (n // len(pairs) + 1))[:n]]
    table = pa.table({"id": list(range(n)), "translation": rows})
    for compression in COMPRESSIONS:
        pq.write_table(table, f"{folder}/{compression}.parquet", compression=compression, row_group_size=100000)


def run(command):
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.execv(command[0], command)
    _, status, used = os.wait4(child, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def same(a, b):
    with open(a, encoding="utf8", newline="\n") as x, open(b, encoding="utf8", newline="\n") as y:
        squeeze = lambda text: [re.sub(r"\s+", " ", column).strip() for column in text.split("\t")]
        return all(squeeze(p) == squeeze(q) for p, q in zip(x, y, strict=True))


def main():
    calque, folder, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
    child = os.fork()  # what it takes counts as that of no program below
    if child == 0:
        make(folder, n, sys.argv[4:])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print("compression\tprogram\tseconds\trows/s\tMB")
    for compression in COMPRESSIONS:
        path, outs = f"{folder}/{compression}.parquet", [f"{folder}/calque.tsv", f"{folder}/pyarrow.tsv"]
        commands = [[calque, "data", "convert", "--from", "parquet", path, "-o", outs[0]],
                    [sys.executable, "-c", PYARROW, path, outs[1]]]
        runs = [[run(c) for c in commands] for _ in range(3)]
        assert same(*outs), "the rows differ"
        for i, name in enumerate(["calque", "pyarrow"]):
            seconds = statistics.median(r[i][0] for r in runs)
            print(f"{compression}\t{name}\t{seconds:.2f}\t{n / seconds:.0f}\t{max(r[i][1] for r in runs):.0f}", flush=True)


main()
