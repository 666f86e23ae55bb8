"""A job as the code that does it sees it: where its notes go, what it has started, whether anybody still waits.

The desk sets the current job for the thread that does it; whatever starts a process for a job says so here, and a
cancelled job's processes are killed. Without a current job nothing happens: the same code then works for nobody.
"""

import contextvars
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from kernelwright.execution.executor import Note, unheard


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
        self.number, self.note, self.cancelled = number, on_note, False
        self._started: dict[int, Process] = {}
        self._lock = threading.Lock()

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
