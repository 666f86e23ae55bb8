"""Random outputs: are a candidate's draws like the reference's? A permutation test over whole draws.

On one input, n draws of each side are reduced to features (moments, quantiles, means of parts, share of zeros,
autocorrelations, agreement with other draws, shares of single values, and how the elements relate: `places`) and to
the distances between draws. If the candidate samples what the reference samples, all 2n draws are exchangeable, so
every assignment of them to two sides is equally likely. The largest standardised difference over all features is
compared with its distribution under random assignments, and the chance of refusing an honest kernel is what was asked
for, whatever the distributions are (Pitman 1937; the energy distance is Székely and Rizzo's, 2004). A constant "sample"
fails by the distances alone.

Rounding, which is not random, must not tell the sides apart: values close to one that the reference gave count as it,
what is tiny beside the mean is as close to nothing, and each feature has a least unit. A GELU of -6 is -6e-9, or nothing
where its erf has come to one. A dependence that shows in none of the features passes.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from kernelwright.evaluate.verify import places
from kernelwright.evaluate.verify.compare import Wrong, not_finite
from kernelwright.evaluate.verify.places import STRETCH, Sample

HELD = 8
"""Further draws of the reference that say what is usual in each element."""
BLOCKS = 256
LAGS = (1, 2, 4, 32, 64, 128, 256, 1024)
QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
VALUES = 32
"""Most different values whose shares are looked at one by one."""
TINY = 1e-4
"""Of the mean of absolute values: what rounding leaves where terms cancel."""
FEWEST, MOST = 2000, 200_000
"""Random assignments of a test."""

PAIRS = 128
"""Most sums of differences that a test is made of."""
KEPT = 64
"""Pairs whose elements are kept until the benchmark is over."""
TELLING = 128
"""Pairs of which two windows of one mask tell: at 58 they did not, at 140 by 6.8 deviations."""
LEAST = 8
"""Pairs below which nothing can be told."""
Pair = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Draws:
    """Elements of the reference's draws on one input: (draws, elements), float64."""

    sample: Sample
    """Which elements these are."""
    wanted: torch.Tensor
    held: torch.Tensor
    width: int
    """Elements of one row of the output, whose repetition is a lag worth looking at."""
    tolerance: float = 1e-4
    """Relative difference that rounding alone may cause, in every draw alike."""


@dataclass(frozen=True)
class Sampled:
    """The reference's draws, and how sure a refusal must be."""

    value: torch.Tensor
    sample: Draws
    false_alarm: float
    draws: int
    reference_error: float = 0.0
    allowed: float = field(default=1.0)
    """Errors are told in units of the critical value."""

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """The test's statistic over its critical value."""
        if not got[0].numel():
            return 0.0, None
        for draw in got:
            if draw.dtype.is_floating_point and (wrong := not_finite(draw)):
                return float("inf"), wrong
        mine = torch.stack([self.sample.sample.of(g).double().cpu() for g in got])
        theirs = self.sample.wanted
        if bool((mine == mine[0]).all()) and not bool((theirs[1:] == theirs[0]).all(dim=1).any()):
            return float("inf"), Wrong(
                "value", f"{len(got)} draws are all the same, and no two of the reference's", 1e30
            )
        found = compare_draws(mine, self.sample, self.false_alarm)
        error = found.statistic / max(found.critical, 1e-30)
        if error <= self.allowed:
            return error, None
        evidence = (
            f"{len(got)} draws differ from as many of the reference's most in {found.feature}: {found.statistic:.3g} "
            f"standard deviations, where {found.critical:.3g} would come up by chance in {self.false_alarm:g} of cases"
        )
        return error, Wrong("value", evidence, error)


@dataclass(frozen=True)
class Compared:
    """What a test found: its statistic in standard deviations, the critical value, the most telling feature."""

    statistic: float
    critical: float
    feature: str


