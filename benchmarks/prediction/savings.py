"""What the ranking saves on a task that it never saw, replayed from what every candidate's judgement cost.

A search meets candidates that are drawn from the task's pool, again and again; what it knows costs nothing. Without a
predictor it judges each as it comes; with one it is given `oversample` at a time and judges the best of them. It ends
at a candidate nearly as fast as the pool's best. Seconds of the device and of compiling are counted separately.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from prediction.learned import Interval
from prediction.samples import Sample

from kernelwright.reward.predictor.experience import Row
from kernelwright.reward.predictor.forest import ForestPredictor

LONGEST = 2000
"""Draws after which a search is given up; its seconds until then count."""
REFITS = (4, 12)
"""Judgements after which an online predictor is fitted anew."""
REPEATS = 4000
Scores = Callable[[Sequence[int], Sequence[int]], Sequence[float]]
"""The candidates judged so far, and a batch of others, to the batch's scores."""


class Paid(NamedTuple):
    """Seconds until the search ended."""

    device: float
    compiling: float
    """Of the judgements."""
    ranking: float
    """Of compiling what was only ranked."""

    @property
    def total(self) -> float:
        """Of everything, one after the other."""
        return sum(self)


class Pool:
    """A task's candidates as arrays."""

    def __init__(self, samples: Sequence[Sample], within: Sequence[float], builds: bool) -> None:
        self.size = len(samples)
        speed = np.array([sample.speedup for sample in samples])
        self._hits = [speed >= speed.max() / (1 + share) for share in sorted(within, reverse=True)]
        self._device = [sample.seconds(compiling=False) for sample in samples]
        self._compiling = [sample.seconds(compiling=True) for sample in samples]
        self._ranking = [sample.built.total_seconds if builds else 0.0 for sample in samples]

    def search(self, scores: Scores | None, oversample: int, draw: np.random.Generator) -> list[Paid]:
        """One search, in the order of the draw without scores; what was paid at each goal, the easiest first."""
        judged: list[int] = []
        ranked, goals = set[int](), list[Paid]()
        for _ in range(LONGEST):
            batch = list(dict.fromkeys(int(at) for at in draw.integers(0, self.size, oversample if scores else 1)))
            ranked |= set(batch) if scores else set()
            fresh = [at for at in batch if at not in judged]
            if not fresh:
                continue
            worth = dict(zip(batch, scores(judged, batch), strict=True)) if scores and len(fresh) > 1 else {}
            judged.append(max(fresh, key=lambda at: worth.get(at, 0.0)))
            while len(goals) < len(self._hits) and self._hits[len(goals)][judged[-1]]:
                goals.append(self._paid(judged, ranked))
            if len(goals) == len(self._hits):
                return goals
        return [*goals, *[self._paid(judged, ranked)] * (len(self._hits) - len(goals))]

    def _paid(self, judged: Sequence[int], ranked: set[int]) -> Paid:
        return Paid(
            sum(self._device[at] for at in judged),
            sum(self._compiling[at] for at in judged),
            sum(self._ranking[at] for at in ranked),
        )


class Learning:
    """Scores of one task's candidates by a predictor that learned from others, and from what was judged meanwhile."""

    def __init__(self, task: str, mine: Sequence[Row], others: Sequence[Row], refits: Sequence[int] = ()) -> None:
        self._task, self._mine, self._others, self._refits = task, mine, others, refits
        self._first = self._now = ForestPredictor(others)

    def __call__(self, judged: Sequence[int], batch: Sequence[int]) -> list[float]:
        """A score for each of the batch."""
        if not judged:
            self._now = self._first
        elif len(judged) in self._refits:
            self._now = ForestPredictor([*self._others, *(self._mine[at] for at in judged)])
        return self._now.expected(self._task, [self._mine[at].features for at in batch])


def saved(without: Sequence[Sequence[float]], given: Sequence[Sequence[float]]) -> dict[str, Interval]:
    """Shares of seconds saved, over tasks and searches: rows are tasks, columns searches.

    `median` is over tasks, of the share of a task's mean; `mean` is the geometric mean of the tasks' ratios; `all` is of
    all tasks' seconds together.
    """
    draw = np.random.default_rng(0)
    before, after = ([np.array(row) for row in table] for table in (without, given))
    found = {name: [of(_means(before), _means(after))] for name, of in SUMMARIES.items()}
    for _ in range(REPEATS):
        chosen = draw.integers(0, len(before), len(before))
        again = [np.array([_mean(table[at], draw) for at in chosen]) for table in (before, after)]
        for name, of in SUMMARIES.items():
            found[name].append(of(*again))
    return {
        name: Interval(values[0], *map(float, np.quantile(values[1:], [0.025, 0.975])), len(before))
        for name, values in found.items()
    }


SUMMARIES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "median": lambda before, after: float(1 - np.median(after / before)),
    "mean": lambda before, after: float(1 - np.exp(np.mean(np.log(after / before)))),
    "all": lambda before, after: float(1 - after.sum() / before.sum()),
}


def _means(table: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([row.mean() for row in table])


def _mean(row: np.ndarray, draw: np.random.Generator) -> float:
    return float(row[draw.integers(0, row.size, row.size)].mean())
