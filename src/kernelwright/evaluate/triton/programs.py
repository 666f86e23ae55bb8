"""The programs of one launch, in an order that is chosen, and in turns where one waits for another.

On a device programs run side by side and in no order. Here one runs at a time, to its end, unless it waits: it asks for one
value again and again and finds it unchanged. Then the others go on in a thread of their own, and the one that waits has its
turn when they wait or have ended. What is left is then taken from the other end, since most that wait do so for a neighbour:
the number of threads stays small whichever way they wait.
"""

import contextvars
import random
import threading
from collections import deque
from collections.abc import Callable
from typing import Literal

from kernelwright.evaluate.triton.fault import CandidateError, FaultKind, UnsupportedError

Order = Literal["ascending", "descending", "by chance"]
ORDERS: tuple[Order, ...] = ("ascending", "descending", "by chance")
MOST_WAITING = 512
"""Programs that may wait at a time, each in a thread."""
PATIENCE = 3
"""Rounds in which every program finds nothing changed, until nobody ever will."""
STACK_BYTES = 1 << 21
NOBODY = -1


class DeadlockError(CandidateError):
    """Every program that is left waits for another one."""

    kind: FaultKind = "deadlock"


class _AbandonedError(BaseException):
    """Unwinds a program that waits, since another one has failed."""


class Programs:
    """One launch's programs.

    Args:
        count: how many there are.
        order: in which they begin.
        begin: says which one runs from now on, also when it has its turn again.
        run: runs it to its end.
    """

    def __init__(self, count: int, order: Order, begin: Callable[[int], None], run: Callable[[int], None]) -> None:
        numbers = list(range(count))
        if order == "descending":
            numbers.reverse()
        elif order == "by chance":
            random.Random(count).shuffle(numbers)
        self._left, self._begin, self._run = deque(numbers), begin, run
        self._running = NOBODY
        self._asked: dict[int, tuple[int, int]] = {}
        self._waiting: deque[threading.Semaphore] = deque()
        self._threads: list[threading.Thread] = []
        self._error: BaseException | None = None
        self._idle = 0

    def run(self) -> None:
        """Run all of them.

        Raises:
            whatever the first of them raises that fails.
        """
        self._drain()
        for thread in self._threads:
            thread.join()
        if self._error is not None:
            raise self._error

    def progress(self) -> None:
        """Memory has changed: whoever waits may find what it waits for."""
        self._idle = 0
        self._asked.clear()

    def asks(self, address: int | None, patience: int) -> None:
        """The running program asks for what lies at an address, and nothing has changed since it did so last.

        It waits after so many times; what is asked with another patience, such as loads between atomics, is counted apart.

        Raises:
            as `wait`.
        """
        asked, times = self._asked.get(patience, (None, 0))
        times = times + 1 if address is not None and asked == address else 0
        if address is not None:
            self._asked[patience] = (address, times)
        else:
            self._asked.pop(patience, None)
        if times >= patience:
            self.wait()

    def wait(self) -> None:
        """The running program can do nothing until another one has done something.

        Raises:
            DeadlockError: no other can, either.
            UnsupportedError: more wait than can be run at a time.
        """
        self._idle += 1
        if not self._left and self._idle > PATIENCE * (len(self._waiting) + 1):
            raise DeadlockError("deadlock: every program that has not ended waits for another one")
        if self._left and len(self._waiting) == MOST_WAITING:
            raise UnsupportedError(f"more than {MOST_WAITING} programs that wait for others cannot be interpreted")
        self._asked.clear()
        turn, running = threading.Semaphore(0), self._running
        self._waiting.append(turn)
        if self._left:
            self._left = deque(sorted(self._left, reverse=len(self._waiting) % 2 == 0))
            self._start()
        else:
            self._waiting.popleft().release()
        turn.acquire()
        if self._error is not None:
            raise _AbandonedError
        self._go(running)

    def _go(self, program: int) -> None:
        self._running = program
        self._begin(program)

    def _start(self) -> None:
        """What is left goes on in another thread, which sees what this one has set for its own calls."""
        thread = threading.Thread(target=contextvars.copy_context().run, args=(self._drain,), daemon=True)
        self._threads.append(thread)
        before = threading.stack_size(STACK_BYTES)
        thread.start()
        threading.stack_size(before)

    def _drain(self) -> None:
        try:
            while self._left and self._error is None:
                self._go(self._left.popleft())
                self._run(self._running)
                self.progress()
        except _AbandonedError:
            pass
        except BaseException as error:  # noqa: BLE001 (raised again where all threads have ended)
            self._error = self._error or error
        if self._waiting:
            self._waiting.popleft().release()
