"""Seats: the driver's view of its workers, and which of them gets the next job.

A worker that has met the job's task comes first, then the one with the least load. A job that lost a worker gets one
for itself.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kernelwright.execution.executor import IN_FLIGHT

ENOUGH = 2
"""Jobs in flight that keep a worker busy; with more, another worker may as well meet their kin."""
REMEMBERED = 4
"""Kins that a worker is taken to know still."""

H = TypeVar("H")


@dataclass(eq=False)
class Seat(Generic[H]):
    """One worker."""

    host: H
    """How it is reached."""
    node: str
    load: int = 0
    alone: bool = False
    """Its job is a suspect and wants no other beside it."""
    lost: bool = False
    kins: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def takes(self, alone: bool) -> bool:
        """Whether it can be given a job now."""
        return not (self.lost or self.alone) and self.load < (1 if alone else IN_FLIGHT)


class Seats(Generic[H]):
    """All workers, for the tasks of one event loop. First come, first served among jobs that any seat takes."""

    def __init__(self) -> None:
        self.all: list[Seat[H]] = []
        self.fault: Exception | None = None
        """Why there will be no seat; raised for every job that waits for one."""
        self._waiting: deque[tuple[asyncio.Future[Seat[H]], str, bool]] = deque()

    async def take(self, kin: str, alone: bool = False) -> Seat[H]:
        """Wait for a seat; it must be given back.

        Raises:
            the fault: there are none, and none will come.
        """
        granted: asyncio.Future[Seat[H]] = asyncio.get_running_loop().create_future()
        self._waiting.append((granted, kin, alone))
        self.settle()
        try:
            return await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled() and granted.exception() is None:
                self.give(granted.result())
            raise

    def give(self, seat: Seat[H]) -> None:
        """The job is done, or lost."""
        seat.load -= 1
        seat.alone = False
        self.settle()

    def add(self, seat: Seat[H]) -> None:
        """A worker is ready."""
        self.all.append(seat)
        self.settle()

    def fail(self, fault: Exception) -> None:
        """Tell those who wait, now and from now on, why there is no seat; until there is one again."""
        self.fault = fault
        self.settle()

    def lose(self, seat: Seat[H]) -> None:
        """The seat is gone; jobs that it has give it back nonetheless."""
        seat.lost = True
        if seat in self.all:
            self.all.remove(seat)

    def settle(self) -> None:
        """Hand free seats to those who wait, and the fault if there is one."""
        left: deque[tuple[asyncio.Future[Seat[H]], str, bool]] = deque()
        for granted, kin, alone in self._waiting:
            if granted.done():
                continue
            if self.fault is not None and not self.all:
                granted.set_exception(self.fault)
            elif (seat := self._best(kin, alone)) is None:
                left.append((granted, kin, alone))
            else:
                seat.load, seat.alone = seat.load + 1, alone
                if kin and kin not in seat.kins:
                    seat.kins.append(kin)
                granted.set_result(seat)
        self._waiting = left

    def _best(self, kin: str, alone: bool) -> Seat[H] | None:
        free = [seat for seat in self.all if seat.takes(alone)]
        knowing = [seat for seat in free if kin in seat.kins]
        if knowing and min(knowing, key=_load).load < ENOUGH:
            return min(knowing, key=_load)
        return min(free, key=lambda seat: (seat.load, seat not in knowing), default=None)


def _load(seat: Seat[H]) -> int:
    return seat.load
