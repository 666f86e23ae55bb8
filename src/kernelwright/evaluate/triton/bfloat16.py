"""bfloat16 and float8 as Triton's interpreter should hold, cast and sum them.

The interpreter keeps bfloat16 as 16-bit integers and computes with those, and its casts truncate. Here
a bfloat16 value travels as float32, rounded to bfloat16 (nearest, ties to even) whenever a new value
appears: then every operation is right because it is right for float32, as on hardware that computes
one operation and rounds. Only what touches memory or bits must know better. Casts to float8 saturate,
as the hardware's do. float16, float32 and float64 are left as they are.
"""

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

from kernelwright.evaluate.triton.fault import UnsupportedError
from kernelwright.evaluate.triton.untyped import Array, Handle, Untyped

_TORCH = {
    tl.float8e4nv: torch.float8_e4m3fn,
    tl.float8e5: torch.float8_e5m2,
    tl.float16: torch.float16,
    tl.bfloat16: torch.bfloat16,
    tl.float32: torch.float32,
    tl.float64: torch.float64,
}
_LARGEST = {tl.float8e4nv: 448.0, tl.float8e5: 57344.0}
_UPPER_HALF = np.uint32(0xFFFF0000)
_HALF = np.uint32(16)


def is_bfloat16(dtype: Untyped) -> bool:
    """Whether values of this Triton type are bfloat16; pointers to them are not."""
    return not isinstance(dtype, tl.pointer_type) and bool(dtype.scalar == tl.bfloat16)


def round_nearest(values: Array) -> Array:
    """float32 values that bfloat16 has, nearest to `values`, ties to even."""
    wide = np.ascontiguousarray(values, dtype=np.float32)
    bits = wide.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> _HALF) & np.uint32(1))) & _UPPER_HALF
    nearest = np.where(np.isnan(wide), wide, rounded.view(np.float32))
    return nearest.reshape(np.shape(values))


def to_bits(values: Array) -> Array:
    """The 16 bits of float32 values, rounded."""
    rounded = round_nearest(values)
    bits = np.ascontiguousarray(rounded).view(np.uint32) >> _HALF
    quiet = np.where(np.isnan(rounded), np.uint32(0x40), np.uint32(0))  # a payload may be in the lower half
    half: Array = (bits.reshape(quiet.shape) | quiet).astype(np.uint16)
    return half


def from_bits(bits: Array) -> Array:
    """float32 values of bfloat16 bits."""
    wide = np.ascontiguousarray(bits).view(np.uint16).astype(np.uint32) << _HALF
    return wide.view(np.float32).reshape(np.shape(bits))


def convert(values: Array, source: Untyped, target: Untyped, rounding: Untyped = None) -> Array:
    """Cast between floating types, as the interpreter holds them.

    Raises:
        UnsupportedError: a float8 of another vendor, or rounding to zero other than to bfloat16.
    """
    if source not in _TORCH or target not in _TORCH:
        raise UnsupportedError(f"casts from {source} to {target} cannot be interpreted")
    wide = torch.from_numpy(np.array(values, order="C"))
    if source in _LARGEST:
        wide = wide.view(_TORCH[source]).float()
    if rounding == interpreter._ir.ROUNDING_MODE.RTZ:
        return _truncate(wide, target)
    if target in _LARGEST:
        narrow = wide.clamp(-_LARGEST[target], _LARGEST[target]).to(_TORCH[target])
        return np.asarray(narrow.view(torch.uint8).numpy())
    narrow = wide.to(_TORCH[target])
    return np.asarray((narrow.float() if target == tl.bfloat16 else narrow).numpy())


def _truncate(wide: torch.Tensor, target: Untyped) -> Array:
    if target != tl.bfloat16:
        raise UnsupportedError(f"rounding to zero in a cast to {target} cannot be interpreted")
    return np.asarray((wide.float().numpy().view(np.uint32) & _UPPER_HALF).view(np.float32))


def tree_sum(data: Array, axis: int | None, keep_dims: bool) -> Array:
    """Halves are added until one is left, each sum rounded, as the device does; sizes are powers of two."""
    rows = data.reshape(-1) if axis is None else np.moveaxis(data, axis, 0)
    while len(rows) > 1:
        half = len(rows) // 2
        rows = round_nearest(rows[:half] + rows[half:])
    total = np.asarray(rows[0])
    if keep_dims:
        return total.reshape((1,) * data.ndim) if axis is None else np.expand_dims(total, axis)
    return total


def atomic_add(pointers: Array, values: Array, mask: Array) -> Array:
    """Add to bfloat16 memory lane by lane, since two lanes may share an address. Returns the old values."""
    native = interpreter._interpreter
    one = np.ones(1, dtype=bool)
    old = np.zeros(pointers.shape, np.float32)
    values, mask = np.broadcast_to(values, pointers.shape), np.broadcast_to(mask, pointers.shape)
    for lane in zip(*np.nonzero(mask), strict=True):
        address = np.array([pointers[lane]], dtype=np.uint64)
        bits = native.load(address, one, np.zeros(1, np.uint16), np.dtype(np.uint16))
        old[lane] = from_bits(bits)[0]
        native.store(address, to_bits(np.asarray([old[lane] + values[lane]])), one)
    return old


def install_carrier() -> None:
    """Patch this process's interpreter: bfloat16 data is float32, and a handle rounds what it is given."""
    numpy_dtype, fits = interpreter._get_np_dtype, interpreter._validate_np_data_size
    make, total = interpreter.TensorHandle.__init__, interpreter.ReduceOps.sum

    def get_np_dtype(dtype: Untyped) -> Untyped:
        element = dtype.element_ty if isinstance(dtype, tl.block_type) else dtype
        return np.dtype(np.float32) if element == tl.bfloat16 else numpy_dtype(dtype)

    def validate(data: Array, dtype: Untyped) -> bool:
        return (is_bfloat16(dtype) and data.dtype == np.float32) or bool(fits(data, dtype))

    def init(self: Untyped, data: Array, dtype: Untyped, *rest: object, **named: object) -> None:
        floating = isinstance(data, np.ndarray | np.generic) and data.dtype.kind == "f"
        make(self, round_nearest(data) if floating and is_bfloat16(dtype) else data, dtype, *rest, **named)

    def sum_(self: Untyped, value: Untyped) -> Untyped:
        if not is_bfloat16(value.dtype):
            return total(self, value)
        return self.to_tensor(tree_sum(value.handle.data, self.axis, self.keep_dims), value.dtype)

    interpreter._get_np_dtype, interpreter._validate_np_data_size = get_np_dtype, validate
    interpreter.TensorHandle.__init__, interpreter.ReduceOps.sum = init, sum_


def bits_handle(value: Handle) -> Handle:
    """The same value with the bits that the device would hold, to be cast bit by bit."""
    carried = is_bfloat16(value.dtype) and value.data.dtype == np.float32
    handle: Handle = interpreter.TensorHandle(to_bits(value.data), tl.uint16) if carried else value
    return handle
