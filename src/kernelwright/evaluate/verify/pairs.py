"""Timed results of a random output compared with eager's on the same inputs, which change from call to call.

Each pair is a difference of features, whose sign is as likely one way as the other if both sample the same: a sign-flip
test over all pairs (Fisher 1935). How elements relate is examined in some calls only, drawn from all as in a reservoir
(Vitter 1985), because it costs more than a call may. The inputs are unknown here, and so is what is usual in an
element.
"""

import secrets

import torch

from kernelwright.evaluate.verify import dependence
from kernelwright.evaluate.verify.compare import Wrong, not_finite
from kernelwright.evaluate.verify.places import STRETCH, Sample
from kernelwright.evaluate.verify.statistical import assignments_for, critical_of, quantiles

PAIRS = 128
"""Most sums of differences that a test is made of."""
KEPT = 64
"""Pairs whose elements are kept until the contest is over."""
LEAST = 8
"""Pairs below which nothing can be told."""

Pair = tuple[torch.Tensor, torch.Tensor]


class Pairs:
    """All timed results of one output. `sample` says how the last elements of each result that is added lie."""

    def __init__(self, false_alarm: float, sample: Sample) -> None:
        self._false_alarm, self._sample = false_alarm, sample
        self._differences: list[torch.Tensor] = []
        self._before: Pair | None = None
        self._kept: list[Pair] = []

    def add(self, got: torch.Tensor, wanted: torch.Tensor) -> Wrong | None:
        """Keep a pair of flat results; refused at once is only what is not finite."""
        if got.dtype.is_floating_point and (wrong := not_finite(got)):
            return wrong
        both = (got.flatten().double().cpu(), wanted.flatten().double().cpu())
        count = self._sample.count
        mine, theirs = both[0][-count:].clone(), both[1][-count:].clone()
        before = self._before or (mine, theirs)
        ours, eagers = (_plain(*one) for one in zip(both, (mine, theirs), before, strict=True))
        self._differences.append(ours - eagers)
        self._before = (mine, theirs)
        self._keep(mine, theirs)
        return None

    def wrong(self) -> Wrong | None:
        """Why all pairs together are refused."""
        if len(self._differences) < LEAST:
            return None
        together = torch.stack([_together(pair, self._sample) for pair in self._kept])
        tests = (torch.stack(self._differences), together)
        return next((w for d in tests if (w := self._tested(d, self._false_alarm / len(tests))) is not None), None)

    def _keep(self, mine: torch.Tensor, theirs: torch.Tensor) -> None:
        if len(self._kept) < KEPT:
            self._kept.append((mine.float(), theirs.float()))
        elif (place := secrets.randbelow(len(self._differences))) < KEPT:
            self._kept[place] = (mine.float(), theirs.float())

    def _tested(self, each: torch.Tensor, false_alarm: float) -> Wrong | None:
        differences = _grouped(each)
        # What rounding alone causes is far below a thousandth of what chance does.
        unit = differences.square().sum(0).sqrt() + 1e-6 * len(differences)
        shape = (assignments_for(false_alarm) + 1, len(differences))
        signs = torch.randint(0, 2, shape).mul_(2).sub_(1).float()
        signs[0] = 1
        largest = (signs @ (differences / unit).float()).abs().amax(1)
        critical = critical_of(largest[1:].sort().values, false_alarm)
        if float(largest[0]) <= critical:
            return None
        evidence = (
            f"over {len(each)} timed calls its random results differ from eager's on the same inputs: "
            f"{float(largest[0]):.3g} standard deviations, where {critical:.3g} would come up by chance in "
            f"{false_alarm:g} of cases"
        )
        return Wrong("value", evidence, float(largest[0]))


def _grouped(differences: torch.Tensor) -> torch.Tensor:
    """At most PAIRS sums of neighbouring rows, which are as symmetric as the rows."""
    size = -(-len(differences) // PAIRS)
    whole = len(differences) // size * size
    return differences[:whole].view(-1, size, differences.shape[1]).sum(1)


def _plain(draw: torch.Tensor, sampled: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """Features of one result without others to compare it with, and how it is like the one before, in the same places."""
    scale = draw.abs().mean().clamp(min=1e-30)
    sample = draw[:STRETCH] / scale
    blocks = min(8, len(draw))
    parts = draw[: len(draw) // blocks * blocks].view(blocks, -1).mean(1)
    alike = ((sampled == 0) == (before == 0)).double().mean()
    signs = (sampled.sign() == before.sign()).double().mean()
    single = torch.stack([draw.mean(), draw.square().mean().sqrt(), (draw == 0).double().mean(), alike, signs])
    return torch.cat([single, quantiles(sample) * scale, parts])


def _together(pair: Pair, sample: Sample) -> torch.Tensor:
    """How differently the elements of two results hang together; what happens is chosen by both alike."""
    draws = torch.stack(pair).double()
    zero = dependence.zeros_happen(draws)
    events = (draws == 0).double() if zero else draws
    centred = events - events.mean(1, keepdim=True)
    scaled = centred / centred.square().mean().sqrt().clamp(min=1e-30)
    found = dependence.figures(scaled, draws == 0 if zero else draws > 0, sample)
    mine, theirs = torch.cat(list(found.values()), dim=1)
    return mine - theirs
