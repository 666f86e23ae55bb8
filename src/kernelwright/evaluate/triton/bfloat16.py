"""bfloat16 and float8 made right in Triton's interpreter.

The interpreter keeps bfloat16 as 16-bit integers and computes with those, and its casts truncate. Here
a bfloat16 value travels as float32, rounded to bfloat16 (nearest, ties to even) whenever a new value
appears: then every operation is right because it is right for float32, as on hardware that computes
one operation and rounds. Only what touches memory or bits must know better. Casts to float8 saturate,
as the hardware's do. float16, float32 and float64 are left as they are.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

from kernelwright.evaluate.triton.fault import UnsupportedError

Array = np.ndarray[Any, np.dtype[Any]]

_TORCH = {
    tl.float8e4nv: torch.float8_e4m3fn,
    tl.float8e5: torch.float8_e5m2,
    tl.float16: torch.float16,
    tl.bfloat16: torch.bfloat16,
    tl.float32: torch.float32,
    tl.float64: torch.float64,
}
_INTEGER = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
_LARGEST = {tl.float8e4nv: 448.0, tl.float8e5: 57344.0}
ROUND_TO_ZERO = interpreter._ir.ROUNDING_MODE.RTZ


def is_bfloat16(dtype: Any) -> bool:
    """Whether values of this Triton type are bfloat16; pointers to them are not."""
    return bool(dtype.scalar == tl.bfloat16)


def round_nearest(values: Array) -> Array:
    """float32 values that bfloat16 has, nearest to `values`, ties to even."""
    wide = np.ascontiguousarray(values, dtype=np.float32)
    bits = wide.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(wide), wide, rounded.view(np.float32)).reshape(np.shape(values))


def to_bits(values: Array) -> Array:
    """The 16 bits of float32 values that are bfloat16 already."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32) >> np.uint32(16)
    nan = np.isnan(values) & ((bits & np.uint32(0x7F)) == 0)  # a payload in the low half must not become inf
    return (bits | nan).astype(np.uint16).reshape(np.shape(values))


def from_bits(bits: Array) -> Array:
    """float32 values of bfloat16 bits."""
    wide = np.ascontiguousarray(bits).view(np.uint16).astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32).reshape(np.shape(bits))


def convert(values: Array, source: Any, target: Any, rounding: Any = None) -> Array:
    """Cast between floating types, as the interpreter holds them.

    Raises:
        UnsupportedError: a float8 of another vendor, or rounding to zero other than to bfloat16.
    """
    if source not in _TORCH or target not in _TORCH:
        raise UnsupportedError(f"casts from {source} to {target} cannot be interpreted")
    wide = _to_torch(values, source)
    if rounding == ROUND_TO_ZERO and wide.dtype != _TORCH[target]:
        return _truncate(wide, target)
    if target in _LARGEST:
        wide = wide.clamp(-_LARGEST[target], _LARGEST[target])
    return _from_torch(wide.to(_TORCH[target]), target)


def _truncate(wide: torch.Tensor, target: Any) -> Array:
    if target != tl.bfloat16:
        raise UnsupportedError(f"rounding to zero in a cast to {target} cannot be interpreted")
    bits = wide.to(torch.float32).numpy().view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)


def _to_torch(values: Array, dtype: Any) -> torch.Tensor:
    data = torch.from_numpy(np.array(values, order="C"))
    return data.view(_TORCH[dtype]) if dtype in _LARGEST else data


def _from_torch(tensor: torch.Tensor, dtype: Any) -> Array:
    if dtype == tl.bfloat16:
        return np.asarray(tensor.float().numpy())
    return np.asarray((tensor.view(torch.uint8) if dtype in _LARGEST else tensor).numpy())


def install() -> None:
    """Patch Triton's interpreter in this process; calling it twice changes nothing."""
    builder = interpreter.InterpreterBuilder
    if hasattr(builder, "carries_bfloat16"):
        return
    builder.carries_bfloat16 = True
    _install_carrier()
    _install_memory(builder)
    _install_casts(builder)
    _install_operations(builder)


def _install_carrier() -> None:
    """bfloat16 data is float32, and a handle rounds what it is given."""
    numpy_dtype = interpreter._get_np_dtype
    fits = interpreter._validate_np_data_size
    make = interpreter.TensorHandle.__init__

    def get_np_dtype(dtype: Any) -> np.dtype[Any]:
        element = getattr(dtype, "element_ty", dtype) if isinstance(dtype, tl.block_type) else dtype
        return np.dtype(np.float32) if element == tl.bfloat16 else numpy_dtype(dtype)

    def validate(data: Array, dtype: Any) -> bool:
        carried = not isinstance(dtype, tl.pointer_type) and is_bfloat16(dtype) and data.dtype == np.float32
        return carried or bool(fits(data, dtype))

    def init(self: Any, data: Array, dtype: Any, *rest: Any, **named: Any) -> None:
        floating = isinstance(data, np.ndarray | np.generic) and data.dtype.kind == "f"
        if floating and not isinstance(dtype, tl.pointer_type) and is_bfloat16(dtype):
            data = round_nearest(data)
        make(self, data, dtype, *rest, **named)

    interpreter._get_np_dtype = get_np_dtype
    interpreter._validate_np_data_size = validate
    interpreter.TensorHandle.__init__ = init


