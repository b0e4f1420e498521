#!/usr/bin/env python3
"""Expands sample/grammar/*.txt into the parallel corpus of sample/train, sample/dev, sample/test and sample/sts.

    python3 sample/generate.py            writes the splits
    python3 sample/generate.py --check    fails when the files there differ from what it would write
    python3 sample/generate.py --english  prints every English sentence the grammar yields (text for the teacher)
    python3 sample/generate.py --read 100 de   prints a random selection of one language, for proofreading

The grammar is described in sample/README.md. Nothing here depends on the time, the machine or the order of a hash
table: which sentence falls into which split is decided by SHA-256 of its English text."""

import gzip
import hashlib
import io
import itertools
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
LANGUAGES = ["en", "de", "es", "ru", "hi", "ar"]
TEST_PER_PATTERN, DEV_PER_PATTERN, TRAIN_PER_PATTERN = 4, 2, 100
TEST_FREE, DEV_FREE = 16, 8
ENGLISH_PER_PATTERN = 700
FREE = "free"


def order(text):
    """A fixed shuffle: sort by this."""
    return hashlib.sha256(text.encode()).digest()


class Filler:
    """What one row of a list has for one language: its forms and its agreement class."""

    def __init__(self, cell, place):
        match = re.fullmatch(r"(.*?)(?: #(\d))?", cell.strip())
        self.forms = [form.strip() for form in match[1].split("/")]
        self.cls = int(match[2] or 0)
        self.place = place

    def form(self, index):
        if len(self.forms) == 1:
            return self.forms[0]  # one form serves everywhere
        if index >= len(self.forms):
            sys.exit(f"{self.place}: '{self.forms[0]}' has no form {index}")
        return self.forms[index]


def read_grammar():
    lists, patterns, free = {}, [], []
    paths = sorted(HERE.glob("grammar/*.txt"), key=lambda p: (p.name != "lists.txt", p.name))
    for path in paths:
        rows, pattern = free if path.stem == FREE else None, None
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            place = f"{path.name}:{number}"
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            word, _, rest = line.partition(" ")
            if word == "list":
                rows, pattern = lists.setdefault(rest, []), None
            elif word == "pattern":
                pattern = {"name": rest, "place": place}
                patterns.append(pattern)
            elif pattern is not None and word[:-1] in LANGUAGES:
                pattern[word[:-1]] = rest
            else:
                cells = line.split(" | ")
                if rows is None or len(cells) != len(LANGUAGES):
                    sys.exit(f"{place}: expected {len(LANGUAGES)} columns, found {len(cells)}")
                rows.append([Filler(cell, place) for cell in cells])
    return lists, patterns, free


