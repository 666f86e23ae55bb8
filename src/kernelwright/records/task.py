"""Task: what must be computed and how it is judged; and how a serial function that is a task is called.

A reader (`tasks/`) makes a `TaskSource` from text; the referee runs it in a worker, admits it, and
returns the `Task` with its workloads, domains and OpGraph. Nothing here executes anything.
"""

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, JsonValue, StringConstraints

from kernelwright.devices import facts, kinds
from kernelwright.records.base import Record, identity
from kernelwright.records.comparator import Calibrated, Comparator, DeclaredComparator
from kernelwright.records.expression import Expression
from kernelwright.records.free_sizes import FreeSizes
from kernelwright.records.graph import OpGraph
from kernelwright.records.names import ArchName, KindName
from kernelwright.records.numerics import Numerics
from kernelwright.records.tensor import Domain, DType, Scalar, TensorSpec
from kernelwright.records.workloads import Part, WorkloadSet

NOTE_CHARACTERS = 500
NOTES = 32

MOST_REGISTERS = max(int(str(row["registers_thread"])) for row in facts().values())
"""Of one thread, on any architecture."""
Bytes = Annotated[int, Field(ge=0)]


class TaskLimits(Record):
    """Limits on hardware and means; each may be left out."""

    arch: ArchName = ""
    """The GPU that the kernel is for, such as `sm_86`. The default of --target; on another one the task is refused."""
    workspace_bytes: Bytes | None = None
    """Most device memory that a kernel may ask the referee for beside its results."""
    shared_bytes: Bytes | None = None
    """Most shared memory of one block, static and dynamic."""
    registers: Annotated[int, Field(ge=1, le=MOST_REGISTERS)] | None = None
    """Most registers of one thread, as the compiler counts them."""
    library_calls: Literal["", "forbid"] = ""
    """`forbid`: a final counts only where its own kernels take the time, whatever the policy says."""
    target_us: Annotated[float, Field(gt=0, lt=1e12)] | None = None
    """A goal and no limit: call time that is good enough, in microseconds. The default of --target-us."""
    notes: tuple[Annotated[str, StringConstraints(max_length=NOTE_CHARACTERS)], ...] = Field(
        default=(), max_length=NOTES
    )
    """Told to the proposer only: nothing holds them."""


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
    device: str = ""
    """The device with a sheet that was asked for by name; empty: whatever has this architecture."""

    @property
    def name(self) -> str:
        """What a person calls it: the kind, or the device or architecture that is not here."""
        return self.kind if self.present else self.device or self.arch

    @property
    def capability(self) -> int:
        """Compute capability of an NVIDIA architecture, such as 90; of another kind 0."""
        return int("".join(filter(str.isdigit, self.arch)) or 0) if kinds()[self.kind].numbered else 0

    def identity_fields(self) -> dict[str, JsonValue]:
        """Every field; the device only where one was named."""
        fields: dict[str, JsonValue] = self.model_dump(mode="json")
        return fields if self.device else {name: value for name, value in fields.items() if name != "device"}


class DeclaredDomain(Record):
    """A domain that the task's author states for the input at `position`, instead of the inferred one."""

    position: int
    domain: Domain
    bound: int | None = None


Values = Literal["normal", "uniform", "positive", "index", "sign"]


class SerialArgument(Record):
    """One parameter of the function."""

    name: str
    dtype: DType
    pointer: bool
    """Else it is passed by value."""
    out: bool = False
    """The function writes it; it begins as zeros, or as the input of that name if `inout`."""
    inout: bool = False
    shape: tuple[Expression, ...] = ()
    value: Expression | FiniteFloat = 0
    """Of what is passed by value: a size's name, or a number."""
    values: Values = "normal"
    """`index`: whole numbers from 0 to below `bound`."""
    bound: Expression = 2


class SerialCase(Record):
    """Inputs and outputs that were stored, which the function must reproduce."""

    sizes: dict[str, int] = Field(default_factory=dict)
    inputs: dict[str, str]
    """By argument, a `.npy` file in base64; so are `outputs`."""
    outputs: dict[str, str]
    tolerance: float = Field(default=1e-5, ge=0)


