"""Fresh inputs for every timed call: contents that nobody has seen, at a place that nobody could foretell.

Each tensor is bred from what was drawn, for each call of each round, in a place that holds nothing else: a result kept for a
row, a window or an element of an earlier input is of no use, and neither is what was worked out of parameters alone. In
inputs, some elements are then replaced, strongly: a candidate that recognises inputs by a fingerprint, or that updates its
last result by the difference of two inputs, is wrong. Every choice comes from the kernel's generator. What was drawn is
never written to.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from kernelwright.evaluate.profile.breeding import Breeding
from kernelwright.records.tensor import Domain, TensorSpec

POKES = 16
"""Elements replaced in each input."""
View = Callable[[int, int], torch.Tensor]
Places = list[tuple[int, ...]]


@dataclass(frozen=True)
class Stock:
    """One tensor's contents, and where fresh ones go."""

    spec: TensorSpec
    drawn: torch.Tensor
    """Everything to breed from: of shape (draws, *shape), in one piece."""
    home: int
    """Byte offset of what it is where nothing is bred."""
    places: tuple[int, ...]
    """Byte offsets of spare places, one for each call that a sample may hold."""
    parameter: bool = False

    @property
    def constant(self) -> bool:
        """Whether it stays as it is: a parameter that no factor changes within its domain."""
        spec = self.spec
        return self.parameter and (not spec.floating or spec.domain in (Domain.LABEL, Domain.MASK))


class FreshInputs:
    """Inputs and parameters for one contest; `view` gives a tensor, by its number, at a byte offset."""

    def __init__(self, stocks: Sequence[Stock], view: View) -> None:
        self._stocks, self._view = tuple(stocks), view
        self._generator = torch.Generator()
        self._breeding = Breeding()
        self.enabled = True
        self.parameters_stay = False
        """Whether every call has the parameters that were there before the contest."""
        self.bears_huge = False
        """Whether a huge element leaves the reference finite, so that a replaced one may be large too."""

    def windows(self, calls: int) -> Places:
        """Byte offsets of every tensor, for each call, parameters last; at most as many calls as there are places."""
        if not self.enabled:
            return [tuple(stock.home for stock in self._stocks)] * calls
        self._generator.manual_seed(secrets.randbits(62))
        offsets = [self._offsets(i, calls) for i in range(len(self._stocks))]
        self._settle()
        return [tuple(o[call] for o in offsets) for call in range(calls)]

    def _offsets(self, index: int, calls: int) -> Sequence[int]:
        stock = self._stocks[index]
        if stock.constant or (stock.parameter and self.parameters_stay):
            return [stock.home] * calls
        chosen = secrets.SystemRandom().sample(stock.places, calls)
        for offset in chosen:
            self._breed(stock, self._view(index, offset))
        return chosen

    def _breed(self, stock: Stock, child: torch.Tensor) -> None:
        if not child.numel():
            return
        if stock.parameter:
            self._breeding.vary(child, stock.drawn, stock.spec)
        else:
            self._breeding.mix(child, stock.drawn, stock.spec)
            self._poke(child, stock.spec)

    def _settle(self) -> None:
        """On a device the changes are only queued; another process is about to read."""
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()

    # --- what is replaced -----------------------------------------------------------------------------------------

    def _poke(self, child: torch.Tensor, spec: TensorSpec) -> None:
        flat = child.view(-1)
        where = self._where(spec).to(flat.device)
        flat[where] = self._replaced(flat[where], spec)

    def _where(self, spec: TensorSpec) -> torch.Tensor:
        if spec.domain is not Domain.PROBABILITY:
            return torch.randint(spec.numel, (POKES,), generator=self._generator)
        width = spec.shape[-1]
        rows = torch.randint(spec.numel // width, (POKES // 2,), generator=self._generator).unique()
        return (rows[:, None] * width + torch.randint(width, (len(rows), 2), generator=self._generator)).view(-1)

    def _replaced(self, values: torch.Tensor, spec: TensorSpec) -> torch.Tensor:
        if spec.domain is Domain.PROBABILITY:
            # Two of one row change places, so that it still sums to one.
            return values.view(-1, 2).flip(1).reshape(-1)
        if spec.domain is Domain.MASK:
            return 1 - values if spec.floating else ~values
        if spec.domain is Domain.LABEL and spec.floating:
            # Only values that occur are labels: some of them change places.
            return values[torch.randperm(len(values), generator=self._generator).to(values.device)]
        if not spec.floating:
            return torch.randint(spec.bound or 1, values.shape, generator=self._generator).to(values)
        # No larger than the regime of a huge element, which the reference has borne at this dtype.
        return (values.float() * self._strength(spec) + 1).clamp(-1e4, 1e4).to(values.dtype)

    def _strength(self, spec: TensorSpec) -> float:
        """Enough to be seen in the mean of the whole tensor, where the task has shown that it bears huge elements."""
        return max(8.0, spec.numel**0.5 / 64) if self.bears_huge else 8.0
