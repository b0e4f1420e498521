"""The package `cohere`, both of its clients, against /v1 and /v2."""
import base64
import struct

import cohere
from common import LONG, TEXTS, URL, check, cosines, expected, finish, is_ranking, raises, same, shortened

want = expected()
v2 = cohere.ClientV2(api_key="none", base_url=URL)
v1 = cohere.Client(api_key="none", base_url=URL)
answer = v2.embed(model="any", texts=TEXTS, input_type="search_document", embedding_types=["float"])
same(answer.embeddings.float_, want, "v2: float")
check(answer.texts == TEXTS and answer.meta.billed_units.input_tokens > 6, "v2: texts and tokens")
same(v2.embed(model="any", texts=TEXTS, input_type="search_document").embeddings.float_, want, "v2: no types")
all_types = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
types = v2.embed(model="any", texts=TEXTS, input_type="classification", embedding_types=all_types).embeddings
for i, v in enumerate(want):
    largest = max(abs(x) for x in v)
    same([types.int8[i]], [[x / largest * 127 for x in v]], "v2: int8", 0.501)
    check(types.uint8[i] == [x + 128 for x in types.int8[i]], "v2: uint8")
    bits = [sum((x > 0) << (7 - k) for k, x in enumerate(v[d:d + 8])) for d in range(0, len(v), 8)]
    check(types.ubinary[i] == bits, "v2: ubinary")
    check(types.binary[i] == [b - 128 for b in bits], "v2: binary")
    coded = base64.b64decode(types.base64[i])
    same([struct.unpack(f"<{len(v)}f", coded)], [v], "v2: base64")
short = v2.embed(model="any", texts=TEXTS, input_type="clustering", embedding_types=["float"], output_dimension=64)
same(short.embeddings.float_, shortened(want, 64), "v2: output_dimension")
for side in ("END", "NONE"):
    call = lambda side=side: v2.embed(model="any", texts=[LONG], input_type="search_document", truncate=side)
    if side == "END":
        same(call().embeddings.float_, expected([LONG]), "v2: truncated")
    else:
        raises(cohere.BadRequestError, call, "v2: a long text", 400)
error = raises(cohere.BadRequestError,
               lambda: v2.embed(model="any", texts=["x"], input_type="search_query", embedding_types=["int3"]),
               "v2: a bad type", 400)
check(error is None or "int3" in str(error.body), "v2: the message of a bad type")
same(v1.embed(model="any", texts=TEXTS, input_type="search_document").embeddings, want, "v1: list")
by_type = v1.embed(model="any", texts=TEXTS, input_type="search_document", embedding_types=["float", "int8"])
same(by_type.embeddings.float_, want, "v1: by type")
check(by_type.embeddings.int8 == types.int8, "v1: int8")

near = cosines(want)
for client, version in ((v2, "v2"), (v1, "v1")):
    ranked = client.rerank(model="any", query=TEXTS[0], documents=TEXTS[1:])
    is_ranking([(r.index, r.relevance_score) for r in ranked.results], near, f"{version}: rerank")
    ranked = client.rerank(model="any", query=TEXTS[0], documents=TEXTS[1:], top_n=2)
    is_ranking([(r.index, r.relevance_score) for r in ranked.results], near, f"{version}: rerank, top_n")
raises(cohere.BadRequestError, lambda: v2.rerank(model="any", query="x", documents=[]), "v2: no documents", 400)
finish()
