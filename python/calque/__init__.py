"""calque: multilingual sentence embeddings, trained, run and measured by a native library.

    from calque import SentenceTransformer
    model = SentenceTransformer("all-MiniLM-L6-v2")
    vectors = model.encode(["A cat.", "A dog."])
    print(model.similarity(vectors, vectors))
"""

from . import eval
from ._align import Bead, align
from ._cross_encoder import CrossEncoder
from ._encoder import DEFAULT_MODEL, Encoder
from ._error import ArgumentError, Error
from ._index import Document, Hit, Index
from ._library import set_threads, simd_level, version
from ._mine import Pair, mine
from ._options import Option, options
from ._sentence_transformer import SentenceTransformer, quantize
from ._train import Progress, Result, distill, extend, finetune, new_student

__version__ = "0.2.0"

__all__ = [
    "DEFAULT_MODEL",
    "ArgumentError",
    "Bead",
    "CrossEncoder",
    "Document",
    "Encoder",
    "Error",
    "Hit",
    "Index",
    "Option",
    "Pair",
    "Progress",
    "Result",
    "SentenceTransformer",
    "align",
    "distill",
    "eval",
    "extend",
    "finetune",
    "mine",
    "new_student",
    "options",
    "quantize",
    "set_threads",
    "simd_level",
    "version",
]
