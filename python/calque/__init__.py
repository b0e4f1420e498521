"""calque: multilingual sentence embeddings, trained, run and measured by a native library.

    from calque import SentenceTransformer
    model = SentenceTransformer("all-MiniLM-L6-v2")
    vectors = model.encode(["A cat.", "A dog."])
    print(model.similarity(vectors, vectors))
"""

from ._encoder import DEFAULT_MODEL, Encoder
from ._error import ArgumentError, Error
from ._library import set_threads, simd_level, version
from ._options import Option, options

__version__ = "0.2.0"

__all__ = [
    "DEFAULT_MODEL",
    "ArgumentError",
    "Encoder",
    "Error",
    "Option",
    "options",
    "set_threads",
    "simd_level",
    "version",
]
