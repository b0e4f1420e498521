"""The shared library: where it is, what its functions take, and how a call of it becomes a value or an exception.

ctypes releases the interpreter's lock during each call, so other Python threads run meanwhile.
"""

from __future__ import annotations

import array
import ctypes
import ctypes.util
import os
import signal
import struct
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from ._error import CODES, ArgumentError, Error, make_error

__all__ = ["Error", "make_error"]

VERSION = (0, 2)  # of the library that this package speaks to: within a minor version its interface only grows
_NAME = "libcalque.so.%d.%d" % VERSION

c_size = ctypes.c_size_t
c_text = ctypes.c_char_p
c_pointer = ctypes.c_void_p


class CError(ctypes.Structure):
    _fields_ = [
        ("status", ctypes.c_int),
        ("line", ctypes.c_uint64),
        ("byte", ctypes.c_uint64),
        ("file", ctypes.c_char * 512),
        ("message", ctypes.c_char * 1024),
    ]


class CSlice(ctypes.Structure):
    _fields_ = [("data", c_pointer), ("n", c_size)]

    def text(self) -> str:
        return "" if not self.data else ctypes.string_at(self.data, self.n).decode("utf-8", "replace")


def _candidates() -> list[str]:
    here = Path(__file__).resolve().parent
    chosen = os.environ.get("CALQUE_LIBRARY")
    if chosen:
        return [chosen]
    # The wheel's own; that of a build tree that this file stands beside; the system's.
    places = [here / "lib" / _NAME, here.parent.parent / "build" / "release" / "src" / _NAME]
    return [str(p) for p in places if p.exists()] + [_NAME]


def _check_whole(path: str) -> None:
    """The loader maps a truncated library beyond its end, and the process dies of SIGBUS. Linkers write the table of
    sections last: it has to be within the file."""
    try:
        with open(path, "rb") as f:
            head = f.read(64)
            size = os.fstat(f.fileno()).st_size
    except OSError:  # found by the loader's own path, or not at all
        return
    if len(head) < 64 or not head.startswith(b"\x7fELF\x02\x01"):
        return  # the loader says what is wrong
    (offset,) = struct.unpack_from("<Q", head, 40)
    entry, n = struct.unpack_from("<HH", head, 58)
    if size < offset + entry * n:
        raise OSError("%s is truncated: it has %d of %d bytes; install it again" % (path, size, offset + entry * n))


def _load() -> ctypes.CDLL:
    reasons = []
    for path in _candidates():
        try:
            _check_whole(path)
            return ctypes.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
    raise ImportError(
        "calque's library cannot be loaded: %s (the environment variable CALQUE_LIBRARY may say where it is)"
        % "; ".join(reasons)
    )


_loaded: ctypes.CDLL | None = None
_declared: dict[str, Any] = {}
_lock = threading.RLock()


def library() -> ctypes.CDLL:
    """The library, loaded when it is first needed."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                loaded = _load()
                try:
                    number = int(loaded.cq_version_number())
                except AttributeError:
                    raise ImportError("%s is no library of calque's" % loaded._name) from None
                if number // 100 != VERSION[0] * 100 + VERSION[1]:
                    raise ImportError(
                        "%s is calque %d.%d, and this package needs %d.%d"
                        % (loaded._name, number // 10000, number // 100 % 100, *VERSION)
                    )
                _loaded = loaded
    return _loaded


def function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the library with its types, declared once."""
    found = _declared.get(name)
    if found is None:
        # An object of its own for each name: attributes of a CDLL are shared with whoever else loaded the library.
        found = library()[name]
        found.restype = result
        found.argtypes = arguments
        _declared[name] = found
    return found


def call(name: str, types: Sequence[Any], *values: Any) -> None:
    """Calls a function that returns a status and takes a cq_error last; raises what it reports."""
    error = CError()
    f = function(name, ctypes.c_int, *types, ctypes.POINTER(CError))
    status = f(*values, ctypes.byref(error))
    if status:
        raise make_error(
            CODES[status] if status < len(CODES) else str(status),
            error.message.decode("utf-8", "replace") or name + " failed",
            os.fsdecode(error.file),
            error.line,
            error.byte,
        )


