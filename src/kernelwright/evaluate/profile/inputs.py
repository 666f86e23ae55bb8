"""Fresh inputs for every timed call: a window nobody has seen, with a few elements changed.

Windows move by whole rows along the pool of draws, each tensor on its own, so pointers and contents are new without a
copy. Some elements of each window are then replaced, strongly: a candidate that recognises inputs by a fingerprint, or
that updates its last result by the difference of two windows, is wrong. `undo` puts the drawn values back.
"""

import random
from collections.abc import Callable, Sequence

import torch

from kernelwright.records.tensor import ITEM_BYTES, Domain, TensorSpec

POKES = 16
"""Elements replaced in each window of each tensor."""
View = Callable[[int, int], torch.Tensor]


class FreshInputs:
    """The pool of one task's inputs."""

    def __init__(self, specs: Sequence[TensorSpec], draws: int, view: View, parameters: tuple[int, ...]) -> None:
        self._specs, self._draws, self._view, self._parameters = specs, draws, view, parameters
        self._undo: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        self.enabled = True

    def windows(self, calls: int) -> list[tuple[int, ...]]:
        """Byte offsets of every tensor, for each call, parameters last."""
        if not self.enabled:
            return [(*(0 for _ in self._specs), *self._parameters)] * calls
        chosen = [(*(self._offset(s) for s in self._specs), *self._parameters) for _ in range(calls)]
        for offsets in chosen:
            for i, spec in enumerate(self._specs):
                self._poke(i, offsets[i], spec)
        self._settle()
        return chosen

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

    def _offset(self, spec: TensorSpec) -> int:
        last = spec.shape[-1] if len(spec.shape) > 1 else min(16, max(1, spec.numel))
        row = last * ITEM_BYTES[spec.dtype]
        rows = (self._draws - 1) * spec.nbytes // row if row else 0
        return random.randint(0, rows) * row

    def _poke(self, index: int, offset: int, spec: TensorSpec) -> None:
        if spec.domain is Domain.PROBABILITY or not spec.numel:
            return
        flat = self._view(index, offset).view(-1)
        where = torch.randint(spec.numel, (POKES,), device=flat.device)
        before = flat[where]
        flat[where] = _replaced(before, spec)
        self._undo.append((flat, where, before))


def _replaced(values: torch.Tensor, spec: TensorSpec) -> torch.Tensor:
    if spec.domain is Domain.MASK:
        return ~values
    if spec.domain is Domain.INDEX:
        return torch.randint(spec.bound or 1, values.shape, device=values.device).to(values.dtype)
    changed = values.float() * 8 + 1
    return changed.to(values.dtype)
