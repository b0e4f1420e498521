"""Chroma's interface. Importing this module registers the function with Chroma, so that a collection that was made with
it opens without naming it:

    import calque.chroma
    collection = chromadb.PersistentClient("folder").get_collection("documents")
"""

from __future__ import annotations

import os
from typing import Any

from chromadb import EmbeddingFunction  # type: ignore[import-not-found,unused-ignore]
from chromadb.utils.embedding_functions import register_embedding_function  # type: ignore[import-not-found,unused-ignore]

from ._encoder import DEFAULT_MODEL
from ._error import ArgumentError
from ._sentence_transformer import SentenceTransformer

__all__ = ["CalqueEmbeddingFunction"]


@register_embedding_function  # type: ignore[untyped-decorator,misc,unused-ignore]
class CalqueEmbeddingFunction(EmbeddingFunction):  # type: ignore[misc,type-arg,unused-ignore]
    """Vectors of unit length; documents and queries have the model's prompts for them.

    :param model: a directory, a name in the local Hugging Face cache, or "small" or "base", which calque comes with.
        The collection keeps it: a directory as its absolute path.
    """

    def __init__(self, model: str | os.PathLike[str] = DEFAULT_MODEL) -> None:
        name = os.fspath(model)
        self._model_name = os.path.abspath(name) if os.path.isdir(name) else name
        self._model = SentenceTransformer(self._model_name)

    def __call__(self, input: Any) -> Any:
        return list(self._model.encode_document(list(input), normalize_embeddings=True))

    def embed_query(self, input: Any) -> Any:
        return list(self._model.encode_query(list(input), normalize_embeddings=True))

    @staticmethod
    def name() -> str:
        return "calque"

    def default_space(self) -> Any:
        return "cosine"

    def get_config(self) -> dict[str, Any]:
        return {"model": self._model_name}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> CalqueEmbeddingFunction:
        return CalqueEmbeddingFunction(config.get("model") or DEFAULT_MODEL)

    def validate_config_update(self, old_config: dict[str, Any], new_config: dict[str, Any]) -> None:
        if old_config.get("model") != new_config.get("model"):
            raise ArgumentError("the model of a collection cannot be changed: its vectors are the model's")
