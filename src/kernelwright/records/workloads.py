"""A task's axes, its workloads, and what a kernel came to on each: the same work at the sizes that matter.

An axis is a size with a name: constant, within a range, or one that follows from others. A workload gives a value to every
axis that varies. Its weight is its share of real use; a protected one must never be slower; one without weight is there for
correctness alone. What the axes set is the task's own text: arguments of `get_inputs` and `get_init_inputs`, or globals of
the module.
"""

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from kernelwright.records.base import Record
from kernelwright.records.expression import holds, in_order, worth

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z_0-9]*$", max_length=100)]
MOST_WORKLOADS = 256
LARGEST = 1 << 40
"""Of an axis."""
Size = Annotated[int, Field(ge=0, le=LARGEST)]


class Axis(Record):
    """One size."""

    name: Identifier
    low: Size = 1
    high: Size = LARGEST
    """The same as `low`: constant."""
    step: Annotated[int, Field(ge=1)] = 1
    """Values lie so far apart, from `low` on."""
    expression: str = ""
    """It follows from others, such as `hidden // heads`; no workload gives it."""
    declared: bool = True
    """Its author gave the range; else it is open, and sizes beyond what workloads have are tried with care."""

    @property
    def varies(self) -> bool:
        """Whether workloads may give it different values."""
        return not self.expression and self.low != self.high

    @property
    def words(self) -> str:
        """What it may be: `4096`, `1 to 64`, `64 to 8192 in steps of 64`, `hidden // heads`, `any`."""
        if self.expression or self.low == self.high:
            return self.expression or str(self.low)
        steps = f" in steps of {self.step}" if self.step > 1 else ""
        return f"{self.low} to {self.high}{steps}" if self.declared else "any"

    @model_validator(mode="after")
    def _is_a_range(self) -> "Axis":
        if self.low > self.high:
            raise ValueError(f"the axis {self.name} has the range {self.low} to {self.high}, which is empty")
        return self


class WorkloadPoint(Record):
    """One workload: a value for every axis that varies, and how much it counts."""

    name: str = Field(max_length=200)
    axes: dict[Identifier, Size]
    values: dict[Identifier, JsonValue] = Field(default_factory=dict)
    """What else is set with them: a number, a list, None, or how inputs come to be."""
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """Share of real use, of any sum; 0: for correctness alone."""
    protected: bool = False
    """No kernel may be slower here."""
    fixed: bool = False
    """Its inputs lie in a file: there are none at other sizes."""

    @property
    def words(self) -> str:
        """Its axes, such as `batch=4, hidden=4096`; its name where it has none."""
        return ", ".join(f"{name}={value}" for name, value in self.axes.items()) or self.name


class WorkloadSet(Record):
    """The axes and the workloads of a task."""

    axes: tuple[Axis, ...] = ()
    points: Annotated[tuple[WorkloadPoint, ...], Field(min_length=1, max_length=MOST_WORKLOADS)]
    constraints: tuple[str, ...] = ()
    """Comparisons that hold between axes, such as `heads == groups * 4`."""
    sets: Literal["arguments", "globals"] = "arguments"
    """What of the task's text the values are: keywords of `get_inputs` and `get_init_inputs`, or globals of the module."""

    @cached_property
    def main(self) -> WorkloadPoint:
        """The largest of the heaviest: what proposers are shown first, and what may not be trivial."""
        return max(self.points, key=lambda point: (point.weight, prod(point.axes.values())))

    @property
    def words(self) -> str:
        """All of it in lines, for whoever writes a kernel."""
        axes = "; ".join(f"{axis.name}: {axis.words}" for axis in self.axes)
        lines = [f"axes    {axes}", *(f"where   {constraint}" for constraint in self.constraints)]
        for point in self.points:
            weight = f"weight {point.weight:g}" if point.weight else "for correctness alone"
            lines.append(f"at      {point.words}: {weight}{', protected: never slower' if point.protected else ''}")
        return "\n".join(lines)

    @property
    def varying(self) -> tuple[Axis, ...]:
        """The axes that workloads give values."""
        return tuple(axis for axis in self.axes if axis.varies)

    def sizes(self, axes: Mapping[str, int]) -> dict[str, int]:
        """Every axis by its name, where these values are given.

        Raises:
            ValueError: an axis is missing, out of its range, or follows from one that is not there.
        """
        found = {axis.name: axis.low for axis in self.axes if not axis.varies and not axis.expression} | dict(axes)
        for axis in self.axes:
            if axis.name not in found and not axis.expression:
                raise ValueError(f"the axis {axis.name} has no value")
            if axis.varies and not self._takes(axis, found[axis.name]):
                raise ValueError(f"the axis {axis.name} is {axis.words}, and not {found[axis.name]}")
        for name, expression in in_order({a.name: a.expression for a in self.axes if a.expression}).items():
            found[name] = worth(expression, found)
        return found

    def allows(self, axes: Mapping[str, int]) -> bool:
        """Whether axes may have these values together."""
        try:
            found = self.sizes(axes)
            return all(0 <= size <= LARGEST for size in found.values()) and all(
                holds(one, found) for one in self.constraints
            )
        except ValueError:
            return False

    @staticmethod
    def _takes(axis: Axis, value: int) -> bool:
        return axis.low <= value <= axis.high and (value - axis.low) % axis.step == 0


class Part(Record):
    """Of a task that is one workload of several: which one."""

    point: WorkloadPoint
    sizes: dict[str, int]
    """Every axis by its name."""
    among: Annotated[int, Field(ge=1)]
    """How many of them are timed: each gets its share of a budget that grows slowly with them."""
    main: bool = False
    """The one that must not be trivial; at other sizes a task may be, since no kernel is judged there alone."""
    drawn: bool = False
    """The referee chose the sizes."""
