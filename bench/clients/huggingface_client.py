"""`huggingface_hub.InferenceClient` against text-embeddings-inference's interface."""
from common import LONG, TEXTS, URL, check, expected, finish, raises, same
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

want = expected()
client = InferenceClient(base_url=URL)
embed = InferenceClient(model=URL + "/embed")
for c, name in ((client, "base_url"), (embed, "/embed")):
    one = c.feature_extraction(TEXTS[0])
    check(one.shape == (1, len(want[0])), f"{name}: shape {one.shape}")
    same(one.tolist(), want[:1], f"{name}: one text")
    same(c.feature_extraction(TEXTS).tolist(), want, f"{name}: batch")
    same(c.feature_extraction(TEXTS, normalize=True, truncate=True).tolist(), want, f"{name}: options")
    same(c.feature_extraction(LONG, truncate=True).tolist(), expected([LONG]), f"{name}: truncated")
    raises(HfHubHTTPError, lambda c=c: c.feature_extraction(LONG, truncate=False), f"{name}: a long text", 413)
    raises(HfHubHTTPError, lambda c=c: c.feature_extraction([]), f"{name}: no texts", 422)

cosines = InferenceClient(model=URL + "/similarity").sentence_similarity(TEXTS[0], other_sentences=TEXTS[1:])
dot = [[sum(x * y for x, y in zip(want[0], v))] for v in want[1:]]
same([[c] for c in cosines], dot, "sentence_similarity")
finish()
