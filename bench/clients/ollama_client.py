"""The package `ollama`, and LangChain, LlamaIndex and Chroma through it, against /api."""
import asyncio

import ollama
from chromadb.utils.embedding_functions import OllamaEmbeddingFunction
from common import LONG, TEXTS, URL, check, expected, finish, raises, same, shortened
from langchain_ollama import OllamaEmbeddings
from llama_index.embeddings.ollama import OllamaEmbedding

want = expected()
client = ollama.Client(host=URL)
name = client.list().models[0].model
check(client.show(name).capabilities == ["embedding"], "show: capabilities")
check(client.show(name + ":latest").modelinfo["calque.embedding_length"] == len(want[0]), "show: the length of a vector")
check(client.ps().models[0].model == name, "ps")
raises(ollama.ResponseError, lambda: client.show("nothing"), "show: an unknown model", 404)
one = client.embed(model=name, input=TEXTS[0])
same(one.embeddings, want[:1], "embed: one text")
check(one.prompt_eval_count > 2 and one.model == name, "embed: counts")
same(client.embed(model="any", input=TEXTS).embeddings, want, "embed: batch")
same(client.embed(model=name, input=TEXTS, dimensions=64).embeddings, shortened(want, 64), "embed: dimensions")
same(client.embed(model=name, input=LONG).embeddings, expected([LONG]), "embed: truncated")
raises(ollama.ResponseError, lambda: client.embed(model=name, input=LONG, truncate=False), "embed: a long text", 400)
raises(ollama.ResponseError, lambda: client.embed(model=name, input=[]), "embed: no texts", 400)
same([client.embeddings(model=name, prompt=TEXTS[0]).embedding], want[:1], "embeddings")

chain = OllamaEmbeddings(model=name, base_url=URL)
same([chain.embed_query(TEXTS[0])], want[:1], "LangChain: embed_query")
same(chain.embed_documents(TEXTS), want, "LangChain: embed_documents")
same(asyncio.run(chain.aembed_documents(TEXTS)), want, "LangChain: aembed_documents")
same(OllamaEmbeddings(model=name, base_url=URL, validate_model_on_init=True).embed_documents(TEXTS), want,
     "LangChain: validated")
index = OllamaEmbedding(model_name=name, base_url=URL)
same([index.get_query_embedding(TEXTS[0])], want[:1], "LlamaIndex: get_query_embedding")
same(index.get_text_embedding_batch(TEXTS), want, "LlamaIndex: batch")
same([v.tolist() for v in OllamaEmbeddingFunction(url=URL)(TEXTS)], want, "Chroma")
finish()
