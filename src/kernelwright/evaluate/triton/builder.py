"""The operations of Triton's interpreter that must differ: memory, casts, products, assertions.

Each is repaired, checked or refused. Files of their own say how bfloat16 is rounded and what is in bounds. Everything
not named here is Triton's.

Triton's interpreter multiplies fp32 exactly whatever precision was asked for, and has no fast path for half precision.
Here `tf32`, which is Triton's default, drops the bits that the tensor cores drop, so that a product that is too coarse
on the device is seen to be. `tf32x3`, `bf16x3` and `bf16x6` are taken as exact: they are close to fp32.
"""

from typing import NoReturn

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

from kernelwright.evaluate.triton import bfloat16
from kernelwright.evaluate.triton.fault import CandidateError, FaultKind, UnsupportedError
from kernelwright.evaluate.triton.memory import Guard
from kernelwright.evaluate.triton.untyped import Array, Handle, Untyped

PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
TF32_MASK = np.uint32(0xFFFFE000)
"""Sign, exponent and the ten bits of mantissa that tensor cores read of an fp32 value."""

_U16 = np.dtype(np.uint16)
_handle = interpreter.TensorHandle
_native = interpreter._interpreter


def operand(side: Handle, precision: Untyped) -> Array:
    """One side of a product that accumulates in fp32, as fp32."""
    element = side.dtype.scalar
    if element.is_fp8():
        return bfloat16.convert(side.data, element, tl.float32)
    wide: Array = np.ascontiguousarray(side.data, dtype=np.float32)
    if element == tl.float32 and precision == interpreter._ir.INPUT_PRECISION.TF32:
        return np.asarray((wide.view(np.uint32) & TF32_MASK).view(np.float32))
    return wide


class DeviceAssertError(CandidateError):
    """A `tl.device_assert` of the kernel did not hold."""

    kind: FaultKind = "assertion"


class MissingOperationError(UnsupportedError, AttributeError):
    """The interpreter lacks an operation that the compiler has."""


