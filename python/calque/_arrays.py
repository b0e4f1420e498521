"""Numbers of Python and of the library: NumPy's arrays without copies where NumPy is there, lists where it is not."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from ._error import ArgumentError


def numpy() -> Any:
    """NumPy, or None."""
    try:
        import numpy as np
    except ImportError:
        return None
    return np


def torch() -> Any:
    """PyTorch where the program uses it already: it is not loaded for calque's sake."""
    return sys.modules.get("torch")


def is_tensor(x: object) -> bool:
    t = torch()
    return t is not None and hasattr(t, "Tensor") and isinstance(x, t.Tensor)


class Matrix:
    """Vectors as the library reads them: f32, row-major. An array that is so already is not copied; other types of
    numbers and other strides are converted; whatever else is an error."""

    def __init__(self, x: Any, what: str = "vectors", dim: int | None = None) -> None:
        if is_tensor(x):
            x = x.detach().cpu().float().numpy()
        np = numpy()
        if np is not None:
            try:
                a = np.asarray(x)
            except ValueError as error:
                raise ArgumentError("%s must be rows of one length: %s" % (what, error)) from None
            if a.dtype.kind not in "fiu":
                raise ArgumentError("%s must be numbers, not of type %s" % (what, a.dtype))
            if a.ndim == 1 and a.size:
                a = a[None]
            if a.ndim != 2:
                raise ArgumentError("%s must have two axes, not %d (shape %r)" % (what, a.ndim, a.shape))
            a = np.ascontiguousarray(a, dtype=np.float32)
            self.n, self.dim = int(a.shape[0]), int(a.shape[1])
            self.keep: Any = a
            self.address = int(a.ctypes.data)
        else:
            rows = [list(r) for r in x] if x and hasattr(x[0], "__len__") else [list(x)]
            self.n, self.dim = len(rows), len(rows[0])
            if any(len(r) != self.dim for r in rows):
                raise ArgumentError("%s must be rows of one length" % what)
            try:
                self.keep = (ctypes.c_float * (self.n * self.dim))(*[v for r in rows for v in r])
            except TypeError as error:
                raise ArgumentError("%s must be numbers: %s" % (what, error)) from None
            self.address = ctypes.addressof(self.keep)
        if self.dim == 0:
            raise ArgumentError("%s must be rows of at least one number" % what)
        if dim is not None and self.dim != dim:
            raise ArgumentError("%s must have %d dimensions, not %d" % (what, dim, self.dim))


class Output:
    """A place for n rows of numbers that the library writes: a new array, or the caller's own."""

    def __init__(self, n: int, dim: int, kind: str = "float32", out: Any = None) -> None:
        self.n, self.dim, self.kind = n, dim, kind
        np = numpy()
        if out is not None:
            if np is None or not isinstance(out, np.ndarray):
                raise ArgumentError("out must be a NumPy array, not %s" % type(out).__name__)
            if out.dtype != np.dtype(kind) or not out.dtype.isnative:
                raise ArgumentError("out must be of type %s, not %s" % (kind, out.dtype))
            if out.shape != (n, dim):
                raise ArgumentError("out must have the shape (%d, %d), not %r" % (n, dim, out.shape))
            if not out.flags.c_contiguous:
                raise ArgumentError("out must be C-contiguous: strides of %r are not" % (out.strides,))
            if not out.flags.writeable:
                raise ArgumentError("out is read-only")
            self.array: Any = out
        elif np is not None:
            self.array = np.empty((n, dim), dtype=kind)
        else:
            self.array = None
        if self.array is not None:
            self.address = int(self.array.ctypes.data)
        else:
            types: dict[str, Any] = {"float32": ctypes.c_float, "int8": ctypes.c_int8, "uint8": ctypes.c_uint8}
            self._memory: Any = (types[kind] * (n * dim))()
            self.address = ctypes.addressof(self._memory)

    def value(self) -> Any:
        """The array, or lists where there is no NumPy."""
        if self.array is not None:
            return self.array
        return [list(self._memory[i * self.dim : (i + 1) * self.dim]) for i in range(self.n)]
