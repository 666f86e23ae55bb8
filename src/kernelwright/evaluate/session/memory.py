"""What a session needs of the memory that its inputs lie in, and what that memory needs of the session."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.seeds import Seeds
from kernelwright.evaluate.verify.distributions import InputDistribution
from kernelwright.records.tensor import TensorSpec

LINE = 64
"""Alignment of a place in bytes."""
SETS = 2
"""Sets of parameters that stay: as they were initialised, and randomised."""


@dataclass(frozen=True)
class Layout:
    """Byte offsets into the segments of inputs and of parameters."""

    kept: int
    """Draws that stay."""
    spare: int
    """Places for fresh inputs and parameters, one for each call of a sample."""
    distributions: int
    """Places for inputs of input distributions."""
    shared: bool = False
    """These have none of their own: they lie where the first fresh inputs will."""

    def draw(self, spec: TensorSpec, number: int) -> int:
        """Where a draw begins."""
        return number * spec.nbytes

    def place(self, spec: TensorSpec, number: int) -> int:
        """Where a spare place of an input begins."""
        return line(self.kept * spec.nbytes) + number * line(spec.nbytes)

    def distribution(self, spec: TensorSpec, number: int) -> int:
        """Where the inputs of an input distribution begin; there is room for a shift by some elements."""
        if self.shared:
            return self.place(spec, 0)
        return self.place(spec, self.spare) + number * (line(spec.nbytes) + LINE)

    def parameter(self, spec: TensorSpec, number: int) -> int:
        """Where a set of parameters begins: those that stay come first, then the spare ones."""
        return number * line(spec.nbytes)

    def input_bytes(self, spec: TensorSpec) -> int:
        """Size of an input's segment."""
        if self.shared:
            return self.place(spec, self.spare) + LINE
        return self.distribution(spec, self.distributions)

    def parameter_bytes(self, spec: TensorSpec) -> int:
        """Size of a parameter's segment."""
        return self.parameter(spec, SETS + self.spare)


def line(size: int) -> int:
    """The next multiple of LINE."""
    return -(-size // LINE) * LINE


Shared = tuple[Sequence[int], Sequence[int]]
"""Where segments start, or their sizes on a device; and descriptors."""


class Memory(Protocol):
    """Where the inputs of one session lie, on a backend's device: shared with children, and filled by the reference."""

    device: str
    """What torch calls the device that the tensors are on."""
    queued: bool
    """Whether work on it is only queued, so that every answer that is waited for has its price."""
    layout: Layout
    holds: bool
    """Whether expected results are kept; otherwise they are computed again for each case."""
    sliced: bool
    """Whether the fp64 reference goes in slices of rows."""
    weaker: tuple[str, ...]
    """What is done without for lack of memory, in words."""

    @property
    def placed(self) -> str:
        """Whose inputs lie where all input distributions have one place; empty where each has its own."""
        ...

    def box(self, item_bytes: int = 0) -> int:
        """Bytes of an outbox for results, floats of at least `item_bytes`."""
        ...

    def overwritten(self) -> None:
        """Fresh inputs are about to be written."""
        ...

    def share(self) -> Shared:
        """What a child needs to map the inputs."""
        ...

    def window(self, index: int, offset: int, spec: TensorSpec) -> torch.Tensor:
        """The window of a tensor at a byte offset, in the grader's own writable mapping."""
        ...

    def most_calls(self) -> int:
        """Calls whose results fit together."""
        ...

    def draw(self, seed: int, offsets: Sequence[int]) -> None:
        """Have the reference draw its inputs, and put them at these offsets.

        Raises:
            ChildRaisedError: it gives other shapes than before.
        """
        ...

    def drawn(self, seed: int) -> list[torch.Tensor]:
        """Have the reference draw its inputs, for the referee alone."""
        ...

    def initial_parameters(self) -> None:
        """Put the parameters as they were initialised at the beginning of their segments."""
        ...

    def forget(self) -> None:
        """All cases will be made anew."""
        ...

    def place_distribution(
        self, fill: "Fill", slot: int, distribution: InputDistribution, drawn: Sequence[torch.Tensor]
    ) -> list[int]:
        """Make an input distribution's inputs of drawn ones.

        Returns where they begin. `slot` numbers the input distribution.
        """
        ...

    def present(self, fill: "Fill", case: Case) -> None:
        """Make the inputs of a case once more, if another's are in their place."""
        ...

    def settle(self) -> None:
        """Wait until what was written is there for another process to read."""
        ...

    def trim(self) -> None:
        """Give the grader's own intermediates back to the device."""
        ...

    def rest(self) -> None:
        """Give back what the reference keeps for its next timed call: none follows."""
        ...

    def close(self) -> None:
        """Free it."""
        ...


class Fill(Protocol):
    """What a memory needs of its session to make an input distribution's inputs."""

    seeds: Seeds

    def fill(
        self,
        distribution: InputDistribution,
        starts: Sequence[int],
        drawn: Sequence[torch.Tensor],
        seed: int | None = None,
    ) -> list[int]:
        """Write an input distribution's inputs at these places.

        Returns where they begin, off their alignment if it shifts them.
        """
        ...
