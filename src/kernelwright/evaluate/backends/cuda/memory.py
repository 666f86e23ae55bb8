"""Inputs of a session in shared device memory.

Inputs lie in VMM allocations, the reference draws straight into them, results come back through an outbox, and all
input distributions share one place for their inputs, where each is made anew when it is needed.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import torch

from kernelwright.evaluate.backends.cuda.footprint import OUTBOX, Footprint, Need, fit, guarded_bytes, wide
from kernelwright.evaluate.sandbox.compute_process import MOST_CALLS, ComputeProcess
from kernelwright.evaluate.sandbox.cuda_arena import CudaArena
from kernelwright.evaluate.sandbox.messages.calls import DrawInto, MapDeviceArena, PutState, Release
from kernelwright.evaluate.sandbox.process import Process
from kernelwright.evaluate.session.cases import Case, OriginalTask
from kernelwright.evaluate.session.expectations import watched_bytes
from kernelwright.evaluate.session.memory import Fill, Layout, Shared
from kernelwright.evaluate.session.session import Session, admitted_distributions
from kernelwright.evaluate.timing.clock import SAMPLE_NS
from kernelwright.evaluate.verify.distributions import InputDistribution
from kernelwright.records.policy import Policy
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

MIN_BOX = 64 << 20
"""Room for results that is not worth saving."""
ENDING_S = 3.0
"""How long a kernel that traps may take to be told of, in seconds: the driver tidies up first."""


@dataclass(frozen=True)
class Recipe:
    """How an input distribution's inputs are made once more."""

    distribution: InputDistribution
    drawn: Sequence[torch.Tensor]
    seed: int


