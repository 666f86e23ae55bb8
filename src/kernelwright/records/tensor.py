"""Tensors as data: shape, dtype and the domain that their values come from. Readable without torch."""

from enum import StrEnum
from math import prod
from typing import Literal

from kernelwright.records.base import Record

DType = Literal[
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128",
]  # fmt: skip

ITEM_BYTES: dict[DType, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
    "complex64": 8, "complex128": 16,
}  # fmt: skip

EPSILON: dict[str, float] = {
    "float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3, "float8_e5m2": 2.0**-2,
}  # fmt: skip
"""Distance from 1 to the next representable number, by floating dtype."""


class Domain(StrEnum):
    """What values a tensor may hold; decides which input input distributions are admitted."""

    REAL = "real"
    """Any finite number."""
    NON_NEGATIVE = "non_negative"
    """Any finite number that is not below zero."""
    PROBABILITY = "probability"
    """Non-negative, and each row along the last axis sums to one."""
    MASK = "mask"
    """True or false; as floats, one or zero."""
    INDEX = "index"
    """Integers from 0 to `bound` - 1: positions."""
    LABEL = "label"
    """Integers from 0 to `bound` - 1 that name classes; as floats, the few whole values that were drawn and no others."""


class TensorSpec(Record):
    """One tensor argument, parameter or result, always dense and row-major."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    domain: Domain = Domain.REAL
    bound: int | None = None
    """Exclusive upper bound of an index."""

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.numel * ITEM_BYTES[self.dtype]

    @property
    def floating(self) -> bool:
        """Whether the dtype is a floating one."""
        return self.dtype in EPSILON

    @property
    def stepped(self) -> bool:
        """Whether it is a floating one of eight bits, whose values are steps."""
        return self.dtype in ("float8_e4m3fn", "float8_e5m2")

    @property
    def scalable(self) -> bool:
        """Whether its values may be multiplied by a positive number and still be in the domain."""
        return self.floating and self.domain in (Domain.REAL, Domain.NON_NEGATIVE)


class Scalar(Record):
    """A Python number among the inputs: part of the task, passed to no kernel."""

    name: str
    value: bool | int | float
