"""Chroma's embedding functions over HTTP. (Ollama's: ollama_client.py)"""
import chromadb
from chromadb.utils.embedding_functions import HuggingFaceEmbeddingServer, OpenAIEmbeddingFunction
from common import TEXTS, URL, check, expected, finish, same

want = expected()
functions = {"OpenAIEmbeddingFunction": OpenAIEmbeddingFunction(api_key="none", api_base=URL + "/v1"),
             "HuggingFaceEmbeddingServer": HuggingFaceEmbeddingServer(url=URL + "/embed")}
for name, function in functions.items():
    same([v.tolist() for v in function(TEXTS)], want, name)
    collection = chromadb.EphemeralClient().create_collection(name, embedding_function=function,
                                                              configuration={"hnsw": {"space": "cosine"}})
    collection.add(ids=[str(i) for i in range(len(TEXTS))], documents=TEXTS)
    found = collection.query(query_texts=[TEXTS[2]], n_results=1)
    check(found["ids"] == [["2"]] and abs(found["distances"][0][0]) < 1e-5, f"{name}: {found['ids']}")
finish()
