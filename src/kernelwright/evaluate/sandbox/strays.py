"""Processes that a confined one leaves behind, where the host denies it a process namespace, which would end with it.

Its keeper takes them in (`PR_SET_CHILD_SUBREAPER`), out of their reach, and ends them after it.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

TRIES, PAUSE_S = 1000, 0.001
"""How often what is left is looked for: each time what began meanwhile is ended too."""


def below(pid: int) -> list[int]:
    """The processes that a process has begun or taken in, and theirs, without those that have ended."""
    found, todo = [], [pid]
    while todo:
        alive = [child for child in _children(todo.pop()) if is_alive(child)]
        found += alive
        todo += alive
    return found


def is_alive(pid: int) -> bool:
    """Whether it is there, and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def end_all() -> None:
    """End every process below this one."""
    for _ in range(TRIES):
        left = below(os.getpid())
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, file.read_text().split())
    return found
