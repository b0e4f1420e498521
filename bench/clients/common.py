"""What the clients' checks share: the server's address, the expected vectors, and how a difference is reported.

    python3 SCRIPT URL PROGRAM MODEL

URL is that of `calque serve --model MODEL`, CL100K_URL in the environment that of one with `--token-ids cl100k`; what `PROGRAM encode` gives for the same texts is what the client must get.
"""
import json
import os
import subprocess
import sys

TEXTS = [
    "A dog runs across the wet grass.",
    "Ein Hund läuft über das nasse Gras.",
    "The harbour is closed on Sundays.",
    "Сегодня на улице идёт снег, и дети смеются.",
    "\"Quotes\", a \\ and a \t tab.",
    "x",
]
LONG = "The tide comes in slowly over the flat sand. " * 200
TOLERANCE = 1e-5

if len(sys.argv) != 4:
    sys.exit(f"usage: {sys.argv[0]} URL PROGRAM MODEL")
URL, PROGRAM, MODEL = sys.argv[1].rstrip("/"), sys.argv[2], sys.argv[3]
CL100K_URL = os.environ.get("CL100K_URL", "")
failures = 0
checks = 0


def check(is_true, what):
    global failures, checks
    checks += 1
    if not is_true:
        failures += 1
        print(f"{sys.argv[0]}: {what}", file=sys.stderr)


def expected(texts=None):
    """The vectors of `calque encode`, a list a text."""
    lines = "".join(text + "\n" for text in texts or TEXTS)
    out = subprocess.run([PROGRAM, "encode", "--model", MODEL, "--normalize", "--quiet", "-"], input=lines, text=True,
                         capture_output=True, check=True).stdout
    return [json.loads(line)["embedding"] for line in out.splitlines()]


def same(got, want, what, tolerance=TOLERANCE):
    """Two lists of vectors."""
    check(len(got) == len(want), f"{what}: {len(got)} vectors, expected {len(want)}")
    for i, (a, b) in enumerate(zip(got, want)):
        check(len(a) == len(b), f"{what}: vector {i} has {len(a)} numbers, expected {len(b)}")
        worst = max((abs(float(x) - y) for x, y in zip(a, b)), default=0)
        check(worst <= tolerance, f"{what}: vector {i} differs by {worst:.3g}")


def shortened(vectors, dim):
    """The first dim numbers, of length 1 again."""
    short = [v[:dim] for v in vectors]
    return [[x / sum(y * y for y in v) ** 0.5 for x in v] for v in short]


def raises(kind, call, what, status=None):
    """The exception that a call raises; a difference if it raises none or another."""
    try:
        call()
    except kind as error:
        response = getattr(error, "response", None)
        code = getattr(error, "status_code", None) or getattr(response, "status_code", None)
        check(status is None or code == status, f"{what}: status {code}, expected {status}")
        return error
    except Exception as error:  # noqa: BLE001
        check(False, f"{what}: {type(error).__name__}: {error}")
        return None
    check(False, f"{what}: no error")
    return None


def refuses_ids(call, what):
    """OpenAI's route takes no token ids, and the error names the remedy."""
    import openai
    error = raises(openai.BadRequestError, call, what, 400)
    check(error is None or "check_embedding_ctx_length=False" in str(error), f"{what}: no remedy in '{error}'")


def cosines(vectors):
    """Those of the first with the others, which all have length 1."""
    return [sum(x * y for x, y in zip(vectors[0], v)) for v in vectors[1:]]


def is_ranking(rows, want, what):
    """(index, score) pairs in falling order of the cosines."""
    order = sorted(range(len(want)), key=lambda i: -want[i])[:len(rows)]
    check([i for i, _ in rows] == order, f"{what}: the order is {[i for i, _ in rows]}, expected {order}")
    same([[s] for _, s in rows], [[want[i]] for i in order], what)


def token_ids(texts):
    """Ids of the model, from /tokenize."""
    import urllib.request
    request = urllib.request.Request(URL + "/tokenize", json.dumps({"inputs": texts}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return [[token["id"] for token in text] for text in json.load(answer)]


def finish():
    if failures:
        sys.exit(f"{sys.argv[0]}: {failures} of {checks} checks failed")
    print(f"{sys.argv[0]}: {checks} checks passed")
