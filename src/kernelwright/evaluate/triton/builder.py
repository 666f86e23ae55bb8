"""The operations of Triton's interpreter that must differ: memory, casts, products, assertions.

Each is repaired, checked or refused. Files of their own say how bfloat16 is rounded, what is in bounds and what a
product reads. Everything not named here is Triton's.
"""

from typing import NoReturn

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

from kernelwright.evaluate.triton import dot
from kernelwright.evaluate.triton.bfloat16 import (
    atomic_add,
    bits_handle,
    convert,
    from_bits,
    is_bfloat16,
    to_bits,
)
from kernelwright.evaluate.triton.fault import CandidateError, FaultKind, UnsupportedError
from kernelwright.evaluate.triton.foreign import Array, Foreign, Handle
from kernelwright.evaluate.triton.memory import Guard

_U16 = np.dtype(np.uint16)
_handle = interpreter.TensorHandle
_native = interpreter._interpreter


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
        fill = np.zeros(ptrs.data.shape, _U16) if other is None else to_bits(other.data)
        return _new(from_bits(_native.load(ptrs.data, _flags(mask), fill, _U16)), dtype)

    def create_masked_store(
        self, ptrs: Handle, value: Handle, mask: Handle | Array, *rest: object, **named: object
    ) -> Foreign:
        """Store under a mask, in bounds."""
        self.guard.store(ptrs, _flags(mask))
        if ptrs.get_element_ty() != tl.bfloat16:
            return super().create_masked_store(ptrs, value, mask, *rest, **named)
        return _native.store(ptrs.data, to_bits(value.data), _flags(mask))

    def create_atomic_rmw(self, op: Foreign, ptr: Handle, value: Handle, mask: Handle, *rest: object) -> Foreign:
        """Read, modify and write, in bounds."""
        self.guard.atomic(ptr, _flags(mask))
        if ptr.get_element_ty() != tl.bfloat16:
            return super().create_atomic_rmw(op, ptr, value, mask, *rest)
        if op != interpreter._ir.ATOMIC_OP.FADD:
            raise UnsupportedError("an atomic other than add on bfloat16 cannot be interpreted")
        return _new(atomic_add(ptr.data, value.data, _flags(mask)), tl.bfloat16)

    def create_atomic_cas(self, ptr: Handle, expected: Handle, value: Handle, *rest: object) -> Foreign:
        """Compare and swap, in bounds."""
        self.guard.atomic(ptr, np.ones(ptr.data.shape, dtype=bool))
        if ptr.get_element_ty() == tl.bfloat16:
            raise UnsupportedError("compare-and-swap on bfloat16 cannot be interpreted")
        return super().create_atomic_cas(ptr, expected, value, *rest)

    def create_int_to_ptr(self, source: Handle, target: Foreign) -> Handle:
        """A pointer from a number: nobody knows what it may reach, so bounds are not checked any more."""
        self.guard.release()
        return self.create_bitcast(source, target)

    def create_ptr_to_int(self, source: Handle, target: Foreign) -> Handle:
        """A number from a pointer."""
        return self.create_bitcast(source, target)

    def create_bitcast(self, source: Handle, target: Foreign) -> Handle:
        """The same bits as another type."""
        source = bits_handle(source)
        if is_bfloat16(target):
            return _new(from_bits(source.data.view(_U16)), tl.bfloat16)
        return super().create_bitcast(source, target)  # type: ignore[no-any-return]

    def cast_impl(self, source: Handle, target: Foreign) -> Handle:
        """Casts that involve an integer, or between fp16, bf16, fp32 and fp64."""
        if is_bfloat16(source.dtype) or is_bfloat16(target):
            return _new(source.data.astype(interpreter._get_np_dtype(target.scalar)), target.scalar)
        return super().cast_impl(source, target)  # type: ignore[no-any-return]

    def create_fp_to_fp(self, source: Handle, target: Foreign, rounding: Foreign) -> Handle:
        """Casts with a rounding mode, or that involve float8."""
        return _new(convert(source.data, source.dtype.scalar, target.scalar, rounding), target.scalar)

    def create_fabs(self, value: Handle) -> Handle:
        """The absolute value."""
        if is_bfloat16(value.dtype):
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

    def create_dot(self, a: Handle, b: Handle, acc: Handle, precision: Foreign, imprecise: Foreign) -> Handle:
        """A product with the precision that was asked for."""
        if acc.data.dtype != np.float32:
            return super().create_dot(a, b, acc, precision, imprecise)  # type: ignore[no-any-return]
        product = np.matmul(dot.operand(a, precision), dot.operand(b, precision))
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


def _new(data: Array, dtype: Foreign) -> Handle:
    handle: Handle = _handle(data, dtype)
    return handle


def _flags(mask: Handle | Array) -> Array:
    """Block pointers and descriptors hand over a bare array where others hand over a handle."""
    return np.asarray(mask if isinstance(mask, np.ndarray) else mask.data, dtype=bool)
