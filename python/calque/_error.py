"""Errors: one class, with what the C library says of each."""

from __future__ import annotations

CODES = ("ok", "argument", "io", "format", "unsupported", "memory", "limit", "stopped", "unavailable")


class Error(Exception):
    """A call of the library failed.

    ``code`` is one of "argument", "io", "format", "unsupported", "memory", "limit" and "stopped"; ``file`` and
    ``line`` (from 1) say where, and are "" and 0 where a place says nothing; ``byte`` is an offset in the file,
    which counts where ``line`` is 0 and the message names a byte.
    """

    def __init__(self, code: str, message: str, file: str = "", line: int = 0, byte: int = 0) -> None:
        super().__init__(code, message, file, line, byte)
        self.code = code
        self.message = message
        self.file = file
        self.line = line
        self.byte = byte

    def __str__(self) -> str:
        return self.message


class ArgumentError(Error, ValueError):
    """An argument is out of range, of the wrong type or shape, or contradicts another."""

    def __init__(self, message: str, file: str = "", line: int = 0, byte: int = 0, code: str = "argument") -> None:
        Error.__init__(self, code, message, file, line, byte)

    def __reduce__(self) -> tuple[type[ArgumentError], tuple[str, str, int, int, str]]:
        return ArgumentError, (self.message, self.file, self.line, self.byte, self.code)


def make_error(code: str, message: str, file: str = "", line: int = 0, byte: int = 0) -> Error:
    """The exception that stands for a status of the library."""
    if code == "argument":
        return ArgumentError(message, file, line, byte)
    return Error(code, message, file, line, byte)
