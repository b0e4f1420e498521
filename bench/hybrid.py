"""Dense, lexical and hybrid ranking on topics and documents in six languages: hits at 1 and MAP of the first 20.

    python3 bench/hybrid.py PROGRAM MODEL DATA/clir

Each language's topics search each language's documents, and all six languages' together ("mixed"). Pairs of languages
whose documents hold the same text (see the data's README) are left out.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

program, model, data = sys.argv[1:]
LANGUAGES = ["en", "de", "es", "ru", "ar", "hi"]
SAME_TEXT = [{"en", "es"}, {"hi", "ar"}, {"de", "ru"}]
SYSTEMS = [("dense",), ("words",), ("hybrid", 0.1), ("hybrid", 0.2), ("hybrid", 0.3)]


def topics(language):
    with open(f"{data}/topics.{language}.xml", encoding="utf8") as file:
        return re.findall(r"<num>(\d+)</num>\s*<title>\s*(.*?)\s*</title>", file.read(), re.S)


def judgments(language):
    relevant = collections.defaultdict(set)
    with open(f"{data}/qrels.{language}.txt") as file:
        for topic, _, document, grade in map(str.split, file):
            if grade == "1":
                relevant[topic].add(document)
    return relevant


def search(index, queries, ranking, weight=0.5):
    command = [program, "search", "--quiet", "--top", "20", "--queries", queries, "--ranking", ranking,
               "--words-weight", str(weight), index]
    found = []
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        if line.startswith("# "):
            found.append([])
        elif line.strip():
            found[-1].append(line.split()[1])
    return found


def figures(found, wanted):
    """Hits at 1 and MAP in percent, over topics that have a relevant document."""
    first, precision, n = 0, 0, 0
    for hits, relevant in zip(found, wanted):
        if not relevant:
            continue
        n += 1
        first += bool(hits) and hits[0] in relevant
        right = 0
        for rank, document in enumerate(hits, 1):
            if document in relevant:
                right += 1
                precision += right / rank / len(relevant)
    return 100 * first / n, 100 * precision / n


def main():
    relevant = {language: judgments(language) for language in LANGUAGES}
    sums = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as work:
        for target in LANGUAGES + ["all"]:
            files = [f"{data}/docs.{l}.trec" for l in LANGUAGES if target in (l, "all")]
            subprocess.run([program, "index", "new", "--quiet", "--model", model, f"{work}/{target}"], check=True)
            subprocess.run([program, "index", "add", "--quiet", f"{work}/{target}", *files], check=True)
            for source in LANGUAGES:
                if {source, target} in SAME_TEXT:
                    continue
                kind = "same" if source == target else "mixed" if target == "all" else "other"
                numbers, titles = zip(*topics(source))
                with open(f"{work}/queries", "w", encoding="utf8") as file:
                    file.writelines(title + "\n" for title in titles)
                wanted = [set().union(*(relevant[l][t] for l in LANGUAGES if target in (l, "all"))) for t in numbers]
                for system in SYSTEMS:
                    sums[system, kind].append(figures(search(f"{work}/{target}", f"{work}/queries", *system), wanted))
    print("| ranking | same: hits@1 | MAP | other language: hits@1 | MAP | mixed: hits@1 | MAP |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for system in SYSTEMS:
        cells = [" ".join(map(str, system))]
        for kind in ("same", "other", "mixed"):
            values = sums[system, kind]
            cells += [f"{sum(v[i] for v in values) / len(values):.1f}" for i in (0, 1)]
        print("| " + " | ".join(cells) + " |")


main()