def free(pointer: Any) -> None:
    function("cq_free", None, c_pointer)(pointer)


def take_text(pointer: ctypes.c_void_p) -> str:
    """A text that the library hands over."""
    try:
        return ctypes.string_at(pointer.value or 0).decode("utf-8", "replace") if pointer.value else ""
    finally:
        free(pointer)


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    raw = os.fsencode(path)
    if b"\0" in raw:
        raise ArgumentError("a path has a zero byte: %r" % raw)
    return raw


def text_bytes(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise ArgumentError("%s must be a string, not %s" % (what, type(text).__name__))
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise make_error("format", "%s is not Unicode text: %s" % (what, error.reason)) from None
    if b"\0" in raw:
        raise ArgumentError("%s has a zero byte" % what)
    return raw


class Slices:
    """Texts as an array of cq_slice over one block of bytes."""

    def __init__(self, texts: Sequence[str], what: str = "sentence") -> None:
        parts: list[bytes] = []
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise ArgumentError("%s %d must be a string, not %s" % (what, i + 1, type(text).__name__))
            try:
                parts.append(text.encode("utf-8"))
            except UnicodeEncodeError as error:
                place = "character %d" % error.start
                raise make_error(
                    "format", "%s %d is not Unicode text: %s at %s" % (what, i + 1, error.reason, place), "", i + 1
                ) from None
        self.n = len(parts)
        self._block = ctypes.create_string_buffer(b"".join(parts))
        at = ctypes.addressof(self._block)
        numbers = array.array("Q", bytes(16 * self.n))
        for i, part in enumerate(parts):
            numbers[2 * i], numbers[2 * i + 1] = at, len(part)
            at += len(part)
        self._numbers = numbers

    def at(self, i: int) -> int:
        """The address of the i-th slice."""
        return self._numbers.buffer_info()[0] + 16 * i


class Interrupt:
    """Turns Ctrl-C during a long call into a wish that its callback reads, so that the call ends where it may.

    In another thread than the main one, and where a program has a handler of its own, signals are left alone.
    """

    def __init__(self) -> None:
        self.wanted = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if before is signal.default_int_handler:
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:  # a second one does not wait
            raise KeyboardInterrupt
        self.wanted = True

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


class Callback:
    """A Python function as a C callback: an exception of it stops the call and is raised when the call is back."""

    def __init__(self, interrupt: Interrupt) -> None:
        self.error: BaseException | None = None
        self._interrupt = interrupt

    def run(self, f: Callable[[], object]) -> bool:
        """Whether the call may go on: f did not return False, nor raise, and nobody pressed Ctrl-C."""
        if self.error is not None:
            return False
        try:
            if f() is False:
                return False
        except BaseException as error:  # noqa: BLE001 - an exception cannot pass through C
            self.error = error
            return False
        return not self._interrupt.wanted


# --- threads ---

_context: ctypes.c_void_p | None = None
_n_threads = 0


def set_threads(n: int) -> None:
    """How many threads calls compute with, from the next call on: 0, one per processor, is the default. Results do
    not depend on it."""
    global _context, _n_threads
    if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= 4096:
        raise ArgumentError("threads must be a whole number from 0 to 4096, not %r" % (n,))
    with _lock:
        # A context that a call of another thread may be using is left to it.
        _n_threads, _context = n, None


def context() -> ctypes.c_void_p:
    """The context that all calls share."""
    global _context
    if _context is None:
        with _lock:
            if _context is None:
                opened = ctypes.c_void_p()
                call("cq_context_open", (c_pointer, ctypes.c_int), ctypes.byref(opened), _n_threads)
                _context = opened
    return _context


def version() -> str:
    """The library's version: "0.2.0"."""
    return str(function("cq_version", c_text)().decode())


def simd_level() -> str:
    """The instruction set that is computed with: "avx512", "avx2", "neon", "portable" or "reference"."""
    return str(function("cq_simd_level", c_text)().decode())


def _in_child() -> None:
    global _lock
    _lock = threading.RLock()  # a thread that is not here any more may have held it


os.register_at_fork(after_in_child=_in_child)
