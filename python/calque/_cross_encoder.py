"""A reranker under sentence-transformers' names: query and passage in, one score out."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _library as lib
from ._arrays import Output, is_tensor, numpy, torch
from ._encoder import Notice, notice_of, slices_of
from ._error import ArgumentError
from ._handle import Handle
from ._options import Options, OptionValue


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


class CrossEncoder(Handle):
    """A model whose classifier has one label, open until it is closed or nobody holds it any more.

    :param name: a directory, or a name in the local Hugging Face cache
    :param max_length: maximum tokens of both texts; None: the model's own
    :param activation_fn: applied to arrays of logits instead of the model's own (a sigmoid, if it names none)
    :param notice: told what was assumed, one line each
    :param options: of ``calque.options("encoder")``: ``precision``

    Any number of threads may use one at once.
    """

    _free, _kind = "cq_reranker_free", "model"

    def __init__(
        self,
        name: str | os.PathLike[str],
        *,
        max_length: int | None = None,
        activation_fn: Callable[[Any], Any] | None = None,
        notice: Notice | None = None,
        **options: OptionValue,
    ) -> None:
        self._notice = notice_of(notice)
        handle = ctypes.c_void_p()
        if max_length is not None:
            options["max_length"] = max_length
        with Options("encoder") as o:
            o.set(**options)
            o.put(notice=self._notice)
            types = (lib.c_pointer, lib.c_text, lib.c_pointer)
            lib.call("cq_reranker_open", types, ctypes.byref(handle), lib.path_bytes(name), o.struct)
        self._handle = handle
        self.name = os.fspath(name)
        self.activation_fn = activation_fn
        self.max_length = int(lib.function("cq_reranker_max_seq_length", ctypes.c_int, lib.c_pointer)(handle))
        self._activation = lib.function("cq_reranker_activation", lib.c_text, lib.c_pointer)(handle).decode()

    def __reduce__(self) -> Any:
        raise TypeError("an open model cannot be pickled: open it by its name in the other process")

    def logits(self, queries: Sequence[str], passages: Sequence[str]) -> Any:
        """The model's logits for pairs (queries[i], passages[i]): an array [n] of float32, or a list without NumPy."""
        q, p = slices_of(queries), slices_of(passages)
        if q.n != p.n:
            raise ArgumentError("%d queries have %d passages" % (q.n, p.n))
        result, block = Output(p.n, 1), 1024
        types = (lib.c_pointer, lib.c_pointer, lib.c_pointer, lib.c_pointer, lib.c_pointer, lib.c_size, lib.c_pointer)
        for done in range(0, p.n, block):  # Ctrl-C is heeded between blocks
            n = min(block, p.n - done)
            to = result.address + 4 * done
            try:
                lib.call(
                    "cq_reranker_score_pairs", types, to, None, self.handle, q.at(done), p.at(done), n, lib.context()
                )
            except lib.Error as error:
                if error.line:
                    error.line += done
                raise
        value = result.value()
        return value[:, 0] if numpy() is not None else [row[0] for row in value]

    def _activate(self, logits: Any, activation_fn: Callable[[Any], Any] | None) -> Any:
        f = activation_fn or self.activation_fn
        if f is not None:
            t = torch()
            if t is None or not isinstance(f, t.nn.Module):
                return f(logits)
            found = f(t.as_tensor(logits))
            return found.numpy() if is_tensor(found) else found
        if self._activation == "Identity":
            return logits
        if self._activation != "Sigmoid":
            raise ArgumentError("the model names the activation %s: pass activation_fn" % self._activation)
        np = numpy()
        scores = [_sigmoid(float(x)) for x in logits]
        return scores if np is None else np.asarray(scores, dtype=np.float32)

    def predict(self, inputs: Sequence[Any], *, activation_fn: Callable[[Any], Any] | None = None) -> Any:
        """The scores of pairs (query, passage): an array [n], or one number for one pair.

        :param inputs: a list of pairs, or a pair of strings
        :param activation_fn: as in the constructor, for this call; ``lambda x: x`` gives logits
        """
        single = len(inputs) > 0 and isinstance(inputs[0], str)
        pairs = [inputs] if single else list(inputs)
        for i, pair in enumerate(pairs):
            if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise ArgumentError("pair %d must have a query and a passage" % (i + 1))
        scores = self._activate(self.logits([p[0] for p in pairs], [p[1] for p in pairs]), activation_fn)
        return scores[0] if single else scores

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        top_k: int | None = None,
        return_documents: bool = False,
        *,
        activation_fn: Callable[[Any], Any] | None = None,
    ) -> list[dict[str, Any]]:
        """The documents with their scores, best first: dicts with ``corpus_id``, ``score`` and, if
        ``return_documents``, ``text``."""
        if isinstance(documents, str):
            raise ArgumentError("documents must be a list of strings: put a single one into a list")
        scores = self.predict([(query, d) for d in documents], activation_fn=activation_fn)
        found: list[dict[str, Any]] = [{"corpus_id": i, "score": float(s)} for i, s in enumerate(scores)]
        for row in found if return_documents else []:
            row["text"] = documents[row["corpus_id"]]
        return sorted(found, key=lambda row: -row["score"])[:top_k]
