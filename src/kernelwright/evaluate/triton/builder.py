"""The operations of Triton's interpreter that must differ: memory, casts, products, assertions.

Each is repaired, checked or refused. Files of their own say how bfloat16 is rounded and what is in bounds. Everything
not named here is Triton's.

Triton's interpreter multiplies fp32 exactly whatever precision was asked for, and has no fast path for half precision.
Here `tf32`, which is Triton's default, drops the bits that the tensor cores drop, so that a product that is too coarse
on the device is seen to be. `tf32x3`, `bf16x3` and `bf16x6` are taken as exact: they are close to fp32.
"""

from collections.abc import Callable
from functools import partial
from typing import NoReturn

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

from kernelwright.evaluate.triton import bfloat16
from kernelwright.evaluate.triton.fault import CandidateError, FaultKind, UnsupportedError
from kernelwright.evaluate.triton.memory import Access, Guard, unlike
from kernelwright.evaluate.triton.programs import Order, Programs
from kernelwright.evaluate.triton.races import MOST_LANES
from kernelwright.evaluate.triton.undefined import Lanes
from kernelwright.evaluate.triton.untyped import Array, Handle, Untyped

PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
TF32_MASK = np.uint32(0xFFFFE000)
"""Sign, exponent and the ten bits of mantissa that tensor cores read of an fp32 value."""

POLLS, LOOKS = 2, 1000
"""How often one program asks for the same before others have a turn: by atomics or volatile loads, and by other loads."""

_U16 = np.dtype(np.uint16)
_handle = interpreter.TensorHandle
_native = interpreter._interpreter
_ADDS = tuple(getattr(interpreter._ir.ATOMIC_OP, name) for name in ("ADD", "FADD", "OR", "XOR"))
"""With zero they leave everything as it is."""


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


class AssumptionError(CandidateError):
    """What the kernel lets the compiler assume does not hold; on the device, what follows is undefined."""

    kind: FaultKind = "assertion"


class MissingOperationError(UnsupportedError, AttributeError):
    """The interpreter lacks an operation that the compiler has."""


