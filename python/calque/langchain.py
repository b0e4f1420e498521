"""LangChain's interface, on langchain-core:

    from calque.langchain import CalqueEmbeddings
    store = InMemoryVectorStore(CalqueEmbeddings("all-MiniLM-L6-v2"))
"""

from __future__ import annotations

import os
from typing import Any

from langchain_core.embeddings import Embeddings  # type: ignore[import-not-found,unused-ignore]

from ._encoder import DEFAULT_MODEL
from ._sentence_transformer import SentenceTransformer

__all__ = ["CalqueEmbeddings"]


class CalqueEmbeddings(Embeddings):  # type: ignore[misc,unused-ignore]
    """Vectors of unit length; documents and queries have the model's prompts for them.

    :param model: a directory, a name in the local Hugging Face cache, or "small" or "base", which calque comes with
    :param options: of ``calque.SentenceTransformer``
    """

    def __init__(self, model: str | os.PathLike[str] = DEFAULT_MODEL, **options: Any) -> None:
        self.model = SentenceTransformer(model, **options)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return _lists(self.model.encode_document(texts, normalize_embeddings=True))

    def embed_query(self, text: str) -> list[float]:
        return _lists(self.model.encode_query([text], normalize_embeddings=True))[0]


def _lists(vectors: Any) -> list[list[float]]:
    lists: list[list[float]] = vectors.tolist() if hasattr(vectors, "tolist") else vectors
    return lists
