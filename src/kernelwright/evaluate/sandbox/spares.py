"""The prewarmed pool: children that are started, confined and have a CUDA context before there is a candidate for them.

Each is used once. A few are started together, when the last one has served, so that they start while the next candidate
is compiled. Those that have served end while other work goes on.
"""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from kernelwright.evaluate.sandbox.child import Child
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.calls import Open
from kernelwright.evaluate.sandbox.spawn import Warm, at_work

READY_S = 60.0
TOGETHER = 2
"""Children that are born at once, each with half a gigabyte of the device: more take longer than the next compilation."""


class Spares:
    """Waiting children of one kind."""

    def __init__(self, warm: Warm, side: str, jail: Jail) -> None:
        self._warm, self._side, self._jail = warm, side, jail
        self._pool = ThreadPoolExecutor(TOGETHER, thread_name_prefix=f"spare-{side}")
        self._waiting: deque[Future[Child]] = deque()
        self._leaving: list[Future[None]] = []

    def take(self) -> Child:
        """A child that is ready, at work for the current job.

        Raises:
            RefereeError: none could be started.
            JobCancelledError: nobody waits for the current job any more.
        """
        if not self._waiting:
            self._begin()
        return at_work(self._waiting.popleft().result())

    def retire(self, child: Child) -> None:
        """End a child that has served, and begin others if it was the last; the next clock waits for both."""
        self._leaving.append(self._pool.submit(child.close))
        if not self._waiting:
            self._begin()

    def settle(self) -> None:
        """Wait until nobody is being born or dying: either would disturb the clock."""
        for begun in self._waiting:
            begun.exception()
        for leaving in self._leaving:
            leaving.exception()
        self._leaving.clear()

    def close(self) -> None:
        """End the children that wait."""
        self.settle()
        for begun in self._waiting:
            if begun.exception() is None:
                begun.result().close()
        self._waiting.clear()
        self._pool.shutdown()

    def _begin(self) -> None:
        self._waiting.extend(self._pool.submit(self._born) for _ in range(TOGETHER))

    def _born(self) -> Child:
        child = self._warm.spawn(self._side, self._jail)
        child.ask(Open(), READY_S, freeze=False)
        return child
