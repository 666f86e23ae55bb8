"""What a family of kernels is: it matches a part of a graph, plans it, and has a schedule, a cost and a writer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from kernelwright.propose.author.emit.loops import P, S
from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.emit.triton_file import HELPERS, helpers_in
from kernelwright.propose.author.ir.expr import Expr
from kernelwright.propose.author.ir.program import Part
from kernelwright.propose.author.ir.space import Option
from kernelwright.propose.author.read.read import Reading
from kernelwright.records.base import Record
from kernelwright.records.task import Task

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


@dataclass
class TileKernel(Generic[P, S]):
    """Writes one kernel in Triton."""

    plan: P
    schedule: S

    WORDS: ClassVar[frozenset[str]] = frozenset()
    """Identifiers of the kernel's frame."""

    def __post_init__(self) -> None:
        self.part, self.writer = self.plan.part, Writer("    ")
        self.tensors = (*self.part.reads, *self.part.writes)
        self.names = Names({*self.WORDS, *HELPERS, *(tensor.identifier for tensor in self.tensors)})

    @classmethod
    def write(cls, plan: P, schedule: S, name: str, prefix: str) -> Text:
        """What `Family.write` is for kernels of this class."""
        kernel = cls(plan, schedule)
        text, launch = kernel.text(name), kernel.launch(name, prefix)
        constants = {prefix + size: value for size, value in kernel.constants.items()}
        return Text(text, launch, constants, helpers_in("\n".join((text, *launch))))

    @property
    def constants(self) -> dict[str, int]:
        """Numbers at the head of the file, without the prefix."""
        raise NotImplementedError

    def text(self, name: str) -> str:
        """The kernel under a name."""
        raise NotImplementedError

    def launch(self, name: str, prefix: str) -> list[str]:
        """The lines that run it."""
        raise NotImplementedError


def no_part(part: Part) -> Match | None:
    """Of a family that takes whole tasks alone."""
    return None


def _no_estimate(plan: Plan, schedule: Any) -> float:  # noqa: ANN401  a family's own record
    """Every schedule costs the same."""
    return 0.0


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
    write: Callable[..., Any]
    """In Triton, `(plan, schedule, name, prefix) -> Text`: the kernel under a name, with a prefix for its constants. In C++,
    `(plan, schedule, writer, taken, room)`: loops of the program's one function, beside identifiers that are taken. Of a
    family that claims tasks, `(task, plan, schedule) -> Candidate`."""
    cost: Callable[[Plan, Any], float] = _no_estimate
    """Estimated microseconds of a kernel on its device."""
    scratch: Callable[[Plan], int] = _nothing
    """Floats of workspace that a kernel in C++ needs, under the identifier `room`."""
    claim: Callable[[Task, Reading], Plan | None] | None = None
    """Of a family that takes tasks as a whole, before they are partitioned: its plan, or None. It writes the whole file, for
    any number of rows, and its schedules are tried in their own order."""


def of_rows(schedule: Schedule, rows: Sequence[int]) -> Schedule:
    """The schedule, with one row a program where no axis has rows: another would be stored behind the only one."""
    return schedule if rows else schedule.model_copy(update={"rows": 1})


class CpuSchedule(Record):
    """What every kernel of loops may choose."""

    distribution: Literal["static", "dynamic"] = "static"
    vector_bits: Literal[256, 512] = 256


CPU_OPTIONS = (Option("distribution", ("static", "dynamic"), "latency"), Option("vector_bits", (256, 512), "compute"))
"""Its options."""
