"""Compiling ahead: forks of this process do pieces of work for what they leave in Triton's cache on disk.

Threads would not do: most of a compile holds the interpreter's lock. If a fork fails, nothing is lost: whoever comes
later compiles again.
"""

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

MOST = 16
"""Processes at a time."""


def ahead(jobs: Sequence[Callable[[], object]]) -> None:
    """Share `jobs` among as many processes as there are cores, and wait for them; whatever they raise is nobody's.

    Where this process has other threads, whose locks a fork would inherit, nothing is done ahead.
    """
    alone = len(list(Path("/proc/self/task").iterdir())) == 1
    count = min(len(jobs), len(os.sched_getaffinity(0)), MOST) if alone else 0
    for process in [_fork(jobs[number::count]) for number in range(count)]:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, 0)


def _fork(jobs: Sequence[Callable[[], object]]) -> int:
    process = os.fork()
    if process:
        return process
    try:
        for job in jobs:
            with contextlib.suppress(Exception):
                job()
    finally:
        os._exit(0)
