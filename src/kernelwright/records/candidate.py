"""Candidate: one proposed kernel, as text. It is never executed outside a candidate process.

`cpp`: one C++17 file with an `extern "C"` function `entry`, whose arguments are pointers in this
order: input tensors, parameters and buffers in state_dict order, outputs, and last a workspace
pointer when `workspace_bytes` is not zero. Every dimension is a constant of the source; pointers are
aligned to their element only. `triton`: the file *is* the `ModelNew` module.
`cuda`: plain `__global__` kernels with a launch plan in words (docs/candidate.md). `cuda_host`: a `.cu` file
whose `extern "C"` host function launches its kernels; pointers as in `cpp`, last the stream. `python`: a `ModelNew`
module that builds its own extension with `load_inline`, as KernelBench's candidates do.

A tunable is a constant that the source leaves open: a macro under `#ifndef` in C++, a module-level
integer in Triton. The engine sets it through `at`.
"""

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from kernelwright.records.base import Record, identity
from kernelwright.records.recipe import Recipe
from kernelwright.records.tensor import DType

Language = Literal["cpp", "triton", "cuda", "cuda_host", "python"]

SUFFIXES: dict[Language, str] = {"cpp": ".cpp", "triton": ".py", "cuda": ".cu", "cuda_host": ".cu", "python": ".py"}
"""File ending by language."""
FENCES: dict[Language, str] = {
    "cpp": "cpp",
    "triton": "python",
    "cuda": "cuda",
    "cuda_host": "cuda",
    "python": "python",
}
"""How a Markdown block of this language is tagged."""
C_TYPES: dict[DType, str] = {
    "float64": "double", "float32": "float", "float16": "_Float16", "bfloat16": "std::uint16_t",
    "int64": "std::int64_t", "int32": "std::int32_t", "int16": "std::int16_t", "int8": "std::int8_t",
    "uint8": "std::uint8_t", "bool": "bool",
}  # fmt: skip
"""What a pointer to a tensor points to in `cpp`; bfloat16 as its bits."""


class Define(Record):
    """A value given to a tunable."""

    name: str
    value: int


class Tunable(Record):
    """A constant with the values worth trying; the first is the one that the source has by default."""

    name: str
    values: tuple[int, ...]


class Candidate(Record):
    """One kernel and how to build it."""

    language: Language
    source: str
    entry: str = "ModelNew"
    flags: tuple[str, ...] = ()
    """Compiler flags besides the referee's own (C++ and CUDA C++); an allow-list is enforced."""
    workspace_bytes: int = 0
    tunables: tuple[Tunable, ...] = ()
    defines: tuple[Define, ...] = ()
    recipe: Recipe | None = None
    """How the kernels are launched (`cuda` only)."""

    @cached_property
    def id(self) -> str:
        """Hash of every field that changes behaviour; the space of tunables does not, a chosen value does."""
        without = {"tunables"} if self.recipe else {"tunables", "recipe"}
        return identity("candidate", self.model_dump(mode="json", exclude=without))

    @property
    def suffix(self) -> str:
        """File ending of the source."""
        return SUFFIXES[self.language]

    def at(self, defines: tuple[Define, ...]) -> "Candidate":
        """The same kernel with its tunables fixed: nothing is left open."""
        return self.model_copy(update={"defines": defines, "tunables": ()})

    def points(self) -> Iterator["Candidate"]:
        """Every combination of the declared tunables, the default one first."""
        if not self.tunables:
            yield self
            return
        for values in itertools.product(*(t.values for t in self.tunables)):
            pairs = zip(self.tunables, values, strict=True)
            yield self.at(tuple(Define(name=t.name, value=v) for t, v in pairs))
