"""Candidate: one proposed kernel, as text. It is never executed outside a candidate process.

What a source must keep is its language's contract, `evaluate/languages/<name>/contract.md`. A Triton candidate *is* the
`ModelNew` module; of C++ the function `entry` is called; a `cuda` source has a launch plan in words (docs/candidate.md).

A tunable is a constant that the source leaves open: a macro under `#ifndef` in C++, a module-level
integer in Triton. The engine sets it through `at`.
"""

import itertools
from collections.abc import Iterator
from functools import cached_property

from kernelwright.languages import language
from kernelwright.records.base import Record, identity
from kernelwright.records.names import LanguageName
from kernelwright.records.recipe import Recipe


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
