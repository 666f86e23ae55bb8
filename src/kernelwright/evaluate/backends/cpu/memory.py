"""Inputs of a session in this machine's memory: one sealed file that children map, with a place of its own for every case."""

import ctypes
from collections.abc import Sequence

import torch

from kernelwright.evaluate.backends.cpu.process import most_calls
from kernelwright.evaluate.sandbox.arena import Arena
from kernelwright.evaluate.sandbox.compute_process import MOST_CALLS, ComputeProcess
from kernelwright.evaluate.sandbox.messages.calls import DescribeState, Draw, MapArena
from kernelwright.evaluate.sandbox.process import ChildRaisedError
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.memory import Fill, Layout, Shared
from kernelwright.evaluate.session.session import admitted_distributions
from kernelwright.evaluate.verify.distributions import InputDistribution
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

MOST_BYTES = 6 << 30
"""Of inputs that a session keeps, and as many of expected results."""
SPARE_BYTES = 256 << 20
"""Bytes of fresh inputs worth having for one sample, where it has not calls enough without: more takes long to write."""


class HostMemory:
    """Implements `Memory`."""

    device, queued = "cpu", False
    holds, sliced, placed = True, False, ""
    weaker: tuple[str, ...] = ()

    def __init__(self, task: Task, reference: ComputeProcess, policy: Policy) -> None:
        self._task, self._reference = task, reference
        self._inputs, self._parameters = task.workload.tensors, task.workload.parameters
        self.layout = _layout(task, policy)
        layout = self.layout
        sizes = [*map(layout.input_bytes, self._inputs), *map(layout.parameter_bytes, self._parameters)]
        self.arena = Arena(sizes, writable=not policy.defences.read_only_inputs)
        starts, descriptors = self.share()
        reference.ask(MapArena(starts=starts, files=descriptors))

    def share(self) -> Shared:
        """See `Memory.share`: where segments start."""
        return self.arena.layout(), [self.arena.descriptor]

    def window(self, index: int, offset: int, spec: TensorSpec) -> torch.Tensor:
        """See `Memory.window`."""
        if not spec.numel:
            return torch.empty(spec.shape, dtype=getattr(torch, spec.dtype))
        buffer = (ctypes.c_char * max(spec.nbytes, 1)).from_address(self.arena.where(index) + offset)
        return torch.frombuffer(buffer, dtype=getattr(torch, spec.dtype), count=spec.numel).view(spec.shape)

    def most_calls(self) -> int:
        """See `Memory.most_calls`."""
        return most_calls(self._task.workload.outputs)

    def draw(self, seed: int, offsets: Sequence[int]) -> None:
        """See `Memory.draw`."""
        for i, (spec, values) in enumerate(zip(self._inputs, self.drawn(seed), strict=True)):
            self.window(i, offsets[i], spec).copy_(values)

    def drawn(self, seed: int) -> list[torch.Tensor]:
        """See `Memory.drawn`."""
        found = self._reference.ask(Draw(seed=seed)).tensors
        if [f.shape for f in found] != [t.shape for t in self._inputs]:
            raise ChildRaisedError("ShapesChange", "get_inputs returned other shapes than before")
        return [self._reference.read(result) for result in found]

    def initial_parameters(self) -> None:
        """See `Memory.initial_parameters`."""
        found = self._reference.ask(DescribeState()).tensors
        for i, (spec, result) in enumerate(zip(self._parameters, found, strict=True)):
            self.window(len(self._inputs) + i, 0, spec).copy_(self._reference.read(result))

    def place_distribution(
        self, fill: Fill, slot: int, distribution: InputDistribution, drawn: Sequence[torch.Tensor]
    ) -> list[int]:
        """See `Memory.place_distribution`."""
        return fill.fill(distribution, [self.layout.distribution(s, slot) for s in self._inputs], drawn)

    def present(self, fill: Fill, case: Case) -> None:
        """Every case has a place of its own."""

    def box(self, item_bytes: int = 0) -> int:
        """Results stay in the children's memory."""
        return 0

    def overwritten(self) -> None:
        """Every case has a place of its own."""

    def forget(self) -> None:
        """Nothing is remembered."""

    def settle(self) -> None:
        """What is written is there."""

    def trim(self) -> None:
        """The allocator sees to it."""

    def rest(self) -> None:
        """It keeps nothing."""

    def close(self) -> None:
        """See `Memory.close`."""
        self.arena.close()


def _layout(task: Task, policy: Policy) -> Layout:
    """Where memory is short, draws give way to the last spare place."""
    inputs, count = task.workload.tensors, len(admitted_distributions(task, policy))
    one = max(1, sum(t.nbytes for t in inputs))
    affordable = MOST_BYTES // one - count
    both = max(1, sum(t.nbytes for t in (*inputs, *task.workload.parameters)))
    spare = max(1, min(MOST_CALLS, SPARE_BYTES // both, affordable - 1))
    # Without a clock nobody writes fresh inputs.
    spare = spare if task.target.present else 0
    expected = 8 * sum(o.numel for o in task.workload.outputs)
    cases = MOST_BYTES // max(1, expected) - count
    return Layout(max(1, min(policy.seeds, affordable - spare, cases)), spare, count)
