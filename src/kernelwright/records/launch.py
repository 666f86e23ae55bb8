"""LaunchPlan: what a launcher must do to compute a task's outputs once, as data. It has no host code of the candidate.

A plan consists of memory by name, numbers, tensor maps, and launches in order. Whoever makes one (a description in CUDA
C++, Triton's launches captured) has worked out every grid and every number for the task's shapes.
"""

from typing import Annotated, Literal

from pydantic import Field

from kernelwright.records.base import Record

Extent = Annotated[int, Field(ge=1, le=2**31 - 1)]
Dim3 = tuple[Extent, Extent, Extent]


class Pointer(Record):
    """An address: `offset` bytes into one of the buffers that the launcher holds."""

    kind: Literal["pointer"] = "pointer"
    buffer: Literal["input", "parameter", "output", "workspace"]
    index: int = Field(ge=0)
    """Position among the tensors of that kind."""
    offset: int = Field(default=0, ge=0)


class Null(Record):
    """A pointer to nothing, such as a scratch space of size zero."""

    kind: Literal["null"] = "null"


class Number(Record):
    """A scalar, passed with the width that the kernel expects."""

    kind: Literal["number"] = "number"
    type: Literal["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]
    value: int | float


class TensorMap(Record):
    """A descriptor for the bulk tensor copy engine (`cuTensorMapEncodeTiled`), dimensions innermost first.

    What it does not say is fixed: no interleave, element strides of one, promotion to 128 bytes of the second-level cache.
    """

    kind: Literal["tensor_map"] = "tensor_map"
    pointer: Pointer
    dtype: int
    """The driver's CUtensorMapDataType."""
    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    """Strides of every dimension but the innermost."""
    box: tuple[int, ...]
    swizzle: int = 0
    """The driver's CUtensorMapSwizzle."""
    nan_fill: bool = False


Argument = Annotated[Pointer | Null | Number | TensorMap, Field(discriminator="kind")]


class Launch(Record):
    """One kernel launch."""

    kernel: str
    module: int = Field(default=0, ge=0)
    """Which of the program's binaries it is in."""
    grid: Dim3
    block: Dim3
    shared_bytes: int = Field(default=0, ge=0)
    """Dynamic shared memory of one block."""
    cluster: Dim3 = (1, 1, 1)
    cooperative: bool = False
    programmatic: bool = False
    """Whether it may begin before the launch before it has ended (programmatic stream serialization): its kernel waits for
    that itself. Right without it as well."""
    arguments: tuple[Argument, ...] = ()


class Workspace(Record):
    """Memory that a plan needs for itself."""

    nbytes: int = Field(ge=1)
    zeroed: bool = False
    """Set to zero before the first launch of every call, which counts as the call's time."""


class LaunchPlan(Record):
    """Every launch of one call, in order, on one stream."""

    launches: tuple[Launch, ...] = Field(min_length=1)
    workspaces: tuple[Workspace, ...] = ()
    zeroed_outputs: tuple[int, ...] = ()
    """Outputs that are set to zero before the first launch of every call."""
    renewed: tuple[int, ...] = ()
    """Outputs that are new state: copied once more behind the last launch, as the program copies them to its own."""
    label: str = ""
    """What tells this plan from its program's others, such as an autotuner's configuration."""


class Launching(Record):
    """What a file needs that starts a candidate's launch plan by itself."""

    plan: LaunchPlan
    """Its kernels have the names that the source gives them."""
    macros: dict[str, int]
    """What the source must be compiled with."""
    host: tuple[int, int] = (0, 0)
    """Where in the source the host code begins and ends that was read as the plan; no device code."""
    headers: dict[str, str]
    """By name, those that NVRTC lacks and the source includes."""
    multiprocessors: int
    """Of the device that the plan was worked out for."""
