"""Matrix products in Triton's interpreter, with the device's input precision and at BLAS's speed.

The interpreter multiplies fp32 exactly whatever precision was asked for, and has no fast path for half
precision. Here `tf32`, which is Triton's default, drops the bits that the tensor cores drop, so that
a product that is too coarse on the device is seen to be. `tf32x3`, `bf16x3` and `bf16x6` are taken as exact:
they are close to fp32.
"""

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from kernelwright.evaluate.triton.bfloat16 import Array, convert

DOT_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
TF32_MASK = np.uint32(0xFFFFE000)
"""Sign, exponent and the ten bits of mantissa that tensor cores read of an fp32 value."""


def install() -> None:
    """Patch Triton's interpreter in this process."""
    builder = interpreter.InterpreterBuilder
    original = builder.create_dot

    def create_dot(self: Any, a: Any, b: Any, acc: Any, precision: Any, imprecise: Any) -> Any:
        if acc.data.dtype != np.float32:
            return original(self, a, b, acc, precision, imprecise)
        left, right = (_operand(side, precision) for side in (a, b))
        return interpreter.TensorHandle(np.matmul(left, right) + acc.data, acc.dtype.scalar)

    builder.create_dot = create_dot


def _operand(side: Any, precision: Any) -> Array:
    element = side.dtype.scalar
    if element.is_fp8():
        return convert(side.data, element, tl.float32)
    wide: Array = np.ascontiguousarray(side.data, dtype=np.float32)
    if element == tl.float32 and precision == interpreter._ir.INPUT_PRECISION.TF32:
        return (wide.view(np.uint32) & TF32_MASK).view(np.float32)
    return wide
