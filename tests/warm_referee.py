"""One warm worker for every test of a process: starting one costs more than most tests do.

It is asked from any event loop and under any policy. A test that is about a worker's own life starts its own.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial

from kernelwright.engine.suppliers import Suppliers
from kernelwright.evaluate.referee import Referee
from kernelwright.records.policy import Policy


class WarmReferee:
    """A referee in an event loop and a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="warm referee")
        self._thread.start()
        self._referee = Referee()

    def under(self, policy: Policy) -> "BorrowedReferee":
        """An evaluator over the same worker."""
        return BorrowedReferee(self, policy)

    def suppliers(self, **others: object) -> Suppliers:
        """Suppliers whose evaluator is this one, whatever the policy."""
        return Suppliers(evaluator=lambda policy, place, note: self.under(policy), **others)

    async def ask(self, policy: Policy, verb: str, *arguments: object, **named: object) -> object:
        """The answer of one verb of an evaluator."""
        asked = self._ask(policy, verb, arguments, named)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self._loop))

    async def _ask(self, policy: Policy, verb: str, arguments: tuple, named: dict) -> object:
        self._referee.policy = policy  # read before the first await, so no other question comes between
        return await getattr(self._referee, verb)(*arguments, **named)

    def close(self) -> None:
        """End the worker and the thread."""
        asyncio.run_coroutine_threadsafe(self._referee.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class BorrowedReferee:
    """An `Evaluator` under one policy; closing it leaves the worker to the next test."""

    def __init__(self, warm: WarmReferee, policy: Policy) -> None:
        self._warm, self.policy = warm, policy

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[object]]:
        return partial(self._warm.ask, self.policy, verb)

    async def close(self) -> None:
        """The worker stays."""
