"""Jobs on this machine: one worker process with several jobs in flight, restarted when it dies.

When it dies, the jobs that were in flight become suspects, and each runs once more with no other job beside it.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kernelwright.errors import RefereeError
from kernelwright.execution import channel
from kernelwright.execution.executor import IN_FLIGHT, Note, Work, unheard
from kernelwright.execution.folder import TempFolder

DYING_S = 2.0
"""How long a worker that hung up may take to end by itself."""


class WorkerLostError(Exception):
    """The worker ended before it answered."""

    def __init__(self, status: int, on_purpose: bool) -> None:
        super().__init__(f"the worker process ended before it answered (status {status})")
        self.on_purpose = on_purpose
        """Whether it was ended from here, so that no job of its is to blame."""


class WorkerProcess:
    """Starts a worker, in a process group of its own."""

    def __init__(self, work: Work, patience_s: float) -> None:
        self._patience_s = patience_s
        self._asked: dict[int, tuple[asyncio.Future[bytes], Note]] = {}
        self._given_up: dict[int, asyncio.TimerHandle] = {}
        self._on_purpose = False
        self._reading: asyncio.Task[None] | None = None
        self._folder = TempFolder()
        self._end, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *work.arguments, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "TMPDIR": str(self._folder.path), **work.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    async def open(self) -> None:
        """Begin to listen to it."""
        reader, self._writer = await asyncio.open_connection(sock=self._end)
        self._reading = asyncio.create_task(self._listen(reader))

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._reading is not None and not self._reading.done()

    async def ask(self, number: int, job: bytes, on_note: Note) -> bytes:
        """The job's result. Cancelled, it has the worker give the job up, and ends the worker that does not.

        Raises:
            WorkerLostError: the worker ended first.
        """
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer, on_note
        self._writer.write(channel.pack(b"J", number, job))
        try:
            return await answer
        except asyncio.CancelledError:
            if self._asked.pop(number, None) is not None:
                self._give_up(number)
            raise

    def kill(self) -> None:
        """End it, on purpose, with all that it started. Safe to call twice."""
        if self._reading is None or self.alive:
            self._on_purpose = True
            self._signal()

    async def gone(self) -> None:
        """End it, and wait until that has happened."""
        self.kill()
        if self._reading is None:
            self._end.close()
            await asyncio.to_thread(self._reap)
        else:
            await asyncio.wait({self._reading})

    def _give_up(self, number: int) -> None:
        if self._on_purpose or self._writer.is_closing():
            return
        self._writer.write(channel.pack(b"C", number))
        self._given_up[number] = asyncio.get_running_loop().call_later(self._patience_s, self.kill)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while (frame := await channel.receive(reader)) is not None:
                self._handle(frame)
        finally:
            for timer in self._given_up.values():
                timer.cancel()
            self._writer.close()
            await asyncio.to_thread(self._reap)
            lost, self._asked = self._asked, {}
            for answer, _ in lost.values():
                if not answer.done():
                    answer.set_exception(WorkerLostError(self._process.returncode, self._on_purpose))

    def _handle(self, frame: channel.Frame) -> None:
        if frame.kind == b"N":
            if frame.job in self._asked:
                self._asked[frame.job][1](frame.payload.decode(errors="replace"))
        elif (timer := self._given_up.pop(frame.job, None)) is not None:
            timer.cancel()
        elif frame.job in self._asked:
            answer, _ = self._asked.pop(frame.job)
            if not answer.done():
                answer.set_result(frame.payload)

    def _reap(self) -> None:
        # Its end of the socket closes a moment before it can be waited for.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=DYING_S)
        self._signal()
        self._process.wait()
        self._folder.remove()

    def _signal(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


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

    async def submit(self, job: bytes, on_note: Note = unheard, affinity: str = "") -> bytes:
        """See `Executor.submit`."""
        async with self._places:
            return await self._do(next(self._numbers), job, on_note)

    async def _do(self, number: int, job: bytes, on_note: Note) -> bytes:
        suspect = False
        while True:
            async with self._gate.alone() if suspect else self._gate.together():
                worker = await self._running_worker()
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

    async def _running_worker(self) -> WorkerProcess:
        async with self._starting:
            if self._closed:
                raise RefereeError("the executor was closed before the job was done")
            if self._worker is None or not self._worker.alive:
                if self._worker is not None:
                    await self._worker.gone()
                self._worker = WorkerProcess(self._work, self._patience_s)
                await self._worker.open()
            return self._worker
