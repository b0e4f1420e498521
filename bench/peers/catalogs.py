"""Compares the pairs of `calque data convert` with those of polib and translate-toolkit, on the test files of gettext,
translate-toolkit, and Qt. See bench/catalogs.sh.

    catalogs.py CALQUE DIR...

Catalogs within shell scripts, as here-documents, are taken, too. Prints a line per format: files, those that both
refuse, that one refuses, pairs in common, and each difference. White space counts as blanks."""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter

import polib
from translate.storage import factory, pypo, ts2

HERE = re.compile(rb"<<\s*\\?[\"']?(\w+)[\"']?\s*>\s*(\S+\.(?:po|pot|ts|xlf))\s*\n(.*?)^\1$|"
                  rb">\s*(\S+\.(?:po|pot|ts|xlf))\s*<<\s*\\?[\"']?(\w+)[\"']?\s*\n(.*?)^\5$", re.M | re.S)


def flat(text):
    return re.sub(r"[ \t\n\r]+", " ", text).strip(" ")


def rows(pairs):
    pairs = [(flat(a), flat(b)) for a, b in pairs]
    return Counter((a, b) for a, b in pairs if a and b)


def of_forms(source, plural, forms):
    """Singular with the first form, plural with the last; with one form only the plural."""
    if plural is None:
        return [(source, forms[0])]
    return ([(source, forms[0])] if len(forms) > 1 else []) + [(plural, forms[-1])]


def by_polib(path):
    catalog = polib.mofile(path) if path.endswith("mo") else polib.pofile(path)
    pairs, seen = [], set()
    for e in catalog:
        if e.obsolete or getattr(e, "fuzzy", False) or (not e.msgid and e.msgctxt is None) or (e.msgctxt, e.msgid) in seen:
            continue
        seen.add((e.msgctxt, e.msgid))
        forms = [e.msgstr_plural[i] for i in sorted(e.msgstr_plural)] if e.msgid_plural else [e.msgstr]
        pairs += of_forms(e.msgid, e.msgid_plural or None, forms)
    return rows(pairs)


def by_toolkit(path):
    store = factory.getobject(path)
    pairs, seen = [], set()
    for unit in store.units:
        if unit.isheader() or unit.isobsolete() or unit.isfuzzy() or not unit.istranslated():
            continue
        key = (unit.getcontext(), str(unit.source))
        if isinstance(store, pypo.pofile) and key in seen:
            continue
        seen.add(key)
        source, target = unit.source, unit.target
        forms = [str(s) for s in target.strings] if hasattr(target, "strings") else [str(target)]
        sources = [str(s) for s in getattr(source, "strings", [source])]
        if isinstance(store, ts2.tsfile):
            pairs.append((sources[0], forms[-1]))
        else:
            pairs += of_forms(sources[0], sources[1] if len(sources) > 1 else None, forms)
    return rows(pairs)


def by_calque(calque, path):
    done = subprocess.run([calque, "data", "convert", path], capture_output=True)
    if done.returncode and b": none of " in done.stderr:  # read, but without a translation
        return Counter()
    if done.returncode:
        raise ValueError(done.stderr.decode(errors="replace").strip())
    return rows(tuple(line.split("\t")) for line in done.stdout.decode().split("\n")[:-1])


def find_files(folders, scratch):
    for folder in folders:
        for root, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = os.path.join(root, name)
                if not os.path.isfile(path):
                    continue
                if re.search(r"\.(po|pot|g?mo|ts|xlf|xliff)$", name):
                    yield path, path
                    continue
                with open(path, "rb") as f:
                    text = f.read()
                for i, found in enumerate(HERE.findall(text) if b"<<" in text else []):
                    inner = (found[1] or found[3]).decode(errors="replace")
                    copy = os.path.join(scratch, f"{name}-{i}" + os.path.splitext(inner)[1])
                    with open(copy, "wb") as f:
                        f.write(found[2] or found[5])
                    yield copy, f"{path}: {inner}"


def attempt(function, *arguments):
    try:
        return function(*arguments), ""
    except Exception as error:  # whatever a peer raises, it refuses the file
        return None, f"{type(error).__name__}: {error}"[:160]


def main():
    calque, folders = sys.argv[1], sys.argv[2:]
    totals, report = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        for path, shown in find_files(folders, scratch):
            ending = os.path.splitext(path)[1]
            if ending == ".ts" and b"<TS" not in open(path, "rb").read():
                continue  # TypeScript
            ours, why = attempt(by_calque, calque, path)
            peers = [("translate-toolkit", by_toolkit)]
            if ending in (".po", ".pot", ".mo", ".gmo"):
                peers.insert(0, ("polib", by_polib))
            for name, peer in peers:
                theirs, their_why = attempt(peer, path)
                t = totals.setdefault((ending, name), Counter())
                t["files"] += 1
                if ours is None or theirs is None:
                    t["both refuse" if ours is None and theirs is None else "calque refuses" if ours is None else "peer refuses"] += 1
                    if (ours is None) != (theirs is None) and (ours or theirs):
                        report.append(f"{shown} ({name}): {why or their_why}")
                    continue
                t["same pairs"] += (ours & theirs).total()
                only = [("calque", ours - theirs), (name, theirs - ours)]
                t["only calque"] += only[0][1].total()
                t["only peer"] += only[1][1].total()
                for who, pairs in only:
                    report += [f"{shown}: only {who}: {a!r} {b!r}"[:300] for a, b in list(pairs)[:3]]
    columns = ["files", "same pairs", "only calque", "only peer", "both refuse", "calque refuses", "peer refuses"]
    print("\t".join(["ending", "peer"] + columns))
    for (ending, name), t in sorted(totals.items()):
        print("\t".join([ending, name] + [str(t[c]) for c in columns]))
    print("\n".join(report), file=sys.stderr)


main()
