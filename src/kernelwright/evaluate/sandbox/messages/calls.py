"""What processes that compute are asked: the reference, candidates, the launcher."""

import struct
from collections.abc import Sequence
from math import prod
from typing import Annotated, Literal

from pydantic import Field, StrictBool

from kernelwright.evaluate.sandbox.messages.base import Address, Command, Count, Done, Many, Reply, Text, Whole
from kernelwright.records.base import Record
from kernelwright.records.binding import Binding
from kernelwright.records.candidate import Candidate
from kernelwright.records.graph import OpGraph
from kernelwright.records.launch import LaunchPlan
from kernelwright.records.numerics import Flags
from kernelwright.records.task import Workload
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

LIBRARY_FULL = ("CUDA error: out of memory", "_STATUS_ALLOC_FAILED")
"""What torch says where a launch, cuBLAS or cuDNN found the device's memory full."""
Told = dict[Text, StrictBool | Text]
"""Flags, by name."""
Offsets = tuple[int, ...]
"""Byte offsets of one call's tensors, each into its segment of the arena."""


class Found(Record):
    """A result as a child describes it."""

    address: Address
    """In the child's memory; in an outbox, from its beginning."""
    dtype: str
    """Any word: untrusted code chooses it."""
    shape: Annotated[tuple[Whole, ...], Field(max_length=64)]

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def item_bytes(self) -> int:
        """Bytes of one element; 0 of a dtype that no task has: such a result is told wrong, and never read."""
        return next((size for dtype, size in ITEM_BYTES.items() if dtype == self.dtype), 0)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.numel * self.item_bytes


Results = Many[Many[Found]]
"""One list a call."""


class Described(Reply):
    """Tensors, and where they lie."""

    tensors: Many[Found]


class Exported(Reply):
    """The results of the last calls, copied to the outbox."""

    results: Results


class Ran(Reply):
    """Calls that were made together."""

    ns: Whole
    """By the child's own clock."""
    beside_ns: Whole = 0
    """Of the time outside, what taking parameters took, and copying what was written to."""
    taken_ns: Whole = 0
    """Of that, what taking parameters took."""
    results: Results = ()
    launches: Whole = 0
    """Of kernels that were left out, in an interpreter."""


class RanInTurn(Reply):
    """Calls that were handed over one by one."""

    beside_ns: Whole = 0
    results: Results = ()


Again = Literal["replay", "release", "loop"]
"""How calls are made that were prepared before their inputs were there: as a graph, from behind a gate, or one by one."""
How = Again | Literal["none", "each", "waiting", "overhead", "capture", "hold", "poison", "copying"]


class Clocking(Record):
    """How calls on a device are timed."""

    clock: How = "none"
    """`each` call by itself, `waiting` for the device after every call; `overhead`: as `each`, of a kernel that does
    nothing. `capture`: all calls become one CUDA graph, which `replay` runs; `hold`: all are queued, and none begins before
    `release`; `loop`: the calls of `capture` once more, one by one. Whatever calls these three are given, it is those.
    `poison`: the last results are overwritten. `copying`: the reference copies parameters alone; `ns` is that of a graph,
    `queued_ns` that of a loop."""
    busy_ns: int = 0
    """How long the device is kept busy before a call."""
    watched: bool = False
    """Whether work on other streams is looked for."""
    off: tuple[str, ...] = ()
    """Defences that a test switched off."""


class Clocked(Reply):
    """Calls on a device, timed by its events."""

    ns: Whole
    each_ns: Many[Whole] = ()
    queued_ns: Whole = 0
    """Longest that the host took to queue a call."""
    beside_ns: Whole = 0


class Open(Command[Done]):
    """Create the device's context, before there is anything to run."""

    kind: Literal["open"] = "open"


class TakeParameters(Command[Done]):
    """Take the parameters from the arena at these offsets."""

    kind: Literal["take_parameters"] = "take_parameters"
    offsets: Offsets


ROUNDED, CUT = "tf32 fp64", "cut fp64"
"""The reference in double precision with the factors of products rounded to TF32: up or down by chance, or towards zero."""
DOUBLES = ("fp64", ROUNDED, CUT)
"""Variants that are one model in double precision."""
WITHOUT_KERNELS = "without kernels"
"""The variant of an interpreted candidate whose launches do nothing."""