class RepairedBuilder(interpreter.InterpreterBuilder):  # type: ignore[misc]
    """What the interpreter calls for each operation of a kernel."""

    guard = Guard()

    def __getattr__(self, name: str) -> NoReturn:
        raise MissingOperationError(f"the operation {name!r} cannot be interpreted")

    def get_bf16(self, value: float) -> Handle:
        """A constant."""
        return _new(np.array([value], dtype=np.float32), tl.bfloat16)

    def create_masked_load(
        self, ptrs: Handle, mask: Handle | Array, other: Handle | None, *rest: object, **named: object
    ) -> Handle:
        """Load under a mask, in bounds."""
        self.guard.load(ptrs, _flags(mask))
        dtype = ptrs.get_element_ty()
        if dtype != tl.bfloat16:
            return super().create_masked_load(ptrs, mask, other, *rest, **named)  # type: ignore[no-any-return]
        fill = np.zeros(ptrs.data.shape, _U16) if other is None else bfloat16.to_bits(other.data)
        return _new(bfloat16.from_bits(_native.load(ptrs.data, _flags(mask), fill, _U16)), dtype)

    def create_masked_store(
        self, ptrs: Handle, value: Handle, mask: Handle | Array, *rest: object, **named: object
    ) -> Untyped:
        """Store under a mask, in bounds."""
        self.guard.store(ptrs, _flags(mask))
        if ptrs.get_element_ty() != tl.bfloat16:
            return super().create_masked_store(ptrs, value, mask, *rest, **named)
        return _native.store(ptrs.data, bfloat16.to_bits(value.data), _flags(mask))

    def create_atomic_rmw(self, op: Untyped, ptr: Handle, value: Handle, mask: Handle, *rest: object) -> Untyped:
        """Read, modify and write, in bounds."""
        self.guard.atomic(ptr, _flags(mask))
        if ptr.get_element_ty() != tl.bfloat16:
            return super().create_atomic_rmw(op, ptr, value, mask, *rest)
        if op != interpreter._ir.ATOMIC_OP.FADD:
            raise UnsupportedError("an atomic other than add on bfloat16 cannot be interpreted")
        return _new(bfloat16.atomic_add(ptr.data, value.data, _flags(mask)), tl.bfloat16)

    def create_atomic_cas(self, ptr: Handle, expected: Handle, value: Handle, *rest: object) -> Untyped:
        """Compare and swap, in bounds."""
        self.guard.atomic(ptr, np.ones(ptr.data.shape, dtype=bool))
        if ptr.get_element_ty() == tl.bfloat16:
            raise UnsupportedError("compare-and-swap on bfloat16 cannot be interpreted")
        return super().create_atomic_cas(ptr, expected, value, *rest)

    def create_int_to_ptr(self, source: Handle, target: Untyped) -> Handle:
        """A pointer from a number: nobody knows what it may reach, so bounds are not checked any more."""
        self.guard.release()
        return self.create_bitcast(source, target)

    def create_ptr_to_int(self, source: Handle, target: Untyped) -> Handle:
        """A number from a pointer."""
        return self.create_bitcast(source, target)

    def create_bitcast(self, source: Handle, target: Untyped) -> Handle:
        """The same bits as another type."""
        source = bfloat16.bits_handle(source)
        if bfloat16.is_bfloat16(target):
            return _new(bfloat16.from_bits(source.data.view(_U16)), tl.bfloat16)
        return super().create_bitcast(source, target)  # type: ignore[no-any-return]

    def cast_impl(self, source: Handle, target: Untyped) -> Handle:
        """Casts that involve an integer, or between fp16, bf16, fp32 and fp64."""
        if bfloat16.is_bfloat16(source.dtype) or bfloat16.is_bfloat16(target):
            return _new(source.data.astype(interpreter._get_np_dtype(target.scalar)), target.scalar)
        return super().cast_impl(source, target)  # type: ignore[no-any-return]

    def create_fp_to_fp(self, source: Handle, target: Untyped, rounding: Untyped) -> Handle:
        """Casts with a rounding mode, or that involve float8."""
        return _new(bfloat16.convert(source.data, source.dtype.scalar, target.scalar, rounding), target.scalar)

    def create_fabs(self, value: Handle) -> Handle:
        """The absolute value."""
        if bfloat16.is_bfloat16(value.dtype):
            return _new(np.abs(value.data), tl.bfloat16)
        return super().create_fabs(value)  # type: ignore[no-any-return]

    def create_maxnumf(self, a: Handle, b: Handle) -> Handle:
        """The larger one; where one is NaN the other, as the device has it."""
        return self.binary_op(a, b, np.fmax)

    def create_minnumf(self, a: Handle, b: Handle) -> Handle:
        """The smaller one; where one is NaN the other."""
        return self.binary_op(a, b, np.fmin)

    def create_erf(self, value: Handle) -> Handle:
        """Triton's own goes through Python for every element."""
        return _new(torch.erf(torch.from_numpy(np.array(value.data))).numpy(), value.dtype.scalar)

    def create_dot(self, a: Handle, b: Handle, acc: Handle, precision: Untyped, imprecise: Untyped) -> Handle:
        """A product with the precision that was asked for."""
        if acc.data.dtype != np.float32:
            return super().create_dot(a, b, acc, precision, imprecise)  # type: ignore[no-any-return]
        product = np.matmul(operand(a, precision), operand(b, precision))
        return _new(product + acc.data, acc.dtype.scalar)

    def create_assert(self, condition: Handle, message: str) -> None:
        """All lanes must hold."""
        if not np.all(condition.data):
            raise DeviceAssertError(f"device_assert failed in program {self.grid_idx}: {message or 'no message'}")

    def create_inline_asm(self, *_arguments: object) -> NoReturn:
        """Refused."""
        raise UnsupportedError("inline assembly cannot be interpreted")

    def create_extern_elementwise(self, _library: str, _path: str, symbol: str, *_rest: object) -> NoReturn:
        """Refused; functions of CUDA's library that are known never come here."""
        raise UnsupportedError(f"the library function {symbol!r} cannot be interpreted")


def _new(data: Array, dtype: Untyped) -> Handle:
    handle: Handle = _handle(data, dtype)
    return handle


def _flags(mask: Handle | Array) -> Array:
    """Block pointers and descriptors hand over a bare array where others hand over a handle."""
    return np.asarray(mask if isinstance(mask, np.ndarray) else mask.data, dtype=bool)
