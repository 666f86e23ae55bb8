"""Task: what must be computed and how it is judged.

A reader (`tasks/`) makes a `TaskSource` from text; the referee runs it in a worker, admits it, and
returns the `Task` with its workloads, domains and OpGraph. Nothing here executes anything.
"""

from functools import cached_property
from typing import Annotated, Literal

from pydantic import JsonValue, StringConstraints

from kernelwright.records.base import Record, identity
from kernelwright.records.comparator import Calibrated, Comparator, DeclaredComparator
from kernelwright.records.graph import OpGraph
from kernelwright.records.limits import TaskLimits
from kernelwright.records.names import KindName
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

WORDS = 20_000
"""Most characters of a description, and of a host context."""
Words = Annotated[str, StringConstraints(max_length=WORDS)]


class Target(Record):
    """What the kernel is for, and whether that device is here to be timed."""

    kind: KindName
    arch: str
    """`native` on cpu; such as `sm_90` on cuda, `gfx942` on hip."""
    present: bool
    """False: kernels are compiled and interpreted, and no time is claimed."""

    @property
    def name(self) -> str:
        """What a person calls it: the kind, or the architecture that is not here."""
        return self.kind if self.present else self.arch


class DeclaredDomain(Record):
    """A domain that the task's author states for the input at `position`, instead of the inferred one."""

    position: int
    domain: Domain
    bound: int | None = None


class TaskSource(Record):
    """A task as its author wrote it: text, not yet run."""

    name: str
    format: Literal["kernelbench", "text"]
    source: str
    """The reference, complete in itself."""
    domains: tuple[DeclaredDomain, ...] = ()
    comparators: tuple[DeclaredComparator, ...] = ()
    description: Words = ""
    """What is wanted, in words. Only proposers read it."""
    host: Words = ""
    """The code around the kernel, as it will be called. Only proposers read it."""
    limits: TaskLimits = TaskLimits()

    def identity_fields(self) -> dict[str, JsonValue]:
        """Every field but the name. Empty fields are left out, so that a new optional field changes no task's identity."""
        fields: dict[str, JsonValue] = self.model_dump(mode="json", exclude={"name"})
        empty = {"description": "", "host": "", "limits": TaskLimits().model_dump(mode="json")}
        return {name: value for name, value in fields.items() if name not in empty or value != empty[name]}


class Workload(Record):
    """One set of shapes. Tensors are dense and row-major."""

    inputs: tuple[TensorSpec | Scalar, ...]
    parameters: tuple[TensorSpec, ...]
    """Parameters and buffers in state_dict order."""
    outputs: tuple[TensorSpec, ...]

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """The inputs that are tensors, in order."""
        return tuple(i for i in self.inputs if isinstance(i, TensorSpec))

    @property
    def compulsory_bytes(self) -> int:
        """Bytes that any kernel must move: each input and parameter read once, each output written once."""
        return sum(t.nbytes for t in (*self.tensors, *self.parameters, *self.outputs))


class Task(Record):
    """An admitted task: everything that proposers and the referee need, as plain data."""

    source: TaskSource
    target: Target
    workload: Workload
    graph: OpGraph
    comparators: tuple[Comparator, ...] = ()
    """One for each output, as declared or inferred; without any, all are calibrated."""

    @property
    def name(self) -> str:
        """The task's name, from its file."""
        return self.source.name

    def comparator(self, output: int) -> Comparator:
        """How the output at this position is compared."""
        return self.comparators[output] if self.comparators else Calibrated()

    @cached_property
    def id(self) -> str:
        """Hash of all fields but the name: a renamed file is the same task."""
        fields = {**self.model_dump(mode="json"), "source": self.source.identity_fields()}
        return identity("task", fields)
