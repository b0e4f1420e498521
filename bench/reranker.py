"""Data and figures of bench/reranker.sh. Topics 4a+1 to 4a+4 share article a: even articles train, odd ones are held out.

    reranker.py pairs CLIR OUT           (query, passage, 1 or 0) from the training articles in English
    reranker.py held-out CLIR LANG OUT   OUT.docs.jsonl: all documents; OUT.queries: topics of held-out articles
    reranker.py ndcg CLIR LANG HITS      nDCG@10 of calque search --json, averaged by article
"""
import json
import math
import random
import re
import sys


def read(clir, language):
    docs = dict(re.findall(r"<DOCNO>(\S+)</DOCNO>\s*<TEXT>\s*(.*?)\s*</TEXT>", open(f"{clir}/docs.{language}.trec").read(),
                           re.S))
    docs = {name: " ".join(text.split()) for name, text in docs.items()}
    topics = re.findall(r"<num>\s*(\d+)\s*</num>\s*<title>\s*(.*?)\s*</title>", open(f"{clir}/topics.{language}.xml").read(),
                        re.S)
    relevant = {}
    for line in open(f"{clir}/qrels.{language}.txt"):
        topic, _, doc, grade = line.split()
        if int(grade) > 0:
            relevant.setdefault(topic, set()).add(doc)
    return docs, [(t, " ".join(q.split())) for t, q in topics], relevant


def article(topic):
    return (int(topic) - 1) // 4


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def make_pairs(clir, out):
    rng = random.Random(1)
    docs, topics, relevant = read(clir, "en")
    of_article = {article(t): sorted(relevant[t]) for t, _ in topics if article(t) % 2 == 0 and t in relevant}
    own = {d: a for a, names in of_article.items() for d in names}
    frequency = {}
    for d in own:
        for w in words(docs[d]):
            frequency[w] = frequency.get(w, 0) + 1
    queries = [(article(t), q, None) for t, q in topics if article(t) in of_article for _ in range(3)]
    for d, a in own.items():
        for s in re.split(r"(?<=[.!?]) ", docs[d]):
            if 40 < len(s) < 250:
                queries.append((a, s, d))
    rows = []
    for a, q, source in queries:
        right = [d for d in of_article[a] if d != source]
        wrong = [d for d in own if own[d] != a]
        if not right:
            continue
        if source and rng.random() < 0.3:  # the passage without the sentence: inverse cloze
            passage = docs[source].replace(q, "").strip()
            if len(passage) > 60:
                rows.append((q, passage, 1))
        shared = words(q)
        hard = sorted(wrong, key=lambda d: -sum(1 / frequency[w] for w in shared & words(docs[d])))[:5]
        rows.append((q, docs[rng.choice(right)], 1))
        rows += [(q, docs[d], 0) for d in (rng.choice(hard), rng.choice(wrong))]
    rng.shuffle(rows)
    with open(out, "w") as f:
        for q, p, score in rows:
            f.write(f"{q}\t{p}\t{score}\n")
    print(f"{len(rows)} pairs of {len(of_article)} articles")


def write_held_out(clir, language, out):
    docs, topics, relevant = read(clir, language)
    with open(out + ".docs.jsonl", "w") as f:
        for name, text in docs.items():
            f.write(json.dumps({"id": name, "text": text}, ensure_ascii=False) + "\n")
    with open(out + ".queries", "w") as f:
        f.writelines(q + "\n" for t, q in topics if article(t) % 2 and t in relevant)


def ndcg(clir, language, hits):
    docs, topics, relevant = read(clir, language)
    ranked = {}
    for line in open(hits):
        hit = json.loads(line)
        ranked.setdefault(hit["query"], []).append(hit.get("id"))
    by_article = {}
    for t, q in topics:
        if article(t) % 2 == 0 or t not in relevant:
            continue
        gain = sum(1 / math.log2(i + 2) for i, d in enumerate(ranked.get(q, [])[:10]) if d in relevant[t])
        best = sum(1 / math.log2(i + 2) for i in range(min(10, len(relevant[t]))))
        by_article.setdefault(article(t), []).append(gain / best)
    means = [sum(x) / len(x) for x in by_article.values()]
    print(f"{sum(means) / len(means):.4f}")


if __name__ == "__main__":
    {"pairs": make_pairs, "held-out": write_held_out, "ndcg": ndcg}[sys.argv[1]](*sys.argv[2:])
