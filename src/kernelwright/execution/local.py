"""Jobs on this machine: one worker process with several jobs in flight, restarted when it dies.

When it dies, the jobs that were in flight become suspects, and each runs once more with no other job beside it.
"""

import asyncio
import itertools

from kernelwright.errors import RefereeError
from kernelwright.execution.executor import IN_FLIGHT, Note, Work, unheard
from kernelwright.execution.gate import Gate
from kernelwright.execution.process import WorkerLostError, WorkerProcess

PATIENCE_S = 10.0
"""How long a worker may take to give a job up before it is ended, and its other jobs begun anew."""


class LocalExecutor:
    """Implements `Executor` with one worker on this machine."""

    def __init__(self, work: Work, patience_s: float = PATIENCE_S) -> None:
        self._work, self._patience_s = work, patience_s
        self._worker: WorkerProcess | None = None
        self._closed = False
        self._numbers = itertools.count(1)
        self._starting, self._gate, self._places = asyncio.Lock(), Gate(), asyncio.Semaphore(IN_FLIGHT)

    async def submit(self, job: bytes, on_note: Note = unheard, kin: str = "") -> bytes:
        """See `Executor.submit`."""
        async with self._places:
            return await self._do(next(self._numbers), job, on_note)

    async def _do(self, number: int, job: bytes, on_note: Note) -> bytes:
        suspect = False
        while True:
            async with self._gate.alone() if suspect else self._gate.together():
                worker = await self._running()
                try:
                    return await worker.ask(number, job, on_note)
                except WorkerLostError as lost:
                    if suspect and not lost.on_purpose:
                        raise RefereeError(f"{lost}, twice, and the second time no other job was there") from None
                    suspect = suspect or not lost.on_purpose

    async def close(self) -> None:
        """See `Executor.close`. No job can be submitted any more."""
        self._closed = True
        if self._worker is not None:
            self._worker.kill()
        async with self._starting:
            if self._worker is not None:
                await self._worker.gone()

    async def _running(self) -> WorkerProcess:
        async with self._starting:
            if self._closed:
                raise RefereeError("the executor was closed before the job was done")
            if self._worker is None or not self._worker.alive:
                if self._worker is not None:
                    await self._worker.gone()
                self._worker = WorkerProcess(self._work, self._patience_s)
                await self._worker.open()
            return self._worker