def compare_draws(mine: torch.Tensor, sample: Draws, false_alarm: float) -> Compared:
    """Test (draws, elements) of a candidate against as many of the reference."""
    draws = _snapped(torch.cat([mine, sample.wanted[: len(mine)]]), sample)
    names, features = features_of(draws, sample)
    names = [*names, "the spread of its draws", "the distance between the sides"]
    # Most honest kernels are far from the edge: few assignments already tell.
    ordered, statistic, name = _tested(draws, features, names, _assignments(len(mine), len(draws), FEWEST))
    if statistic <= float(ordered[int(0.9 * FEWEST)]):
        return Compared(statistic, float(ordered[-1]), name)
    many = assignments_for(false_alarm)
    ordered, statistic, name = _tested(draws, features, names, _assignments(len(mine), len(draws), many))
    return Compared(statistic, critical_of(ordered, false_alarm), name)


def assignments_for(false_alarm: float) -> int:
    """Random assignments that tell so rare an alarm: about four of them are beyond the critical value."""
    return max(FEWEST, min(MOST, round(4 / false_alarm)))


def critical_of(ordered: torch.Tensor, false_alarm: float) -> float:
    """What of statistics under random assignments, in order, only this share exceeds."""
    count = len(ordered)
    return float(ordered[min(count - 1, int((1 - false_alarm) * count))])


