"""Fresh inputs for every timed call: contents that nobody has seen, at a place that nobody could foretell.

Small inputs are bred: each element comes from one of two windows of the drawn inputs, by a secret mask, and all are
scaled by a secret factor. They exist for one round, so that a result kept for a row, a window or an element of the pool
is of no use. Large ones, which would take too long to write, are windows of the pool itself, moved by cache lines and
not by rows. In both, some elements are then replaced, strongly: a candidate that recognises inputs by a fingerprint, or
that updates its last result by the difference of two inputs, is wrong. Every choice comes from the kernel's generator.
"""

import secrets
from collections.abc import Callable, Sequence

import torch

from kernelwright.records.tensor import ITEM_BYTES, Domain, TensorSpec

POKES = 16
"""Elements replaced in each input."""
LINE = 64
"""Bytes by which windows move: what an allocator would align them to."""
BRED = 16 << 20
"""Most bytes that are bred for one round."""
View = Callable[[int, int], torch.Tensor]
Places = list[tuple[int, ...]]


class FreshInputs:
    """Inputs for one contest from the pool of one task: `draws` drawn inputs a tensor, of which `kept` stay intact."""

    def __init__(
        self, specs: Sequence[TensorSpec], draws: int, kept: int, view: View, parameters: tuple[int, ...]
    ) -> None:
        self._specs, self._draws, self._kept = specs, draws, kept
        self._view, self._parameters = view, parameters
        self._undo: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        self._generator = torch.Generator()
        self._coins: dict[int, torch.Tensor] = {}
        self.enabled = True
        self.bears_huge = False
        """Whether a huge element leaves the reference finite, so that a replaced one may be large too."""

    def windows(self, calls: int) -> Places:
        """Byte offsets of every tensor, for each call, parameters last."""
        if not self.enabled:
            return [(*(0 for _ in self._specs), *self._parameters)] * calls
        self._generator.manual_seed(secrets.randbits(62))
        inputs = self._bred(calls) if self._can_breed(calls) else self._moved(calls)
        for offsets in inputs:
            for i, spec in enumerate(self._specs):
                self._poke(i, offsets[i], spec)
        self._settle()
        return [(*offsets, *self._parameters) for offsets in inputs]

    def undo(self) -> None:
        """Put back what was replaced."""
        for flat, where, before in reversed(self._undo):
            flat[where] = before
        self._undo = []
        self._settle()

    def _settle(self) -> None:
        """On a device the changes are only queued; another process is about to read."""
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()

    # --- where, and what ------------------------------------------------------------------------------------------

    def _can_breed(self, calls: int) -> bool:
        small = calls * sum(s.nbytes for s in self._specs) <= BRED
        return small and self._kept > 1 and calls <= self._draws - self._kept

    def _bred(self, calls: int) -> Places:
        slots = secrets.SystemRandom().sample(range(self._kept, self._draws), calls)
        places = [tuple(slot * s.nbytes for s in self._specs) for slot in slots]
        for offsets in places:
            for i, spec in enumerate(self._specs):
                self._breed(i, offsets[i], spec)
        return places

    def _breed(self, index: int, offset: int, spec: TensorSpec) -> None:
        first, second = (self._view(index, _offset(spec, self._kept)) for _ in range(2))
        child = torch.where(self._mask(index, spec, first.device), first, second)
        if spec.scalable:
            child *= 0.5 + secrets.randbelow(1 << 20) / (1 << 20)
        self._view(index, offset).copy_(child)

    def _mask(self, index: int, spec: TensorSpec, device: torch.device) -> torch.Tensor:
        """A random window of coins, tossed once; whole rows of a probability come from one parent."""
        shape = (*spec.shape[:-1], 1) if spec.domain is Domain.PROBABILITY else spec.shape
        count = spec.numel // (spec.shape[-1] if shape != spec.shape else 1)
        if index not in self._coins:
            coins = torch.randint(2, (2 * count + 4096,), generator=self._generator, dtype=torch.uint8)
            self._coins[index] = coins.bool().to(device)
        start = secrets.randbelow(count + 4096)
        return self._coins[index][start : start + count].view(shape)

    def _moved(self, calls: int) -> Places:
        return [tuple(_offset(s, self._draws) for s in self._specs) for _ in range(calls)]

    def _poke(self, index: int, offset: int, spec: TensorSpec) -> None:
        if not spec.numel:
            return
        flat = self._view(index, offset).view(-1)
        where = self._where(spec).to(flat.device)
        before = flat[where]
        flat[where] = self._replaced(before, spec)
        self._undo.append((flat, where, before))

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
        """Enough to be seen in the mean of the whole window, where the task has shown that it bears huge elements."""
        return max(8.0, spec.numel**0.5 / 64) if self.bears_huge else 8.0


def _offset(spec: TensorSpec, draws: int) -> int:
    """Where a random window of the first `draws` inputs begins, in bytes."""
    # A probability's rows must stay whole, to sum to one.
    step = spec.shape[-1] * ITEM_BYTES[spec.dtype] if spec.domain is Domain.PROBABILITY else LINE
    steps = (draws - 1) * spec.nbytes // step if step else 0
    return secrets.randbelow(steps + 1) * step