def polish(text):
    """Spaces that an empty form left, and a capital at the start."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r" ([.,?!])", r"\1", text)
    return re.sub(r"^([¿¡]?)(\w)", lambda m: m[1] + m[2].upper(), text)


def expand(template, language, chosen, place):
    """Replaces {slot}, {slot/form}, {slot@other} and {slot?class0|class1...} in one template."""
    column = LANGUAGES.index(language)

    def filler(slot):
        if slot not in chosen:
            sys.exit(f"{place}: no slot '{slot}'")
        return chosen[slot][column]

    def replace(match):
        slot, sign, rest = re.fullmatch(r"([\w:]+)(?:([/@?])(.*))?", match[1]).groups()
        if sign == "/":
            return filler(slot).form(int(rest))
        if sign == "@":
            return filler(slot).form(filler(rest).cls)
        if sign == "?":
            alternatives = rest.split("|")
            cls = filler(slot).cls
            # Polite plurals (classes 2, 3) fall back on the gender where a language has no form of its own for them.
            return alternatives[cls if cls < len(alternatives) else cls % 2]
        return filler(slot).form(0)

    return polish(re.sub(r"\{([^}]*)\}", replace, template))


def slots_of(pattern):
    return list(dict.fromkeys(re.findall(r"\{([\w:]+)", pattern["en"])))


def sentences_of(pattern, lists):
    """Every combination of fillers, as a list of six sentences each, in a fixed shuffled order. Where a list stands twice,
    only one order of each two fillers is taken: "a is heavier than b" and "b is heavier than a" would be near twins."""
    slots = slots_of(pattern)
    for slot in slots:
        if slot.split(":")[0] not in lists:
            sys.exit(f"{pattern['place']}: no list '{slot}'")
    for language in LANGUAGES:
        if language not in pattern:
            sys.exit(f"{pattern['place']}: no line for {language}")
    result = []
    for rows in itertools.product(*(lists[slot.split(":")[0]] for slot in slots)):
        chosen = dict(zip(slots, rows))
        twins = [(chosen[s.split(":")[0]], chosen[s]) for s in slots if ":" in s]
        if any(a is b for a, b in twins):
            continue
        if any(order("+".join(sorted([a[0].forms[0], b[0].forms[0]])))[0] % 2 != (a[0].forms[0] < b[0].forms[0])
               for a, b in twins):
            continue
        result.append([expand(pattern[language], language, chosen, pattern["place"]) for language in LANGUAGES])
    return sorted(result, key=lambda row: order(row[0]))


def english_sentences(lists):
    """The sentences of teacher/english.txt, at most ENGLISH_PER_PATTERN a pattern."""
    fillers = {name: [row[0].form(0) for row in rows] for name, rows in lists.items()}
    result = []
    for line in (HERE / "teacher/english.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("list "):
            name, _, rest = line[5:].partition(" = ")
            fillers[name] = rest.split(" | ")
        elif line.startswith("pattern "):
            slots = re.findall(r"\{([\w:]+)", line)
            rows = [dict(zip(slots, row)) for row in itertools.product(*(fillers[slot.split(":")[0]] for slot in slots))
                    if len(set(row)) == len(row)]
            text = [polish(re.sub(r"\{([\w:]+)\}", lambda m: row[m[1]], line[8:])) for row in rows]
            result += sorted(text, key=order)[:ENGLISH_PER_PATTERN]
    return result


def make_splits(lists, patterns, free):
    splits = {"train": [], "dev": [], "test": []}
    groups = [(sentences_of(p, lists), TEST_PER_PATTERN, DEV_PER_PATTERN) for p in patterns]
    written = sorted((["/".join(cell.forms) for cell in row] for row in free),
                     key=lambda row: order(row[0]))
    groups.append((written, TEST_FREE, DEV_FREE))
    for rows, n_test, n_dev in groups:
        splits["test"] += rows[:n_test]
        splits["dev"] += rows[n_test:n_test + n_dev]
        splits["train"] += rows[n_test + n_dev:][:len(rows) if rows is written else TRAIN_PER_PATTERN]
    for rows in splits.values():
        rows.sort(key=lambda row: order("row " + row[0]))
    return splits


def check_splits(splits):
    """No sentence twice in any language: neither within a split nor across them."""
    for column, language in enumerate(LANGUAGES):
        seen = {}
        for split, rows in splits.items():
            for row in rows:
                if row[column] in seen:
                    sys.exit(f"{language}: '{row[column]}' is in {split} and {seen[row[column]]}")
                seen[row[column]] = split


def write_sts(splits, stale):
    """sts/pairs.txt names a held-out sentence in each row; its translations make the files of the other languages."""
    held_out = {row[0]: row for row in splits["dev"] + splits["test"]}
    pairs = []
    for number, line in enumerate((HERE / "sts/pairs.txt").read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        score, left, right = line.split(" | ")
        if right not in held_out:
            sys.exit(f"pairs.txt:{number}: '{right}' is not in dev or test")
        pairs.append((score, left, held_out[right]))
    for column, language in enumerate(LANGUAGES):
        text = "".join(f"{left}\t{right[column]}\t{score}\n" for score, left, right in pairs)
        path = HERE / f"sts/en-{language}.tsv"
        if sys.argv[1:] != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)


def main():
    lists, patterns, free = read_grammar()
    if sys.argv[1:] == ["--english"]:
        text = [row[0] for p in patterns for row in sentences_of(p, lists)] + ["/".join(row[0].forms) for row in free]
        print("\n".join(sorted(set(text + english_sentences(lists)), key=order)))
        return
    splits = make_splits(lists, patterns, free)
    check_splits(splits)
    if sys.argv[1:2] == ["--read"]:
        column = LANGUAGES.index(sys.argv[3])
        rows = sorted(splits["train"], key=lambda row: order("read" + row[0]))
        for row in rows[:int(sys.argv[2])]:
            print(row[0], row[column], sep="\t")
        return
    stale = []
    write_sts(splits, stale)
    for split, rows in splits.items():
        for column, language in enumerate(LANGUAGES[1:], 1):
            text = "".join(f"{row[0]}\t{row[column]}\n" for row in rows).encode()
            path = HERE / split / f"en-{language}.tsv.gz"
            if sys.argv[1:] == ["--check"]:
                if not path.exists() or gzip.decompress(path.read_bytes()) != text:
                    stale.append(path.name)
                continue
            path.parent.mkdir(exist_ok=True)
            packed = io.BytesIO()
            with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as stream:
                stream.write(text)
            path.write_bytes(packed.getvalue())
    if stale:
        sys.exit("differs from the grammar: " + " ".join(stale))
    print(f"{len(patterns)} patterns, {len(free)} free sentences;", ", ".join(f"{k} {len(v)}" for k, v in splits.items()))


if __name__ == "__main__":
    main()
