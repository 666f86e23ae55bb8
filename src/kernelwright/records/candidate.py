"""Candidate: one proposed kernel, as text. It is never executed outside a candidate process.

What a source must keep is its language's contract, `evaluate/languages/<name>/contract.md`. A Triton candidate *is* the
`ModelNew` module; of C++ the function `entry` is called; a `cuda` source has a launch plan in words (docs/candidate.md).

A tunable is a constant that the source leaves open: a macro under `#ifndef` in C++, a module-level
integer in Triton. The engine sets it through `at`.

A recipe says how to launch a `cuda` candidate's kernels, in expressions over shapes and tunables. The referee works out a
`LaunchPlan` from it for the shapes of a workload (`evaluate/languages/cuda/recipe.py`); here an expression is unchecked
text.
"""

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated

from pydantic import Field

from kernelwright.languages import language
from kernelwright.records.base import Record, identity
from kernelwright.records.names import LanguageName

Expression = Annotated[str, Field(max_length=400)]
"""Text such as `ceil_div(in0.numel, BLOCK * 4)`; never evaluated as Python."""
Expressions3 = tuple[Expression, Expression, Expression]
ONE: Expressions3 = ("1", "1", "1")
WORKSPACE = "// workspace: "
"""So begins a line, of a source for several workloads, with its bytes of workspace over the axes; of several, the largest."""
ORIGINAL = "original: "
"""Behind a comment's sign, so begins a line with sizes that PyTorch's own operation serves, such as `original: m < 16`."""


class RecipeConstant(Record):
    """A name for a value that follows from shapes, tunables and the constants above it."""

    name: str
    value: Expression
    in_source: bool = False
    """The source defines it itself; otherwise the compiler gets it as a macro."""


class RecipeWorkspace(Record):
    """Memory that the kernels share between launches, called `work0`, `work1`, … in arguments."""

    nbytes: Expression
    zeroed: bool = False
    """Set to zero before the first launch of every call."""


class RecipeLaunch(Record):
    """One kernel launch."""

    kernel: str = Field(max_length=400)
    """A name, or an instance of a template such as `scale<float, BLOCK>`."""
    grid: Expressions3
    block: Expressions3
    shared_bytes: Expression = "0"
    """Dynamic shared memory of one block."""
    cluster: Expressions3 = ONE
    cooperative: bool = False
    arguments: tuple[Expression, ...] = Field(default=(), max_length=64)


class Recipe(Record):
    """Every launch of one call, in order."""

    launches: tuple[RecipeLaunch, ...] = Field(min_length=1, max_length=64)
    workspaces: tuple[RecipeWorkspace, ...] = Field(default=(), max_length=16)
    constants: tuple[RecipeConstant, ...] = Field(default=(), max_length=64)
    zeroed_outputs: tuple[int, ...] = ()
    """Outputs that are set to zero before the first launch of every call."""


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

    language: LanguageName
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
        return language(self.language).suffix

    @property
    def kernel_id(self) -> str:
        """Hash of what a compiler is given, its flags included, whatever tunables are set to."""
        return self.at(()).id

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

    def point(self, index: int) -> "Candidate":
        """The combination that `points` gives at this place, without the ones before it."""
        if not self.tunables:
            return self
        defines = []
        for tunable in reversed(self.tunables):
            index, place = divmod(index, len(tunable.values))
            defines.append(Define(name=tunable.name, value=tunable.values[place]))
        return self.at(tuple(reversed(defines)))
