"""Judges: evaluators for a trainer, which asks for many verdicts at once and must not die of one.

Tasks are dealt out to a few evaluators, each with a worker of its own; one that has met enough tasks is replaced, for
references keep processes and memory. The same kernel of the same task is judged once. What the referee could not judge is
None, which a trainer leaves out: an infrastructure failure is never a zero.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from kernelwright.errors import MachineError, RefereeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.policy import Effort
from kernelwright.records.task import Target, Task, TaskSource

MOST_TASKS = 16
"""Tasks that one evaluator is given before another takes its place."""
MOST_REMEMBERED = 50_000


@dataclass
class Rate:
    """What judging cost: for the share of a trainer's time that waits for rewards."""

    asked: int = 0
    judged: int = 0
    """Verdicts that took the referee's time; the others were met before."""
    unjudged: int = 0
    busy_s: float = 0.0
    """Wall time during which at least one verdict was waited for."""


@dataclass
class _Place:
    """One evaluator and whom it knows."""

    evaluator: Evaluator
    tasks: set[str] = field(default_factory=set)
    in_use: int = 0


class Judges:
    """Verdicts for a trainer. Close it in the end."""

    def __init__(self, open_evaluator: Callable[[], Evaluator], workers: int = 1, most_tasks: int = MOST_TASKS) -> None:
        """Open nothing yet.

        Args:
            open_evaluator: Makes an evaluator, with a worker of its own.
            workers: How many at once. More than one only where no time is taken, or on several devices.
            most_tasks: Tasks that one evaluator is given before it is replaced.
        """
        self._open, self._workers, self._most_tasks = open_evaluator, workers, most_tasks
        self._places: dict[int, _Place] = {}
        self._left: list[_Place] = []
        self._known: dict[tuple[str, str, Effort], asyncio.Task[Evaluation | None]] = {}
        self.rate = Rate()
        self._waiting, self._since = 0, 0.0

    async def admit(self, source: TaskSource, target: Target) -> Task:
        """Admit a task.

        Raises:
            TaskError: it cannot be judged.
            RefereeError: the referee broke, twice.
        """
        seat = _seat(source.source, self._workers)
        for last in (False, True):
            place = self._place(seat, source.source)
            try:
                return await place.evaluator.admit(source, target)
            except RefereeError:
                self._replace(seat)
                if last:
                    raise
            finally:
                await self._let_go(place)
        raise AssertionError

    async def judge(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation | None:
        """The evaluation of a kernel, its tunables at their defaults; None: the referee broke, also a second time."""
        point = next(candidate.points())
        key = (task.id, point.id, effort)
        self.rate.asked += 1
        if key not in self._known:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = asyncio.ensure_future(self._judge(task, point, effort))
        self._begin()
        try:
            found = await asyncio.shield(self._known[key])
        finally:
            self._end()
        if found is None:
            self._known.pop(key, None)
        return found

    async def close(self) -> None:
        """End every worker."""
        for place in (*self._places.values(), *self._left):
            await place.evaluator.close()
        self._places.clear()
        self._left.clear()

    async def _judge(self, task: Task, candidate: Candidate, effort: Effort) -> Evaluation | None:
        seat = _seat(task.source.source, self._workers)
        self.rate.judged += 1
        for _ in range(2):
            place = self._place(seat, task.source.source)
            try:
                return await place.evaluator.evaluate(task, candidate, effort)
            except (RefereeError, MachineError):
                self._replace(seat)
            finally:
                await self._let_go(place)
        self.rate.unjudged += 1
        return None

    def _place(self, seat: int, task: str) -> _Place:
        """Who judges this task: its seat's evaluator, or the next one there if that has met enough others."""
        place = self._places.get(seat)
        if place is not None and task not in place.tasks and len(place.tasks) >= self._most_tasks:
            self._replace(seat)
            place = None
        if place is None:
            place = self._places[seat] = _Place(self._open())
        place.tasks.add(task)
        place.in_use += 1
        return place

    def _replace(self, seat: int) -> None:
        if (gone := self._places.pop(seat, None)) is not None:
            self._left.append(gone)

    async def _let_go(self, place: _Place) -> None:
        """An evaluator that was replaced is closed with its last question answered."""
        place.in_use -= 1
        if place.in_use == 0 and place in self._left:
            self._left.remove(place)
            await place.evaluator.close()

    def _begin(self) -> None:
        if self._waiting == 0:
            self._since = monotonic()
        self._waiting += 1

    def _end(self) -> None:
        self._waiting -= 1
        if self._waiting == 0:
            self.rate.busy_s += monotonic() - self._since


def _seat(task: str, seats: int) -> int:
    return sum(task.encode()) % seats
