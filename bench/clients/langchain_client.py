"""`langchain_openai.OpenAIEmbeddings` against /v1. By default it sends ids of OpenAI's tokenizer: refused with the remedy,
check_embedding_ctx_length=False, or decoded by a server with that tokenizer's table."""
import asyncio

import openai
from common import CL100K_URL, LONG, TEXTS, URL, check, expected, finish, raises, refuses_ids, same, shortened
from langchain_openai import OpenAIEmbeddings


def defaults(url=URL, **options):
    return OpenAIEmbeddings(base_url=url + "/v1", api_key="none", max_retries=0, **options)


def embeddings(**options):
    return defaults(model="any", check_embedding_ctx_length=False, **options)


want = expected()
refuses_ids(lambda: defaults().embed_query(TEXTS[0]), "embed_query, by default")
refuses_ids(lambda: defaults().embed_documents(TEXTS), "embed_documents, by default")
if CL100K_URL:
    same([defaults(CL100K_URL).embed_query(TEXTS[0])], want[:1], "embed_query, by default, with a table")
    same(defaults(CL100K_URL, model="text-embedding-3-small").embed_documents(TEXTS), want, "embed_documents, by default")
    same(defaults(CL100K_URL).embed_documents([LONG]), expected([LONG]), "a long text, by default")
else:
    print("langchain_client.py: no server with --token-ids cl100k (CL100K_URL)")

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
