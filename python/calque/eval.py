"""Measures of a model on files of tab-separated columns, and on vectors.

    calque.eval.translation("multilingual", "dev.tsv.gz").mean

A model is named, or is an open ``Encoder`` or ``SentenceTransformer``. Options of all that take files are
``calque.options("eval")``: ``max_rows``, ``skip_bad``, ``prompt``, ``truncate_dim``.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple, Union

from . import _library as lib
from ._arrays import Matrix
from ._encoder import Encoder
from ._error import ArgumentError
from ._options import Options, OptionValue
from ._sentence_transformer import SentenceTransformer

Model = Union[str, "os.PathLike[str]", Encoder, SentenceTransformer]
Path = Union[str, "os.PathLike[str]"]


class Translation(NamedTuple):
    """Shares of the rows whose nearest sentence of the other side is their translation (``xsim``: is not)."""

    source_to_target: float
    target_to_source: float
    mean: float
    n: int
    n_skipped: int


class Mse(NamedTuple):
    """Mean squared errors times 100, of the student against the teacher's vectors of the source."""

    target: float
    source: float
    teacher_variance: float
    teacher_norm: float
    n: int
    n_skipped: int


class Search(NamedTuple):
    hits_at_1: float
    hits_at_10: float
    mrr: float
    n: int
    n_skipped: int


class Sts(NamedTuple):
    """Correlations of cosines and gold scores."""

    spearman: float
    pearson: float
    n: int
    n_skipped: int


def translation(model: Model, file: Path, **options: OptionValue) -> Translation:
    """Translation accuracy of a file of sentences and their translations."""
    return Translation(*_on_file("cq_eval_translation", 3, [model], file, options))


def xsim(model: Model, file: Path, **options: OptionValue) -> Translation:
    """The same by margin and as error rates (LASER's xsim)."""
    return Translation(*_on_file("cq_eval_xsim", 3, [model], file, options))


def mse(teacher: Model, student: Model, file: Path, **options: OptionValue) -> Mse:
    """The student on both columns against the teacher's vectors of the first."""
    return Mse(*_on_file("cq_eval_mse", 4, [teacher, student], file, options))


def search(documents: Model, queries: Model, file: Path, **options: OptionValue) -> Search:
    """The second column's sentences, encoded by ``queries``, as queries among the first's, encoded by ``documents``."""
    return Search(*_on_file("cq_eval_search", 3, [documents, queries], file, options))


def sts(model: Model, file: Path, **options: OptionValue) -> Sts:
    """Semantic textual similarity: a file of sentence, sentence and gold score."""
    return Sts(*_on_file("cq_eval_sts", 2, [model], file, options))


def translation_accuracy(a: Any, b: Any) -> Translation:
    """Of vectors, [n, dim] each: row i of one belongs to row i of the other."""
    x = Matrix(a, "a")
    y = Matrix(b, "b", dim=x.dim)
    if x.n != y.n:
        raise ArgumentError("a and b must have as many rows, not %d and %d" % (x.n, y.n))
    out = _result(3)
    types = (*(lib.c_pointer,) * 3, lib.c_size, lib.c_size, lib.c_pointer)
    lib.call(
        "cq_translation_accuracy", types, ctypes.byref(out), x.address, y.address, x.n, x.dim, lib.context()
    )
    return Translation(*_values(out, 3))


def _result(n: int) -> Any:
    fields = [("d%d" % i, ctypes.c_double) for i in range(n)] + [("n", lib.c_size), ("n_skipped", lib.c_size)]
    return type("CFigures", (ctypes.Structure,), {"_fields_": fields})()


def _values(out: Any, n: int) -> list[Any]:
    return [getattr(out, "d%d" % i) for i in range(n)] + [out.n, out.n_skipped]


def _on_file(name: str, n: int, models: list[Model], file: Path, options: dict[str, OptionValue]) -> list[Any]:
    """All results are so many numbers, then the number of rows and of malformed lines."""
    out, opened = _result(n), []
    try:
        for model in models:
            if isinstance(model, SentenceTransformer):
                opened.append((model.encoder, False))
            elif isinstance(model, Encoder):
                opened.append((model, False))
            else:
                opened.append((Encoder(model), True))
        with Options("eval") as o:
            o.set(**options)
            types = (lib.c_pointer, *(lib.c_pointer,) * len(models), lib.c_text, lib.c_pointer, lib.c_pointer)
            handles = [encoder.handle for encoder, _ in opened]
            lib.call(name, types, ctypes.byref(out), *handles, lib.path_bytes(file), o.struct, lib.context())
    finally:
        for encoder, own in opened:
            if own:
                encoder.close()
    return _values(out, n)
