"""What processes that compute are asked: the reference, candidates, the launcher."""

from math import prod
from typing import Annotated, Literal

from pydantic import Field, StrictBool

from kernelwright.evaluate.sandbox.messages.base import Address, Command, Done, Many, Reply, Text, Whole
from kernelwright.records.base import Record
from kernelwright.records.free_sizes import FreeSizes
from kernelwright.records.graph import OpGraph
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


Clock = Literal["none", "each", "waiting", "overhead"]
Again = Literal["replay", "release", "loop"]
"""How calls are made that were prepared before their inputs were there: as a graph, from behind a gate, or one by one."""


class Clocking(Record):
    """How calls on a device are timed."""

    clock: Clock = "none"
    """`each` call by itself, `waiting` for the device after every call; `overhead`: as `each`, of a kernel that does
    nothing."""
    busy_ns: int = 0
    """How long the device is kept busy before a call."""
    watched: bool = False
    """Whether work on other streams is looked for."""
    cold_cache: bool = True
    """Whether the L2 is emptied before each call that is timed by itself."""


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
SINGLE = "single fp64"
"""The same where all arithmetic errs by chance as single precision does: what changes then lies on an edge."""
FUSED = "fused"
"""A serial function in its own precision, with products and sums fused: what differs from eager, rounding decides."""
PICKS = ("first fp64", "last fp64", "any fp64")
"""The same where of equal values, among which PyTorch promises no order, the first is picked, the last, or one by chance."""
DOUBLES = ("fp64", ROUNDED, CUT, SINGLE, *PICKS)
"""Variants that are one model in double precision."""
INPUT_WRITTEN = "fault input_written"
"""The name of what an interpreter raises for a kernel that changed what it was given."""
WITHOUT_KERNELS = "without kernels"
"""The variant of an interpreted candidate whose launches do nothing."""


class Run(Command[Ran]):
    """Call once for every list of offsets; results lie where the child puts them."""

    kind: Literal["run"] = "run"
    calls: tuple[Offsets, ...]
    variant: str = ""


class RunInTurn(Command[RanInTurn]):
    """Take so many calls one by one (`sandbox/handover.py`)."""

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
    poison: bool = True
    """Whether the last results are overwritten before."""
    stream_order: bool = True
    """Whether calls that are not timed must have completed their results on their own stream."""


class CaptureGraph(Command[Done]):
    """Make one CUDA graph of these calls, and remember their arguments."""

    kind: Literal["capture_graph"] = "capture_graph"
    calls: tuple[Offsets, ...]


class HoldCalls(Command[Done]):
    """Queue these calls behind a gate: none begins before it is opened."""

    kind: Literal["hold_calls"] = "hold_calls"
    calls: tuple[Offsets, ...]
    poison: bool = True
    """Whether the last results are overwritten before."""


class Replay(Command[Done]):
    """Make the calls that were captured or held, on what lies at their places now."""

    kind: Literal["replay"] = "replay"
    how: Again
    idle: bool = False
    """Nothing is computed: what an empty question takes."""


class Overwrite(Command[Done]):
    """Overwrite the last results."""

    kind: Literal["overwrite"] = "overwrite"


class CopyingTimed(Reply):
    """What copying the parameters of some calls takes, in all."""

    graph_ns: Whole
    """As one graph."""
    loop_ns: Whole
    """One by one."""


class TimeCopying(Command[CopyingTimed]):
    """Copy the parameters of these calls and nothing else."""

    kind: Literal["time_copying"] = "time_copying"
    calls: tuple[Offsets, ...]


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
    elements: Whole
    """How many are aimed at."""


class GraphExported(Reply):
    """What the reference computes."""

    graph: OpGraph
    fault: Text = ""
    """The exception that torch.export ended in; the graph is one operation then."""
    free: FreeSizes | None = None
    """What sizes the reference leaves to its caller; None: none that are known."""
    log: Text = ""
    """Its traceback."""


class ExportGraph(Command[GraphExported]):
    """Export the model's graph."""

    kind: Literal["export_graph"] = "export_graph"
    sizes: bool = True
    """Also which sizes are free, which takes longer."""


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
