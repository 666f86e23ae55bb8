"""A launch's arguments as the cubin's kernel takes them: the order and the types of Triton's own launcher.

It follows `expand_signature` and `make_tensordesc_arg` of triton/backends/nvidia/driver.py (3.6 and 3.7) and
`launchKernel` of its driver.c.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, cast

from triton.backends.nvidia import driver

from kernelwright.evaluate.triton.fault import UnsupportedError
from kernelwright.evaluate.triton.foreign import Foreign
from kernelwright.evaluate.triton.ledger import ALIGNMENT, MisalignedError
from kernelwright.records.launch import Argument, Null, Number, Pointer, TensorMap

NumberType = Literal["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]
NUMBERS: dict[str, NumberType] = {
    "i1": "i8", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64",
    "u1": "u8", "u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64",
    "fp16": "f16", "bf16": "bf16", "fp32": "f32", "f32": "f32", "fp64": "f64",
}  # fmt: skip
"""Triton's scalar types, by the width that its launcher passes."""

Place = Callable[[object], Pointer]
"""Tells whose memory a tensor is."""


def expand(
    signature: Sequence[Foreign], arguments: Sequence[object], descriptors: Sequence[Foreign] | None, place: Place
) -> Iterator[Argument]:
    """What the kernel is passed for `arguments`, without the two scratch pointers at the end.

    Args:
        signature: Triton's type of each argument; `constexpr` ones are compiled in.
        arguments: what host code passed.
        descriptors: the compiler's facts of each tensor descriptor; none where the architecture has no such engine.
        place: tells whose memory a tensor is.

    Raises:
        UnsupportedError: a launch plan has no such argument.
        MisalignedError: a tensor descriptor's address is no multiple of 16.
        and whatever `place` raises.
    """
    facts = iter(descriptors or ())
    for kind, value in zip(signature, arguments, strict=True):
        if isinstance(kind, tuple):
            yield from expand(kind, cast("Sequence[object]", value), None, place)
        elif kind == "constexpr":
            continue
        elif kind.startswith("*"):
            yield Null() if value is None else place(value)
        elif kind in NUMBERS:
            yield number(kind, value)
        elif kind.startswith("tensordesc<"):
            yield from _descriptor(value, next(facts, None), place)
        else:
            raise UnsupportedError(f"an argument of type {kind!r} cannot be planned")


def number(kind: str, value: Foreign) -> Number:
    """A scalar with the width that the kernel expects; bfloat16 is cut off as Triton's launcher cuts it."""
    if kind == "bf16":
        (bits,) = struct.unpack("<I", struct.pack("<f", float(value)))
        (value,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))
    return Number(type=NUMBERS[kind], value=float(value) if "f" in kind else int(value))


def _descriptor(value: Foreign, facts: Foreign, place: Place) -> Iterator[Argument]:
    """A `TensorDescriptor`: a tensor map, or its parts where the architecture has none; then shape and strides."""
    if facts is None:
        yield place(value.base)
        yield from _sizes(value, "i64")
        yield number("i1", value.padding == "nan")
        if hasattr(value, "round_f32_to_tf32"):  # new in 3.7
            yield number("i1", value.round_f32_to_tf32)
    else:
        yield _tensor_map(value, facts, place)
    yield from _sizes(value, "i32")


def _sizes(value: Foreign, width: str) -> Iterator[Argument]:
    yield from (number(width, size) for size in value.shape)
    yield from (number("i64", stride) for stride in value.strides)


def _tensor_map(value: Foreign, facts: Foreign, place: Place) -> TensorMap:
    if facts["fp4_padded"]:
        raise UnsupportedError("tensor descriptors of 4-bit numbers cannot be planned")
    if value.base.data_ptr() % ALIGNMENT:
        raise MisalignedError("a tensor descriptor needs an address that is a multiple of 16")
    size = int(facts["elem_size"])
    rounded = getattr(value, "round_f32_to_tf32", False)
    kind = driver.TMA_TF32 if rounded else driver.TMA_DTYPE_DEVICE_TO_HOST[facts["elem_type"]]
    return TensorMap(
        pointer=place(value.base),
        dtype=kind,
        shape=tuple(int(n) for n in reversed(value.shape)),
        strides_bytes=tuple(size * int(n) for n in reversed(value.strides[:-1])),
        box=tuple(int(n) for n in reversed(facts["block_size"])),
        swizzle=int(facts["swizzle"]),
        nan_fill=value.padding == "nan",
    )
