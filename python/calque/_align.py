"""Sentence alignment of two documents, in order."""

from __future__ import annotations

import ctypes
import os
import tempfile
from typing import Any, NamedTuple

from . import _library as lib
from ._encoder import Notice
from ._error import ArgumentError
from ._mine import ProgressFunction, Text, computed, file_of
from ._options import Options, OptionValue


class Bead(NamedTuple):
    """Sentences of both sides that translate one another, or, with ``score`` 0, sentences without a translation: their
    other side is None. Ranges are numbers of sentences from 0; ids are the documents', and "" for a list."""

    score: float
    source: str | None
    target: str | None
    source_rows: range
    target_rows: range
    source_id: str
    target_id: str


class CBead(ctypes.Structure):
    _fields_ = [
        ("source", ctypes.c_uint32),
        ("n_source", ctypes.c_uint32),
        ("target", ctypes.c_uint32),
        ("n_target", ctypes.c_uint32),
        ("score", ctypes.c_double),
    ]


def align(
    source: Text,
    target: Text,
    *,
    model: str | os.PathLike[str] | None = None,
    progress: ProgressFunction | None = None,
    notice: Notice | None = None,
    **options: OptionValue,
) -> list[Bead]:
    """The beads of two documents, in order; of several documents, those of one pair after another.

        for bead in calque.align("book.de.txt", "book.en.html"): print(bead.score, bead.source, bead.target)

    Documents that are no translations of each other have no beads; ``notice`` receives the reason.

    :param source: a file or a folder of documents, or a list of sentences
    :param target: the same; if one is a list of sentences, each line of the other is a sentence, too
    :param progress: told what is done, how much of it, and how much there is; False stops
    :param notice: told remarks, one line each
    :param options: ``calque.options("align")``: ``max_group``, ``lines``, ``languages``, ...
    """
    if not all(isinstance(text, (str, os.PathLike)) for text in (source, target)):
        if options.get("lines") is False:
            raise ArgumentError("a list of sentences has one a line: lines must be True")
        options["lines"] = True
    for name, text in (("source", source), ("target", target)):
        if not isinstance(text, (str, os.PathLike)):
            for i, sentence in enumerate(text):  # a document's empty lines are no sentences: numbers would differ
                if isinstance(sentence, str) and not sentence.strip():
                    raise ArgumentError("%s %d is empty" % (name, i + 1), "", i + 1)
    with tempfile.TemporaryDirectory(prefix="calque-") as folder, Options("align") as o:
        o.set(source=file_of(source, folder, "source.txt", is_numbered=False), model=model, **options)
        o.set(target=file_of(target, folder, "target.txt", is_numbered=False))
        with computed("cq_align", "cq_alignment_free", o, progress, notice) as alignment:
            n = lib.function("cq_alignment_n_documents", lib.c_size, lib.c_pointer)(alignment)
            kept = [isinstance(text, (str, os.PathLike)) for text in (source, target)]
            return [bead for i in range(n) for bead in _beads(alignment, i, kept)]


def _beads(alignment: ctypes.c_void_p, document: int, has_id: list[bool]) -> list[Bead]:
    n = ctypes.c_size_t()
    beads = lib.function(
        "cq_alignment_beads", ctypes.POINTER(CBead), lib.c_pointer, lib.c_pointer, lib.c_size
    )(ctypes.byref(n), alignment, document)
    text_of = lib.function(
        *("cq_alignment_text", lib.CSlice, lib.c_pointer, lib.c_size, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32)
    )
    id_of = lib.function("cq_alignment_id", lib.CSlice, lib.c_pointer, lib.c_size, ctypes.c_int)
    ids = [id_of(alignment, document, side).text() if has_id[side] else "" for side in (0, 1)]

    def text(side: int, first: int, count: int) -> Any:
        return text_of(alignment, document, side, first, count).text() if count else None

    return [
        Bead(
            b.score,
            text(0, b.source, b.n_source),
            text(1, b.target, b.n_target),
            range(b.source, b.source + b.n_source),
            range(b.target, b.target + b.n_target),
            *ids,
        )
        for b in beads[: n.value]
    ]
