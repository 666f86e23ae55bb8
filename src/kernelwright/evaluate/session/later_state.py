"""Counts among the state are those of a later call than the first.

Floats among the state are random in nearly all cases. A whole number (how many batches were seen, which step this is) was
always that of a model that nobody has called: a kernel could leave out whatever a first call does not need. A number at random
may be one that the model never comes to, so the reference itself goes on by a few calls.
"""

from typing import Protocol

import torch

from kernelwright.evaluate.sandbox.process import ChildRaisedError, ReferenceRaisedError
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

Offsets = tuple[int, ...]
MOST = 4
"""Calls that the reference has made, at most."""


class Stateful(Protocol):
    """What is needed of a session."""

    task: Task

    def view(self, index: int, offset: int) -> torch.Tensor:
        """The window of a tensor."""
        ...

    def results(self, variant: str, offsets: Offsets) -> list[torch.Tensor]:
        """What a variant of the reference computes."""
        ...

    def forget_parameters(self) -> None:
        """The reference must be given its parameters again."""
        ...

    def settle(self) -> None:
        """Wait until what was written is there for another process."""
        ...


def move_on(session: Stateful, offsets: Offsets, generator: torch.Generator) -> None:
    """Have all whole numbers of the state at these offsets those of a later call; where it cannot make one, they stay."""
    places = [(own, result, session.view(own, offsets[own])) for own, result in _counts(session.task)]
    if not places:
        return
    before = [there.clone() for _, _, there in places]
    try:
        for _ in range(int(torch.randint(1, MOST + 1, (1,), generator=generator, device=generator.device))):
            found = session.results("eager", offsets)
            _put(session, [(there, found[result]) for _, result, there in places])
    except (ChildRaisedError, ReferenceRaisedError):
        _put(session, [(there, known) for (_, _, there), known in zip(places, before, strict=True)])


def _counts(task: Task) -> list[tuple[int, int]]:
    """Whole numbers among the state, by their place among all tensors and among the results."""
    given, names = task.workload, [*task.workload.state]
    own = [*given.tensors, *given.parameters]
    first = len(given.outputs) - len(names)
    return [
        (index, first + names.index(spec.name))
        for index, spec in enumerate(own)
        if index >= len(given.tensors) and spec.name in names and _whole(spec)
    ]


def _whole(spec: TensorSpec) -> bool:
    return not spec.floating and spec.dtype != "bool"


def _put(session: Stateful, pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for there, values in pairs:
        there.copy_(values)
    session.settle()
    session.forget_parameters()
