"""Options by name. The library's own tables say which there are, so this file names none of them: an option that the
library gains can be set from Python without a change here.

A keyword is an option's name with underscores for hyphens (``max_characters`` for ``max-characters``).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

from . import _library as lib
from ._error import ArgumentError

OptionValue = Union[
    None,
    bool,
    int,
    float,
    str,
    "os.PathLike[str]",
    Sequence[Union[str, int, "os.PathLike[str]"]],
    Mapping[str, Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]],
]

_TYPES = ("flag", "yes_no", "int", "size", "count", "number", "choice", "choices", "text", "ints", "texts", "items")
_WHOLE = ("int", "size", "count")


class CRow(ctypes.Structure):
    """cq_option. Rows are read through cq_options_row, so a longer one is no matter."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("argument", ctypes.c_char_p),
        ("help", ctypes.c_char_p),
        ("choices", ctypes.POINTER(ctypes.c_char_p)),
        ("text", ctypes.c_char_p),
        ("otherwise", ctypes.c_char_p),
        ("number", ctypes.c_double),
        ("min", ctypes.c_double),
        ("max", ctypes.c_double),
        ("offset", ctypes.c_size_t),
        ("count_offset", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("effect", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("letter", ctypes.c_char),
    ]


class Option(NamedTuple):
    """One option of the library: its keyword, its type, its default as text, its choices, what it does."""

    name: str
    type: str
    default: str | None
    choices: tuple[str, ...]
    required: bool
    help: str


class Options:
    """A group's struct, set by name. Must be open while the library uses it."""

    def __init__(self, group: str) -> None:
        found = lib.function("cq_option_group_find", lib.c_pointer, lib.c_text)(group.encode())
        self._options = ctypes.c_void_p()
        if not found:
            raise ArgumentError("there are no options called %r" % group)
        lib.call("cq_options_new", (lib.c_pointer, lib.c_pointer), ctypes.byref(self._options), found)
        self.group = group
        self._keep: list[Any] = []
        self.rows: dict[str, CRow] = {}
        row_at = lib.function("cq_options_row", ctypes.POINTER(CRow), lib.c_pointer, lib.c_size)
        while row := row_at(self._options, len(self.rows)):
            self.rows[row.contents.name.decode()] = row.contents

    def close(self) -> None:
        lib.function("cq_options_free", None, lib.c_pointer)(self._options)
        self._options = ctypes.c_void_p()

    def __enter__(self) -> Options:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def struct(self) -> int:
        """The struct's address."""
        return int(lib.function("cq_options_struct", lib.c_pointer, lib.c_pointer)(self._options))

    def put(self, **fields: Any) -> None:
        """Sets fields that have no text: callbacks, addresses, and bytes as a text. None leaves one as it is."""
        field = lib.function("cq_options_field", lib.c_pointer, lib.c_pointer, lib.c_text)
        for name, value in fields.items():
            if value is None:
                continue
            place = field(self._options, name.encode())
            if not place:
                raise ArgumentError("the options %r have no field %r" % (self.group, name))
            pointer = ctypes.c_char_p(value) if isinstance(value, bytes) else value
            self._keep.append(pointer)
            ctypes.c_void_p.from_address(place).value = ctypes.cast(pointer, ctypes.c_void_p).value

    def get(self, name: str, i: int = 0) -> str | None:
        out = ctypes.c_void_p()
        lib.call(
            "cq_options_get",
            (lib.c_pointer, lib.c_pointer, lib.c_text, lib.c_size),
            ctypes.byref(out),
            self._options,
            name.encode(),
            i,
        )
        return lib.take_text(out) if out.value else None

    def set_text(self, name: str, value: str | os.PathLike[str]) -> None:
        raw = lib.path_bytes(value) if isinstance(value, os.PathLike) else lib.text_bytes(value, name)
        lib.call("cq_options_set", (lib.c_pointer, lib.c_text, lib.c_text), self._options, name.encode(), raw)

    def set(self, **values: OptionValue) -> None:
        """Sets options; None leaves one at its default."""
        for keyword, value in values.items():
            if value is None:
                continue
            name = keyword.replace("_", "-")
            row = self.rows.get(name) or self.rows.get(keyword)
            if row is None:
                self.set_text(name, "?")  # the library's message names the nearest option
                raise ArgumentError("there is no option %r" % keyword)
            for text in _texts(name, _TYPES[row.type] if row.type < len(_TYPES) else "", value):
                self.set_text(row.name.decode(), text)

    def check(self) -> None:
        """Checks all options; first, those that depend on fields are chosen."""
        lib.call("cq_options_check", (lib.c_pointer,), self._options)

    def describe(self) -> list[Option]:
        out = []
        for name, row in self.rows.items():
            choices: list[str] = []
            while row.choices and row.choices[len(choices)]:
                choices.append(row.choices[len(choices)].decode())
            out.append(
                Option(
                    name.replace("-", "_"),
                    _TYPES[row.type] if row.type < len(_TYPES) else "other",
                    self.get(name),
                    tuple(choices),
                    bool(row.flags & 1),
                    (row.help or b"").decode(),
                )
            )
        return out


def _texts(name: str, kind: str, value: Any) -> list[str | os.PathLike[str]]:
    """A value as the texts that the library reads; of several values one each."""
    if kind in ("flag", "yes_no"):
        if not isinstance(value, bool):
            raise ArgumentError("%s must be True or False, not %r" % (name, value))
        return ["yes" if value else "no"]
    if isinstance(value, bool):
        raise ArgumentError("%s must not be a bool" % name)
    if kind in _WHOLE or kind == "number":
        try:
            number: int | float = value.__index__() if kind in _WHOLE else float(value)
        except (AttributeError, TypeError, ValueError):
            what = "a whole number" if kind in _WHOLE else "a number"
            raise ArgumentError("%s must be %s, not %r" % (name, what, value)) from None
        return [repr(number)]
    if isinstance(value, (str, os.PathLike)):
        return [value]
    if kind in ("choice", "text"):
        raise ArgumentError("%s must be a string, not %s" % (name, type(value).__name__))
    if isinstance(value, Mapping):  # {label: file or files}
        texts: list[str | os.PathLike[str]] = []
        for label, files in value.items():
            for file in [files] if isinstance(files, (str, os.PathLike)) else files:
                texts.append("%s=%s" % (label, os.fspath(file)))
        return texts
    if kind == "ints" and hasattr(value, "__index__"):
        return [str(value.__index__())]
    try:
        return [v if isinstance(v, (str, os.PathLike)) else str(v.__index__()) for v in value]
    except (AttributeError, TypeError):
        raise ArgumentError("%s must be a string, a path or a list of them, not %r" % (name, value)) from None


def options(group: str) -> list[Option]:
    """The options of a group as the library has them: what ``calque.extend`` takes is ``calque.options("extend")``."""
    with Options(group) as o:
        return o.describe()
