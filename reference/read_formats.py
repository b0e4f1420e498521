#!/usr/bin/env python3
"""Reads calque's own files by docs/formats.md alone, checks what the document says of them, and prints what it finds.

    read_formats.py PATH...     a checkpoint or a search's state; a directory of cached vectors; an index; a lexical
                                index; a work directory; autoencoders; trials; PREFIX.vocab of a state of words;
                                FILE.json of a classifier of pairs

Exit 1 at the first thing that is not as the document says. Needs Python alone; XXH3 comes from libxxhash, and without
it no check sum is compared, which is said.
"""
import array
import ast
import ctypes
import ctypes.util
import itertools
import json
import math
import os
import re
import sqlite3
import struct
import sys


class Wrong(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Wrong(message)


def numbers(data, kind):
    """Little-endian numbers: f and d of 4 and 8 bytes, I and Q unsigned."""
    values = array.array({"I": "I" if array.array("I").itemsize == 4 else "L"}.get(kind, kind))
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def are_finite(values):
    return all(map(math.isfinite, values))


def length(values):
    return math.sqrt(math.fsum(x * x for x in values))


# --- hashes ---

class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def load_xxhash():
    name = ctypes.util.find_library("xxhash")
    if not name:
        print("no libxxhash: check sums are not compared")
        return None
    library = ctypes.CDLL(name)
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    library.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    library.XXH3_128bits.restype = Hash128
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return library


xxhash = load_xxhash()


def compare64(found, data, number, what, bits=64):
    """found: XXH3 64 of data, plus the number; its lower bits."""
    if xxhash:
        own = (xxhash.XXH3_64bits_withSeed(data, len(data), 0) + number) % 2**bits
        expect(own == found, f"{what}: the check does not agree")


def check64(found, data, seed_data, what):
    """found: XXH3 64 of data, seeded with that of seed_data (None: 0)."""
    if xxhash:
        seed = 0 if seed_data is None else xxhash.XXH3_64bits_withSeed(seed_data, len(seed_data), 0)
        expect(xxhash.XXH3_64bits_withSeed(data, len(data), seed) == found, f"{what}: the check does not agree")


def identity(data):
    h = xxhash.XXH3_128bits(data, len(data))
    return h.low, h.high


# --- checkpoints ---

def read_checkpoint(path):
    data = open(path, "rb").read()
    expect(data[:8] == b"CQSTATE\n", "no head")
    expect(struct.unpack_from("<Q", data, 8)[0] == 2, "not version 2")
    expect(data[16:64] == bytes(48), "the head's zeros")
    sections, at = {}, 64

    def zeros(at):
        end = -(-at // 64) * 64
        expect(len(data) >= end and data[at:end] == bytes(end - at), f"byte {at}: expected zeros up to 64")
        return end

    while True:
        n, data_check, name_n, record_check = struct.unpack_from("<4Q", data, at)
        expect(name_n <= 255, f"byte {at + 16}: a name of {name_n} bytes")
        name = data[at + 32:at + 32 + name_n]
        check64(record_check, name, data[at:at + 24], f"byte {at}")
        at = zeros(at + 32 + name_n)
        if name_n == 0:
            expect(n == len(sections) and data_check == 0, "the last record")
            break
        expect(at + n <= len(data), f"section {name}: the file ends in it")
        check64(data_check, data[at:at + n], None, f"section {name}")
        expect(name.decode() not in sections, f"two sections {name}")
        sections[name.decode()] = data[at:at + n]
        at = zeros(at + n)
    expect(at == len(data), "bytes after the last record")
    return sections


def print_checkpoint(path):
    sections = read_checkpoint(path)
    print(f"{path}: a checkpoint of {len(sections)} sections")
    for name, data in sections.items():
        print(f"  {name:24} {len(data):12} bytes", describe_section(name, data))
    if "search" in sections:
        check_search(sections)
    if "identity" in sections:
        for line in sections["identity"].decode().splitlines():
            expect(line.count("\t") == 1, f"the line of the identity {line!r}")
    for prefix in {name[:-6] for name in sections if name.endswith("adam.m")}:
        n = len(sections[prefix + "adam.m"])
        expect(len(sections[prefix + "adam.v"]) == n and len(sections[prefix + "step"]) == 8, f"{prefix}: moments")
        if prefix + "parameters" in sections:
            expect(len(sections[prefix + "parameters"]) == n, f"{prefix}: parameters")


def describe_section(name, data):
    last = name.split(".")[-1]
    if name == "search":
        low, high, done = struct.unpack("<3Q", data)
        return f"identity {high:016x}{low:016x}, {done} rows done"
    if name == "identity":
        return f"{data.count(10)} lines, the first: {data.decode().splitlines()[0]!r}"
    if name == "run":
        stage, step, n_steps, log_bytes, has_best, best_step, waited, loss = struct.unpack("<7Qd", data)
        return f"stage {stage}, step {step} of it and {n_steps} in all, {log_bytes} bytes of log, loss {loss:.4f}"
    if name == "measured":
        score, mse, highest, collapsed, averaged = struct.unpack("<3d2Q", data)
        return f"best {score:g} (MSE {mse:g}, highest {highest:g}), {collapsed} collapses, the mean of {averaged} evaluations"
    if name == "dev":
        return ", ".join(f"{x:g}" for x in struct.unpack(f"<{len(data) // 8}d", data))
    if name in ("batches", "drawn", "average.n") or last == "step":
        return ", ".join(str(x) for x in struct.unpack(f"<{len(data) // 8}Q", data))
    if ".steps." in name or name.startswith("table.steps"):
        steps = numbers(data, "I")
        return f"u32, {len(steps)} rows, {min(steps)} to {max(steps)}"
    if last in ("parameters", "m", "v", "average") or name.startswith(("encoder.", "decoder.")):
        values = numbers(data, "f")
        expect(are_finite(values), f"{name}: a number that is not finite")
        return f"f32, length {length(values):.6g}"
    return ""


def check_search(sections):
    for side in "xy":
        if side + ".index" not in sections:
            continue
        index, cosine = numbers(sections[side + ".index"], "I"), numbers(sections[side + ".cosine"], "d")
        expect(len(index) == len(cosine), "as many cosines as rows")
        found = [c for i, c in zip(index, cosine) if i != 0xFFFFFFFF]
        expect(all(abs(c) <= 1 + 1e-9 for c in found), "a cosine beyond 1")
        print(f"  neighbors of {side}: {len(found)} of {len(index)} places taken")


# --- vectors by text ---

def print_cache(directory):
    data = open(os.path.join(directory, "keys"), "rb").read()
    vectors = open(os.path.join(directory, "vectors"), "rb").read()
    magic, version, dim, zeros, check = struct.unpack("<8sQQ32sQ", data[:64])
    expect(magic == b"CQVECTS\n" and version == 1 and zeros == bytes(32), "the head of keys")
    check64(check, data[:56], None, "the head of keys")
    n = (len(data) - 64) // 32
    expect(len(data) == 64 + 32 * n and n, "keys are 32 bytes each, and there is one")
    expect(len(vectors) == 4 * n * dim, "vectors: as many rows as keys")
    keys = list(struct.iter_unpack("<4Q", data[64:]))
    rows = [vectors[4 * dim * i:4 * dim * (i + 1)] for i in range(n)]
    expect(are_finite(numbers(vectors, "f")), "vectors: a number that is not finite")
    for i, key in enumerate(keys):
        compare64(key[3], data[64 + 32 * i:88 + 32 * i], i, f"key {i}")
        compare64(key[2], rows[i], key[0], f"vector {i}")
    mean = math.fsum(length(numbers(row, "f")) for row in rows) / n
    print(f"{directory}: {n} vectors of {dim} numbers, lengths {mean:.4f} on average")
    texts = os.environ.get("TEXTS")  # a file of sentences that should be there
    if texts and xxhash:
        have = {key[:2] for key in keys}
        lines = open(texts, "rb").read().splitlines()
        print(f"  {sum(identity(line) in have for line in lines)} of {len(lines)} lines of {texts} are in it")


# --- the index ---

def signed64(value):
    return value - 2**64 if value >= 2**63 else value


def compare_document(first, fields, found):
    """found: of its fields one after the other, XXH3 64 seeded with that of those before; the first with its number."""
    if xxhash:
        check = first
        for field in fields:
            check = xxhash.XXH3_64bits_withSeed(field, len(field), check)
        expect(signed64(check) == found, f"the document of record {first}: the check does not agree")


def read_counted(path, n_bytes):
    data = open(path, "rb").read(n_bytes)
    expect(len(data) == n_bytes, f"{path} is shorter than the manifest says")
    return data


def read_deleted(directory, manifest, n):
    deleted = [False] * n
    if manifest["deleted_generation"]:
        bits = open(os.path.join(directory, f"deleted-{manifest['deleted_generation']}"), "rb").read()
        expect(len(bits) == manifest["deleted_bytes"] <= (n + 7) // 8, "deleted")
        for i in range(min(n, 8 * len(bits))):
            deleted[i] = bits[i // 8] >> i % 8 & 1 == 1
    return deleted


def compare_manifest(directory, manifest):
    values = []
    for key, value in manifest.items():
        if key == "words":
            values += [number for pair in value for number in pair]
            hubness = manifest.get("hubness", {})
            values += [hubness[k] for k in ("generation", "queries", "k", "queries_check") if hubness]
        elif key not in ("check", "hubness"):
            values.append(value)
    compare64(int(manifest["check"], 16), "".join(f"{value}\n" for value in values).encode(), 0, "the manifest")
    for kind in ("deleted", "approximate"):
        check = int(manifest[kind + "_check"], 16)
        if check:
            path = os.path.join(directory, f"{kind}-{manifest[kind + '_generation']}")
            compare64(check, open(path, "rb").read(), 0, path)


def compare_pages(path):
    """Each page's last 8 bytes are the check of the others; a page that was never written is zeros."""
    data = open(path, "rb").read()
    expect(len(data) % 4096 == 0 and data[20] == 8, f"{path}: pages of 4096 bytes, of which 8 are reserved")
    for number in range(1, len(data) // 4096 + 1):
        page = data[(number - 1) * 4096:number * 4096]
        if any(page):
            compare64(int.from_bytes(page[-8:], "little"), page[:-8], number, f"{path}: page {number}")


def read_documents(path, n):
    """The rows before record n, text as bytes."""
    compare_pages(path)
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    database.text_factory = bytes
    try:
        rows = list(database.execute("SELECT first, id, language, title, url, text, metadata, check_of_all "
                                     "FROM document WHERE first < ? ORDER BY first", (n,)))
    except sqlite3.DatabaseError as problem:
        raise Wrong(f"{path}: {problem}") from problem
    finally:
        database.close()
    for first, *fields, check in rows:
        compare_document(first, [field or b"" for field in fields], check)
        expect(fields[0], f"the document of record {first} has no id")
        expect(fields[5] is None or isinstance(json.loads(fields[5]), dict), f"the metadata of {fields[0]}")
    return rows


def compare_passages(rows, passages):
    """Each record is of the document before it, which begins where it says."""
    texts, first = {row[0]: row[5] for row in rows}, None
    for i, (of, begin, end, unused) in enumerate(passages):
        first = i if i in texts else first
        expect(of == first and unused == 0, f"record {i} is of the document before it")
        expect(begin <= end <= len(texts[of]), f"record {i} is a part of its document")
    expect(len(texts) == len({of for of, _, _, _ in passages}), "each document has a record")


def print_index(directory, manifest):
    expect(manifest["format"] == "calque index 4", "format")
    expect(re.fullmatch("([0-9a-f]{32})?", manifest["fingerprint"]), "fingerprint")
    expect(re.fullmatch("[0-9a-f]{32}", manifest["identity"]), "identity")
    compare_manifest(directory, manifest)
    n, dim = manifest["records"], manifest["dim"]
    counted = {name: read_counted(os.path.join(directory, f"{name}-{manifest['files']}"), n * size)
               for name, size in (("passages", 16), ("vectors", 4 * dim), ("checks", 16))}
    expect(are_finite(numbers(counted["vectors"], "f")), "vectors: a number that is not finite")
    for i, (vector_check, passage_check) in enumerate(struct.iter_unpack("<2Q", counted["checks"])):
        compare64(vector_check, counted["vectors"][4 * dim * i:4 * dim * (i + 1)], i, f"the vector of record {i}")
        compare64(passage_check, counted["passages"][16 * i:16 * (i + 1)], i, f"the passage of record {i}")
    rows = read_documents(os.path.join(directory, f"documents-{manifest['files']}"), n)
    passages = list(struct.iter_unpack("<4I", counted["passages"]))
    compare_passages(rows, passages)
    deleted = read_deleted(directory, manifest, n)
    expect(all(deleted[i] == deleted[passages[i][0]] for i in range(n)), "a document's records are deleted together")
    live = [row[1] for row in rows if not deleted[row[0]]]
    expect(len(set(live)) == len(live) == manifest["documents"], "as many live documents as ids, and as it says")
    print(f"{directory}: {manifest['format']}, {len(live)} of {len(rows)} documents are live, {n} records, "
          f"{dim} dimensions")
    print(f"  model: {manifest['model']}")
    if rows:
        print(f"  first: {rows[0][1].decode()} [{rows[0][2].decode()}] {rows[0][5].decode()[:40]}")
    for number, n_records in manifest["words"]:
        expect(1 <= number <= manifest["last_words"], "last_words")
        expect(print_segment(os.path.join(directory, f"words-{number}"), True) == n_records, f"words-{number}: its records")
    expect(sum(n_records for _, n_records in manifest["words"]) <= n, "words of records that count")
    print_approximate(directory, manifest, manifest["approximate_records"])
    print_hubness(directory, manifest, numbers(counted["vectors"], "f"))


def print_hubness(directory, manifest, vectors):
    hubness = manifest.get("hubness", {"queries": 0})
    if not hubness["queries"]:
        return
    n, dim, k = manifest["records"], manifest["dim"], hubness["k"]
    path = os.path.join(directory, f"hubness-{hubness['generation']}")
    for i, (mean, check) in enumerate(struct.iter_unpack("<4sI", read_counted(path, 8 * n))):
        compare64(check, mean, i, f"the hubness of record {i}", 32)
        expect(1 <= k <= hubness["queries"] and abs(struct.unpack("<f", mean)[0]) <= 1.0001, f"the hubness of record {i}")
    path = os.path.join(directory, f"queries-{hubness['generation']}")
    data = open(path, "rb").read()
    expect(len(data) == 4 * dim * hubness["queries"], path)
    compare64(int(hubness["queries_check"], 16), data, 0, path)
    rows = [numbers(data[4 * dim * i:4 * dim * (i + 1)], "f") for i in range(hubness["queries"])]
    own = vectors[-dim:]
    if n and own not in rows:  # a passage that stands for a query is none of its own
        nearest = sorted((sum(a * b for a, b in zip(own, row)) / length(own) / length(row) for row in rows), reverse=True)
        expect(abs(sum(nearest[:k]) / k - struct.unpack("<f", mean)[0]) < 1e-5, "the hubness of the last record")
    print(f"  hubness by {hubness['queries']} queries")


def print_approximate(directory, manifest, n):
    if n:
        file = open(os.path.join(directory, f"approximate-{manifest['approximate_generation']}"), "rb").read(16)
        kind, dim, total = struct.unpack("<4siq", file)
        expect(kind in (b"IwSq", b"IHNs") and dim == manifest["dim"] and total == n, "approximate")
        print(f"  FAISS's {kind.decode()} covers the first {total}")


# --- the lexical index ---

PARTS = ["lengths", "id_starts", "ids", "term_starts", "terms", "records", "postings"]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def unpack(data, bits):
    """128 values: value i is in lane i % 4, from bit i // 4 * bits on; a lane's words lie 4 apart."""
    if bits == 0:
        return [0] * 128
    words = [data[4 * i:4 * i + 4] for i in range(4 * bits)]
    values = [0] * 128
    for lane in range(4):
        stream = int.from_bytes(b"".join(words[lane::4]), "little")
        for row in range(32):
            values[row * 4 + lane] = stream >> (row * bits) & ((1 << bits) - 1)
    return values


def read_postings(data, n, lengths):
    documents, frequencies, n_full, following = [], [], n // 128, 0
    blocks = data[n_full * 40:]
    end = 0
    for b in range(n_full):
        last, at, *pairs = struct.unpack_from("<10I", data, b * 40)
        expect(at == end, "a block begins where the one before ends")
        gap_bits, frequency_bits = blocks[at], blocks[at + 1]
        expect(gap_bits <= 32 and frequency_bits <= 32, "bits")
        middle, end = at + 2 + 16 * gap_bits, at + 2 + 16 * (gap_bits + frequency_bits)
        gaps = unpack(blocks[at + 2:middle], gap_bits)
        block = [following + d - 1 for d in itertools.accumulate(gap + 1 for gap in gaps)]
        counts = [count + 1 for count in unpack(blocks[middle:end], frequency_bits)]
        expect(block[-1] == last, "the last document of a block")
        pairs = [(f, l) for f, l in zip(pairs[::2], pairs[1::2]) if f]
        expect(pairs == sorted(pairs) and [l for _, l in pairs] == sorted(l for _, l in pairs), "pairs ascend")
        covered = all(any(c <= f and lengths[d] >= l for f, l in pairs) for d, c in zip(block, counts))
        expect(covered, "a posting that no pair bounds")
        documents += block
        frequencies += counts
        following = last + 1
    rest, at = [], end
    for _ in range(n % 128):
        gap, at = varint(blocks, at)
        count, at = varint(blocks, at)
        rest.append((following + gap, count + 1))
        following += gap + 1
    expect(at == len(blocks), "the postings end where the next begin")
    return documents + [d for d, _ in rest], frequencies + [f for _, f in rest]


def starts_of(data, n, total, what):
    starts = numbers(data, "Q")
    expect(len(starts) == n + 1 and starts[0] == 0 and starts[-1] == total, what)
    expect(list(starts) == sorted(starts), what + " ascend")
    return starts


def print_segment(path, has_forms=False):
    data = open(path, "rb").read()
    expect(data[:8] == b"calqlex2", "no head")
    n_documents, n_terms, n_occurrences = struct.unpack_from("<3Q", data, 8)
    begins, sizes = struct.unpack_from("<7Q", data, 32), struct.unpack_from("<7Q", data, 88)
    at = 144
    for begin, size in zip(begins, sizes):
        expect(begin == at, "parts lie one after the other")
        at = -(-(begin + size) // 8) * 8
        expect(data[begin + size:at] == bytes(at - begin - size), "zeros between parts")
    expect(at + 8 == len(data), "the file ends with a check behind the postings")
    compare64(struct.unpack_from("<Q", data, at)[0], data[:begins[6]], 0, "what is before the postings")
    part = {name: data[b:b + s] for name, b, s in zip(PARTS, begins, sizes)}
    lengths = numbers(part["lengths"], "I")
    expect(len(lengths) == n_documents and sum(lengths) == n_occurrences, "lengths add up")
    starts_of(part["id_starts"], n_documents, sizes[2], "ids")
    term_starts = starts_of(part["term_starts"], n_terms, sizes[4], "terms")
    terms = [part["terms"][a:b] for a, b in zip(term_starts, term_starts[1:])]
    expect(terms == sorted(set(terms)), "terms in bytewise order")
    records = list(struct.iter_unpack("<QQII", part["records"]))
    expect(len(records) == n_terms + 1 and records[-1][1] == sizes[6], "records")
    counted, n_postings, n_blocks = [0] * n_documents, 0, 0
    for number, (term, record, following) in enumerate(zip(terms, records, records[1:])):
        occurrences, at, n, check = record
        expect(n > 0, f"the record of {term}")
        postings = part["postings"][at:following[1]]
        compare64(check, postings, number, f"the postings of {term}", 32)
        documents, frequencies = read_postings(postings, n, lengths)
        expect(len(documents) == n and sum(frequencies) == occurrences, f"the postings of {term}")
        expect(documents == sorted(set(documents)), f"the documents of {term} ascend")
        n_postings, n_blocks = n_postings + n, n_blocks + n // 128
        if has_forms and b"/" in term:  # a key: its word is counted by the exact form
            continue
        for document, frequency in zip(documents, frequencies):
            counted[document] += frequency
    expect(counted == list(lengths), "postings and lengths agree for every document")
    print(f"  {path}: {n_documents} documents, {n_terms} terms, {n_postings} postings, {n_blocks} full blocks")
    return n_documents


def print_lexical(directory, manifest):
    expect(manifest["lexical_index"] == 1, "version")
    print(f"{directory}: a lexical index, language {manifest['language']!r}, stems {manifest['stems']}, "
          f"{len(manifest['stop_words'])} stop words")
    for i in range(manifest["segments"]):
        print_segment(os.path.join(directory, f"segment-{i + 1}"))


# --- what else there is ---

def print_autoencoders(directory):
    config = json.load(open(os.path.join(directory, "autoencoder.json")))
    expect(config["type"] == "calque.autoencoder" and len(config["languages"]) >= 2, "autoencoder.json")
    print(f"{directory}: autoencoders of {', '.join(config['languages'])}")
    for code in config["languages"]:
        decoder = os.path.join(directory, f"decoder-{code}")
        shape = json.load(open(os.path.join(decoder, "decoder_config.json")))
        with open(os.path.join(decoder, "model.safetensors"), "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        shapes = {name: tensor["shape"] for name, tensor in header.items() if name != "__metadata__"}
        words, hidden, layers = shapes["embedding.weight"][0], shape["hidden_dim"], shape["num_layers"]
        wanted = {"embedding.weight": [words, shape["embedding_dim"]], "output.weight": [words, hidden],
                  "output.bias": [words], "state.weight": [2 * layers * hidden, shape["latent_dim"]],
                  "state.bias": [2 * layers * hidden]}
        for layer in range(layers):
            first = shape["embedding_dim"] + (shape["latent_dim"] if shape["latent_at_every_step"] else 0)
            wanted[f"decoder.weight_ih_l{layer}"] = [4 * hidden, hidden if layer else first]
            wanted[f"decoder.weight_hh_l{layer}"] = [4 * hidden, hidden]
            wanted[f"decoder.bias_ih_l{layer}"] = wanted[f"decoder.bias_hh_l{layer}"] = [4 * hidden]
        expect(shapes == wanted, f"tensors of decoder-{code}: {shapes}")
        print(f"  decoder-{code}: {words} pieces, {layers} layers of {hidden}")


def print_trials(directory):
    title, *names = open(os.path.join(directory, "trials.txt")).read().splitlines()
    expect(title == "calque autoencode trials", "trials.txt")
    print(f"{directory}: {len(names)} trials")
    for name in names:
        expect(re.fullmatch("[a-z0-9-][a-z0-9.-]{0,62}", name), f"name {name}")
        path = os.path.join(directory, name + ".json")
        if os.path.exists(path):
            record = json.load(open(path))
            expect(record["name"] == name and re.fullmatch("[0-9a-f]{32}", record["options"]), path)
            print(f"  {name}: {record['values']}: loss {record['loss']:.4f}, BLEU {record.get('bleu')}")


def npy_shape(path):
    """Of a matrix of f32, row by row."""
    data = open(path, "rb").read()
    expect(data[:8] == b"\x93NUMPY\x01\x00", path)
    end = 10 + struct.unpack_from("<H", data, 8)[0]
    head = ast.literal_eval(data[10:end].decode())
    rows, columns = head["shape"]
    expect(head["descr"] == "<f4" and not head["fortran_order"] and len(data) == end + 4 * rows * columns, path)
    return rows, columns


def print_words(path):
    prefix = path[:-len(".vocab")]
    lines = [line.rsplit("\t", 1) for line in open(path, encoding="utf-8", newline="\n").read().split("\n") if line]
    counts = [int(count) for _, count in lines]
    shape = npy_shape(prefix + ".in.npy")
    expect(shape == npy_shape(prefix + ".out.npy") and shape[0] == len(lines), "rows")
    expect(counts == sorted(counts, reverse=True), "words by falling count")
    print(f"{prefix}: a state of {len(lines)} words, {shape[1]} dimensions")


PAIR_FEATURES = [
    "margin", "cosine", "length_ratio", "shorter", "longer", "digits_differ", "digits_shared", "source_covered",
    "target_covered", "source_weakest", "target_weakest", "source_weight", "target_weight",
]


def print_classifier(path):
    found = json.load(open(path))
    expect(found["kind"] == "calque pair classifier", "kind")
    expect(found["margin"] in ("ratio", "distance", "absolute"), "margin")
    expect(re.fullmatch("[0-9a-f]{32}", found["model"]) and found["k"] > 0, "model and k")
    expect(0 < found["translations"] < found["pairs"], "pairs")
    expect(sorted(found["features"]) == sorted(PAIR_FEATURES), "features")
    for name, feature in found["features"].items():
        expect(sorted(feature) == ["mean", "standard_deviation", "weight"], name)
        expect(feature["standard_deviation"] >= 1e-9 and max(map(abs, feature.values())) <= 1e9, name)
    expect(abs(found["intercept"]) <= 1e9, "intercept")
    print(f"{path}: a classifier of pairs, {found['pairs']} of which {found['translations']} are translations")


def print_path(path):
    inside = os.listdir(path) if os.path.isdir(path) else []
    if "manifest.json" in inside:
        manifest = json.load(open(os.path.join(path, "manifest.json")))
        (print_lexical if "lexical_index" in manifest else print_index)(path, manifest)
    elif "keys" in inside:
        print_cache(path)
    elif "autoencoder.json" in inside:
        print_autoencoders(path)
    elif "trials.txt" in inside:
        print_trials(path)
    elif "checkpoint" in inside:
        print_checkpoint(os.path.join(path, "checkpoint"))
    elif path.endswith(".vocab"):
        print_words(path)
    elif path.endswith(".json"):
        print_classifier(path)
    else:
        print_checkpoint(path)


def main():
    for path in sys.argv[1:]:
        try:
            print_path(path)
        except (Wrong, OSError, KeyError, ValueError, IndexError, struct.error) as problem:
            sys.exit(f"{path}: {type(problem).__name__}: {problem}")


main()
