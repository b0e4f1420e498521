"""Writes two dumps of a MediaWiki, as Wikipedia's are, from rows of parallel text, and the pairs that are in both.

    dumps.py ROWS.tsv.gz PAGES OUT SEED        OUT/a.xml.bz2, OUT/b.xml.bz2, OUT/gold.tsv

A page has five to fourteen rows that follow one another, as two or three sections with wiki markup. A tenth of the pages
are in one dump only, pages are in different orders, and a page lacks a tenth of its sentences in one language; some
sentences are joined by a line break, templates, tables and references stand between them.
"""
import bz2
import gzip
import random
import sys
from xml.sax.saxutils import escape


def markup(sentences, heading, rng):
    out = ["{{Infobox|name=x|value=1}}\n"]
    for i, sentence in enumerate(sentences):
        if i and rng.random() < 0.2:
            out.append(f"\n\n== {heading} ==\n")
        words = sentence.split(" ")
        if len(words) > 6 and rng.random() < 0.5:
            k = rng.randrange(1, len(words) - 1)
            words[k] = f"[[{words[k]}]]" if rng.random() < 0.5 else f"'''{words[k]}'''"
        out.append(" ".join(words))
        out.append("<ref>source</ref> " if rng.random() < 0.2 else " ")
    out.append("\n{| class=\"wikitable\"\n|-\n| 1 || 2\n|}\n[[Category:Things]]\n")
    return "".join(out)


def write(path, pages):
    with bz2.open(path, "wt", encoding="utf8") as out:
        out.write('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">\n')
        for number, title, text in pages:
            out.write(f"  <page>\n    <title>{escape(title)}</title>\n    <ns>0</ns>\n    <id>{number}</id>\n    <revision>\n"
                      f"      <id>{number}</id>\n      <text xml:space=\"preserve\">{escape(text)}</text>\n"
                      "    </revision>\n  </page>\n")
        out.write("</mediawiki>\n")


def main():
    rows_path, n_pages, out, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    rng = random.Random(seed)
    with gzip.open(rows_path, "rt", encoding="utf8") as lines:
        rows = [line.rstrip("\n").split("\t")[:2] for line in lines]
    rows = [row for row in rows if len(row) == 2 and all(20 < len(side) < 400 for side in row)]
    pages, gold, at = ([], []), set(), 0
    for page in range(n_pages):
        size = rng.randrange(5, 15)
        part = [rows[(at + k) % len(rows)] for k in range(size)]
        at += size
        sides = [[row[side] for row in part if rng.random() > 0.05] for side in (0, 1)]
        kind = rng.random()
        for side in (0, 1):
            if not sides[side] or kind < 0.05 * (1 + side) and kind >= 0.05 * side:
                continue
            title = sides[side][0].split(" ")[0] + f" {page if side == 0 else 7919 * page % 100003}"
            pages[side].append((len(pages[side]) + 1, title, markup(sides[side], ("History", "Geschichte")[side], rng)))
        if kind >= 0.1:
            gold.update(tuple(row) for row in part if row[0] in sides[0] and row[1] in sides[1])
    for side, name in ((0, "a"), (1, "b")):
        rng.shuffle(pages[side])
        write(f"{out}/{name}.xml.bz2", pages[side])
    with open(f"{out}/gold.tsv", "w", encoding="utf8") as file:
        file.writelines(f"{a}\t{b}\n" for a, b in sorted(gold))
    print(f"{len(pages[0])} and {len(pages[1])} pages, {len(gold)} pairs")


main()
