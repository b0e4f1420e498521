"""Mining translations and paraphrases."""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Union

from . import _library as lib
from ._encoder import Notice, notice_of
from ._error import ArgumentError, Error
from ._options import Options, OptionValue

Text = Union[str, "os.PathLike[str]", Sequence[str]]
ProgressFunction = Callable[[str, int, int], object]
PROGRESS = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64
)


class Pair(NamedTuple):
    """A mined pair. Sentences are None where vectors were mined; ids are of the line a sentence first stands in, and
    None where lines have none."""

    score: float
    cosine: float
    source: str | None
    target: str | None
    source_id: str | None
    target_id: str | None
    source_row: int
    target_row: int


class CPair(ctypes.Structure):
    _fields_ = [
        ("source", ctypes.c_uint32),
        ("target", ctypes.c_uint32),
        ("score", ctypes.c_double),
        ("cosine", ctypes.c_double),
    ]


def mine(
    source: Text,
    target: Text | None = None,
    *,
    model: str | os.PathLike[str] | None = None,
    progress: ProgressFunction | None = None,
    notice: Notice | None = None,
    **options: OptionValue,
) -> list[Pair]:
    """The pairs of two texts that are each other's translations, best first; of one text, paraphrases.

        for pair in calque.mine("english.txt", "german.txt", model="multilingual"): print(pair.score, pair.source)

    :param source: a file of sentences, one a line (or an id, a tab and a sentence), or a list of sentences; without a
        model, a file of vectors (.npy)
    :param target: the same; None: pairs within the source
    :param progress: told what is done ("encode", "search"), how much of it, and how much there is; False stops
    :param notice: told remarks, one line each
    :param options: ``calque.options("mine")``: ``margin``, ``retrieval``, ``threshold``, ``k``, ...
    """
    with tempfile.TemporaryDirectory(prefix="calque-") as folder, Options("mine") as o:
        o.set(source=file_of(source, folder, "source"), model=model, **options)
        o.set(target=None if target is None else file_of(target, folder, "target"))
        with computed("cq_mine", "cq_mining_free", o, progress, notice) as mining:
            return _pairs(mining)


@contextlib.contextmanager
def computed(
    function: str, free: str, o: Options, progress: ProgressFunction | None, notice: Notice | None
) -> Iterator[ctypes.c_void_p]:
    """What a long call makes of its options, freed afterwards; its progress may stop it, and so may Ctrl-C."""
    with lib.Interrupt() as interrupt:
        callback = lib.Callback(interrupt)
        tell = progress if progress is not None else lambda _what, _done, _n: None
        pointer = PROGRESS(lambda _, what, done, n: callback.run(lambda: tell(what.decode(), done, n)))
        o.put(notice=notice_of(notice), progress=pointer)
        made = ctypes.c_void_p()
        try:
            lib.call(function, (lib.c_pointer,) * 3, ctypes.byref(made), o.struct, lib.context())
        except Error:
            if callback.error is not None:
                raise callback.error from None
            if interrupt.wanted:
                raise KeyboardInterrupt from None
            raise
    try:
        yield made
    finally:
        lib.function(free, None, lib.c_pointer)(made)


def file_of(text: Text, folder: str, name: str, *, is_numbered: bool = True) -> str | os.PathLike[str]:
    """A file of a list's sentences, one a line; a path as it is."""
    if isinstance(text, (str, os.PathLike)):
        return text
    path = os.path.join(folder, name)
    try:
        with open(path, "w", encoding="utf-8") as f:
            for i, sentence in enumerate(text):
                if not isinstance(sentence, str):
                    what = type(sentence).__name__
                    raise ArgumentError("%s %d must be a string, not %s" % (name, i + 1, what), "", i + 1)
                line = " ".join(sentence.split()) + "\n"
                f.write("%d\t%s" % (i, line) if is_numbered else line)
    except UnicodeEncodeError as error:
        raise lib.make_error("format", "%s is not Unicode text: %s" % (name, error.reason)) from None
    return path


def _pairs(mining: ctypes.c_void_p) -> list[Pair]:
    n = ctypes.c_size_t()
    pairs = lib.function("cq_mining_pairs", ctypes.POINTER(CPair), lib.c_pointer, lib.c_pointer)(
        ctypes.byref(n), mining
    )
    sentence = lib.function("cq_mining_sentence", lib.CSlice, lib.c_pointer, ctypes.c_int, ctypes.c_uint32)
    line_id = lib.function("cq_mining_id", lib.CSlice, lib.c_pointer, ctypes.c_int, ctypes.c_uint32, lib.c_size)

    def text(s: Any) -> str | None:
        return s.text() if s.data else None

    out = []
    for i in range(n.value):
        p = pairs[i]
        out.append(
            Pair(
                p.score,
                p.cosine,
                text(sentence(mining, 0, p.source)),
                text(sentence(mining, 1, p.target)),
                text(line_id(mining, 0, p.source, 0)),
                text(line_id(mining, 1, p.target, 0)),
                p.source,
                p.target,
            )
        )
    return out
