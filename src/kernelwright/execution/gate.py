"""A gate: many pass together, or one alone. Who wants to be alone goes first, and waits until everybody is out."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Gate:
    """For the tasks of one event loop."""

    def __init__(self) -> None:
        self._inside = 0
        self._alone = False
        self._patient = 0
        self._waiters: list[asyncio.Future[None]] = []

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Be inside, with others who came together."""
        await self._until(lambda: not self._alone and not self._patient)
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            self._wake()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Be inside, with nobody."""
        self._patient += 1
        try:
            await self._until(lambda: not self._alone and not self._inside)
            self._alone = True
        finally:
            self._patient -= 1
            self._wake()
        try:
            yield
        finally:
            self._alone = False
            self._wake()

    async def _until(self, free: Callable[[], bool]) -> None:
        while not free():
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
