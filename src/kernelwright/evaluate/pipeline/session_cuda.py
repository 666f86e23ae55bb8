"""A session on the GPU: the same cases and seeds, with tensors in shared device memory.

What differs from `session`: inputs lie in VMM allocations, the reference draws straight into them, results come back
through an outbox, and all regimes share one place for their inputs, where each is made anew when it is needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from kernelwright.evaluate.pipeline.cases import Case
from kernelwright.evaluate.pipeline.contestant_cuda import CudaContestant
from kernelwright.evaluate.pipeline.expectations import watched_bytes
from kernelwright.evaluate.pipeline.footprint import OUTBOX, Footprint, fit, wide
from kernelwright.evaluate.pipeline.layout import Layout
from kernelwright.evaluate.pipeline.presented import Presented
from kernelwright.evaluate.pipeline.session import Session
from kernelwright.evaluate.profile.clock import MOST_CALLS, SAMPLE_NS
from kernelwright.evaluate.sandbox.cuda_arena import CudaArena
from kernelwright.evaluate.sandbox.messages.calls import DrawInto, MapDeviceArena, PutState, Release
from kernelwright.evaluate.verify.regimes import Regime
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

ENDING_S = 3.0
"""How long a kernel that traps may take to be told of, in seconds: the driver tidies up first."""


@dataclass(frozen=True)
class Recipe:
    """How a regime's inputs are made once more."""

    regime: Regime
    drawn: Sequence[torch.Tensor]
    seed: int


class CudaSession(Session):
    """Everything about one task on the GPU."""

    device = "cuda"
    reference: CudaContestant
    cuda_arena: CudaArena

    def __init__(
        self, task: Task, reference: CudaContestant, policy: Policy, presented: Presented, room: Callable[[int], None]
    ) -> None:
        self._room, self.closed = room, False
        super().__init__(task, reference, policy, presented)

    @property
    def footprint(self) -> Footprint:
        """What it takes of the device, fixed when it is opened."""
        if not hasattr(self, "_footprint"):
            self.rest(collect=True)
            workload, regimes, seeds = self.task.workload, len(self.regimes), self.policy.seeds
            total = torch.cuda.mem_get_info()[1]
            self._room(fit(workload, regimes, seeds, total).nbytes)
            free = torch.cuda.mem_get_info()[0]
            self._footprint = fit(workload, regimes, seeds, free)
        return self._footprint

    def outbox_size(self, item_bytes: int = 4) -> int:
        """Room for one call's results at this many bytes an element, and for a sample's calls where that is not much."""
        outputs = self.task.workload.outputs
        one = sum(item_bytes * o.numel + 4096 for o in outputs)
        sample = MOST_CALLS * sum(o.nbytes + 4096 for o in outputs)
        return max(one, min(OUTBOX, sample))

    def most_calls(self) -> int:
        """Calls whose results fit the smallest outbox together."""
        outputs = self.task.workload.outputs
        return max(1, min(MOST_CALLS, self.outbox_size() // sum(o.nbytes + 3 * 4096 for o in outputs)))

    def limit_s(self) -> float:
        """A hanging kernel holds the whole device, so that patience follows eager's own time."""
        return min(self.policy.run_limit_s, ENDING_S + self.policy.patience * max(self.eager_s, SAMPLE_NS / 1e9))

    def share(self) -> tuple[Sequence[int], Sequence[int]]:
        """Sizes and descriptors of the segments."""
        return self.cuda_arena.layout(), list(self.cuda_arena.descriptors)

    def _window(self, index: int, offset: int, spec: TensorSpec) -> torch.Tensor:
        return self.cuda_arena.tensor(index, offset, spec)

    def present(self, case: Case) -> Case:
        """Make the regime's inputs once more, if another's are in their place."""
        recipe = self._recipes.get(case.regime)
        if recipe is not None and self._placed_regime != case.regime:
            self._make(recipe)
        return case

    def rest(self, collect: bool = False) -> None:
        """Give back what the reference keeps for its next call: another task's turn has come."""
        self.reference.ask(Release(collect=collect))

    def close(self) -> None:
        """End the reference and free the inputs."""
        self.closed = True
        self.reference.close()
        self.cuda_arena.close()

    def refresh(self, replayed: Sequence[int] = ()) -> None:
        """As `Session.refresh`; gives the grader's own intermediates back to the device."""
        self._recipes: dict[str, Recipe] = {}
        self._placed_regime = ""
        super().refresh(replayed)
        torch.cuda.empty_cache()

    def _layout(self) -> Layout:
        return Layout(self.footprint.kept, self.footprint.spare, regimes=1)

    def _open_arena(self) -> None:
        self.cuda_arena = CudaArena(self._capacities())
        is_wide = wide(self.task.workload.outputs)
        self.reference.narrow = not is_wide
        room = max(self.outbox_size(8 if is_wide else 4), watched_bytes(self.task))
        outbox = self.reference.open_outbox(room)
        sizes, descriptors = self.share()
        command = MapDeviceArena(sizes=sizes, outbox=self.reference.outbox_bytes, files=(*descriptors, outbox))
        self.reference.ask(command)

    def _place_draw(self, draw: int) -> list[torch.Tensor]:
        offsets = [self.layout.draw(t, draw) for t in self.inputs]
        self.reference.ask(DrawInto(seed=self.seeds.new(), offsets=offsets))
        return [self.view(i, o) for i, o in enumerate(offsets)]

    def _place_regime(self, slot: int, regime: Regime, drawn: Sequence[torch.Tensor]) -> tuple[int, ...]:
        recipe = self._recipes[regime.name] = Recipe(regime, drawn, self.seeds.new())
        return (*self._make(recipe), *self.timed_parameters())

    def _make(self, recipe: Recipe) -> list[int]:
        self._generator.manual_seed(recipe.seed)
        offsets = [self.layout.regime(s, 0) for s in self.inputs]
        made = self._fill(recipe.regime, offsets, recipe.drawn)
        self._placed_regime = recipe.regime.name
        # Another process reads next: what this one has queued must be done.
        torch.cuda.synchronize()
        return made

    def _place_parameters(self) -> None:
        super()._place_parameters()
        torch.cuda.synchronize()

    def _place_initial(self) -> None:
        self.reference.ask(PutState(offsets=[0] * len(self.parameters)))
