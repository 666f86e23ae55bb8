"""The ledger of device memory: who holds how much of it for one task, and what gives way where it is short.

A task may take four times what one call of eager does, and a little more; only where not even the least fits into that, all
that is free. What gives way, in this order: places for fresh inputs and further draws, expected results (computed again
when they are needed), double precision as a whole (it goes in slices where rows are independent), the place of its own for
inputs of the cases. Never an input distribution, the last place or the last draw.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kernelwright.errors import TaskError
from kernelwright.evaluate.sandbox.compute_process import MOST_CALLS
from kernelwright.evaluate.timing.clock import DEVICE
from kernelwright.records.task import Workload
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

OUTBOX = 4 << 30
"""Most bytes for the results of several calls; those of one call always fit."""
WIDE = 2 << 30
"""Most bytes of fp64 results that are kept as they are; larger ones are kept in single precision, which adds half an
ulp of it to every error."""
AROUND = 3 * 4096
"""Bytes about a result in an outbox, at most: its guards, and up to where the next one begins."""
SPARE = 4 << 30
"""Most bytes of fresh inputs for the calls of one sample; those of one call always fit. More would take long to write."""
SLACK = 3 << 29
"""Contexts of three processes, libraries' workspaces, and pieces that are compared."""
SLICES = 1 << 30
"""What the fp64 reference takes at most where it goes in slices."""
MARGIN = 4 << 30
"""What stays free where something can give way: allocators hold blocks that fit no question."""
EAGER_TIMES, BESIDE = 4, 3 << 30
"""What a task should take at most: so many times what one call of eager takes, and so much more."""


@dataclass(frozen=True)
class Need:
    """What a task asks for."""

    workload: Workload
    distributions: int
    """Cases beside the draws; they share one place for their inputs."""
    seeds: int
    """Draws that should be checked."""
    scratch: int = 0
    """Bytes that one call of eager takes beside inputs, parameters and results."""
    sliced: bool = False
    """Whether the fp64 reference can go in slices."""

    @property
    def inputs(self) -> int:
        """Bytes of one draw."""
        return max(1, sum(t.nbytes for t in self.workload.tensors))

    @property
    def results(self) -> int:
        """Bytes of one call's results."""
        return sum(o.nbytes for o in self.workload.outputs)

    @property
    def parameters(self) -> int:
        """Bytes of one set of parameters."""
        return sum(p.nbytes for p in self.workload.parameters)

    @property
    def eager(self) -> int:
        """What one call of eager takes."""
        return self.inputs + self.parameters + self.results + self.scratch

    @property
    def allowance(self) -> int:
        """What the task should take at most."""
        return EAGER_TIMES * self.eager + BESIDE


@dataclass(frozen=True)
class Footprint:
    """Bytes on the device, and what they hold."""

    kept: int
    """Draws that stay and are checked."""
    spare: int
    """Places for fresh inputs and parameters, one for each call of a sample."""
    box: int
    """Bytes of an outbox, where the results of one call are no more."""
    held: bool
    """Expected results stay on the device; otherwise they are computed again for each case."""
    sliced: bool
    """The fp64 reference goes in slices."""
    shared: bool
    """The inputs of the cases lie where the first fresh ones will."""
    parts: dict[str, int] = field(default_factory=dict)
    """Bytes by what they are for."""

    @property
    def nbytes(self) -> int:
        """All of it."""
        return sum(self.parts.values())

    @property
    def weaker(self) -> tuple[str, ...]:
        """What was done without for lack of memory, in words."""
        return ("fresh inputs of one call at a time",) if self.spare == 1 and self.shared else ()


def wide(outputs: tuple[TensorSpec, ...]) -> bool:
    """Whether expected results are kept in fp64."""
    return 8 * sum(o.numel for o in outputs) <= WIDE


def guarded_bytes(outputs: Sequence[TensorSpec]) -> int:
    """Of one call's results in an outbox."""
    return sum(o.nbytes + AROUND for o in outputs)


def expected_bytes(outputs: tuple[TensorSpec, ...]) -> int:
    """Of one case's expected results, as they are kept."""
    return sum(o.numel * (kept_bytes(o, wide(outputs))) for o in outputs)


def kept_bytes(output: TensorSpec, is_wide: bool) -> int:
    """Of one element of an expected result."""
    own = ITEM_BYTES[output.dtype]
    return max(own, 8 if is_wide else 4) if output.floating else own


def fit(need: Need, free: int) -> Footprint:
    """As much as is wanted, or as fits into what the task should take and what is free.

    Raises:
        TaskError: not even the least fits, with what needs how much.
    """
    least = min(_plans(need), key=lambda plan: plan.nbytes)
    limit = min(free - MARGIN, need.allowance)
    for plan in _plans(need):
        if plan.nbytes <= limit:
            return _grown(need, plan, limit)
    if least.nbytes <= free:
        return least
    listed = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in least.parts.items() if size >= 1 << 27)
    raise TaskError(
        f"the task needs about {least.nbytes / 1e9:.0f} GB of device memory to be judged and {free / 1e9:.0f} GB are free "
        f"(in GB: {listed}): make its inputs smaller, or end what other processes keep there (nvidia-smi names them)",
        "too_large",
    )


def _plans(need: Need) -> Iterator[Footprint]:
    """The least of each kind, the best kind first."""
    box = need.results
    for held, sliced, shared in (
        (True, False, False), (False, False, False), (False, need.sliced, False), (False, need.sliced, True),
    ):  # fmt: skip
        yield _counted(need, Footprint(1, 1, box, held, sliced, shared))


def _grown(need: Need, plan: Footprint, limit: int) -> Footprint:
    """With more draws, then more calls, as far as they fit."""
    one_place = need.inputs + need.parameters
    wanted = max(1, min(DEVICE.most_calls, SPARE // one_place))
    boxed = max(need.results, min(OUTBOX, MOST_CALLS * need.results))
    for kept in range(need.seeds, 0, -1):
        for calls in range(1 if plan.shared else wanted, 0, -1):
            box = max(need.results, min(boxed, calls * need.results * 3))
            found = _counted(need, Footprint(kept, calls, box, plan.held, plan.sliced, plan.shared))
            if found.nbytes <= limit and (calls > 1 or kept == 1 or wanted == 1 or plan.shared):
                return found
    return plan


def _counted(need: Need, plan: Footprint) -> Footprint:
    case = expected_bytes(need.workload.outputs)
    narrow = 0 if wide(need.workload.outputs) else case
    whole = 2 * (need.inputs + need.scratch + need.results) + narrow
    precise = min(whole, SLICES + case) if plan.sliced else whole
    places = plan.spare + (0 if plan.shared else 1)
    parts = {
        "inputs": plan.kept * need.inputs + places * need.inputs,
        "parameters": (2 + plan.spare + 3) * need.parameters,
        "expected results": (need.distributions + plan.kept) * case if plan.held else case,
        "results that are compared": need.results,
        "the reference": max(precise, need.scratch + need.results),
        "the candidate": need.scratch + need.results,
        "results on their way": max(case, plan.box) + max(need.results, plan.box),
        "processes": SLACK,
    }
    return Footprint(plan.kept, plan.spare, plan.box, plan.held, plan.sliced, plan.shared, parts)
