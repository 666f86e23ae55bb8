"""Input synthesis: fresh contents of a tensor, made from what was drawn for it, with operations that keep its domain.

Each element comes from one of two parents. A parent is a window of what was drawn; the window begins anywhere and wraps
around at the end, so that there are two parents even where memory holds only one draw. Everything is written where the
fresh input will lie, and takes a few megabytes of random bits, whatever the tensor's size is. Windows of these bits
begin anywhere too, and their number is no multiple of a row, so that no two rows get the same ones.
"""

import secrets
from collections.abc import Iterator

import torch

from kernelwright.records.tensor import Domain, TensorSpec

COINS = 16 * 262139
"""Tossed once: a prime number of steps."""
STEP = 16
"""Elements by which windows move, where there are many: wide loads need no less."""


class Breeding:
    """Coins and factors of one contest, by dtype and device."""

    def __init__(self) -> None:
        self._generator = torch.Generator().manual_seed(secrets.randbits(62))
        self._known: dict[tuple[str, torch.dtype, torch.device], torch.Tensor] = {}
        self._bounded: dict[int, bool] = {}

    def mix(self, child: torch.Tensor, drawn: torch.Tensor, spec: TensorSpec) -> None:
        """Make a child of two windows of what was drawn: of an input, whose draws are a family.

        Elements come from either, by coins, and are all scaled by a factor where the domain bears that. Those of a
        probability come from both, each in a proportion of its own, and its rows are made to sum to one.
        """
        ring, into = drawn.reshape(-1), child.view(-1)
        unit = spec.shape[-1] if spec.domain is Domain.PROBABILITY else STEP
        parents = (ring, _begin(ring, unit)), (ring, _begin(ring, unit))
        if spec.domain is Domain.PROBABILITY:
            for part, (first, second, factors) in _parts(into, *parents, self._factors(into)):
                torch.addcmul(first, second, factors, out=part)
            _normalise(child)
        elif spec.scalable and self._differences_are_finite(drawn):
            # Weights of zero and one choose as `where` does, and several times as fast on a CPU.
            for part, (first, second, coins) in _parts(into, *parents, self._coins(into, into.dtype)):
                torch.lerp(first, second, coins, out=part)
        else:
            for part, (first, second, coins) in _parts(into, *parents, self._coins(into, torch.bool)):
                torch.where(coins, first, second, out=part)
        if spec.scalable:
            into *= 0.5 + secrets.randbelow(1 << 20) / (1 << 20)

    def vary(self, child: torch.Tensor, given: torch.Tensor, spec: TensorSpec) -> None:
        """Make a child of one tensor in its own order: of a parameter, whose elements have their places.

        Each is multiplied by a factor of its own from 0.5 to 1.5, so that infinities and zeros stay what they are.
        """
        for part, (values, factors) in _parts(child.view(-1), (given.reshape(-1), 0), self._factors(given)):
            torch.mul(values, factors, out=part)
        if spec.domain is Domain.PROBABILITY:
            _normalise(child)

    def _differences_are_finite(self, drawn: torch.Tensor) -> bool:
        """Looked at once: what was drawn stays as it is."""
        if drawn.data_ptr() not in self._bounded:
            low, high = (float(x) for x in drawn.aminmax())
            self._bounded[drawn.data_ptr()] = high - low <= torch.finfo(drawn.dtype).max
        return self._bounded[drawn.data_ptr()]

    def _coins(self, like: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, int]:
        key = ("coins", dtype, like.device)
        if key not in self._known:
            # The low bits of random bytes; one by one they would take ten times as long.
            noise = torch.empty(COINS // 8, dtype=torch.int64).random_(generator=self._generator)
            self._known[key] = (noise.view(torch.uint8) & 1).to(like.device).to(dtype)
        return self._known[key], _begin(self._known[key], STEP)

    def _factors(self, like: torch.Tensor) -> tuple[torch.Tensor, int]:
        key = ("factors", like.dtype, like.device)
        if key not in self._known:
            noise = torch.rand(COINS, generator=self._generator) + 0.5
            self._known[key] = noise.to(like.device, like.dtype)
        return self._known[key], _begin(self._known[key], STEP)


def _begin(ring: torch.Tensor, unit: int) -> int:
    """Where a random window of a ring begins; few elements are counted one by one unless they are rows."""
    unit = 1 if unit == STEP and len(ring) < 64 * STEP else max(unit, 1)
    return unit * secrets.randbelow(max(1, len(ring) // unit))


def _parts(
    into: torch.Tensor, *rings: tuple[torch.Tensor, int]
) -> Iterator[tuple[torch.Tensor, tuple[torch.Tensor, ...]]]:
    """Pieces of `into` with the elements of each ring that belong there; none of them goes over a ring's end."""
    done, at = 0, [begin for _, begin in rings]
    while done < len(into):
        size = min(len(into) - done, *(len(ring) - a for (ring, _), a in zip(rings, at, strict=True)))
        yield into[done : done + size], tuple(ring[a : a + size] for (ring, _), a in zip(rings, at, strict=True))
        done, at = done + size, [(a + size) % len(ring) for (ring, _), a in zip(rings, at, strict=True)]


def _normalise(rows: torch.Tensor) -> None:
    rows /= rows.sum(-1, keepdim=True)