def _tested(
    draws: torch.Tensor, features: torch.Tensor, names: list[str], arms: torch.Tensor
) -> tuple[torch.Tensor, float, str]:
    """The statistic under random assignments, in order; under the true one, which is the first; and its feature."""
    linear = (arms @ features.float()).abs() / (len(draws) // 2)
    largest = torch.cat([linear, _distances(draws, arms)], dim=1).max(dim=1)
    return largest.values[1:].sort().values, float(largest.values[0]), names[int(largest.indices[0])]


def features_of(draws: torch.Tensor, sample: Draws) -> tuple[list[str], torch.Tensor]:
    """Features of each draw, scaled so that a difference of group means has a variance of one: (draws, features)."""
    usual, spread = sample.held.mean(0), sample.held.std(0)
    scale = torch.maximum(spread, sample.held.abs().mean().clamp(min=1e-30) * 1e-3)
    z = (draws - usual) / scale
    happens = torch.where(spread >= scale, z * usual.sign(), 0.0)
    zero = places.zeros_happen(sample.held)
    events = (draws == 0).double() - (sample.held == 0).double().mean(0) if zero else happens
    stretch = sample.sample.stretch
    named: places.Named = {
        "the mean": draws.mean(1, keepdim=True),
        "the mean square": draws.square().mean(1, keepdim=True),
        "the variance": z.square().mean(1, keepdim=True),
        "the largest value": z.abs().amax(1, keepdim=True),
        "the share of zeros": (draws == 0).double().mean(1, keepdim=True),
        "its dependence on the input": (draws * usual).mean(1, keepdim=True),
        "the quantiles": quantiles(draws),
        "the quantiles about what is usual": quantiles(z),
        "the mean of a part": _parts(z),
        "the correlation of neighbours": _autocorrelations(z[:, :stretch], sample.width),
        "the correlation of what happens to neighbours": _autocorrelations(happens[:, :stretch], sample.width),
        "the agreement with other draws": torch.stack([(draws == h).double().mean(1) for h in sample.held], dim=1),
        "the shares of values": _shares(draws, sample.held),
        **places.figures(events, draws == 0 if zero else happens > 0, sample.sample),
    }
    if not zero:
        # What is added to an element has a sign of its own.
        plain = places.figures(z, z > 0, sample.sample)
        named.update({f"{name}, as it is": values for name, values in plain.items()})
    names = [name for name, values in named.items() for _ in range(values.shape[1])]
    features = torch.cat(list(named.values()), dim=1)
    least = sample.tolerance * features.abs().amax(0) + 1e-300
    features = features - features.mean(0)
    # Two means of n of 2n draws differ with a variance of 2/n.
    return names, features / (features.std(0) * (4 / len(draws)) ** 0.5 + least)


def _snapped(draws: torch.Tensor, sample: Draws) -> torch.Tensor:
    """Draws in which what is as good as equal to a held value of its element is that value."""
    tiny = TINY * sample.held.abs().mean()
    for held in sample.held:
        near = (draws - held).abs() <= (sample.tolerance * held.abs()).clamp(min=tiny)
        draws = torch.where(near, held, draws)
    return draws


def quantiles(values: torch.Tensor) -> torch.Tensor:
    """The quantiles that are compared, of the last dimension."""
    ranks = [int(q * (values.shape[-1] - 1)) for q in QUANTILES]
    return values.sort(dim=-1).values[..., ranks]


def _parts(z: torch.Tensor) -> torch.Tensor:
    blocks = min(BLOCKS, z.shape[1])
    whole = z.shape[1] // blocks * blocks
    return z[:, :whole].view(len(z), blocks, -1).mean(2)


def _autocorrelations(z: torch.Tensor, width: int) -> torch.Tensor:
    lags = [lag for lag in sorted({*LAGS, width}) if 0 < lag < z.shape[1]]
    if not lags:
        return z.new_zeros(len(z), 0)
    bounded = z.clamp(-places.OUTLYING, places.OUTLYING)
    return torch.stack([(bounded[:, lag:] * bounded[:, :-lag]).mean(1) for lag in lags], dim=1)


def _shares(draws: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
    """Shares of single values: what the total variation distance is made of, where there are few values."""
    values = held.unique()
    if len(values) > VALUES:
        return draws.new_zeros(len(draws), 0)
    return torch.stack([(draws == v).double().mean(1) for v in values], dim=1)


def _assignments(mine: int, total: int, count: int) -> torch.Tensor:
    """The true assignment of draws to sides first, then random ones: 1 for the candidate's side, -1 for the other."""
    order = torch.rand(count + 1, total).argsort(dim=1)
    order[0] = torch.arange(total)
    return torch.where(order < mine, 1.0, -1.0)


def _distances(draws: torch.Tensor, arms: torch.Tensor) -> torch.Tensor:
    """Two statistics of each assignment, standardised: within one side less within the other, and the energy distance."""
    between = torch.cdist(draws, draws, p=1.0).float() / draws.shape[1]
    n = draws.shape[0] // 2
    first, second = (arms > 0).float(), (arms < 0).float()
    within = [((s @ between) * s).sum(1) / (n * (n - 1)) for s in (first, second)]
    across = ((first @ between) * second).sum(1) / n**2
    found = torch.stack([within[0] - within[1], 2 * across - within[0] - within[1]], dim=1)
    found = found - found.mean(0)
    deviation = found.std(0)
    return torch.where(deviation > 1e-9 * between.max(), found / deviation, 0.0).abs()


class Pairs:
    """All timed results of one output, compared with eager's on the same inputs, which change from call to call.

    Each pair is a difference of features, whose sign is as likely one way as the other if both sample the same: a
    sign-flip test over all pairs (Fisher 1935). How elements relate is examined in some calls only, drawn from all as in
    a reservoir (Vitter 1985), because it costs more than a call may. The inputs are unknown here, and so is what is
    usual in an element. `sample` says how the last elements of each result that is added lie.
    """

    def __init__(self, false_alarm: float, sample: Sample) -> None:
        self._false_alarm, self._sample = false_alarm, sample
        self._differences: list[torch.Tensor] = []
        self._before: Pair | None = None
        self._kept: list[Pair] = []
        self._echoes = (Echoes(), Echoes())
        """Of the candidate's results, and of eager's."""
        self._middle: float | None = None

    def add(self, got: torch.Tensor, wanted: torch.Tensor) -> Wrong | None:
        """Keep a pair of flat results; refused at once is only what is not finite."""
        if got.dtype.is_floating_point and (wrong := not_finite(got)):
            return wrong
        read = [one.flatten().double().cpu() for one in (got, wanted)]
        tiny = TINY * float(read[1].abs().mean())
        both = (_without(tiny, read[0]), _without(tiny, read[1]))
        self._listen(*both)
        count = self._sample.count
        mine, theirs = both[0][-count:].clone(), both[1][-count:].clone()
        before = self._before or (mine, theirs)
        ours, eagers = (_plain(*one) for one in zip(both, (mine, theirs), before, strict=True))
        self._differences.append(ours - eagers)
        self._before = (mine, theirs)
        self._keep(mine, theirs)
        return None

    @property
    def enough(self) -> bool:
        """Whether there are as many as tell what comes twice in some of them."""
        return len(self._differences) >= TELLING

    def wrong(self) -> Wrong | None:
        """Why all pairs together are refused."""
        mine, theirs = (echoes.found for echoes in self._echoes)
        if mine >= ENOUGH and not theirs:
            evidence = f"{mine} stretches of its random results come again in other calls, and none of eager's"
            return Wrong("value", evidence, float(mine))
        if len(self._differences) < LEAST:
            return None
        together = torch.stack([_together(pair, self._sample) for pair in self._kept])
        tests = (torch.stack(self._differences), together)
        return next((w for d in tests if (w := self._tested(d, self._false_alarm / len(tests))) is not None), None)

    def _listen(self, mine: torch.Tensor, theirs: torch.Tensor) -> None:
        """Events of both: zeros where they happen, else whether a value is above the middle of the first result."""
        zero = places.zeros_happen(theirs[None])
        if self._middle is None:
            self._middle = 0.0 if zero else float(theirs.median())
        for echoes, values in zip(self._echoes, (mine, theirs), strict=True):
            echoes.add(values == 0 if zero else values > self._middle)

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


def _without(tiny: float, values: torch.Tensor) -> torch.Tensor:
    """The values, of which those below `tiny` are zero."""
    return values.where(values.abs() > tiny, 0.0)


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
    zero = places.zeros_happen(draws)
    events = (draws == 0).double() if zero else draws
    centred = events - events.mean(1, keepdim=True)
    scaled = centred / centred.square().mean().sqrt().clamp(min=1e-30)
    found = places.figures(scaled, draws == 0 if zero else draws > 0, sample)
    mine, theirs = torch.cat(list(found.values()), dim=1)
    return mine - theirs


WIDTH = 64
BEYOND = 512
"""Events that must be the same where a stretch was found."""
PROBES = 64
"""Stretches of a result that are looked for."""
RARE = 4
"""Events of the rarer kind in a stretch that says something."""
ENOUGH = 3
"""Stretches that come again before it is believed."""


class Echoes:
    """Looks for stretches of events in one result that stand somewhere in another one of the same side too.

    A kernel that draws nothing, but takes a window of numbers that it keeps, looks random in each call; what gives it away is
    that two windows of one pool overlap, at whatever distance. Every stretch of WIDTH events of one result becomes a number
    (its bits), and some stretches of every later result are looked for among them. What is found must go on for BEYOND
    events, so that it is no chance, however rare an event is. Eager's results are looked at in the same way: where the task
    itself repeats events (channels that are dropped as a whole), finding them says nothing.
    """

    def __init__(self) -> None:
        self._events: torch.Tensor | None = None
        self._codes = self._places = torch.empty(0, dtype=torch.int64)
        self.found = 0

    def add(self, events: torch.Tensor) -> None:
        """Look for stretches of these events, a flat tensor of bools, in the first result that was added."""
        if len(events) < 2 * BEYOND:
            return
        if self._events is None:
            self._events = events
            self._codes, self._places = codes(events).sort()
            return
        starts = torch.randint(len(events) - BEYOND, (PROBES,))
        windows = events[starts[:, None] + torch.arange(WIDTH)]
        rarer = torch.minimum(windows.sum(1), (~windows).sum(1))
        told = rarer >= RARE
        looked_for = (windows[told].to(torch.int64) << torch.arange(WIDTH)).sum(1)
        at = torch.searchsorted(self._codes, looked_for).clamp(max=len(self._codes) - 1)
        same = self._codes[at] == looked_for
        pairs = zip(starts[told][same].tolist(), self._places[at[same]].tolist(), strict=True)
        self.found += sum(self._goes_on(events, start, place) for start, place in pairs)

    def _goes_on(self, events: torch.Tensor, start: int, place: int) -> bool:
        assert self._events is not None
        there = self._events[place : place + BEYOND]
        return len(there) == BEYOND and bool(torch.equal(there, events[start : start + BEYOND]))


def codes(events: torch.Tensor) -> torch.Tensor:
    """The bits of the stretch of WIDTH events that begins at each place, as a number."""
    found, width = events.to(torch.int64), 1
    while width < WIDTH:
        found = found[: len(found) - width] | found[width:] << width
        width *= 2
    return found
