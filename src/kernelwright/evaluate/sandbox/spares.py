"""Children that wait for work: born, confined and with a CUDA context before there is a candidate for them.

Each is still used once. Decides when the next one is started: at once, beside the work of the one that was taken.
Refuses to know what a child computes.
"""

from concurrent.futures import Future, ThreadPoolExecutor

from kernelwright.evaluate.sandbox.child import Child
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.spawn import Warm, at_work

READY_S = 60.0


class Spares:
    """One waiting child of one kind."""

    def __init__(self, warm: Warm, side: str, jail: Jail) -> None:
        self._warm, self._side, self._jail = warm, side, jail
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"spare-{side}")
        self._next: Future[Child] | None = None

    def take(self) -> Child:
        """A child that is ready, at work for the current job; the next one is begun.

        Raises:
            RefereeError: none could be started.
            JobCancelledError: nobody waits for the current job any more.
        """
        waiting = self._next or self._pool.submit(self._begin)
        self._next = None
        child = waiting.result()
        self._next = self._pool.submit(self._begin)
        return at_work(child)

    def settle(self) -> None:
        """Wait until nobody is being born: a context on its way would disturb the clock."""
        if self._next is not None:
            self._next.exception()

    def close(self) -> None:
        """End the child that waits."""
        if self._next is not None and self._next.exception() is None:
            self._next.result().close()
        self._next = None
        self._pool.shutdown()

    def _begin(self) -> Child:
        child = self._warm.spawn(self._side, self._jail)
        child.ask({"do": "open"}, READY_S, freeze=False)
        return child
