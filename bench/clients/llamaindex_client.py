"""LlamaIndex's embeddings for servers like OpenAI's, and for text-embeddings-inference. (Ollama's: ollama_client.py)"""
import asyncio

from common import TEXTS, URL, expected, finish, same
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference

want = expected()
for client, name in ((OpenAILikeEmbedding(model_name="any", api_base=URL + "/v1"), "OpenAILikeEmbedding"),
                     (OpenAILikeEmbedding(model_name="any", api_base=URL), "OpenAILikeEmbedding without /v1"),
                     (TextEmbeddingsInference(model_name="any", base_url=URL), "TextEmbeddingsInference")):
    same([client.get_query_embedding(TEXTS[0])], want[:1], f"{name}: get_query_embedding")
    same([client.get_text_embedding(TEXTS[1])], want[1:2], f"{name}: get_text_embedding")
    same(client.get_text_embedding_batch(TEXTS), want, f"{name}: batch")
    same(asyncio.run(client.aget_text_embedding_batch(TEXTS)), want, f"{name}: async")
finish()
