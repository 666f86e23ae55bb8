"""What a test that measures does beside somebody else's work: it says that the machine is busy, waits, and tries again."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")
LOG = logging.getLogger(__name__)
WINDOW_S = 0.5
"""How long the machine is watched for a figure."""
NEEDED = 0.8
"""Idle cores at which a measurement of one process is left alone."""


def idle_cores(window_s: float = WINDOW_S) -> float:
    """How many cores had nothing to do in the time that this takes."""
    (before, idle_before), _, (after, idle_after) = _ticks(), time.sleep(window_s), _ticks()
    return (idle_after - idle_before) / max(after - before, 1) * (os.cpu_count() or 1)


def tries(most: int = 3, wait_s: float = 20.0) -> Iterator[int]:
    """Numbers of tries. Before each but the first the machine has `wait_s` seconds to become calm."""
    for number in range(most):
        end = time.monotonic() + wait_s * bool(number)
        while (idle := idle_cores() if number else NEEDED) < NEEDED and time.monotonic() < end:
            LOG.warning("try %d of %d waits: the machine is busy, %.1f cores are idle", number + 1, most, idle)
        yield number


def until(judge: Callable[[], Found], fine: Callable[[Found], bool], most: int = 3) -> Found:
    """What is found at the first try that is fine, or at the last."""
    for _ in tries(most):
        found = judge()
        if fine(found):
            break
    return found


def _ticks() -> tuple[int, int]:
    """All time of all cores so far, and what of it they were idle."""
    values = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(values), values[3] + values[4]
