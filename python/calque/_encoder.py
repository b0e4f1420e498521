"""A sentence encoder: text in, vectors out. ``SentenceTransformer`` is this under sentence-transformers' names."""

from __future__ import annotations

import ctypes
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _library as lib
from ._arrays import Output
from ._error import ArgumentError
from ._handle import Handle
from ._options import Options, OptionValue

DEFAULT_MODEL = "calque-base"  # the multilingual model that calque comes with

Notice = Callable[[str], object]
NOTICE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class CStats(ctypes.Structure):
    _fields_ = [
        ("n_sentences", ctypes.c_uint64),
        ("n_tokens", ctypes.c_uint64),
        ("n_truncated", ctypes.c_uint64),
        ("first_truncated", ctypes.c_uint64),
    ]


class CTokenIds(ctypes.Structure):
    _fields_ = [
        ("ids", ctypes.POINTER(ctypes.c_int32)),
        ("starts", ctypes.POINTER(ctypes.c_size_t)),
        ("n", ctypes.c_size_t),
        ("ids_capacity", ctypes.c_size_t),
        ("starts_capacity", ctypes.c_size_t),
    ]


def notice_of(f: Notice | None) -> Any:
    """A Python function that is told remarks, as C calls it. What it raises has nowhere to go but sys.unraisablehook."""
    return NOTICE(lambda _context, text: f(text.decode("utf-8", "replace")) and None) if f is not None else None


