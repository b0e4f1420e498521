"""What all objects of the library have: a handle, which is freed once."""

from __future__ import annotations

import ctypes
from typing import Optional, TypeVar

from . import _library as lib
from ._error import ArgumentError

Self = TypeVar("Self", bound="Handle")


class Handle:
    """Frees its handle at the end of a with statement, or when nothing refers to it any more."""

    _handle: Optional[ctypes.c_void_p] = None
    _free = ""  # the function's name
    _kind = "object"  # for messages

    @property
    def handle(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ArgumentError("the %s is closed" % self._kind)
        return self._handle

    def close(self) -> None:
        """Frees the memory. No other thread may be using it."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            lib.function(self._free, None, lib.c_pointer)(handle)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if lib.function is not None:  # the interpreter is ending, else
            self.close()
