"""Which worker gets the next job: by load, by kin, alone for suspects. Knows nothing of where workers are.

Suspects go first, then affinities take turns, jobs of one in order. A worker that is leaving ends its jobs and gets no more.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeVar

from kernelwright.execution.executor import IN_FLIGHT

MEETING = 4
"""Jobs that a worker does in the time in which another one meets their task."""
REMEMBERED = 16
"""Kins that a worker is taken to know still; it has room for more."""
PASSED = 16
"""How often the first in turn may be passed by."""
APART = 4
"""Of so many workers one is kept for suspects at most, so that a lost node does not still the others."""

H = TypeVar("H")


@dataclass(eq=False)
class WorkerSlot(Generic[H]):
    """One worker."""

    host: H
    """How it is reached."""
    node: str
    load: int = 0
    alone: bool = False
    """Its job is a suspect and wants no other beside it."""
    lost: bool = False
    leaving: bool = False
    """It ends the jobs that it has, and gets no more."""
    affinities: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def takes(self) -> bool:
        """Whether it can be given a job now."""
        return not (self.lost or self.alone or self.leaving) and self.load < IN_FLIGHT

    def seat(self, granted: asyncio.Future["WorkerSlot[H]"], affinity: str, alone: bool = False) -> None:
        """Give it a job."""
        self.load, self.alone = self.load + 1, alone
        if affinity in self.affinities:
            self.affinities.remove(affinity)
        if affinity:
            self.affinities.append(affinity)  # the latest is the last to be forgotten
        granted.set_result(self)


class WorkerSlots(Generic[H]):
    """All workers, for the tasks of one event loop."""

    def __init__(self) -> None:
        self.all: list[WorkerSlot[H]] = []
        self.fault: Exception | None = None
        """Why there will be no seat; raised for every job that waits for one."""
        self._suspects: deque[tuple[asyncio.Future[WorkerSlot[H]], str]] = deque()
        self._waiting: dict[str, deque[asyncio.Future[WorkerSlot[H]]]] = {}
        self._passed = 0

    async def take(self, affinity: str, alone: bool = False) -> WorkerSlot[H]:
        """Wait for a seat; it must be given back.

        Raises:
            the fault: there are none, and none will come.
        """
        granted: asyncio.Future[WorkerSlot[H]] = asyncio.get_running_loop().create_future()
        if alone:
            self._suspects.append((granted, affinity))
        else:
            self._waiting.setdefault(affinity, deque()).append(granted)
        self.dispatch()
        try:
            return await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled() and granted.exception() is None:
                self.give(granted.result())
            raise

    def give(self, slot: WorkerSlot[H]) -> None:
        """The job is done, or lost."""
        slot.load -= 1
        slot.alone = False
        self.dispatch()

    def add(self, *ready: WorkerSlot[H]) -> None:
        """Workers are ready; together, so that the first one does not get all jobs."""
        self.all += ready
        self.dispatch()

    def fail(self, fault: Exception) -> None:
        """Tell those who wait, now and from now on, why there is no seat; until there is one again."""
        self.fault = fault
        self.dispatch()

    def lose(self, slot: WorkerSlot[H]) -> None:
        """The seat is gone; jobs that it has give it back nonetheless."""
        slot.lost = True
        if slot in self.all:
            self.all.remove(slot)

    def keep(self, most: int) -> list[WorkerSlot[H]]:
        """Have the busiest go on and the others leave; returns those of them that are idle, and gone."""
        staying = sorted(self.all, key=lambda slot: (slot.leaving, -slot.load))
        for n, slot in enumerate(staying):
            slot.leaving = n >= most
        gone = [slot for slot in self.all if slot.leaving and not slot.load]
        for slot in gone:
            self.lose(slot)
        self.dispatch()
        return gone

    def waiting(self) -> dict[str, int]:
        """Jobs without a worker, by affinity."""
        found = {affinity: len(queue) for affinity, queue in self._waiting.items()}
        for _, affinity in self._suspects:
            found[affinity] = found.get(affinity, 0) + 1
        return found

    def dispatch(self) -> None:
        """Hand free seats to those who wait, and the fault if there is one."""
        if self.fault is not None and not self.all:
            self._refuse(self.fault)
            return
        kept = self._seat_suspects() if self._suspects else []
        free = [slot for slot in self.all if slot.takes() and slot not in kept]
        while free and self._waiting:
            slot, affinity = self._next(free)
            queue = self._waiting.pop(affinity)
            granted = queue.popleft()
            if queue:
                self._waiting[affinity] = queue  # behind all others
            if not granted.done():
                slot.seat(granted, affinity)
                if not slot.takes():
                    free.remove(slot)

    def _next(self, free: Sequence[WorkerSlot[H]]) -> tuple[WorkerSlot[H], str]:
        """The best worker for whose turn it is; where that would have to meet a task, others that it knows may pass."""
        first = next(iter(self._waiting))
        slot = min(free, key=partial(_distance, first))
        passing = first not in slot.affinities and self._passed < PASSED
        found = next((affinity for affinity in slot.affinities if passing and affinity in self._waiting), first)
        self._passed = self._passed + 1 if found != first else 0
        return slot, found

    def _seat_suspects(self) -> list[WorkerSlot[H]]:
        """Give suspects workers that are idle; returns those that get no other job, so that they soon are."""
        shared = sorted((slot for slot in self.all if not (slot.alone or slot.leaving)), key=attrgetter("load"))
        while self._suspects and shared and not shared[0].load:
            granted, affinity = self._suspects.popleft()
            if not granted.done():
                shared.pop(0).seat(granted, affinity, alone=True)
        most = max(1, len(self.all) // APART) - sum(slot.alone for slot in self.all)
        return shared[: max(0, min(most, len(self._suspects)))]

    def _refuse(self, fault: Exception) -> None:
        waiting = [granted for granted, _ in self._suspects] + [
            each for queue in self._waiting.values() for each in queue
        ]
        for granted in waiting:
            if not granted.done():
                granted.set_exception(fault)
        self._suspects.clear()
        self._waiting.clear()


def _distance(affinity: str, slot: WorkerSlot[Any]) -> tuple[int, int]:
    return slot.load + (0 if affinity in slot.affinities else MEETING), slot.load