class RepairedBuilder(interpreter.InterpreterBuilder):  # type: ignore[misc]
    """What the interpreter calls for each operation of a kernel."""

    guard = Guard()
    turns = Programs(0, "ascending", print, print)
    """Of the launch that is running."""
    lanes = Lanes("", None)
    """Of the call that is running."""

    def launched(self, count: int, order: Order, begin: Callable[[int], None], run: Callable[[int], None]) -> None:
        """Run a launch's programs, as `Programs` says."""
        self.turns = Programs(count, order, begin, run)
        self.turns.run()

    def __getattr__(self, name: str) -> NoReturn:
        raise MissingOperationError(f"the operation {name!r} cannot be interpreted")

    def binary_op(self, left: Handle, right: Handle, operation: Callable[[Array, Array], Array]) -> Handle:
        """A comparison is of booleans, not of what is compared: where it is one number, a block is filled by its type."""
        found = super().binary_op(left, right, operation)
        return _new(found.data, tl.int1) if found.data.dtype == bool else found

    def get_bf16(self, value: float) -> Handle:
        """A constant."""
        return _new(np.array([value], dtype=np.float32), tl.bfloat16)

    def create_masked_load(
        self, ptrs: Handle, mask: Handle | Array, other: Handle | None, *rest: object, **named: object
    ) -> Handle:
        """Load under a mask, in bounds."""
        volatile = bool(named.get("is_volatile", rest[-1] if rest else False))
        self.turns.asks(int(ptrs.data.flat[0]) if ptrs.data.size == 1 else None, LOOKS if not volatile else POLLS)
        self.guard.load(ptrs, flags_of(mask), volatile)
        if other is None:
            other = self.lanes.other(ptrs, flags_of(mask))
        dtype = ptrs.get_element_ty()
        if dtype != tl.bfloat16:
            return super().create_masked_load(ptrs, mask, other, *rest, **named)  # type: ignore[no-any-return]
        fill = np.zeros(ptrs.data.shape, _U16) if other is None else bfloat16.to_bits(other.data)
        return _new(bfloat16.from_bits(_native.load(ptrs.data, flags_of(mask), fill, _U16)), dtype)

    def create_masked_store(
        self, ptrs: Handle, value: Handle, mask: Handle | Array, *_rest: object, **_named: object
    ) -> Untyped:
        """Store under a mask, in bounds."""
        flags, is_bfloat16 = flags_of(mask), ptrs.get_element_ty() == tl.bfloat16
        data = bfloat16.to_bits(value.data) if is_bfloat16 else value.data
        present = partial(_present, ptrs, flags, data.dtype)
        access = self.guard.store(ptrs, flags, present, data)
        done = _native.store(ptrs.data, data, flags)
        self.guard.stored(access, present, data)
        self.turns.progress()
        return done

    def create_atomic_rmw(
        self, op: Untyped, ptr: Handle, value: Handle, mask: Handle, sem: Untyped, scope: Untyped
    ) -> Untyped:
        """Read, modify and write, in bounds."""
        access, flags = self.guard.reach("atomic", ptr, flags_of(mask)), flags_of(mask)
        if ptr.get_element_ty() == tl.bfloat16:
            if op != interpreter._ir.ATOMIC_OP.FADD:
                raise UnsupportedError("an atomic other than add on bfloat16 cannot be interpreted")
            old = _new(bfloat16.atomic_add(ptr.data, value.data, flags), tl.bfloat16)
        else:
            old = self._changed(op, ptr, value, mask, sem, scope)
        self._made(access, ptr, old, flags, op not in _ADDS or bool(np.any(value.data)), (sem, scope))
        return old

    def _changed(self, op: Untyped, ptr: Handle, value: Handle, *rest: object) -> Handle:
        """The old values; Triton's own exchanges integers alone."""
        number, floating = value.data.dtype, value.data.dtype.kind == "f"
        if op == interpreter._ir.ATOMIC_OP.XCHG and floating:
            value = interpreter.TensorHandle(
                value.data.view(f"i{number.itemsize}"), tl.dtype(f"int{8 * number.itemsize}")
            )
        try:
            old = super().create_atomic_rmw(op, ptr, value, *rest)
        except ValueError as error:
            raise UnsupportedError(f"this atomic on {ptr.get_element_ty()} cannot be interpreted") from error
        return _new(old.data.view(number), ptr.get_element_ty())

    def create_atomic_cas(self, ptr: Handle, expected: Handle, value: Handle, sem: Untyped, scope: Untyped) -> Untyped:
        """Compare and swap, in bounds."""
        every = np.ones(ptr.data.shape, dtype=bool)
        access = self.guard.reach("atomic", ptr, every)
        if ptr.get_element_ty() == tl.bfloat16:
            raise UnsupportedError("compare-and-swap on bfloat16 cannot be interpreted")
        old = super().create_atomic_cas(ptr, expected, value, sem, scope)
        self._made(access, ptr, old, every, bool(np.any(old.data == expected.data)), (sem, scope))
        return old

    def _made(
        self, access: Access | None, ptr: Handle, old: Handle, flags: Array, writes: bool, how: tuple[Untyped, Untyped]
    ) -> None:
        """What an atomic did; one that has left everything as it was may be waiting for something."""
        sem, scope = how
        semantic = interpreter._ir.MEM_SEMANTIC
        self.guard.atomic(
            access,
            writes,
            acquires=sem in (semantic.ACQUIRE, semantic.ACQUIRE_RELEASE),
            releases=writes and sem in (semantic.RELEASE, semantic.ACQUIRE_RELEASE),
            alone=scope == interpreter._ir.MEM_SYNC_SCOPE.CTA,
        )
        before = bfloat16.to_bits(old.data) if ptr.get_element_ty() == tl.bfloat16 else old.data
        few = before.size <= MOST_LANES
        if few and not unlike(_present(ptr, flags, before.dtype), before)[np.broadcast_to(flags, before.shape)].any():
            self.turns.asks(int(ptr.data.flat[0]), POLLS)
        else:
            self.turns.progress()

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
        self.guard.waited()
        if acc.data.dtype != np.float32:
            return super().create_dot(a, b, acc, precision, imprecise)  # type: ignore[no-any-return]
        product = np.matmul(operand(a, precision), operand(b, precision))
        return _new(product + acc.data, acc.dtype.scalar)

    def create_reshape(self, arg: Handle, shape: list[int], allow_reorder: bool) -> Handle:
        """Where elements may come in any order, they come in another one than a kernel could hope for."""
        data = arg.data.reshape(-1)[::-1] if allow_reorder and arg.data.size > 1 else arg.data
        return _new(np.ascontiguousarray(data).reshape(shape), arg.dtype.scalar)

    def create_cat(self, lhs: Handle, rhs: Handle) -> Handle:
        """As `create_reshape`: concatenation promises no order."""
        return _new(np.concatenate([lhs.data, rhs.data])[::-1].copy(), lhs.dtype.scalar)

    def create_barrier(self) -> None:
        """All threads of a program have arrived."""
        self.guard.waited()

    def create_assert(self, condition: Handle, message: str) -> None:
        """All lanes must hold."""
        if not np.all(condition.data):
            raise DeviceAssertError(f"device_assert failed in program {self.grid_idx}: {message or 'no message'}")

    def create_assume(self, condition: Handle) -> None:
        """It must hold: what was compiled relies on it."""
        if not np.all(condition.data):
            raise AssumptionError(
                f"tl.assume does not hold in program {self.grid_idx}: the compiled kernel relies on it"
            )

    def create_inline_asm(self, *_arguments: object) -> NoReturn:
        """Refused."""
        raise UnsupportedError("inline assembly cannot be interpreted")

    def create_extern_elementwise(self, _library: str, _path: str, symbol: str, *_rest: object) -> NoReturn:
        """Refused; functions of CUDA's library that are known never come here."""
        raise UnsupportedError(f"the library function {symbol!r} cannot be interpreted")


def _new(data: Array, dtype: Untyped) -> Handle:
    handle: Handle = _handle(data, dtype)
    return handle


def _present(ptrs: Handle, flags: Array, dtype: Untyped) -> Array:
    """What lies at the lanes that are let through; elsewhere 0."""
    return np.asarray(_native.load(ptrs.data, flags, np.zeros(ptrs.data.shape, dtype), dtype))


def flags_of(mask: Handle | Array) -> Array:
    """Block pointers and descriptors hand over a bare array where others hand over a handle."""
    return np.asarray(mask if isinstance(mask, np.ndarray) else mask.data, dtype=bool)
