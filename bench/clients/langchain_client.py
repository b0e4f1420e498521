"""`langchain_openai.OpenAIEmbeddings` against /v1. With check_embedding_ctx_length=False it sends texts; otherwise it
would send ids of OpenAI's own tokenizer, which are not the model's."""
import asyncio

import openai
from common import LONG, TEXTS, URL, check, expected, finish, raises, same, shortened
from langchain_openai import OpenAIEmbeddings


def embeddings(**options):
    return OpenAIEmbeddings(model="any", base_url=URL + "/v1", api_key="none", max_retries=0,
                            check_embedding_ctx_length=False, **options)


want = expected()
client = embeddings()
same([client.embed_query(TEXTS[0])], want[:1], "embed_query")
same(client.embed_documents(TEXTS), want, "embed_documents")
same(embeddings(chunk_size=2).embed_documents(TEXTS), want, "chunks of two")
same(embeddings(dimensions=64).embed_documents(TEXTS), shortened(want, 64), "dimensions")
same(asyncio.run(client.aembed_documents(TEXTS)), want, "aembed_documents")
check(len(client.embed_query(LONG)) == len(want[0]), "a long text")
raises(openai.BadRequestError, lambda: embeddings(model_kwargs={"extra_body": {"on_long": "error"}}).embed_query(LONG),
       "a long text that may not be truncated", 400)
raises(openai.BadRequestError, lambda: embeddings(dimensions=100000).embed_query("x"), "too many dimensions", 400)
finish()