def _install_memory(builder: Any) -> None:
    """Memory holds 16 bits."""
    native = interpreter._interpreter
    handle = interpreter.TensorHandle
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

    def masked_load(self: Any, ptrs: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        dtype = ptrs.get_element_ty()
        if dtype != tl.bfloat16:
            return load(self, ptrs, mask, other, *rest, **named)
        fill = np.zeros(ptrs.data.shape, np.uint16) if other is None else to_bits(other.data)
        return handle(from_bits(native.load(ptrs.data, _array(mask), fill, np.dtype(np.uint16))), dtype)

    def masked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        if ptrs.get_element_ty() != tl.bfloat16:
            return store(self, ptrs, value, mask, *rest, **named)
        return native.store(ptrs.data, to_bits(round_nearest(value.data)), _array(mask))

    def atomic_rmw(self: Any, op: Any, ptr: Any, value: Any, mask: Any, *rest: Any) -> Any:
        if not is_bfloat16(value.dtype):
            return rmw(self, op, ptr, value, mask, *rest)
        if op != interpreter._ir.ATOMIC_OP.FADD:
            raise UnsupportedError("an atomic other than add on bfloat16 cannot be interpreted")
        return handle(_atomic_add(ptr.data, value.data, _array(mask)), tl.bfloat16)

    def atomic_cas(self: Any, ptr: Any, expected: Any, value: Any, *rest: Any) -> Any:
        if is_bfloat16(value.dtype):
            raise UnsupportedError("compare-and-swap on bfloat16 cannot be interpreted")
        return cas(self, ptr, expected, value, *rest)

    builder.create_masked_load, builder.create_masked_store = masked_load, masked_store
    builder.create_atomic_rmw, builder.create_atomic_cas = atomic_rmw, atomic_cas


def _array(mask: Any) -> Array:
    """Block pointers and descriptors hand over a bare array where others hand over a handle."""
    return np.asarray(getattr(mask, "data", mask) if not isinstance(mask, np.ndarray) else mask, dtype=bool)


def _atomic_add(pointers: Array, values: Array, mask: Array) -> Array:
    """Lane by lane, since two lanes may share an address. Returns the old values."""
    native = interpreter._interpreter
    one = np.ones(1, dtype=bool)
    old = np.zeros(pointers.shape, np.float32)
    for lane in zip(*np.nonzero(np.broadcast_to(mask, pointers.shape)), strict=True):
        address = np.array([pointers[lane]], dtype=np.uint64)
        bits = native.load(address, one, np.zeros(1, np.uint16), np.dtype(np.uint16))
        old[lane] = from_bits(bits)[0]
        total = round_nearest(np.asarray([old[lane] + np.broadcast_to(values, pointers.shape)[lane]]))
        native.store(address, to_bits(total), one)
    return old


def _install_casts(builder: Any) -> None:
    handle = interpreter.TensorHandle
    cast, bitcast = builder.cast_impl, builder.create_bitcast

    def cast_impl(self: Any, source: Any, target: Any) -> Any:
        if is_bfloat16(source.dtype) or target.scalar == tl.bfloat16:
            return handle(source.data.astype(interpreter._get_np_dtype(target.scalar)), target.scalar)
        return cast(self, source, target)

    def fp_to_fp(_self: Any, source: Any, target: Any, rounding: Any) -> Any:
        return handle(convert(source.data, source.dtype.scalar, target.scalar, rounding), target.scalar)

    def bitcast_impl(self: Any, source: Any, target: Any) -> Any:
        if is_bfloat16(source.dtype) and source.data.dtype == np.float32:
            source = handle(to_bits(source.data), tl.uint16)
        if target.scalar == tl.bfloat16:
            return handle(from_bits(source.data.view(np.uint16)), tl.bfloat16)
        return bitcast(self, source, target)

    builder.cast_impl, builder.create_fp_to_fp, builder.create_bitcast = cast_impl, fp_to_fp, bitcast_impl
    builder.create_int_to_ptr = builder.create_ptr_to_int = bitcast_impl


def _install_operations(builder: Any) -> None:
    handle = interpreter.TensorHandle
    fabs = builder.create_fabs
    reduce_sum: Callable[..., Any] = interpreter.ReduceOps.sum

    def create_fabs(self: Any, value: Any) -> Any:
        return handle(np.abs(value.data), tl.bfloat16) if is_bfloat16(value.dtype) else fabs(self, value)

    def sum_(self: Any, value: Any) -> Any:
        if not is_bfloat16(value.dtype):
            return reduce_sum(self, value)
        return self.to_tensor(_tree_sum(value.handle.data, self.axis, self.keep_dims), value.dtype)

    def get_bf16(_self: Any, value: float) -> Any:
        return handle(np.array([value], dtype=np.float32), tl.bfloat16)

    builder.create_fabs = create_fabs
    builder.get_bf16 = get_bf16
    interpreter.ReduceOps.sum = sum_


def _tree_sum(data: Array, axis: int | None, keep_dims: bool) -> Array:
    """Halves are added until one is left, each sum rounded, as the device does; sizes are powers of two."""
    rows = data.reshape(-1) if axis is None else np.moveaxis(data, axis, 0)
    while len(rows) > 1:
        half = len(rows) // 2
        rows = round_nearest(rows[:half] + rows[half:])
    total = rows[0]
    if keep_dims:
        return total.reshape((1,) * data.ndim) if axis is None else np.expand_dims(total, axis)
    return total
