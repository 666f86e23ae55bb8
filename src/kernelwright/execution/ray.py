"""Jobs on a Ray cluster: as many workers as it has room for, each in an actor of its own.

A job whose actor or node was lost runs again, elsewhere and alone, a bounded number of times. What a job does to its
own worker process is settled at its node, as on a single machine (`execution.local`). A candidate's crash is a result
here as everywhere.
"""

import asyncio
from typing import Any, cast

from kernelwright.errors import KernelwrightError, RefereeError
from kernelwright.execution.cluster import Cluster
from kernelwright.execution.executor import Note, Work, unheard
from kernelwright.execution.pool import HostLostError, WorkerPool, WorkerSlots

LOSSES = 3
"""Workers that one job may lose before it is taken to be the reason."""

CLOSING_S = 5.0
CLOSED = "the executor was closed before the job was done"


class RayExecutor:
    """Implements `Executor` with the workers of a cluster."""

    def __init__(self, work: Work, address: str | None = None) -> None:
        self._cluster, self._slots = Cluster(address), WorkerSlots[Any]()
        self._pool = WorkerPool(work, self._cluster, self._slots)
        self._keeping: asyncio.Task[None] | None = None
        self._doing: set[asyncio.Task[bytes]] = set()
        self._closed = False

    async def submit(self, job: bytes, on_note: Note = unheard, affinity: str = "") -> bytes:
        """See `Executor.submit`."""
        self._open()
        doing = asyncio.create_task(self._do(job, on_note, affinity))
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)
        try:
            return await doing
        except asyncio.CancelledError:
            if self._closed and not cast("asyncio.Task[bytes]", asyncio.current_task()).cancelling():
                raise RefereeError(CLOSED) from None
            raise

    async def _do(self, job: bytes, on_note: Note, affinity: str) -> bytes:
        losses = 0
        while True:
            slot = await self._slots.take(affinity, alone=losses > 0)
            while self._pool.news:
                on_note(self._pool.news.pop())
            try:
                return await self._pool.ask(slot.host, job, on_note)
            except HostLostError as lost:
                losses += 1
                self._pool.lost(slot)
                if losses == LOSSES:
                    raise RefereeError(f"{losses} workers were lost while they were at this job: {lost}") from None
            finally:
                self._slots.give(slot)

    async def close(self) -> None:
        """See `Executor.close`. A cluster that was started here ends with it."""
        self._closed = True
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
            await self._pool.close(RefereeError(CLOSED))
            # They have lost their workers, and must hear of it while there is a cluster.
            deaf = (await asyncio.wait(self._doing, timeout=CLOSING_S))[1] if self._doing else ()
            for doing in deaf:
                doing.cancel()
            await asyncio.to_thread(self._cluster.leave)

    def _open(self) -> None:
        if self._closed:
            raise RefereeError(CLOSED)
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._pool.keep())
            self._keeping.add_done_callback(self._ended)

    def _ended(self, keeping: asyncio.Task[None]) -> None:
        if not keeping.cancelled() and (error := keeping.exception()) is not None:
            told = (
                error if isinstance(error, KernelwrightError) else RefereeError(f"the pool of workers broke: {error!r}")
            )
            self._slots.fail(told)
