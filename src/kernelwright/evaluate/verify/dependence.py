"""How the elements of one random draw relate: neighbours, rows, slices, and randomness that occurs twice.

These figures of a draw tell independent elements from those that share their chance, along every dimension and at any
distance. What happens to an element is an *event*: whether it is zero, or how far it is from what is usual there.
Another draw's figures say what is right.
"""

import torch

from kernelwright.evaluate.verify.places import WINDOW, Sample

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
