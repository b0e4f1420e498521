"""LangChain: an Embeddings class over calque.

    python langchain_embeddings.py [MODEL]
"""

import sys

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

import calque


class CalqueEmbeddings(Embeddings):
    def __init__(self, model: str | None = None) -> None:
        self.model = calque.SentenceTransformer(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.model.encode_document(texts, normalize_embeddings=True).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.model.encode_query(text, normalize_embeddings=True).tolist()


if __name__ == "__main__":
    store = InMemoryVectorStore(CalqueEmbeddings(sys.argv[1] if len(sys.argv) > 1 else None))
    store.add_texts(["The train to Berlin is late.", "The cat sleeps on the sofa.", "Bread is baked at night."])
    for question in ("The train is late.", "Die Katze schläft auf dem Sofa."):
        print(question, "->", store.similarity_search(question, k=1)[0].page_content)
    assert "train" in store.similarity_search("The train is late.", k=1)[0].page_content
