"""What a session works on: the task as it was handed in, and its cases before and after it is known what is expected."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernelwright.devices import kinds
from kernelwright.evaluate.session import expectations
from kernelwright.evaluate.verify.compare import Expectation
from kernelwright.evaluate.verify.distributions import InputDistribution, of_bytes
from kernelwright.records.graph import ASSERTING
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

NO_ROOM = "no device memory for it"
RAISES = "the reference raises"
"""Why a case is missing."""
PLACES = re.compile(r"index|gather|scatter|embedding|take|one_hot|bincount|nll_loss|cross_entropy")
"""Operations that whole numbers name places to: one that is none raises on a host, and traps a whole device."""


def traps(task: Task) -> bool:
    """Whether an operation of the task ends the whole device's process beyond what was drawn; on a host it raises."""
    return _on_device(task) and not ASSERTING.isdisjoint(node.op for node in task.graph.nodes)


def with_bytes(task: Task, found: Sequence[InputDistribution]) -> list[InputDistribution]:
    """The same with whole numbers of eight bits that are all that their type has, unless the task states what they are."""
    declared = {d.position for d in task.source.domains}
    numbers = [n for n, one in enumerate(task.workload.inputs) if isinstance(one, TensorSpec)]
    stated = {i for i, n in enumerate(numbers) if n in declared or task.source.spec}
    risky = _on_device(task) and any(PLACES.search(node.op) for node in task.graph.nodes)
    return [*found[:-1], *(of_bytes(task.workload.tensors, stated) if not risky else ()), *found[-1:]]


def _on_device(task: Task) -> bool:
    return kinds()[task.target.kind].gpu and task.target.present


@dataclass(frozen=True)
class OriginalTask:
    """What a session stands for."""

    task: Task
    """The task as it was handed in; `Session.task` is smaller where an interpreter must run it."""
    init: str | None
    """The constructor's arguments as Python text, for candidates that are modules themselves; of `Session.task`."""
    reduction: str
    """How much smaller, in words; empty at full size."""
    spread: tuple[float, ...] = ()
    """How far two calls of eager on the same inputs are apart, output by output: it adds up in another order each time."""
    scratch_bytes: int = 0
    """Device memory that one call of eager takes beside inputs, parameters and results."""
    rows_apart: bool = False
    """A row of the result depends on that row of the inputs alone, so that fp64 can go in slices."""
    tied: Mapping[str, str] = field(default_factory=dict)
    """Parameters that are others under a second name: to the first."""
    infinite: tuple[int, ...] = ()
    """Outputs that are infinite somewhere on the task's own inputs, and may be."""
    full_init: str | None = None
    """The same at full size, where that is another one."""

    def init_source(self, full: bool = False) -> str:
        """A file with nothing of the task but its `get_init_inputs`: a candidate's process may not see the reference."""
        given = (full and self.full_init) or self.init or "[]"
        return f"def get_init_inputs():\n    return {given}\n"


@dataclass(frozen=True)
class Case:
    """One set of inputs, by byte offsets into the arena, and what every output should be."""

    distribution: str
    offsets: tuple[int, ...]
    expected: tuple[Expectation, ...]
    exact: bool = False


@dataclass(frozen=True)
class Fit:
    """Which fresh inputs leave the reference finite."""

    drawn: bool
    """Only those that the task draws itself."""
    challenge: bool
    """Those of which some elements are replaced, too."""


@dataclass(frozen=True)
class Observed:
    """One case before it is known what may be allowed; `fault` says why it cannot be one."""

    distribution: InputDistribution
    offsets: tuple[int, ...]
    outputs: tuple[expectations.Seen, ...]
    fault: str = ""
