"""What a family of kernels is: it matches a part of a graph, plans it, and has a schedule, a cost and a writer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from kernelwright.propose.author.plan.expr import Expr
from kernelwright.propose.author.plan.program import Part
from kernelwright.propose.author.schedule.space import Option
from kernelwright.records.base import Record

Schedule = TypeVar("Schedule", bound=Record)
Plan = Any
"""A family's own record; only the family looks into it."""


class Match(NamedTuple):
    """A family's answer to a part: its plan, or what would have to be stored first."""

    plan: Plan | None
    store: Sequence[Expr] = ()


class Text(NamedTuple):
    """A kernel as source, and how it is launched."""

    kernel: str
    launch: Sequence[str]
    """Lines of the function that runs the program; the tensors' identifiers are at hand."""
    constants: Mapping[str, int]
    """Numbers at the head of the file, which can be tuned."""
    helpers: Sequence[str] = ()


def _nothing(plan: Plan) -> int:
    return 0


@dataclass(frozen=True)
class Family:
    """One row of the table."""

    name: str
    match: Callable[[Part], Match | None]
    """None: the part is not of this family."""
    schedule: type[Record]
    default: Callable[[Plan], Record]
    space: Callable[[Plan], Sequence[Option]]
    cost: Callable[[Plan, Any], float]
    """Estimated microseconds of a kernel on its device."""
    write: Callable[..., Any]
    """In Triton, `(plan, schedule, name, prefix) -> Text`: the kernel under a name, with a prefix for its constants. In C++,
    `(plan, schedule, writer, taken, room)`: loops of the program's one function, beside identifiers that are taken."""
    scratch: Callable[[Plan], int] = _nothing
    """Floats of workspace that a kernel in C++ needs, under the identifier `room`."""


def of_rows(schedule: Schedule, rows: Sequence[int]) -> Schedule:
    """The schedule, with one row a program where no axis has rows: another would be stored behind the only one."""
    return schedule if rows else schedule.model_copy(update={"rows": 1})
