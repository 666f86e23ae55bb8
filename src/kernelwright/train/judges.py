"""Verdicts for a trainer, which asks for many at once, from any thread, and must not die of one.

Tasks are dealt out to a few evaluators, each with a worker of its own; one that breaks is replaced. A task may have several,
so that the rollouts of few tasks do not wait for few workers while the others are idle; each keeps the task open. The same
kernel of the same task is judged once. What the referee could not judge is None, which a trainer leaves out: an infrastructure
failure is never a zero.
"""

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from kernelwright.engine.cached_evaluator import KnownVerdicts
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import MachineError, RefereeError, TaskError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.store.cache import evaluation_key

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
OPEN_TASKS = 48
"""That all workers of a machine together keep open."""
MOST_REMEMBERED = 50_000
TRAINING = "training"
"""What the trainers' cache tells others of where a verdict is from."""


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="verdicts", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work returns, or raises."""
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin the work; the future has what it returns, or raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def __enter__(self) -> "Loop":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread; what nobody waits for any more is given up."""
        self.run(_given_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _given_up() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


@dataclass
class Rate:
    """How many verdicts were asked for, and what became of the questions."""

    asked: int = 0
    judged: int = 0
    """Verdicts that took the referee's time; the others were met before."""
    unjudged: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Of those, tasks that were not admitted again, by reason."""


@dataclass
class _Place:
    """One evaluator, and how many questions it has yet to answer."""

    evaluator: Evaluator
    in_use: int = 0


class Judges:
    """Verdicts for a trainer. Close it in the end."""

    def __init__(
        self,
        open_evaluator: Callable[[int], Evaluator],
        workers: int = 1,
        of_task: int = 1,
        policy: Policy | None = None,
        known: KnownVerdicts | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            open_evaluator: Makes the evaluator of that number, with a worker of its own.
            workers: How many at once. More than one only where no time is taken, or on several devices.
            of_task: How many of them one task's kernels are dealt out to.
            policy: Of the evaluators; part of the key of what is known.
            known: What other runs found; without it only what these judges did.
        """
        os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", str(max(1, OPEN_TASKS // workers)))
        self._open, self._workers, self._of_task = open_evaluator, workers, min(of_task, workers)
        self._policy, self._others = policy or Policy(), known
        self._seats: dict[str, int] = {}
        self._places: dict[int, _Place] = {}
        self._left: list[_Place] = []
        self._known: dict[tuple[str, str, Effort], asyncio.Task[Evaluation | None]] = {}
        self.rate = Rate()

    async def admit(self, source: TaskSource, target: Target) -> Task:
        """Admit a task.

        Raises:
            TaskError: it cannot be judged.
            RefereeError: the referee broke, twice.
            MachineError: nor could a worker be started.
        """
        return await self._ask(source, lambda evaluator: evaluator.admit(source, target))

    async def lower(self, task: Task, options: Options) -> Lowering:
        """What `torch.compile` writes for a task.

        Raises:
            RefereeError: the referee broke, twice.
        """
        return await self._ask(task.source, lambda evaluator: evaluator.lower(task, options))

    async def _ask(self, source: TaskSource, question: Callable[[Evaluator], Awaitable[T]]) -> T:
        seat = self._seat(source)
        for last in (False, True):
            place = self._place(seat)
            try:
                return await question(place.evaluator)
            except (RefereeError, MachineError):
                self._replace(seat, place)
                if last:
                    raise
            finally:
                await self._let_go(place)
        raise AssertionError

    async def judge(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation | None:
        """The evaluation of a kernel, its tunables at their defaults.

        None: the referee broke, also a second time, or the task could be admitted once and not again. Either says nothing
        about the kernel.
        """
        point = next(candidate.points())
        key = (task.id, point.id, effort)
        self.rate.asked += 1
        if key not in self._known:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = asyncio.ensure_future(self._judge(task, point, effort))
        found = await asyncio.shield(self._known[key])
        if found is None:
            self._known.pop(key, None)
        return found

    async def close(self) -> None:
        """End every worker. Verdicts that nobody can wait for any more are given up: one would begin a new worker."""
        for verdict in self._known.values():
            verdict.cancel()
        await asyncio.gather(*self._known.values(), return_exceptions=True)
        for place in (*self._places.values(), *self._left):
            await place.evaluator.close()
        self._places.clear()
        self._left.clear()
        if self._others is not None:
            self._others.close()

    async def _judge(self, task: Task, candidate: Candidate, effort: Effort) -> Evaluation | None:
        seat = self._seat(task.source)
        for _ in range(2):
            place = self._place(seat)
            try:
                return await self._found(place.evaluator, task, candidate, effort)
            except (RefereeError, MachineError):
                self._replace(seat, place)
            except TaskError as error:
                # A worker that closed the task admits it again; a device that is full for a moment refuses it.
                self.rate.refused[error.reason or "task"] += 1
                break
            finally:
                await self._let_go(place)
        self.rate.unjudged += 1
        return None

    async def _found(self, evaluator: Evaluator, task: Task, candidate: Candidate, effort: Effort) -> Evaluation:
        key = environment = None
        if self._others is not None and effort == "search":
            environment = await evaluator.environment(task.target)
            key = evaluation_key(task, candidate, environment, self._policy, effort)
            if (known := self._others.find(key, environment)) is not None:
                return known
        self.rate.judged += 1
        found = await evaluator.evaluate(task, candidate, effort)
        if self._others is not None and key is not None and environment is not None:
            self._others.keep(key, environment, found)
        return found

    def _seat(self, source: TaskSource) -> int:
        """The least busy of this task's, always the same few: they keep inputs and references. Tasks are dealt out in turn."""
        first = self._seats.setdefault(source.source, len(self._seats) * self._of_task % self._workers)
        return min(((first + i) % self._workers for i in range(self._of_task)), key=self._busy)

    def _busy(self, seat: int) -> int:
        return self._places[seat].in_use if seat in self._places else 0

    def _place(self, seat: int) -> _Place:
        if seat not in self._places:
            self._places[seat] = _Place(self._open(seat))
        self._places[seat].in_use += 1
        return self._places[seat]

    def _replace(self, seat: int, broken: _Place) -> None:
        """Put a new evaluator there, unless somebody else already has."""
        if self._places.get(seat) is broken:
            self._left.append(self._places.pop(seat))

    async def _let_go(self, place: _Place) -> None:
        """An evaluator that was replaced is closed with its last question answered."""
        place.in_use -= 1
        if place.in_use == 0 and place in self._left:
            self._left.remove(place)
            await place.evaluator.close()


async def machine(suppliers: Suppliers, target: Target) -> Environment:
    """Device and versions, as an evaluator of its own tells them.

    Raises:
        MachineError: the target's device is not here.
    """
    evaluator = suppliers.open_evaluator(Policy())
    try:
        return await evaluator.environment(target)
    finally:
        await evaluator.close()