class SerialSpec(Record):
    """How the function is called."""

    function: str
    dialect: Literal["c", "cpp"]
    family: str
    arguments: tuple[SerialArgument, ...]
    sizes: dict[str, int]
    cases: tuple[SerialCase, ...] = ()

    @property
    def inputs(self) -> tuple[SerialArgument, ...]:
        """What the reference's forward takes, in order."""
        return tuple(a for a in self.arguments if a.pointer and (a.inout or not a.out))

    @property
    def outputs(self) -> tuple[SerialArgument, ...]:
        """What it returns, in order."""
        return tuple(a for a in self.arguments if a.pointer and (a.out or a.inout))


class TaskSource(Record):
    """A task as its author wrote it: text, not yet run."""

    name: str
    format: Literal["kernelbench", "text", "serial"]
    source: str
    """The reference, complete in itself."""
    domains: tuple[DeclaredDomain, ...] = ()
    comparators: tuple[DeclaredComparator, ...] = ()
    description: Words = ""
    """What is wanted, in words. Only proposers read it."""
    host: Words = ""
    """The code around the kernel, as it will be called. Only proposers read it."""
    limits: TaskLimits = TaskLimits()
    serial: str = ""
    """Of a serial function, its own text; `source` is the reference that calls it."""
    sizes: dict[str, int] = Field(default_factory=dict)
    """Of a serial function, its sizes by name."""
    spec: SerialSpec | None = None
    """Of a serial function, how it is called; `source` has it too."""
    workloads: WorkloadSet | None = None
    """Axes and workloads, where there are several; None: what the source says is the one."""
    part: Part | None = None
    """Of one workload of several, which."""

    @property
    def origin(self) -> str:
        """The code as it came: the serial function, or else the reference."""
        return self.serial or self.source

    def identity_fields(self) -> dict[str, JsonValue]:
        """Every field but the name. Empty fields are left out, so that a new optional field changes no task's identity."""
        fields: dict[str, JsonValue] = self.model_dump(mode="json", exclude={"name", "spec"})
        empty = {
            "description": "",
            "host": "",
            "limits": TaskLimits().model_dump(mode="json"),
            "serial": "",
            "sizes": {},
            "workloads": None,
            "part": None,
        }
        return {name: value for name, value in fields.items() if name not in empty or value != empty[name]}


class Workload(Record):
    """One set of shapes, as admitted. Tensors are dense and row-major."""

    inputs: tuple[TensorSpec | Scalar, ...]
    parameters: tuple[TensorSpec, ...]
    """Parameters and buffers in state_dict order, and then the constants."""
    outputs: tuple[TensorSpec, ...]
    tree: JsonValue = None
    """How the inputs are put together for a call (`calltree.py`); None: one argument each, in order."""
    result: JsonValue = None
    """How the results are put together for whoever called, likewise; None: a tensor, or a tuple of several."""
    changes: tuple[str, ...] = ()
    """Inputs and parameters that forward writes to. Every call finds them as they were before the first."""
    state: tuple[str, ...] = ()
    """Those of them whose new values are outputs too: the last ones, in this order."""
    constants: tuple[str, ...] = ()
    """Parameters that are in no state_dict: buffers that are not saved, and plain attributes. Their values never change."""

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
    numerics: Numerics = Numerics()
    """The flags under which its reference computes: part of what the task is, and of what a right answer may err."""
    parts: tuple["Task", ...] = ()
    """Of a task with several workloads, each as admitted; the other fields are those of its main one."""
    free: FreeSizes | None = None
    """Sizes that a caller may choose; None: none were found. It follows from the source."""

    @property
    def name(self) -> str:
        """The task's name, from its file."""
        return self.source.name

    @property
    def main(self) -> "Task":
        """The task at its main workload; where there is one, itself."""
        return next((part for part in self.parts if part.source.part and part.source.part.main), self)

    def comparator(self, output: int) -> Comparator:
        """How the output at this position is compared."""
        return self.comparators[output] if self.comparators else Calibrated()

    @cached_property
    def id(self) -> str:
        """Hash of all fields but the name: a renamed file is the same task. What stands around results follows from it."""
        fields = {
            **self.model_dump(
                mode="json", exclude={"workload": {"result"}, "free": True, "parts": {"__all__": {"free"}}}
            ),
            "source": self.source.identity_fields(),
            "target": self.target.identity_fields(),
        }
        if not self.parts:
            del fields["parts"]
        if not self.workload.constants:
            del fields["workload"]["constants"]  # it is newer than receipts
        return identity("task", fields)
