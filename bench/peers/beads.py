"""Precision, recall and F1 of sentence alignments, strict and lax, over all documents together.

    beads.py GOLD FOUND [GOLD FOUND ...]

Files in Vecalign's format: "[0,1]:[2]" in each line. Strict: a bead is right if the gold standard has the same. Lax: if a
bead of the gold standard has a sentence of each of its sides. Beads without one side count toward precision only.
"""
import ast
import sys


def read(path):
    beads = set()
    with open(path) as lines:
        for line in lines:
            if not line.startswith("#"):
                beads.add(tuple(tuple(ast.literal_eval(side)) for side in line.split(":")[:2]))
    return beads


def n_right(beads, gold):
    """Of beads: those that gold has, and those that meet one of gold's on both sides."""
    partners = {}
    for source, target in gold:
        for i in source:
            partners.setdefault(i, set()).update(target)
    strict = sum(bead in gold for bead in beads)
    lax = sum(bead in gold or any(partners.get(i, set()) & set(bead[1]) for i in bead[0]) for bead in beads)
    return strict, lax


def main():
    found_right, n_found, gold_right, n_gold = [0, 0], 0, [0, 0], 0
    for gold, found in zip(sys.argv[1::2], sys.argv[2::2]):
        gold, found = read(gold), read(found)
        for k, right in enumerate(n_right(found, gold)):
            found_right[k] += right
        n_found += len(found)
        gold, found = ({bead for bead in beads if all(bead)} for beads in (gold, found))
        for k, right in enumerate(n_right(gold, found)):
            gold_right[k] += right
        n_gold += len(gold)
    for k, name in enumerate(["strict", "lax"]):
        precision, recall = found_right[k] / n_found, gold_right[k] / n_gold
        print(f"{name}\tprecision {precision:.3f}\trecall {recall:.3f}\tF1 {2 * precision * recall / (precision + recall):.3f}")


main()
