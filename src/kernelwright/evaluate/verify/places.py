"""Which elements of a result are examined where it is too large for all, and how those of one random draw relate.

Values are right or wrong by themselves, so they are examined in stripes. The elements of random outputs mean something
only together, so they are examined in a stretch, a block of rows and short windows. The caller keeps the places secret.

Figures of a draw tell independent elements from those that share their chance, along every dimension and at any
distance. What happens to an element is an *event*: whether it is zero, or how far it is from what is usual there.
Another draw's figures say what is right.
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

Named = dict[str, torch.Tensor]
"""Figures of each draw under what they are called: (draws, figures)."""
NEXT = (1, 2, 4)
"""Distances of rows that are compared one by one."""
SLICES = 128
"""Most slices of a dimension of which every pair is compared."""
SAME = 48
"""Events in a row that do not come twice by chance."""
RARE = 1e-3
"""Share of zeros below which zero is not what happens, nor above one less this."""
OUTLYING = 4.0
"""Deviations beyond which an event counts no more: one of them would be all of a correlation."""


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


def zeros_happen(values: torch.Tensor) -> bool:
    """Whether being zero is left to chance."""
    return RARE < float((values == 0).double().mean()) < 1 - RARE


def figures(events: torch.Tensor, bits: torch.Tensor, sample: Sample) -> Named:
    """Figures of draws of a sample's elements.

    Args:
        events: (draws, elements), about zero where nothing unusual happened.
        bits: (draws, elements), which of two things happened.
        sample: where the elements lie.
    """
    found: Named = {}
    bounded = events.clamp(-OUTLYING, OUTLYING).float()
    if sample.stretch > 2:
        found["the likeness of elements at one distance"] = _at_any_distance(bounded[:, : sample.stretch])
    found["the randomness that comes twice"] = _repeated(bits, sample)
    first = sample.stretch if sample.windows else 0
    block = bounded[:, first : first + sample.block_size].reshape(len(events), *sample.block)
    if len(sample.block) > 1:
        for dim, run in enumerate(sample.runs):
            slices = block.movedim(dim + 1, 1).flatten(2)
            found[f"the likeness of slices along dimension {dim}"] = _of_pairs(slices, run)
    return found


def _of_pairs(slices: torch.Tensor, run: int) -> torch.Tensor:
    """Figures of the correlations of all pairs of (draws, slices, elements), of which the first `run` are neighbours."""
    if slices.shape[1] > SLICES:
        half = min(run, SLICES // 2)
        slices, run = torch.cat([slices[:, :half], slices[:, half - SLICES :]], dim=1), half
    lengths = slices.norm(dim=2, keepdim=True).clamp(min=1e-20)
    alike = (slices / lengths) @ (slices / lengths).transpose(1, 2)
    above = torch.ones(alike.shape[1:], dtype=torch.bool).triu(1)
    pairs = alike[:, above]
    nearby = [alike[:, :run, :run].diagonal(d, 1, 2).mean(1) for d in NEXT if d < run]
    single = [pairs.mean(1), pairs.square().mean(1), pairs.abs().amax(1)]
    return torch.stack([*nearby, *single], dim=1).double()


def _at_any_distance(stretch: torch.Tensor) -> torch.Tensor:
    """The largest autocorrelation of (draws, elements) at any distance up to half of the stretch."""
    count = stretch.shape[1]
    spectrum = torch.fft.rfft(stretch, 2 * count).abs().square()
    sums = torch.fft.irfft(spectrum, 2 * count)[:, 1 : count // 2 + 1]
    power = stretch.square().mean(1, keepdim=True).clamp(min=1e-20)
    return (sums / torch.arange(count - 1, count - 1 - sums.shape[1], -1) / power).abs().amax(1, keepdim=True).double()


def _repeated(bits: torch.Tensor, sample: Sample) -> torch.Tensor:
    """Share of places from which the same SAME bits follow as from another place.

    What comes again at any distance is met where one of the windows lies that far from the stretch.
    """
    bits = bits.to(torch.int64)
    windows = bits[:, bits.shape[1] - sample.windows * WINDOW :].view(len(bits), sample.windows, WINDOW)
    codes = torch.cat([_codes(bits[:, : sample.stretch]), _codes(windows).flatten(1)], dim=1)
    again = codes.sort(dim=1).values.diff(dim=1) == 0
    return again.double().sum(1, keepdim=True) / max(1, codes.shape[1])


def _codes(bits: torch.Tensor) -> torch.Tensor:
    """The SAME bits from each place on, as a number: (..., places)."""
    places = max(0, bits.shape[-1] - SAME + 1)
    codes = torch.zeros((*bits.shape[:-1], places), dtype=torch.int64)
    for i in range(SAME):
        codes += bits[..., i : i + places] << i
    return codes
