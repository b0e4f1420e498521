"""Training: a model for new languages in one call, distillation, fine-tuning."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _library as lib
from ._encoder import Notice, notice_of
from ._error import Error
from ._options import Options, OptionValue


class Progress(NamedTuple):
    """One line of news from a run: ``step`` of ``n_steps`` of a phase ("data", "teacher", "train", "evaluate", ...).
    ``text`` is a table or remark to be shown as it is."""

    phase: str
    step: int
    n_steps: int
    epoch: float
    loss: float
    learning_rate: float
    gradient_norm: float
    sentences_per_second: float
    seconds_left: float
    text: str | None


ProgressFn = Callable[[Progress], object]


class Result(NamedTuple):
    """What became of a run. ``best_step`` 0: no step was better than the beginning; ``best_score`` None: the last
    model was kept."""

    steps: int
    best_step: int
    final_loss: float
    best_score: float | None
    collapsed: bool
    averaged: int


class CProgress(ctypes.Structure):
    _fields_ = [
        ("phase", ctypes.c_char_p),
        ("step", ctypes.c_uint64),
        ("n_steps", ctypes.c_uint64),
        ("epoch", ctypes.c_double),
        ("loss", ctypes.c_double),
        ("learning_rate", ctypes.c_double),
        ("gradient_norm", ctypes.c_double),
        ("sentences_per_second", ctypes.c_double),
        ("seconds_left", ctypes.c_double),
        ("text", ctypes.c_char_p),
    ]


class CResult(ctypes.Structure):
    _fields_ = [
        ("steps", ctypes.c_uint64),
        ("best_step", ctypes.c_uint64),
        ("final_loss", ctypes.c_double),
        ("best_score", ctypes.c_double),
        ("collapsed", ctypes.c_bool),
        ("averaged", ctypes.c_uint64),
    ]


PROGRESS = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(CProgress))


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace")


def _progress(p: CProgress) -> Progress:
    return Progress(
        _text(p.phase) or "",
        p.step,
        p.n_steps,
        p.epoch,
        p.loss,
        p.learning_rate,
        p.gradient_norm,
        p.sentences_per_second,
        p.seconds_left,
        _text(p.text),
    )


def _run(
    function: str,
    group: str,
    progress: ProgressFn | None,
    options: dict[str, OptionValue],
    model: str | os.PathLike[str] | None = None,
) -> Result:
    result = CResult()
    with Options(group) as o, lib.Interrupt() as interrupt:
        o.set(**options)
        if model is not None:
            o.put(model=lib.path_bytes(model))
            o.check()
        callback = lib.Callback(interrupt)
        tell: ProgressFn = progress if progress is not None else lambda _: None
        pointer = PROGRESS(lambda _context, p: callback.run(lambda: tell(_progress(p.contents))))
        o.put(progress=pointer)
        types = (lib.c_pointer, lib.c_pointer, lib.c_pointer)
        try:
            lib.call(function, types, ctypes.byref(result), o.struct, lib.context())
        except Error:
            if callback.error is not None:
                raise callback.error from None
            if interrupt.wanted:
                raise KeyboardInterrupt from None
            raise
    score = None if math.isnan(result.best_score) else result.best_score
    return Result(
        result.steps, result.best_step, result.final_loss, score, result.collapsed, result.averaged
    )


def extend(
    model: str | os.PathLike[str], *, progress: ProgressFn | None = None, **options: OptionValue
) -> Result:
    """Extends a model to new languages by one call; everything that is not told is chosen.

        calque.extend("all-MiniLM-L6-v2", to={"de": "en-de.tsv.gz"}, output="multilingual", time="20m")

    :param progress: told a ``Progress`` from time to time; returns False to stop after a checkpoint (``Error`` with
        the code "stopped"). Ctrl-C does the same and ends in KeyboardInterrupt; ``resume=True`` goes on.
    :param model: the teacher: a directory or cached name
    :param options: ``calque.options("extend")``. Files are given as a path, a list of
        paths, or a dict of the language to its path or paths.
    """
    return _run("cq_extend", "extend", progress, options, model)


def distill(*, progress: ProgressFn | None = None, **options: OptionValue) -> Result:
    """Multilingual knowledge distillation: ``student`` learns the vectors of ``teacher``.

        calque.distill(teacher="all-MiniLM-L6-v2", student="student", train={"de": "en-de.tsv.gz"}, output="out")

    :param progress: as ``extend``'s
    :param options: ``calque.options("distill")``
    """
    return _run("cq_distill", "distill", progress, options)


def finetune(*, progress: ProgressFn | None = None, **options: OptionValue) -> Result:
    """Fine-tunes ``model`` on labeled pairs (``nli``), scored pairs (``scored``) or matching pairs (``pairs``).

        calque.finetune(model="body", pairs="pairs.tsv.gz", output="encoder", epochs=1)

    :param progress: as ``extend``'s
    :param options: ``calque.options("finetune")``
    """
    return _run("cq_finetune", "finetune", progress, options)


def new_student(
    directory: str, *, notice: Notice | None = None, **options: OptionValue
) -> None:
    """Makes the model that distillation begins with, in a directory that is not there yet.

    :param notice: told remarks, one line each
    :param options: ``calque.options("student")``: ``kind``, ``from_``, ``text``, ``vocab_size``, ...
    """
    if "from_" in options:  # `from` is a word of Python's
        options["from"] = options.pop("from_")
    pointer = notice_of(notice)
    with Options("student") as o:
        o.set(**options)
        o.put(notice=pointer)
        types = (lib.c_text, lib.c_pointer, lib.c_pointer)
        lib.call("cq_student_new", types, lib.path_bytes(directory), o.struct, lib.context())
