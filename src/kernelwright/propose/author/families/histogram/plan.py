"""A histogram: how often each of a few bins is met. Each program counts for itself, so that few additions meet in memory.

What is added up by bins, other than ones, has no such kernel in Triton, and is left to the family `strided`.
"""

from dataclasses import dataclass
from math import prod

from kernelwright.propose.author.families.family import Match
from kernelwright.propose.author.plan.expr import Const, Expr
from kernelwright.propose.author.plan.program import Part, Root

MOST_BINS = 1024
"""Bins that a program counts side by side: an instruction looks at as many elements as a warp has lanes, for each of them."""


@dataclass(frozen=True)
class Counted:
    """Elements that are counted."""

    part: Part

    @property
    def root(self) -> Root:
        """The counts."""
        return self.part.roots[0]

    @property
    def each(self) -> Expr:
        """What an element counts."""
        return self.root.expr

    @property
    def axes(self) -> tuple[int, ...]:
        """Of the elements, slowest first."""
        return self.root.axes

    @property
    def count(self) -> int:
        """Elements."""
        return self.part.count(self.axes)

    @property
    def bins(self) -> int:
        """Bins."""
        return prod(self.root.tensor.shape)


def matched(part: Part) -> Match | None:
    """The part as one histogram."""
    root = part.roots[0]
    if len(part.roots) > 1 or root.scatter is None or not isinstance(root.expr, Const):
        return None
    if prod(root.tensor.shape) > MOST_BINS or part.heavies:
        return None
    return Match(Counted(part))