class Encoder(Handle):
    """A model, open until it is closed or nobody holds it any more.

    :param name: a directory, a name in the local Hugging Face cache, or "small" or "base", which calque comes with
    :param notice: told what was assumed, one line each
    :param options: ``calque.options("encoder")``: ``max_length``, ``precision``, ``task``

    Any number of threads may use one at once.
    """

    _free, _kind = "cq_encoder_free", "model"

    def __init__(
        self, name: str | os.PathLike[str] = DEFAULT_MODEL, *, notice: Notice | None = None, **options: OptionValue
    ) -> None:
        if not isinstance(name, (str, os.PathLike)):
            raise ArgumentError("a model's name must be a string or a path, not %s" % type(name).__name__)
        self._notice = notice_of(notice)
        handle = ctypes.c_void_p()
        with Options("encoder") as o:
            o.set(**options)
            o.put(notice=self._notice)
            raw = lib.path_bytes(name)
            lib.call("cq_encoder_open", (lib.c_pointer, lib.c_text, lib.c_pointer), ctypes.byref(handle), raw, o.struct)
        self._handle = handle
        self.name = os.fspath(name)
        self.dim = int(self._number("cq_encoder_dim", ctypes.c_int))
        self.max_seq_length = int(self._number("cq_encoder_max_seq_length", ctypes.c_int))

    def __reduce__(self) -> Any:
        raise TypeError("an open model cannot be pickled: open it by its name in the other process")

    def _number(self, name: str, result: Any) -> Any:
        return lib.function(name, result, lib.c_pointer)(self.handle)

    @property
    def n_parameters(self) -> int:
        return int(self._number("cq_encoder_n_parameters", ctypes.c_int64))

    @property
    def vocab_size(self) -> int:
        return int(self._number("cq_encoder_vocab_size", ctypes.c_int64))

    def describe(self) -> dict[str, Any]:
        """Modules, shapes, tokenizer, prompts, parameters."""
        out = ctypes.c_void_p()
        lib.call("cq_encoder_describe", (lib.c_pointer, lib.c_pointer), ctypes.byref(out), self.handle)
        described: dict[str, Any] = json.loads(lib.take_text(out))
        return described

    def fingerprint(self) -> str:
        """Equal when configuration, vocabulary and weights are: 32 hexadecimal digits."""
        out = ctypes.create_string_buffer(33)
        lib.call("cq_encoder_fingerprint", (lib.c_text, lib.c_pointer), out, self.handle)
        return out.value.decode()

    def save(self, directory: str | os.PathLike[str], *, replace: bool = False, card: str | None = None) -> None:
        """Writes the model in sentence-transformers' layout; the directory appears whole or not at all."""
        raw = None if card is None else lib.text_bytes(card, "card")
        types = (lib.c_pointer, lib.c_text, ctypes.c_bool, lib.c_text)
        lib.call("cq_encoder_save", types, self.handle, lib.path_bytes(directory), replace, raw)

    def encode(
        self,
        sentences: Sequence[str],
        *,
        out: Any = None,
        progress: Callable[[int, int], object] | None = None,
        **options: OptionValue,
    ) -> Any:
        """Encodes sentences: an array [n, dim] of float32, or lists where there is no NumPy.

        :param out: an array to write to, C-contiguous float32 of that shape; it is returned
        :param progress: told how many of how many sentences are done; False stops (``Error`` with code "stopped")
        :param options: ``calque.options("encode")``: ``prompt``, ``prompt_name``, ``normalize``, ``truncate_dim``,
            ``strict``

        A sentence's vector does not depend on the others of the call. Ctrl-C is heeded between blocks of sentences.
        """
        if isinstance(sentences, (str, Mapping)):
            what = "put a single one into a list" if isinstance(sentences, str) else "this is a dict"
            raise ArgumentError("sentences must be a list of strings: %s" % what)
        slices = slices_of(sentences)
        types = (lib.c_pointer, lib.c_pointer, lib.c_pointer, lib.c_pointer, lib.c_size, lib.c_pointer, lib.c_pointer)
        with Options("encode") as o:
            o.set(**options)
            dim = int(o.get("truncate-dim") or 0) or self.dim
            result = Output(slices.n, dim, out=out)
            done, block, handle = 0, 64, self.handle
            while done < slices.n:
                n = min(block, slices.n - done)
                began = time.monotonic()
                try:
                    to = result.address + 4 * dim * done
                    lib.call(
                        "cq_encoder_encode", types, to, None, handle, slices.at(done), n, o.struct, lib.context()
                    )
                except lib.Error as error:
                    if error.line:
                        error.line += done
                    raise
                done += n
                if progress is not None and progress(done, slices.n) is False:
                    raise lib.make_error("stopped", "stopped after %d of %d sentences" % (done, slices.n))
                if time.monotonic() - began < 0.2:
                    block = min(2 * block, 1 << 16)
        return result.value()

    def token_ids(self, texts: Sequence[str], **options: OptionValue) -> list[list[int]]:
        """What the model reads: ids with prompt and special tokens, truncated to its maximum sequence length."""
        slices = slices_of(texts)
        types = (
            *(lib.c_pointer, lib.c_pointer, lib.c_pointer, lib.CSlice),
            *(ctypes.c_int, lib.c_pointer, lib.c_pointer),
        )
        ids, found = CTokenIds(), []
        with Options("encode") as o:
            o.set(**options)
            try:
                for i in range(slices.n):
                    text = lib.CSlice.from_address(slices.at(i))
                    lib.call(
                        "cq_encoder_token_ids", types, ctypes.byref(ids), None, self.handle, text, 0, o.struct, None
                    )
                found = [ids.ids[ids.starts[i] : ids.starts[i + 1]] for i in range(slices.n)]
            finally:
                lib.function("cq_token_ids_free", None, lib.c_pointer)(ctypes.byref(ids))
        return found

    @property
    def token_dim(self) -> int:
        """Dimensions of a token's vector before pooling; 0: there are none, as the model is static."""
        try:
            return int(self._number("cq_encoder_token_dim", ctypes.c_int))
        except AttributeError:  # a library of before this function
            return 0

    def token_vectors(self, texts: Sequence[str], **options: OptionValue) -> tuple[list[list[int]], list[Any]]:
        """Each text's ids, and their vectors before pooling, [tokens, token_dim].

        :param options: ``calque.options("encode")``
        """
        ids, dim = self.token_ids(texts, **options), self.token_dim
        if not dim:
            raise lib.make_error("unsupported", "the model has no vectors of tokens", self.name)
        flat = [i for row in ids for i in row]
        starts = [0]
        for row in ids:
            starts.append(starts[-1] + len(row))
        out = Output(len(flat), dim)
        if flat:
            types = (*(lib.c_pointer,) * 4, lib.c_size, lib.c_pointer)
            c_ids, c_starts = (ctypes.c_int32 * len(flat))(*flat), (ctypes.c_size_t * len(starts))(*starts)
            at = ctypes.addressof
            lib.call("cq_encoder_token_vectors", types, out.address, self.handle, at(c_ids), at(c_starts), len(ids),
                     lib.context())  # fmt: skip
        rows = out.value()
        return ids, [rows[starts[i] : starts[i + 1]] for i in range(len(ids))]

    def token(self, token_id: int) -> tuple[str, bool] | None:
        """A token's text, and whether it is a special one; None where there is no such id."""
        if not 0 <= token_id < 1 << 31:  # ctypes would keep the low bits only
            return None
        text, special = lib.CSlice(), ctypes.c_bool()
        f = lib.function(
            "cq_encoder_token", ctypes.c_bool, lib.c_pointer, lib.c_pointer, lib.c_pointer, ctypes.c_int32
        )
        if not f(ctypes.byref(text), ctypes.byref(special), self.handle, token_id):
            return None
        return text.text(), special.value


def slices_of(sentences: Sequence[str]) -> lib.Slices:
    if not hasattr(sentences, "__len__"):
        sentences = list(sentences)
    return lib.Slices(sentences)
