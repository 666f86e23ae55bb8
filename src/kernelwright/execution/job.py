"""A job as the code that does it sees it: where its notes go, what it has started, whether anybody still waits.

The job server sets the current job for the thread that does it; whatever starts a process for a job says so here, and a
cancelled job's processes are killed. Without a current job nothing happens: the same code then works for nobody.
"""

import contextlib
import contextvars
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Literal, Protocol

from kernelwright.execution.channel import Channel, Frame
from kernelwright.execution.executor import IN_FLIGHT, Note, unheard

SILENT_S = 5.0
"""How long a job says nothing before it tells how far it is."""


class JobCancelledError(Exception):
    """Nobody waits for the current job any more."""


class Process(Protocol):
    """Something that was started for a job."""

    ended: bool
    """Whether it has been closed, so that its process id may belong to another by now."""

    def kill(self) -> None:
        """End it."""
        ...


class Job:
    """One job at a worker."""

    def __init__(self, number: int, on_note: Note = unheard) -> None:
        self.number, self.cancelled = number, False
        self._on_note, self._told = on_note, time.monotonic()
        self._started: dict[int, Process] = {}
        self._lock = threading.Lock()

    def note(self, text: str, after_s: float = 0.0) -> None:
        """Tell what it is busy with, if nothing was told for so long."""
        now = time.monotonic()
        if now - self._told >= after_s:
            self._told = now
            self._on_note(text)

    def cancel(self) -> None:
        """Kill what it has started; whatever it starts from now on is killed at once. From any thread."""
        with self._lock:
            self.cancelled = True
            for process in self._started.values():
                if not process.ended:
                    process.kill()

    def started(self, process: Process) -> None:
        """A process that works for this job and for no other.

        Raises:
            JobCancelledError: too late; it has been killed.
        """
        with self._lock:
            self._started[id(process)] = process
            if self.cancelled:
                process.kill()
        self.must_go_on()

    def kept(self, process: Process) -> None:
        """A process that other jobs will use as well: it outlives this one."""
        with self._lock:
            self._started.pop(id(process), None)

    def must_go_on(self) -> None:
        """Raises JobCancelledError when nobody waits any more."""
        if self.cancelled:
            raise JobCancelledError

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make it the job that this thread is at."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


_CURRENT: contextvars.ContextVar[Job | None] = contextvars.ContextVar("job", default=None)


def note(text: str) -> None:
    """Tell what the current job is busy with."""
    if (at := _CURRENT.get()) is not None:
        at.note(text)


def step(text: str) -> None:
    """Tell how far the current job is; of a quick one that is not heard."""
    if (at := _CURRENT.get()) is not None:
        at.note(text, SILENT_S)


def started(process: Process) -> None:
    """As `Job.started`, of the current job."""
    if (at := _CURRENT.get()) is not None:
        at.started(process)


def kept(process: Process) -> None:
    """As `Job.kept`, of the current job."""
    if (at := _CURRENT.get()) is not None:
        at.kept(process)


def must_go_on() -> None:
    """As `Job.must_go_on`, of the current job."""
    if (at := _CURRENT.get()) is not None:
        at.must_go_on()


ENDING_S = 2.0
"""How long jobs may take to notice that nobody waits for them, once the executor is gone."""


class JobServer:
    """Takes jobs from a channel and answers each of them once.

    The threads live as long as the gateway: a process that is bound to the thread that started it survives its job.
    """

    def __init__(self, channel: Channel, answer: Callable[[bytes], bytes]) -> None:
        self._channel, self._answer = channel, answer
        self._pool = ThreadPoolExecutor(IN_FLIGHT, "job")
        self._at: dict[int, tuple[Job, Future[None]]] = {}

    def serve(self) -> None:
        """Answer jobs until the executor is gone; those that are left are then cancelled."""
        try:
            while (frame := self._channel.read()) is not None:
                self._take(frame)
        finally:
            left = list(self._at.values())
            for job, _ in left:
                job.cancel()
            self._pool.shutdown(wait=False, cancel_futures=True)
            wait([running for _, running in left], timeout=ENDING_S)

    def _take(self, frame: Frame) -> None:
        if frame.kind == b"J":
            job = Job(frame.job, lambda text: self._say(b"N", frame.job, text.encode()))
            self._at = {number: at for number, at in self._at.items() if not at[1].done()}
            self._at[frame.job] = job, self._pool.submit(self._do, job, frame.payload)
        elif frame.kind == b"C" and frame.job in self._at:
            job, running = self._at[frame.job]
            job.cancel()
            if running.cancel():  # it has not begun
                self._say(b"R", frame.job, b"")

    def _do(self, job: Job, payload: bytes) -> None:
        with job.current():
            try:
                job.must_go_on()
                answer = self._answer(payload)
            except JobCancelledError:
                answer = b""
            except BaseException:
                # Without its answer the executor would wait for ever; it knows what to do about a worker that ends.
                sys.stderr.write(traceback.format_exc())
                self._channel.hang_up()
                raise
        self._say(b"R", job.number, answer)

    def _say(self, kind: Literal[b"R", b"N"], number: int, payload: bytes) -> None:
        with contextlib.suppress(OSError):  # the executor is gone, and `serve` sees to that
            self._channel.write(kind, number, payload)