class DeviceMemory:
    """Implements `Memory`."""

    device, queued = "cuda", True

    def __init__(
        self, original: OriginalTask, reference: ComputeProcess, policy: Policy, room: Callable[[int], None]
    ) -> None:
        task = original.task
        self._task, self._reference = task, reference
        self._inputs, self._parameters = task.workload.tensors, task.workload.parameters
        self._recipes: dict[str, Recipe] = {}
        self._placed_distribution = ""
        self.footprint = _footprint(original, reference, policy, room)
        """What it takes of the device, fixed when it is opened."""
        self.layout = Layout(self.footprint.kept, self.footprint.spare, 1, self.footprint.shared)
        self.holds, self.sliced, self.weaker = self.footprint.held, self.footprint.sliced, self.footprint.weaker
        layout = self.layout
        capacities = [*map(layout.input_bytes, self._inputs), *map(layout.parameter_bytes, self._parameters)]
        self._arena = CudaArena(capacities)
        with ExitStack() as held:
            held.callback(self._arena.close)
            self._hand_over()
            held.pop_all()

    def _hand_over(self) -> None:
        """Have the reference map the inputs, and an outbox for its results."""
        is_wide = wide(self._task.workload.outputs)
        box = max(self.box(8 if is_wide else 4), watched_bytes(self._task))
        outbox, nbytes = self._reference.open_results(box, narrow=not is_wide)
        sizes, descriptors = self.share()
        arena = MapDeviceArena(sizes=sizes, outbox=nbytes, files=(*descriptors, outbox))
        self._reference.ask(arena)

    def share(self) -> Shared:
        """See `Memory.share`: sizes of the segments."""
        return self._arena.layout(), list(self._arena.descriptors)

    def window(self, index: int, offset: int, spec: TensorSpec) -> torch.Tensor:
        """See `Memory.window`."""
        return self._arena.tensor(index, offset, spec)

    def most_calls(self) -> int:
        """Calls whose results fit the smallest outbox together."""
        return max(1, min(MOST_CALLS, self.box() // guarded_bytes(self._task.workload.outputs)))

    def box(self, item_bytes: int = 0) -> int:
        """See `Memory.box`."""
        return outbox_size(self._task.workload.outputs, item_bytes, self.footprint.box)

    def overwritten(self) -> None:
        """See `Memory.overwritten`."""
        if self.layout.shared:
            self._placed_distribution = ""

    @property
    def placed(self) -> str:
        """See `Memory.placed`."""
        return self._placed_distribution

    def draw(self, seed: int, offsets: Sequence[int]) -> None:
        """See `Memory.draw`."""
        self._reference.ask(DrawInto(seed=seed, offsets=offsets))

    def drawn(self, seed: int) -> list[torch.Tensor]:
        """See `Memory.drawn`: by way of the first spare place, which is written anew before each call."""
        offsets = [self.layout.place(spec, 0) for spec in self._inputs]
        self.draw(seed, offsets)
        return [self.window(i, o, s).clone() for i, (o, s) in enumerate(zip(offsets, self._inputs, strict=True))]

    def initial_parameters(self) -> None:
        """See `Memory.initial_parameters`."""
        self._reference.ask(PutState(offsets=[0] * len(self._parameters)))

    def forget(self) -> None:
        """See `Memory.forget`."""
        self._recipes, self._placed_distribution = {}, ""

    def place_distribution(
        self, fill: Fill, slot: int, distribution: InputDistribution, drawn: Sequence[torch.Tensor]
    ) -> list[int]:
        """See `Memory.place_distribution`: all input distributions share one place, and each is made of a seed of its own."""
        recipe = self._recipes[distribution.name] = Recipe(distribution, drawn, fill.seeds.new())
        return self._make(fill, recipe)

    def present(self, fill: Fill, case: Case) -> None:
        """See `Memory.present`."""
        recipe = self._recipes.get(case.distribution)
        if recipe is not None and self._placed_distribution != case.distribution:
            self._make(fill, recipe)

    def settle(self) -> None:
        """Another process reads next: what this one has queued must be done."""
        torch.cuda.synchronize()

    def trim(self) -> None:
        """See `Memory.trim`."""
        torch.cuda.empty_cache()

    def rest(self) -> None:
        """See `Memory.rest`."""
        rest(self._reference)

    def close(self) -> None:
        """See `Memory.close`."""
        self._arena.close()

    def _make(self, fill: Fill, recipe: Recipe) -> list[int]:
        starts = [self.layout.distribution(s, 0) for s in self._inputs]
        made = fill.fill(recipe.distribution, starts, recipe.drawn, recipe.seed)
        self._placed_distribution = recipe.distribution.name
        self.settle()
        return made


def _footprint(
    original: OriginalTask, reference: ComputeProcess, policy: Policy, room: Callable[[int], None]
) -> Footprint:
    rest(reference, collect=True)
    task = original.task
    count = len(admitted_distributions(task, policy))
    need = Need(task.workload, count, policy.seeds, original.scratch_bytes, original.rows_apart)
    room(fit(need, torch.cuda.mem_get_info()[1]).nbytes)
    return fit(need, torch.cuda.mem_get_info()[0])


def rest(reference: Process, collect: bool = False) -> None:
    """Give back what a reference keeps for its next call: another task's turn has come."""
    reference.ask(Release(collect=collect))


def outbox_size(outputs: Sequence[TensorSpec], item_bytes: int = 0, most: int = OUTBOX) -> int:
    """Room for one call's results, floats at this many bytes at least, and for a sample's calls up to `most` bytes."""
    one = sum(max(item_bytes if o.floating else 0, ITEM_BYTES[o.dtype]) * o.numel + 4096 for o in outputs)
    sample = MOST_CALLS * guarded_bytes(outputs)
    return max(one, min(max(most, MIN_BOX), sample))


def run_limit_s(session: Session) -> float:
    """How long one question to a candidate that needs no compiler any more may take: as long as eager's own time admits.

    A hanging kernel holds the whole device.
    """
    policy = session.policy
    return min(policy.run_limit_s, ENDING_S + policy.patience * max(session.eager_s, SAMPLE_NS / 1e9))
