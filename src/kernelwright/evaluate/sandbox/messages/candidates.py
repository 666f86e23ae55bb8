"""What processes of candidates are asked beside calls: to load a kernel, to choose a plan, to tell what it keeps."""

import struct
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from kernelwright.evaluate.sandbox.messages.base import Address, Command, Count, Done, Many, Reply, Text, Whole
from kernelwright.evaluate.sandbox.messages.calls import Clocked, Clocking, Offsets, Ran
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Binding
from kernelwright.records.launch import LaunchPlan
from kernelwright.records.numerics import Flags
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec


class LibraryLoaded(Reply):
    """A library is open."""

    pool: Whole
    """Address of the memory for results."""


class LoadLibrary(Command[LibraryLoaded]):
    """Map the arena, allocate the pool and open a shared object; files: arena, library."""

    kind: Literal["load_library"] = "load_library"
    starts: tuple[int, ...]
    entry: str
    outputs: int
    """How many there are."""
    pool_bytes: int
    workspace_bytes: int
    threads: int
    private: bool = False
    """Inputs are this process's own copies."""


class RunPlaced(Command[Ran]):
    """As `Run`, with results at given addresses.

    What the child's side of it takes is part of a call's time, and in the candidate's reach: it must be worth no cheat's
    while. So the numbers travel as they lie in memory, and nothing is read of them but their count.
    """

    kind: Literal["run_placed"] = "run_placed"
    count: Count
    numbers: str
    """Signed 64-bit numbers in hexadecimal digits: of each call the offsets, then the addresses of its results."""

    @classmethod
    def of(cls, calls: Sequence[Sequence[int]], outs: Sequence[Sequence[int]]) -> "RunPlaced":
        """The calls at these offsets, with results at these addresses."""
        numbers = [n for offsets, places in zip(calls, outs, strict=True) for n in (*offsets, *places)]
        return cls(count=len(calls), numbers=struct.pack(f"<{len(numbers)}q", *numbers).hex())

    @property
    def rows(self) -> list[tuple[int, ...]]:
        """The numbers of each call."""
        data = bytes.fromhex(self.numbers)
        return list(struct.iter_unpack(f"<{len(data) // 8 // self.count}q", data))


class LoadInterpreted(Command[Done]):
    """Remember a Triton candidate for the interpreter, and map the arena, which is the one file."""

    kind: Literal["load_interpreted"] = "load_interpreted"
    starts: tuple[int, ...]
    candidate: Candidate
    workload: Workload
    init: str
    arch: str


class Examined(Reply):
    """What of the full size was looked at, in words."""

    words: str


class Examine(Command[Examined]):
    """Run some of its programs at the task's full size, without memory."""

    kind: Literal["examine"] = "examine"
    workload: Workload
    init: str


class ExtensionBuild(Record):
    """How a candidate that builds an extension when it is imported does so on the device."""

    headers: str
    """Folder of torch's precompiled headers."""
    gencode: str


class ModelLoaded(Reply):
    """A candidate's model is built."""

    binding: Binding = Binding()


class _Load(Command[ModelLoaded]):
    """What a candidate's own model is built from, wherever it will run."""

    candidate: Candidate
    workload: Workload
    init: str
    """Text of a file with the task's `get_init_inputs` alone."""
    private: bool = False
    """Its inputs may be written to."""
    flags: Flags = Field(default={})
    """What fp32 arithmetic depends on, as the task's own code left it."""
    constant: bool = False
    """Parameters stay as they are given first."""


class LoadModel(_Load):
    """Build a candidate's own model on the device; files: the arena's segments, outbox, and a compiled library if any."""

    kind: Literal["load_model"] = "load_model"
    sizes: tuple[int, ...]
    outbox: int
    extension: ExtensionBuild | None = None


class LoadModule(_Load):
    """Map the arena, which is the one file, and build a candidate's own model on this machine's cores."""

    kind: Literal["load_module"] = "load_module"
    starts: tuple[int, ...]
    threads: int
    headers: str | None = None
    """Folder of torch's precompiled headers, for a candidate that builds an extension when it is imported."""


class Clear(Command[Done]):
    """Let go of the last results, and leave poison in memory of their sizes."""

    kind: Literal["clear"] = "clear"
    count: int
    """Calls that come next."""


class Held(Record):
    """Where a module holds a parameter."""

    address: Address
    dtype: str
    """Any word: untrusted code chooses it."""
    strides: Annotated[tuple[Whole, ...], Field(max_length=64)]
    """In elements."""


class ParametersHeld(Reply):
    """Where a module's tensors lie that parameters are copied to, in the task's order; None where there is no such one."""

    tensors: Many[Held | None]


class TellParameters(Command[ParametersHeld]):
    """Tell where the parameters lie that it was given."""

    kind: Literal["tell_parameters"] = "tell_parameters"


class LibraryShare(Reply):
    """How much of a call's time PyTorch's own operators take."""

    share: float | None = None
    """0 to 1; None where the profiler does not work."""


class TellLibraryShare(Command[LibraryShare]):
    """Make one call under PyTorch's profiler."""

    kind: Literal["tell_library_share"] = "tell_library_share"
    call: Offsets


class ProgramLoaded(Reply):
    """At least one plan can be launched."""

    faults: Many[Text]
    """Why others cannot."""


class LoadProgram(Command[ProgramLoaded]):
    """Bind launch plans; files: the arena's segments, outbox, modules."""

    kind: Literal["load_program"] = "load_program"
    sizes: tuple[int, ...]
    outbox: int
    inputs: int
    """How many of the arena's segments are inputs; the others are parameters."""
    output_bytes: tuple[int, ...]
    plans: tuple[LaunchPlan, ...]
    unaligned_plans: tuple[LaunchPlan, ...] = ()
    private: tuple[TensorSpec, ...] = ()
    """Inputs and parameters that become this process's own copies: all or none."""


class Chosen(Reply):
    """The fastest plan."""

    index: Whole
    us: Many[float]
    """Of each plan; infinity where it cannot be launched."""


class ChoosePlan(Command[Chosen]):
    """Time every plan on one call and keep the fastest."""

    kind: Literal["choose_plan"] = "choose_plan"
    call: Offsets
    outs: tuple[int, ...]


class LaunchPlans(Command[Clocked]):
    """As `RunOnDevice`, with results at `outs` in the outbox."""

    kind: Literal["launch_plans"] = "launch_plans"
    calls: tuple[Offsets, ...]
    outs: tuple[tuple[int, ...], ...]
    left_out: tuple[int, ...] = ()
    """Launches that are skipped."""
    how: Clocking = Clocking()
    device_state: bool = True
    """Whether variables and workspaces are put back before each call."""
