"""The operands of a matrix product as the device's tensor cores read them.

Triton's interpreter multiplies fp32 exactly whatever precision was asked for, and has no fast path for
half precision. Here `tf32`, which is Triton's default, drops the bits that the tensor cores drop, so
that a product that is too coarse on the device is seen to be. `tf32x3`, `bf16x3` and `bf16x6` are taken as
exact: they are close to fp32.
"""

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from kernelwright.evaluate.triton.bfloat16 import convert
from kernelwright.evaluate.triton.foreign import Array, Foreign, Handle

PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
TF32_MASK = np.uint32(0xFFFFE000)
"""Sign, exponent and the ten bits of mantissa that tensor cores read of an fp32 value."""


def operand(side: Handle, precision: Foreign) -> Array:
    """One side of a product that accumulates in fp32, as fp32."""
    element = side.dtype.scalar
    if element.is_fp8():
        return convert(side.data, element, tl.float32)
    wide: Array = np.ascontiguousarray(side.data, dtype=np.float32)
    if element == tl.float32 and precision == interpreter._ir.INPUT_PRECISION.TF32:
        return np.asarray((wide.view(np.uint32) & TF32_MASK).view(np.float32))
    return wide
