"""Compiling ahead: forks of this process do a piece of work for what it leaves in Triton's cache on disk.

Threads would not do: most of a compile holds the interpreter's lock. Decides nothing about the work, and loses nothing
where a fork fails: whoever comes later compiles again.
"""

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

MOST = 16
"""Processes at a time."""


class Ahead:
    """The forks that are at work."""

    def __init__(self) -> None:
        self._processes: list[int] = []

    def start(self, jobs: Sequence[Callable[[], object]]) -> None:
        """Share `jobs` among as many processes as there are cores; returns at once.

        Where this process has other threads, whose locks a fork would inherit, nothing is done ahead.
        """
        alone = len(list(Path("/proc/self/task").iterdir())) == 1
        count = min(len(jobs), len(os.sched_getaffinity(0)), MOST) if alone else 0
        for number in range(count):
            process = os.fork()
            if process == 0:
                _work(jobs[number::count])
            self._processes.append(process)

    def wait(self) -> None:
        """Until all of them are done."""
        while self._processes:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._processes.pop(), 0)


def _work(jobs: Sequence[Callable[[], object]]) -> None:
    try:
        for job in jobs:
            with contextlib.suppress(Exception):
                job()
    finally:
        os._exit(0)