class Run(Command[Ran]):
    """Call once for every list of offsets; results lie where the child puts them."""

    kind: Literal["run"] = "run"
    calls: tuple[Offsets, ...]
    variant: str = ""


class RunInTurn(Command[RanInTurn]):
    """Take so many calls one by one (`sandbox.turns`)."""

    kind: Literal["run_in_turn"] = "run_in_turn"
    count: int
    variant: str = ""
    idle: bool = False
    """Nothing is computed."""


class RunOnDevice(Command[Clocked]):
    """As `Run`, on a device; results stay there until `Export`."""

    kind: Literal["run_on_device"] = "run_on_device"
    calls: tuple[Offsets, ...]
    variant: str = ""
    how: Clocking = Clocking()


class Export(Command[Exported]):
    """Copy the last results to the outbox."""

    kind: Literal["export"] = "export"
    narrow: bool = False
    """Double precision is rounded to single, which takes half the room."""


class DescribeInputs(Command[Described]):
    """Tell where the windows at these offsets lie, or copy them to the outbox: the grader looks for changes."""

    kind: Literal["describe_inputs"] = "describe_inputs"
    offsets: Offsets
    tensors: tuple[TensorSpec, ...]


# --- the reference ---------------------------------------------------------------------------------------------------


class TaskReduced(Reply):
    """The same task on fewer elements."""

    workload: Workload
    description: Text
    init: Text | None


class ReduceTask(Command[TaskReduced]):
    """From now on, be the same task on fewer elements."""

    kind: Literal["reduce_task"] = "reduce_task"
    workload: Workload


class GraphExported(Reply):
    """What the reference computes."""

    graph: OpGraph


class ExportGraph(Command[GraphExported]):
    """Export the model's graph."""

    kind: Literal["export_graph"] = "export_graph"


class Draw(Command[Described]):
    """Draw inputs from one seed."""

    kind: Literal["draw"] = "draw"
    seed: int


class DrawInto(Command[Done]):
    """Draw inputs from one seed into the arena at these offsets."""

    kind: Literal["draw_into"] = "draw_into"
    seed: int
    offsets: Offsets


class DescribeState(Command[Described]):
    """Tell where the parameters lie as they were initialised."""

    kind: Literal["describe_state"] = "describe_state"


class PutState(Command[Done]):
    """Put the parameters as they were initialised into the arena at these offsets."""

    kind: Literal["put_state"] = "put_state"
    offsets: Offsets


class MapArena(Command[Done]):
    """Map the arena, which is the one file."""

    kind: Literal["map_arena"] = "map_arena"
    starts: tuple[int, ...]


class MapDeviceArena(Command[Done]):
    """Map the arena's segments, and the outbox, which is the last file."""

    kind: Literal["map_device_arena"] = "map_device_arena"
    sizes: tuple[int, ...]
    outbox: int
    """Its size in bytes."""


class Prepared(Reply):
    """A variant is ready, or cannot be made."""

    missing: Text = ""
    """Why it cannot."""


class Prepare(Command[Prepared]):
    """Build a variant of the reference: `fp64` with its rounded ones, a baseline, or `watch`: what `nodes` compute."""

    kind: Literal["prepare"] = "prepare"
    variant: str
    calls: tuple[Offsets, ...] = ()
    """Windows on which a baseline is tried."""
    nodes: tuple[str, ...] = ()
    sliced: bool = False
    """`fp64` goes in slices of rows."""
    limit_s: float = 0.0
    """Longest that `compile_max` may tune."""


class Precision(Reply):
    """The flags that fp32 arithmetic depends on, by name."""

    flags: Told


class TellPrecision(Command[Precision]):
    """Tell the flags that the candidate's own code has set."""

    kind: Literal["tell_precision"] = "tell_precision"


class Release(Command[Done]):
    """Give memory back to the device: the last results', and with `collect` that of what refers to itself."""

    kind: Literal["release"] = "release"
    collect: bool = False


# --- candidates ------------------------------------------------------------------------------------------------------


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
