"""The predictor: a learned stand-in for the reward, from text and compilers' facts, before anything is run.

TritonGym's `Reward_Model.Update(Kernel_Code, Feedback, Reward)` of the published pseudocode: taught offline by any
run's store, and online by every attempt. The kernel is its features; from the feedback it takes whether the kernel
works; the reward says what a working one is worth. There are two forests: will it be right, and what is it worth
compared with others of its task. Both look at what sets a candidate apart from its siblings, because that carries over
between tasks.

A reward that orders right kernels by their speed alone is learned as log2 of the speedup over eager: the same order,
from paired blocks, which a drifting clock does not move. Any other is learned as it was given. The predictor only ranks;
the referee decides.
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
from kernelwright.reward.predictor.experience import NamedReward, Row, features, row_of
from kernelwright.reward.table import OF_SPEED

Features = Mapping[str, float]
Table = npt.NDArray[np.float64]
WRONG = -1.0
"""What a wrong kernel is worth next to the task's others: as bad as the slowest, since it is refused before the clock runs."""
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

    def __init__(self, rows: Sequence[Row] = (), preset: str = "") -> None:
        """Take experience, and the name of the reward that is stood in for; none: the speed is what counts."""
        self._rows = list(rows)
        self._preset = preset
        self._fitted = -1
        self._columns: dict[str, int] = {}
        self._validity: ExtraTreesClassifier | None = None
        self._speed: ExtraTreesRegressor | None = None

    def learn(self, task: Task, attempt: Attempt, reward: float) -> None:
        """Take one judged attempt and the reward it earned into account; a candidate met again teaches nothing."""
        row = row_of(task, attempt, NamedReward(self._preset, reward)) if attempt.known is None else None
        if row is not None:
            self._rows.append(row)

    def scores(self, task: Task, candidates: Sequence[tuple[Candidate, Evaluation | None]]) -> list[float]:
        """Expected worth next to the task's other kernels, a wrong kernel counted as -1; 0 while nothing is known.

        It is log2 of a speedup under a reward of speed, otherwise the reward's own unit.
        """
        return self.expected(task.id, [features(task, candidate, built) for candidate, built in candidates])

    def expected(self, task: str, known: Sequence[Features]) -> list[float]:
        """The same from the features of siblings; `task` is its id in the rows."""
        right, speed = self.validity(task, known), self.speed(task, known)
        return [p * s + (1 - p) * WRONG for p, s in zip(right, speed, strict=True)]

    def speed(self, task: str, known: Sequence[Features]) -> list[float]:
        """Worth next to the task's other kernels, each taken to be right; 0 while nothing is known."""
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
        worths = [worth(row, self._preset) for row in self._rows]
        known = np.array([one is not None for one in worths], dtype=bool)
        if known.sum() >= FEWEST:
            self._speed = ExtraTreesRegressor(TREES, min_samples_leaf=LEAF, max_features=SHARE, random_state=0)
            pairs = [(row.task, one) for row, one in zip(self._rows, worths, strict=True) if one is not None]
            self._speed.fit(np.hstack([table, beside])[known], centred(pairs))


def _beside(table: Table, tasks: Sequence[str], built: npt.NDArray[np.bool_]) -> Table:
    """Each row less the middle of its task's rows that build."""
    found, names = np.zeros_like(table), np.array(tasks)
    for task in dict.fromkeys(tasks):
        mine = names == task
        near = mine & built
        found[mine] = table[mine] - np.median(table[near if near.any() else mine], axis=0)
    return found


def worth(row: Row, preset: str) -> float | None:
    """What a working kernel is worth to a search under this reward; None where that is not known.

    Under a reward of speed, or none, the log2 speedup of any row. Under another the reward as it was given, of rows from
    searches under the same one: what another search paid answers another question.
    """
    if not preset or preset in OF_SPEED:
        return row.speed
    return row.reward if row.valid and row.preset == preset else None


def centred(worths: Sequence[tuple[str, float]]) -> list[float]:
    """Each worth next to its task's median, at most `SPREAD` away: what a task is like says nothing of which kernel to try."""
    by_task: dict[str, list[float]] = defaultdict(list)
    for task, value in worths:
        by_task[task].append(value)
    middle = {task: median(values) for task, values in by_task.items()}
    return [max(-SPREAD, min(SPREAD, value - middle[task])) for task, value in worths]


def _builds(known: Features) -> bool:
    """Whether a compiler took it, or nobody asked one: the rest is no question of likelihood."""
    return known.get("build made") != 0.0
