"""A worker process and the jobs in flight at it, seen from the executor.

A worker is ended when its executor is closed, and when a job that was given up does not stop in time. Its other jobs
are then told that the worker is lost, and whether on purpose.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys

from kernelwright.execution import channel
from kernelwright.execution.executor import Note, Work

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
        self._end, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *work.arguments, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, **work.environment},
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
            await asyncio.to_thread(self._process.wait)
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
                self._heard(frame)
        finally:
            for timer in self._given_up.values():
                timer.cancel()
            self._writer.close()
            await asyncio.to_thread(self._reap)
            lost, self._asked = self._asked, {}
            for answer, _ in lost.values():
                if not answer.done():
                    answer.set_exception(WorkerLostError(self._process.returncode, self._on_purpose))

    def _heard(self, frame: channel.Frame) -> None:
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

    def _signal(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
