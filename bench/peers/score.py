"""Which rows of a parallel file are translations: rows with noise of known kinds, and areas under the ROC curve (AUC).

    score.py noise DATA en-de SEED N SHARE WORK     writes WORK/noisy.tsv and WORK/kinds (a line per row)
    score.py auc WORK/kinds NAME=SCORES...          a table of AUC in percent; SCORES: a number per row in column one
    score.py rules WORK/noisy.tsv en-de             OpusFilter's rules: how many accept each row; needs opusfilter
    score.py margin WORK/source.npy WORK/target.npy each row's margin (ratio, k 4), as LASER's; needs numpy
    score.py precision WORK/scored.jsonl WORK/kinds the precision of the rows that --min-precision 0.95 keeps
    score.py train WORK...                          weights of src/recipe/score/score_model.c; needs numpy

See bench/score.sh."""

import gzip
import math
import random
import re
import sys

KINDS = "shifted truncated language numbers names half salad copied boilerplate".split()
# Where the rows are from, with shares: news has numbers and names, and everyday sentences are short.
TEXTS = (("train-news", 0.7), ("train-tatoeba", 0.3))
NUMBER = re.compile(r"\d+")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})*")
NO_NAMES = set("Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April June July August "
               "September October November December".split())


def read(data, pair, text):
    with gzip.open(f"{data}/parallel/{pair}/{text}.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        return [(r[0].strip(), r[1].strip()) for r in rows if len(r) == 2 and r[0].strip() and r[1].strip()]


def draw(data, pair, n, rng):
    rows, seen = [], set()
    for text, share in TEXTS:
        fresh = read(data, pair, text)
        rng.shuffle(fresh)
        wanted = len(rows) + round(n * share)
        for source, target in fresh:
            if len(rows) < wanted and source != target and source not in seen and target not in seen:
                seen |= {source, target}
                rows.append((source, target))
    rng.shuffle(rows)
    return rows


def others(data, pair):
    """English sentences' translations into another language than the pair's."""
    return {s: t for other in ("en-fr", "en-es", "en-cs") if other != pair
            for text in ("train-news", "train-tatoeba") for s, t in read(data, other, text)}


def other_punctuation(text, rng):
    how = rng.randrange(4)
    if how == 0:
        return text[:-1] if text[-1] in ".!?。" else text + "."
    if how == 1:
        return text.replace(",", "") if "," in text else text.rstrip(".") + "!"
    if how == 2:
        return "“" + text + "”"
    return "- " + text


def swap_number(row, rng, numbers):
    side = rng.randrange(2)
    at = rng.choice(list(NUMBER.finditer(row[side])))
    new = at.group()
    while new == at.group():
        new = rng.choice(numbers)
    changed = row[side][:at.start()] + new + row[side][at.end():]
    return (changed, row[1]) if side == 0 else (row[0], changed)


def swap_name(row, rng, names):
    at = rng.choice(found_names(row))
    new = at.group()
    while new == at.group():
        new = rng.choice(names)
    return row[0][:at.start()] + new + row[0][at.end():], row[1]


def found_names(row):
    return [m for m in NAME.finditer(row[0]) if not NO_NAMES & set(m.group().split())]


def on_one_side(change):
    def both(row, rng):
        return (change(row[0], rng), row[1]) if rng.random() < 0.5 else (row[0], change(row[1], rng))
    return both


def truncate(text, rng):
    words = text.split()
    return " ".join(words[:max(1, round(len(words) * rng.uniform(0.3, 0.7)))])


def shuffle_words(text, rng):
    words = text.split()
    shuffled = words[:]
    while shuffled == words:
        rng.shuffle(shuffled)
    return " ".join(shuffled)


def translate_half(row, rng):
    source, target = row[0].split(), row[1].split()
    a, b = len(source) // 2, len(target) // 2
    return row[0], " ".join(target[:b] + source[a:] if rng.random() < 0.5 else source[:a] + target[b:])


def n_words(row):
    return min(len(side.split()) for side in row)


def noise(data, pair, seed, n, share, work):
    rng = random.Random(f"{pair} {seed}")
    rows = draw(data, pair, n, rng)
    n, count = len(rows), round(len(rows) * share)
    translations = others(data, pair)
    numbers = [m for row in rows for m in NUMBER.findall(row[0])]
    names = [m.group() for row in rows for m in found_names(row)]
    boilerplate = [row[1] for row in rng.sample(rows, max(2, count // 50))]
    fits = {"language": lambda r: r[0] in translations, "names": found_names,
            "numbers": lambda r: NUMBER.search(r[0]) and NUMBER.search(r[1]),
            "half": lambda r: n_words(r) >= 4, "salad": lambda r: n_words(r) >= 5 and len(set(r[1].split())) > 3,
            "truncated": lambda r: n_words(r) >= 4}
    make = {"language": lambda r, g: (r[0], translations[r[0]]), "numbers": lambda r, g: swap_number(r, g, numbers),
            "names": lambda r, g: swap_name(r, g, names), "half": translate_half, "salad": on_one_side(shuffle_words),
            "truncated": on_one_side(truncate), "boilerplate": lambda r, g: (r[0], g.choice(boilerplate)),
            "copied": lambda r, g: (r[0], r[0]) if g.random() < 0.5 else (r[1], r[1])}
    kinds = ["good"] * n
    free = list(range(max(n - len(KINDS) * count, n // 20), n))  # the rows before stay good, whatever is in them
    for kind in "names numbers language salad half truncated copied boilerplate".split():
        taken = [i for i in free if fits.get(kind, lambda r: True)(rows[i])][:count]
        for i in taken:
            rows[i], kinds[i] = make[kind](rows[i], rng), kind
        free = sorted(set(free) - set(taken))
    # Shifted: half in one run, each with the next row's target; half with targets drawn from each other.
    shifted = rng.sample(free, min(count, len(free)))
    half = len(shifted) // 2
    run, single = shifted[:half], shifted[half:]
    for group in (run, single):
        targets = [rows[i][1] for i in group]
        for k, i in enumerate(group):
            rows[i], kinds[i] = (rows[i][0], targets[(k + 1) % len(group)]), "shifted"
    good = [i for i in range(n) if kinds[i] == "good"]
    for i in rng.sample(good, len(good) // 2):
        side = rng.randrange(2)
        changed = other_punctuation(rows[i][side], rng)
        rows[i], kinds[i] = ((changed, rows[i][1]) if side == 0 else (rows[i][0], changed)), "punctuation"
    order = [i for i in range(n) if i not in set(run)]
    rng.shuffle(order)
    place = rng.randrange(len(order))
    order[place:place] = run
    with open(f"{work}/noisy.tsv", "w", encoding="utf-8") as out:
        out.writelines(f"{rows[i][0]}\t{rows[i][1]}\n" for i in order)
    with open(f"{work}/kinds", "w", encoding="utf-8") as out:
        out.writelines(kinds[i] + "\n" for i in order)


def area(good, bad):
    """The chance that a good row has a higher score than a bad one; a tie counts half."""
    ranked = sorted([(s, 1) for s in good] + [(s, 0) for s in bad])
    n_below = wins = i = 0
    while i < len(ranked):
        j, n_good, n_bad = i, 0, 0
        while j < len(ranked) and ranked[j][0] == ranked[i][0]:
            n_good += ranked[j][1]
            n_bad += 1 - ranked[j][1]
            j += 1
        wins += n_good * (n_below + n_bad / 2)
        n_below += n_bad
        i = j
    return 100 * wins / (len(good) * len(bad)) if good and bad else float("nan")


def auc(kinds_path, scores):
    with open(kinds_path, encoding="utf-8") as lines:
        kinds = lines.read().split()
    print("", "all", *KINDS, sep="\t")
    for named in scores:
        name, path = named.split("=", 1)
        with open(path, encoding="utf-8") as lines:
            values = [float(line.split("\t")[0]) for line in lines]
        assert len(values) == len(kinds), f"{path} has {len(values)} rows, expected {len(kinds)}"
        good = [v for v, k in zip(values, kinds) if k in ("good", "punctuation")]
        cells = [area(good, [v for v, k in zip(values, kinds) if k not in ("good", "punctuation")])]
        cells += [area(good, [v for v, k in zip(values, kinds) if k == kind]) for kind in KINDS]
        print(name, *("%.1f" % c for c in cells), sep="\t")


def rules(path, pair):
    """OpusFilter's rules (Aulamo et al. 2020) at their default thresholds, languages by Lingua: how many accept a row,
    and the share of its numerals that are alike, which orders rows with as many."""
    from opusfilter import filters as f
    languages = pair.split("-")
    with open(path, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t")[:2] for line in lines]
    scripts = ["Cyrillic" if language == "ru" else "Latin" for language in languages]
    numerals = f.NonZeroNumeralsFilter()
    chosen = [f.LengthFilter(), f.LengthRatioFilter(), f.LongWordFilter(), f.AverageWordLengthFilter(),
              f.HtmlTagFilter(), f.AlphabetRatioFilter(), f.CharacterScoreFilter(scripts=scripts),
              f.TerminalPunctuationFilter(), numerals, f.SimilarityFilter(), f.RepetitionFilter(),
              f.LinguaFilter(languages=languages)]
    accepted = [0] * len(rows)
    for rule in chosen:
        for i, score in enumerate(rule.score(rows)):
            accepted[i] += rule.accept(score) + (min(score) / 2 if rule is numerals else 0)
    print(*accepted, sep="\n")


def margin(source, target):
    import numpy as np
    x, y = (np.load(path).astype(np.float32) for path in (source, target))
    x, y = (m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-9) for m in (x, y))

    def near(a, b):
        blocks = (a[i:i + 500] @ b.T for i in range(0, len(a), 500))
        return np.concatenate([np.partition(block, -4, axis=1)[:, -4:].mean(axis=1) for block in blocks])

    ratio = (x * y).sum(axis=1) / np.maximum((near(x, y) + near(y, x)) / 2, 0.05)
    print(*ratio, sep="\n")


def precision(path, kinds_path):
    import json
    with open(kinds_path, encoding="utf-8") as lines:
        good = [k in ("good", "punctuation") for k in lines.read().split()]
    with open(path, encoding="utf-8") as lines:
        kept = [good[json.loads(line)["line"] - 1] for line in lines]
    print(f"{len(kept)} rows kept: precision {100 * sum(kept) / max(1, len(kept)):.1f}, "
          f"recall {100 * sum(kept) / sum(good):.1f}")


def train(folders):
    """A network of one hidden layer (tanh) whose outputs are a softmax over reasons, each with the same weight: Adam
    with a cosine schedule and decay of the weights."""
    import json
    import numpy as np
    hidden, epochs, batch, decay, rate = 32, 50, 128, 3e-5, 3e-3
    reasons = dict(good=0, punctuation=0, shifted=1, boilerplate=9, truncated=2, language=3, numbers=4, names=5, half=6,
                   salad=7, copied=8)
    x, y = [], []
    for folder in folders:
        with open(f"{folder}/scored.jsonl", encoding="utf-8") as lines:
            x += [list(json.loads(line)["evidence"].values()) for line in lines]
        with open(f"{folder}/kinds", encoding="utf-8") as lines:
            y += [reasons[k] for k in lines.read().split()]
    x, y, rng = np.array(x), np.array(y), np.random.default_rng(2)
    mean, deviation = x.mean(0), x.std(0) + 1e-9
    z, n = (x - mean) / deviation, len(y)
    weights = n / 10 / np.bincount(y, minlength=10)[y]
    p = [rng.normal(0, z.shape[1] ** -0.5, (hidden, z.shape[1])), np.zeros(hidden)]
    p += [np.zeros((10, hidden)), np.zeros(10)]
    m, v = [0 * a for a in p], [0 * a for a in p]
    t = 0
    for epoch in range(epochs):
        order = rng.permutation(n)
        for i in (order[b:b + batch] for b in range(0, n - batch + 1, batch)):
            h = np.tanh(z[i] @ p[0].T + p[1])
            out = h @ p[2].T + p[3]
            out = np.exp(out - out.max(1, keepdims=True))
            g = (out / out.sum(1, keepdims=True) - np.eye(10)[y[i]]) * weights[i][:, None] / batch
            back = (g @ p[2]) * (1 - h * h)
            gradients = back.T @ z[i] + decay * p[0], back.sum(0), g.T @ h + decay * p[2], g.sum(0)
            t += 1
            for k, gradient in enumerate(gradients):
                m[k] = 0.9 * m[k] + 0.1 * gradient
                v[k] = 0.999 * v[k] + 0.001 * gradient ** 2
                step = rate * (1 + math.cos(math.pi * epoch / epochs)) / 2
                p[k] = p[k] - step * m[k] / (1 - 0.9 ** t) / (np.sqrt(v[k] / (1 - 0.999 ** t)) + 1e-8)
    first = p[0] / deviation
    for name, rows in (("hidden", np.c_[first, p[1] - first @ mean]), ("output", np.c_[p[2], p[3]])):
        print(name)
        for row in rows:
            print("    {" + ", ".join("%.4g" % number for number in row) + "},")


if __name__ == "__main__":
    if len(sys.argv) == 8 and sys.argv[1] == "noise":
        noise(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), float(sys.argv[6]), sys.argv[7])
    elif len(sys.argv) > 3 and sys.argv[1] == "auc":
        auc(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 4 and sys.argv[1] in ("rules", "margin", "precision"):
        globals()[sys.argv[1]](*sys.argv[2:])
    elif len(sys.argv) > 2 and sys.argv[1] == "train":
        train(sys.argv[2:])
    else:
        sys.exit(__doc__)
