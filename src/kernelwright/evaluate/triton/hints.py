"""What a kernel tells the compiler of its offsets: the device reads sixteen bytes at a time where that allows it.

The interpreter takes no notice of `tl.multiple_of` and `tl.max_contiguous`, and the compiled kernel faults, or reads what lies
elsewhere, where they are false. A hint that a size makes true may be false at a reduced one. So only what no size makes true
is refused: a first offset of the first program that is no multiple, and offsets of which no two neighbours are consecutive.
"""

import numpy as np
from triton.runtime import interpreter

from kernelwright.evaluate.triton.builder import AssumptionError
from kernelwright.evaluate.triton.untyped import Array, Untyped

DIVISIBILITY, CONTIGUITY = "tt.divisibility", "tt.contiguity"


def install_hints() -> None:
    """Have the interpreter look at what it is told."""
    kept = interpreter.TensorHandle.set_attr

    def looked_at(self: Untyped, key: str, values: list[int]) -> None:
        if wrong := _wrong(self, key, values):
            raise AssumptionError(
                f"{wrong} in program {interpreter.interpreter_builder.grid_idx}: the compiled kernel relies on it"
            )
        kept(self, key, values)

    interpreter.TensorHandle.set_attr = looked_at


def _wrong(handle: Untyped, key: str, values: list[int]) -> str:
    """Why a hint is false; empty where it may be true."""
    data: Array = np.asarray(handle.data)
    if not data.size or handle.dtype.scalar.is_ptr() or not np.issubdtype(data.dtype, np.integer):
        return ""
    if key == DIVISIBILITY and not any(interpreter.interpreter_builder.grid_idx):
        first = int(data.flat[0])
        return f"tl.multiple_of: the first offset is {first}, no multiple of {values[0]}" if first % values[0] else ""
    along = [axis for axis, count in enumerate(values) if count > 1 and data.ndim and data.shape[axis] > 1]
    if key == CONTIGUITY and any(not (np.diff(data, axis=axis) == 1).any() for axis in along):
        return "tl.max_contiguous: no two offsets follow each other"
    return ""
