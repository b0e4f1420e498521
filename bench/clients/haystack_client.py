"""Haystack's embedders for OpenAI's interface."""
from common import LONG, TEXTS, URL, check, expected, finish, same, shortened
from haystack import Document
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.utils import Secret

want = expected()
key = Secret.from_token("none")
text = OpenAITextEmbedder(api_key=key, api_base_url=URL + "/v1")
same([text.run(TEXTS[0])["embedding"]], want[:1], "text")
same([text.run(LONG)["embedding"]], expected([LONG]), "a long text")
documents = OpenAIDocumentEmbedder(api_key=key, api_base_url=URL + "/v1", progress_bar=False)
got = documents.run([Document(content=t) for t in TEXTS])
same([d.embedding for d in got["documents"]], want, "documents")
check(got["meta"]["usage"]["prompt_tokens"] > 6, "usage")
short = OpenAITextEmbedder(api_key=key, api_base_url=URL + "/v1", dimensions=64)
same([short.run(TEXTS[0])["embedding"]], shortened(want[:1], 64), "dimensions")
finish()
