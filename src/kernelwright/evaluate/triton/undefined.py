"""Lanes that a masked load without `other` leaves undefined: what they hold, and at which lines they were left so.

They are zero, as they often are on NVIDIA's devices; or what nobody counts on, so that a result that depends on them changes:
NaN, the largest number and the smallest in turn, since a maximum hides NaN, and a product with zero all else.
"""

import linecache
import sys
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from kernelwright.evaluate.triton.fault import CandidateError
from kernelwright.evaluate.triton.untyped import Array, Handle, Untyped

_CODES = {tl.float8e4nv: (0x7F, 0x7E, 0xFE), tl.float8e5: (0x7E, 0x7B, 0xFB)}
"""Of float8, as bits: not a number, the largest, the smallest."""


@dataclass(frozen=True)
class Fill:
    """What undefined lanes hold: which of the three first, and at which line alone.

    After `most_loads` a loop has taken its end from such a lane.
    """

    turn: int
    only: str = ""
    most_loads: int = 0


@dataclass
class Lanes:
    """The undefined lanes of one call."""

    path: str
    """The candidate's file."""
    fill: Fill | None
    left: Counter[str] = field(default_factory=Counter)
    """How many, by the line of the load."""
    loads: int = 0

    def other(self, pointers: Handle, mask: Array) -> Handle | None:
        """What a load without `other` leaves where `mask` lets nothing through; None stands for zero.

        Raises:
            CandidateError: there have been many more loads than without a fill.
        """
        self.loads += 1
        if self.fill is not None and self.loads > self.fill.most_loads:
            raise CandidateError("it never ends")
        dead = int(mask.size - np.count_nonzero(mask))
        if not dead:
            return None
        line = self._line()
        self.left[line] += dead
        if self.fill is None or self.fill.only not in ("", line):
            return None
        values, element = _extremes(pointers.get_element_ty()), pointers.get_element_ty()
        turns = (np.arange(pointers.data.size) + self.fill.turn + self.loads) % len(values)
        handle: Handle = interpreter.TensorHandle(values[turns].reshape(pointers.data.shape), element)
        return handle

    def _line(self) -> str:
        frame = sys._getframe()
        while frame.f_back is not None and frame.f_code.co_filename != self.path:
            frame = frame.f_back
        line = linecache.getline(self.path, frame.f_lineno).strip()
        return f"{line} (line {frame.f_lineno})"


def _extremes(element: Untyped) -> Array:
    if element in _CODES:
        return np.array(_CODES[element], dtype=np.uint8)
    dtype = interpreter._get_np_dtype(element)
    if dtype.kind == "f":
        largest = 3e38 if element == tl.bfloat16 else np.finfo(dtype).max
        return np.array([np.nan, largest, -largest], dtype=dtype)
    if dtype.kind == "b":
        return np.array([True])
    limits = np.iinfo(dtype)
    return np.array([limits.max, limits.min] if limits.min else [limits.max], dtype=dtype)
