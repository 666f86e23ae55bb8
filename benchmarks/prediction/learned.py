"""What a predictor says about a task that it never saw: it learns from all other tasks, and is asked about this one.

`source` shows it the text alone, `compiler` also what compiling said. It is scored by the area under the curve of
validity and by the rank correlation of speed, both within a task, because a search chooses among candidates of one
task.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from prediction.samples import Collection, Sample

from kernelwright.reward.predictor.experience import Row, features, speed_of
from kernelwright.reward.predictor.forest import ForestPredictor

Shown = Literal["source", "compiler"]
FEWEST = 3
"""Right and wrong candidates each below which a task says nothing of a curve; twice as many timed ones for a correlation."""
REPEATS = 2000


class Asked(NamedTuple):
    """A task's samples with what was predicted of them."""

    task: str
    samples: list[Sample]
    validity: list[float]
    speed: list[float]
    score: list[float]


class Interval(NamedTuple):
    """A mean over tasks, with its 95 % interval over tasks and candidates."""

    value: float
    low: float
    high: float
    tasks: int


def rows(collection: Collection, shown: Shown) -> list[Row]:
    """What a sample teaches, in the samples' order."""
    return [_row(collection, sample, shown) for sample in collection.samples]


def _row(collection: Collection, sample: Sample, shown: Shown) -> Row:
    task = collection.tasks[sample.task]
    return Row(
        task=sample.task,
        features=features(task, sample.candidate, sample.built if shown == "compiler" else None),
        valid=sample.valid,
        speed=speed_of(sample.found),
    )


def unseen(
    collection: Collection,
    known: Sequence[Row],
    taught_by: Callable[[Sample], bool],
    family: Callable[[str], str] = str,
) -> list[Asked]:
    """Each task, by a predictor that learned from those samples of other families that `taught_by` lets pass."""
    asked = []
    pairs = list(zip(collection.samples, known, strict=True))
    for task in dict.fromkeys(sample.task for sample in collection.samples):
        mine = [(sample, row) for sample, row in pairs if sample.task == task]
        seen = {sample.candidate.id for sample, _ in mine}
        others = [
            row for sample, row in pairs
            if family(sample.task) != family(task) and taught_by(sample) and sample.candidate.id not in seen
        ]  # fmt: skip
        predictor, facts = ForestPredictor(others), [row.features for _, row in mine]
        validity, speed = predictor.validity(task, facts), predictor.speed(task, facts)
        asked.append(Asked(task, [sample for sample, _ in mine], validity, speed, predictor.expected(task, facts)))
    return asked


def in_batches(collection: Collection, known: Sequence[Row], size: int) -> list[Asked]:
    """The same of validity alone, each candidate among `size` - 1 others of its task: what a search's first ranking sees."""
    draw, asked = np.random.default_rng(0), []
    for task in dict.fromkeys(sample.task for sample in collection.samples):
        mine = [at for at, sample in enumerate(collection.samples) if sample.task == task]
        predictor = ForestPredictor([row for row in known if row.task != task])
        found = []
        for at in mine:
            others = draw.choice([other for other in mine if other != at], min(size, len(mine)) - 1, replace=False)
            found.append(predictor.validity(task, [known[other].features for other in (at, *others)])[0])
        asked.append(Asked(task, [collection.samples[at] for at in mine], found, found, found))
    return asked


def area(asked: Sequence[Asked], counts: Callable[[Sample], bool]) -> Interval | None:
    """Mean area under the curve of validity within a task, of the samples that count."""
    found = []
    for each in asked:
        pairs = [(s.valid, p) for s, p in zip(each.samples, each.validity, strict=True) if counts(s)]
        right, wrong = (np.array([p for valid, p in pairs if valid is kind]) for kind in (True, False))
        if min(right.size, wrong.size) >= FEWEST:
            found.append((right, wrong))
    return _interval(found, lambda pair: _area(*pair))


def correlation(asked: Sequence[Asked]) -> Interval | None:
    """Mean Spearman correlation within a task of predicted with measured speed, of those that were timed."""
    found = []
    for each in asked:
        pairs = [(p, s.speedup) for s, p in zip(each.samples, each.speed, strict=True) if s.speedup > 0]
        if len(pairs) >= 2 * FEWEST:
            found.append((np.array([p for p, _ in pairs]), np.array([s for _, s in pairs])))
    return _interval(found, lambda pair: spearman(*pair), paired=True)


Pair = tuple[np.ndarray, np.ndarray]


def _interval(found: Sequence[Pair], of: Callable[[Pair], float], paired: bool = False) -> Interval | None:
    if not found:
        return None
    draw = np.random.default_rng(0)
    means = []
    for _ in range(REPEATS):
        chosen = draw.integers(0, len(found), len(found))
        means.append(np.mean([of(_again(found[at], draw, paired)) for at in chosen]))
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(np.mean([of(pair) for pair in found])), float(low), float(high), len(found))


def _again(pair: Pair, draw: np.random.Generator, paired: bool) -> Pair:
    first, second = pair
    at = draw.integers(0, first.size, first.size)
    return first[at], second[at if paired else draw.integers(0, second.size, second.size)]


def _area(right: np.ndarray, wrong: np.ndarray) -> float:
    gap = right[:, None] - wrong[None, :]
    return float((gap > 0).mean() + (gap == 0).mean() / 2)


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation; 0 where either does not vary."""
    one, other = _ranks(first), _ranks(second)
    if one.std() == 0 or other.std() == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, of equal values their mean."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]
