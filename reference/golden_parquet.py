"""Writes tests/golden/parquet/: one table in every encoding, compression and version of pages that PyArrow writes.

    python reference/golden_parquet.py tests/golden/parquet

needs pyarrow (made with 26.0). COMPRESSION-VERSION.parquet all have the same rows, those of expected.tsv: the columns'
names, then a row a line, numbers as Python's repr, truth values 1 and 0, and <null>. Each column is there twice, once
required and once with nulls. lists.parquet, times.parquet, brotli.parquet and lz4.parquet are refused; pairs.parquet,
scored.parquet and triplets.parquet are what data sets look like.
"""

import datetime
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq

WORDS = ["", "a", "river", "the old mill", "the old mill by the river", "naïve", "straße", "река", "猫", "the old"]
N = 40

TEXT_ENCODINGS = ["PLAIN", "RLE_DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
WHOLE_ENCODINGS = ["PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
REAL_ENCODINGS = ["PLAIN", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"]


def numbers(i):
    return (i * 2654435761) % 1000003


def columns():
    """(name, type, values, encoding) without nulls."""
    text = [f"{WORDS[i % 10]} {WORDS[(i * 7 + i // 10) % 10]}".strip() for i in range(N)]
    for encoding in TEXT_ENCODINGS:
        yield f"text_{encoding.lower()}", pa.string(), text, encoding
    for encoding in WHOLE_ENCODINGS:
        yield f"i32_{encoding.lower()}", pa.int32(), [numbers(i) - 500000 for i in range(N)], encoding
        yield f"i64_{encoding.lower()}", pa.int64(), [(numbers(i) - 500000) * 10**12 for i in range(N)], encoding
    yield "u32", pa.uint32(), [2**32 - 1 - numbers(i) for i in range(N)], "PLAIN"
    yield "u64", pa.uint64(), [2**64 - 1 - numbers(i) for i in range(N)], "DELTA_BINARY_PACKED"
    yield "i8", pa.int8(), [i - 20 for i in range(N)], "RLE_DICTIONARY"
    for encoding in REAL_ENCODINGS:
        yield f"f32_{encoding.lower()}", pa.float32(), [(i - 20) / 8 for i in range(N)], encoding
        yield f"f64_{encoding.lower()}", pa.float64(), [(i - 20) / 3 for i in range(N)], encoding
    for encoding in ["PLAIN", "RLE"]:
        yield f"bool_{encoding.lower()}", pa.bool_(), [i % 3 == 0 or i > 30 for i in range(N)], encoding


def with_nulls(values):
    return [None if i % 5 == 3 or 20 <= i < 28 else v for i, v in enumerate(values)]


def table():
    fields, arrays, encodings, dictionary = [], [], {}, []
    for name, kind, values, encoding in columns():
        for suffix, nullable, used in [("", False, values), ("_null", True, with_nulls(values))]:
            fields.append(pa.field(name + suffix, kind, nullable=nullable))
            arrays.append(pa.array(used, kind))
            if encoding == "RLE_DICTIONARY":
                dictionary.append(name + suffix)
            else:
                encodings[name + suffix] = encoding
    struct = pa.struct([pa.field("en", pa.string()), pa.field("de", pa.string(), nullable=False)])
    pairs = [{"en": None if i % 4 == 1 else f"house {i}", "de": f"Haus {i}"} for i in range(N)]
    fields.append(pa.field("translation", struct, nullable=True))
    arrays.append(pa.array([None if i % 7 == 2 else p for i, p in enumerate(pairs)], struct))
    encodings |= {"translation.en": "PLAIN", "translation.de": "DELTA_BYTE_ARRAY"}
    return pa.table(arrays, schema=pa.schema(fields)), encodings, dictionary


def text_of(value):
    if value is None:
        return "<null>"
    return str(int(value)) if isinstance(value, bool) else str(value)


def write_expected(path, t):
    flat = t.flatten()
    with open(path, "w", encoding="utf8") as out:
        print("\t".join(flat.column_names), file=out)
        for row in zip(*(column.to_pylist() for column in flat.columns)):
            print("\t".join(text_of(v) for v in row), file=out)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    t, encodings, dictionary = table()
    write_expected(os.path.join(folder, "expected.tsv"), t)
    for compression in ["none", "snappy", "gzip", "zstd"]:
        for version in ["1.0", "2.0"]:
            pq.write_table(t, os.path.join(folder, f"{compression}-v{version[0]}.parquet"), compression=compression,
                           data_page_version=version, use_dictionary=dictionary, column_encoding=encodings,
                           row_group_size=32, data_page_size=256, write_batch_size=16, write_statistics=False,
                           write_page_checksum=compression in ("none", "zstd"), store_schema=False)

    def small(name, columns, **options):
        options = {"compression": "none", "store_schema": False, "write_statistics": False} | options
        pq.write_table(pa.table(columns), os.path.join(folder, name), **options)

    pairs = [{"en": f"The {w} is here.", "de": f"{w} ist hier."} for w in WORDS[1:5]]
    small("pairs.parquet", {"id": list(range(4)), "translation": pairs}, compression="snappy")
    small("scored.parquet", {"idx": [1, 2], "sentence1": ["a cat", "a dog"], "sentence2": ["one cat", "a fish"],
                             "score": [4.75, 0.5]})
    small("triplets.parquet", {"negative": ["n1", "n2"], "anchor": ["a1", "a2"], "positive": ["p1", "p2"]})
    # A dictionary that grows too large: the pages behind it are PLAIN.
    small("fallback.parquet", {"en": [f"sentence {i}" for i in range(30)], "de": [f"Satz {i}" for i in range(30)]},
          dictionary_pagesize_limit=100, data_page_size=100, write_batch_size=10)
    small("lists.parquet", {"en": ["a"], "words": [["b", "c"]]})
    small("times.parquet", {"en": ["a"], "day": [datetime.date(2026, 1, 2)]})
    small("lz4.parquet", {"en": ["a"], "de": ["b"]}, compression="lz4")
    small("brotli.parquet", {"en": ["a"], "de": ["b"]}, compression="brotli")
    small("binary.parquet", {"en": pa.array([b"one", b"\xff\xfe", b"two\0", b"three"], pa.binary()),
                             "de": ["eins", "zwei", "drei", "vier"]})
    small("empty.parquet", {"en": pa.array([], pa.string()), "de": pa.array([], pa.string())})


main()
