"""Comparator: how one output of a candidate is told right from wrong, a closed union.

`calibrated` is for what rounding may change, `exact` for bits, `set` for outputs of which several are right (ties, an
order that nobody promised), `statistical` for outputs that are random on purpose. `evaluate/verify` does the comparing.
"""

from typing import Annotated, Literal

from pydantic import Field

from kernelwright.records.base import Record


class Calibrated(Record):
    """Against fp64, within a multiple of what the reference itself errs; integers that rounding decides, by steps."""

    kind: Literal["calibrated"] = "calibrated"
    k: float = Field(default=4.0, gt=0)
    """Allowed error as a multiple of the largest error that the reference itself shows."""


class Exact(Record):
    """The very bits of the reference at its own precision, signs of zeros included."""

    kind: Literal["exact"] = "exact"


class Ties(Record):
    """Several answers are right: positions of values, or values in any order.

    With `of`, an output of positions is right when the values that it picks are the expected ones, it stays within range,
    and where `distinct` says so no position comes twice. Without it the output's own values are compared, in any order.
    """

    kind: Literal["set"] = "set"
    of: str = ""
    """Input, or node of the OpGraph, whose values the positions pick."""
    dim: int | None = -1
    """Along which positions count; None: they count in the flattened tensor."""
    distinct: bool = False
    ordered: bool = True
    """Whether the picked values must come in the reference's order. Values without `of` never need to."""


class Statistical(Record):
    """Random on purpose: several draws of the candidate must be like as many of the reference (a permutation test)."""

    kind: Literal["statistical"] = "statistical"
    draws: int = Field(default=16, ge=8, le=64)
    """Results of each side that are compared, on the same input."""
    false_alarm: float = Field(default=1e-4, gt=0, lt=0.1)
    """Chance that an honest kernel fails, in each case."""


Comparator = Annotated[Calibrated | Exact | Ties | Statistical, Field(discriminator="kind")]


class DeclaredComparator(Record):
    """What the task's author states for the output at `position`, instead of the inferred one."""

    position: int
    comparator: Comparator
