"""The actor behind a Ray worker: keeps the same kind of worker on its node that a single machine would have.

`execution.local` finds out here what kills its worker; the driver sees what kills the actor or its node.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Literal

from kernelwright.errors import RefereeError
from kernelwright.execution.executor import Work
from kernelwright.execution.local import LocalExecutor

Said = tuple[Literal["note", "failed"], str] | tuple[Literal["result"], bytes]
"""What comes back from a job, in order; the last one is no note."""


class Host:
    """Made into an actor by `execution.ray`."""

    def __init__(self, work: Work) -> None:
        # Ray sets it to its own idea of a share of the processors; a worker decides about its threads itself.
        os.environ.pop("OMP_NUM_THREADS", None)
        self._local = LocalExecutor(work)
        self._at: dict[int, asyncio.Task[bytes]] = {}

    async def submit(self, number: int, job: bytes) -> AsyncIterator[Said]:
        """Do a job; yields notes, then its result or why there is none."""
        notes: asyncio.Queue[str | None] = asyncio.Queue()
        running = self._at[number] = asyncio.create_task(self._local.submit(job, notes.put_nowait))
        running.add_done_callback(lambda _: notes.put_nowait(None))
        try:
            while (text := await notes.get()) is not None:
                yield "note", text
            if not running.cancelled():
                yield _ending(running)
        finally:
            del self._at[number]
            running.cancel()

    async def give_up(self, number: int) -> None:
        """Nobody waits for that job any more."""
        if number in self._at:
            self._at[number].cancel()

    async def close(self) -> None:
        """End the worker."""
        await self._local.close()


def _ending(done: asyncio.Task[bytes]) -> Said:
    error = done.exception()
    if isinstance(error, RefereeError):
        return "failed", str(error)
    return "result", done.result()
