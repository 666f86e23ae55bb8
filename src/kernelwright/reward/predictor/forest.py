"""The predictor: a learned stand-in for the reward, from text and compilers' facts, before anything is run.

TritonGym's `Reward_Model` (its published pseudocode): taught offline by any run's store, and online by every attempt. Two
forests: will it be right, and how fast next to others of its task. Both look at what sets a candidate apart from its siblings,
since that is alike in tasks that are not. Decides what is learned; only ranks, the referee decides.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from kernelwright.records.attempt import Attempt
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.task import Task
from kernelwright.reward.predictor.experience import Row, row_of
from kernelwright.reward.predictor.features import features

Features = Mapping[str, float]
Table = npt.NDArray[np.float64]
WRONG = -1.0
"""What a wrong kernel is worth, as a log2 speedup next to the task's others: as bad as the slowest, since it is refused before
the clock runs."""
SPREAD = 1.0
"""Farthest that a kernel counts from the middle of its task: how slow a slow one is does not matter for finding the best."""
TREES = 120
LEAF = 5
"""Fewest rows of a leaf: guesses about a task that was never seen must not be surer than that."""
SHARE = 0.4
"""Of the features that are looked at for a split: most are counts that say nothing."""
FEWEST = 8
"""Rows below which there is nothing to be learned; half as many must be right, and as many wrong, to tell the two apart."""
MISSING = -1.0
"""Stands for a feature that is not there. The one real figure below zero, the balance of braces, is always there."""


class ForestPredictor:
    """Learns from rows; deterministic given them in their order."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self._rows = list(rows)
        self._fitted = -1
        self._columns: dict[str, int] = {}
        self._validity: ExtraTreesClassifier | None = None
        self._speed: ExtraTreesRegressor | None = None

    def learn(self, task: Task, attempt: Attempt) -> None:
        """Take one judged attempt into account; a candidate met again teaches nothing."""
        row = row_of(task, attempt) if attempt.known is None else None
        if row is not None:
            self._rows.append(row)

    def score(self, task: Task, candidate: Candidate, built: Evaluation | None) -> float:
        """The score of one by itself, beside those of its task that were learned from."""
        return self.scores(task, [(candidate, built)])[0]

    def scores(self, task: Task, candidates: Sequence[tuple[Candidate, Evaluation | None]]) -> list[float]:
        """Expected log2 speedup next to the task's other kernels, a wrong kernel counted as -1; 0 while nothing is known."""
        return self.expected(task.id, [features(task, candidate, built) for candidate, built in candidates])

    def expected(self, task: str, known: Sequence[Features]) -> list[float]:
        """The same from the features of siblings; `task` is its id in the rows."""
        right, speed = self.validity(task, known), self.speed(task, known)
        return [p * s + (1 - p) * WRONG for p, s in zip(right, speed, strict=True)]

    def speed(self, task: str, known: Sequence[Features]) -> list[float]:
        """Log2 speedup next to the task's other kernels, each taken to be right; 0 while nothing is known."""
        self._fit()
        if self._speed is None:
            return [0.0] * len(known)
        table, beside = self._asked(task, known)
        return [float(s) for s in self._speed.predict(np.hstack([table, beside]))]

    def validity(self, task: str, known: Sequence[Features]) -> list[float]:
        """How likely each is to be right; 0 if it does not build, otherwise 1 while too few of either kind were seen."""
        self._fit()
        if self._validity is None:
            return [float(_builds(one)) for one in known]
        right = list(self._validity.classes_).index(True)
        chances = self._validity.predict_proba(self._asked(task, known)[1])
        return [float(row[right]) * _builds(one) for row, one in zip(chances, known, strict=True)]

    def _asked(self, task: str, known: Sequence[Features]) -> tuple[Table, Table]:
        """Features, and how far they are from the middle of the siblings and of what was learned of the task."""
        table = self._table(known)
        learned = self._table([row.features for row in self._rows if row.task == task and _builds(row.features)])
        builds = np.array([_builds(one) for one in known], dtype=bool)
        near = np.vstack([learned, table[builds]])
        return table, table - np.median(near if len(near) else table, axis=0)

    def _table(self, known: Sequence[Features]) -> Table:
        """A row for each, with a column for each name that was learned."""
        table = np.full((len(known), len(self._columns)), MISSING)
        for line, one in zip(table, known, strict=True):
            for name, value in one.items():
                if name in self._columns:
                    line[self._columns[name]] = value
        return table

    def _fit(self) -> None:
        """Fit anew where rows came in since; few rows, so that this takes a fraction of a second."""
        if self._fitted == len(self._rows):
            return
        self._fitted = len(self._rows)
        names = dict.fromkeys(name for row in self._rows for name in row.features)
        self._columns = {name: number for number, name in enumerate(names)}
        table = self._table([row.features for row in self._rows])
        built = np.array([_builds(row.features) for row in self._rows], dtype=bool)
        beside = _beside(table, [row.task for row in self._rows], built)
        right = np.array([row.valid for row in self._rows], dtype=bool)[built]
        self._validity = self._speed = None
        if min(right.sum(), (~right).sum()) >= FEWEST // 2 and len(right) >= FEWEST:
            self._validity = ExtraTreesClassifier(
                TREES, class_weight="balanced", min_samples_leaf=LEAF, max_features=SHARE, random_state=0
            )
            self._validity.fit(beside[built], right)
        timed = np.array([row.speed is not None for row in self._rows], dtype=bool)
        if timed.sum() >= FEWEST:
            self._speed = ExtraTreesRegressor(TREES, min_samples_leaf=LEAF, max_features=SHARE, random_state=0)
            speeds = centred([row for row in self._rows if row.speed is not None])
            self._speed.fit(np.hstack([table, beside])[timed], speeds)


def _beside(table: Table, tasks: Sequence[str], built: npt.NDArray[np.bool_]) -> Table:
    """Each row less the middle of its task's rows that build."""
    found, names = np.zeros_like(table), np.array(tasks)
    for task in dict.fromkeys(tasks):
        mine = names == task
        near = mine & built
        found[mine] = table[mine] - np.median(table[near if near.any() else mine], axis=0)
    return found


def centred(rows: Sequence[Row]) -> list[float]:
    """Each row's log2 speedup next to its task's median: what a task is like says nothing of which kernel to try."""
    by_task: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        by_task[row.task].append(row.speed or 0.0)
    middle = {task: median(speeds) for task, speeds in by_task.items()}
    return [max(-SPREAD, min(SPREAD, (row.speed or 0.0) - middle[row.task])) for row in rows]


def _builds(known: Features) -> bool:
    """Whether a compiler took it, or nobody asked one: the rest is no question of likelihood."""
    return known.get("build made") != 0.0
