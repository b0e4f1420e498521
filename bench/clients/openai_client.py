"""The package `openai` against /v1."""
import base64
import struct

import openai
from common import LONG, TEXTS, URL, check, expected, finish, raises, refuses_ids, same, shortened, token_ids

client = openai.OpenAI(base_url=URL + "/v1", api_key="none", max_retries=0)
want = expected()
model = client.models.list().data[0].id
check(client.models.retrieve(model).id == model, "models.retrieve")

one = client.embeddings.create(model=model, input=TEXTS[0])
same([one.data[0].embedding], want[:1], "one text")
check(one.usage.prompt_tokens > 2 and one.usage.total_tokens == one.usage.prompt_tokens, "usage")
check(one.model == model and one.object == "list" and one.data[0].object == "embedding", "names of an answer")

batch = client.embeddings.create(model="any", input=TEXTS)  # the package asks for base64 by itself
same([d.embedding for d in batch.data], want, "batch")
check([d.index for d in batch.data] == list(range(len(TEXTS))), "indices")

floats = client.embeddings.create(model=model, input=TEXTS, encoding_format="float")
same([d.embedding for d in floats.data], want, "floats")
coded = client.embeddings.create(model=model, input=TEXTS, encoding_format="base64")
bits = [base64.b64decode(d.embedding) for d in coded.data]
same([struct.unpack(f"<{len(b) // 4}f", b) for b in bits], want, "base64")
check([d.embedding for d in floats.data] == [list(struct.unpack(f"<{len(b) // 4}f", b)) for b in bits] or
      all(abs(x - y) < 1e-9 for d, b in zip(floats.data, bits)
          for x, y in zip(d.embedding, struct.unpack(f"<{len(b) // 4}f", b))), "floats and base64 differ")

ids = token_ids(TEXTS)
for given in (ids[0], ids):
    refuses_ids(lambda given=given: client.embeddings.create(model=model, input=given), "token ids")
short = client.embeddings.create(model=model, input=TEXTS, dimensions=64)
same([d.embedding for d in short.data], shortened(want, 64), "dimensions")

many = client.embeddings.create(model=model, input=TEXTS * 50)
same([d.embedding for d in many.data], want * 50, "300 texts")

truncated = client.embeddings.create(model=model, input=LONG)
check(truncated.model_extra["calque"]["truncated"] == 1, "truncated")
error = raises(openai.BadRequestError,
               lambda: client.embeddings.create(model=model, input=LONG, extra_body={"on_long": "error"}), "long text", 400)
check(error is None or error.code == "context_length_exceeded", "code of a long text")
error = raises(openai.BadRequestError, lambda: client.embeddings.create(model=model, input=[]), "no texts", 400)
check(error is None or error.param == "input", "param of no texts")
raises(openai.BadRequestError, lambda: client.embeddings.create(model=model, input=TEXTS[0], dimensions=100000),
       "too many dimensions", 400)
raises(openai.BadRequestError, lambda: client.embeddings.create(model=model, input=[[1, -5]]), "a bad id", 400)
raises(openai.BadRequestError, lambda: client.embeddings.create(model=model, input=TEXTS[0], encoding_format="int3"),
       "a bad encoding_format", 400)
raises(openai.NotFoundError, lambda: client.models.retrieve("nothing"), "an unknown model", 404)
finish()
