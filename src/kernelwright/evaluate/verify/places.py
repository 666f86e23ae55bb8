"""Which elements of a result are examined, where it is too large to examine all of them.

Values are right or wrong by themselves, so they are examined in stripes. The elements of random outputs mean something
only together, so they are examined in a stretch, a block of rows and short windows. The caller keeps the places secret.
"""

import random
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

import torch

Parts = tuple[tuple[int, int], ...]
"""Stretches of a flat result: first element and number of elements."""

STRIPES, STRIPE = 64, 1 << 14
"""How many there are of values, and elements of each."""
STRETCH = 1 << 14
"""Neighbouring elements of a random output that are looked at."""
BLOCK = 1 << 14
"""Elements of the block of rows, at most."""
WINDOWS, WINDOW = 256, 64
"""How many there are of a random output, and elements of each."""
SLICE = 64
"""Elements that lie together at least where rows are picked one by one: reading has its price a piece."""


def stripes(numel: int, chance: random.Random) -> Parts:
    """All elements, or STRIPES stripes of STRIPE elements, one beginning in each of as many equal shares of the result.

    A stripe that would leave the result goes on at its beginning, so that no element is looked at less often than another.
    """
    if numel <= STRIPES * STRIPE:
        return ((0, numel),)
    bounds = [numel * i // STRIPES for i in range(STRIPES + 1)]
    starts = [chance.randrange(low, high) for low, high in pairwise(bounds)]
    inside = [(start, min(STRIPE, numel - start)) for start in starts]
    return (*inside, *((0, STRIPE - count) for _, count in inside if count < STRIPE))


@dataclass(frozen=True)
class Sample:
    """Elements of a random output: a stretch, then a block that spans every dimension, then windows."""

    parts: Parts
    stretch: int
    block: tuple[int, ...]
    """Indices taken of each dimension that has more than one."""
    runs: tuple[int, ...]
    """How many of them, the first, follow each other."""
    windows: int
    """Windows of WINDOW elements; with none, stretch and block are both the whole result."""

    @property
    def count(self) -> int:
        """Elements altogether."""
        return sum(count for _, count in self.parts)

    @property
    def block_size(self) -> int:
        """Elements of the block."""
        return prod(self.block)

    def of(self, result: torch.Tensor) -> torch.Tensor:
        """The elements out of a whole result, flat."""
        flat = result.reshape(-1)
        return torch.cat([flat.narrow(0, first, count) for first, count in self.parts])


def sample(shape: tuple[int, ...], chance: random.Random) -> Sample:
    """Elements of a result of this shape."""
    numel, dims = prod(shape), tuple(d for d in shape if d > 1)
    if numel <= STRETCH:
        return Sample(((0, numel),), numel, dims, dims, 0)
    taken = _shared_out(dims)
    runs = tuple(
        n if n == d or prod(dims[i + 1 :]) < SLICE else -(-n // 2)
        for i, (n, d) in enumerate(zip(taken, dims, strict=True))
    )
    runs = (*runs[:-1], taken[-1])
    stretch = (chance.randrange(numel - STRETCH + 1), STRETCH)
    windows = [(chance.randrange(numel - WINDOW + 1), WINDOW) for _ in range(WINDOWS)]
    return Sample((stretch, *_block(dims, taken, runs, chance), *windows), STRETCH, taken, runs, WINDOWS)


def _shared_out(dims: tuple[int, ...]) -> tuple[int, ...]:
    """How many indices of each dimension the block takes: about as many of each, fewer where there are fewer."""
    # Elements of the last dimension lie together; picked one by one, each would be a piece to read.
    taken = [*[1] * (len(dims) - 1), min(SLICE, dims[-1])]
    growing = list(range(len(dims)))
    while growing:
        i = min(growing, key=lambda d: (taken[d], -d))
        more = min(2 * taken[i], dims[i])
        if more == taken[i] or prod(taken) // taken[i] * more > BLOCK:
            growing.remove(i)
        else:
            taken[i] = more
    return tuple(taken)


def _block(
    dims: tuple[int, ...], taken: tuple[int, ...], runs: tuple[int, ...], chance: random.Random
) -> list[tuple[int, int]]:
    """The block's elements, row by row; rows that lie side by side are one piece."""
    indices = [_indices(d, n, run, chance) for d, n, run in zip(dims, taken, runs, strict=True)]
    strides = [prod(dims[i + 1 :]) for i in range(len(dims))]
    pieces: list[tuple[int, int]] = []
    for place in product(*indices[:-1]):
        start = sum(i * s for i, s in zip(place, strides, strict=False)) + indices[-1][0]
        if pieces and sum(pieces[-1]) == start:
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + taken[-1])
        else:
            pieces.append((start, taken[-1]))
    return pieces


def _indices(size: int, count: int, run: int, chance: random.Random) -> list[int]:
    """`run` indices that follow each other, then single ones anywhere else."""
    first = chance.randrange(size - run + 1)
    others = chance.sample(range(size - run), count - run)
    return [*range(first, first + run), *sorted(i if i < first else i + run for i in others)]
