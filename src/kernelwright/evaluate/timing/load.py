"""What else the machine does while it times: other processes, the hypervisor, neighbours on the GPU.

The kernel's own counters are read, `/proc/stat` and the times of this process and its descendants, whose work is the
benchmark itself and is taken off. The run queue is looked at after each side's turn, when all sides are frozen: whoever is
still runnable is somebody else. That tells of single blocks, for which the counters' ticks are too coarse, and no candidate
can add to it. Nothing is ever changed.
"""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from kernelwright.records.measure import OTHERS, STOLEN, Load

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
LEAST_S = 0.05
"""A window shorter than this has too few ticks of the kernel's clock to tell anything."""
SELDOM = 0.2
"""Threads of others, on average over the looks of a block, that a quiet machine comes to now and then, since looks are few. A
thread that works all the time comes to one."""
AGAIN, NAP_S = 3, 1e-4
"""How often a run queue that is not empty is looked at again, and seconds between: who works is there each time."""
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_COUNTED = 8
"""Fields of `cpu` in /proc/stat; guests' time is part of the users'."""


class Times(NamedTuple):
    """Seconds of processor time since the machine started, at one moment."""

    at: float
    busy: float
    """Of all cores, whoever used them; without what was stolen."""
    stolen: float
    own: float
    """Of this process and its descendants."""


@dataclass
class LoadMeter:
    """Opened before a benchmark warms up; `begin` at its first block that counts, `look` after each block."""

    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    on_device: bool = False
    """A GPU is timed: what the processors do matters little, and who else is on the device much."""
    neighbours: Callable[[], Iterable[int]] = tuple
    """Processes on the device, by their numbers."""
    pause: Callable[[float], None] = time.sleep
    _opened: Times | None = field(init=False)
    _began: Times | None = field(init=False, default=None)
    _queue: list[int] = field(init=False, default_factory=list)
    _block: int = field(init=False, default=0)
    """How many looks were over when the block began."""
    _stolen: tuple[float, float] | None = field(init=False, default=None)
    """When the block began, and seconds stolen until then."""
    _seen: set[int] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._opened = read_times()

    def begin(self) -> None:
        """The first block that counts begins now."""
        self._began, self._stolen = read_times(), _stolen_until_now()
        self._queue.clear()
        self._block = 0

    def look(self) -> None:
        """A turn is over, and every side is frozen. A process of our own that has just said so sleeps a moment later."""
        waiting = runnable()
        for _ in range(0 if self.on_device else AGAIN):
            if waiting:
                self.pause(NAP_S)
                waiting = min(waiting, runnable() or 0)
        if waiting is not None:
            self._queue.append(waiting)

    def noisy(self) -> bool:
        """Whether others disturbed the block that has just ended."""
        seen, before = fmean(self._queue[self._block :] or [0]), self._stolen
        self._block, self._stolen = len(self._queue), (now := _stolen_until_now())
        stolen = now and before and now[1] - before[1] > STOLEN * self.cores * (now[0] - before[0])
        return not self.on_device and bool(stolen or seen > max(SELDOM, OTHERS * self.cores))

    def load(self) -> Load | None:
        """What was seen until now; None where the kernel tells nothing."""
        now = read_times()
        if now is None or self._began is None:
            return None
        during = _share(self._began, now)
        before = _share(self._opened, self._began) if self._opened is not None else None
        own = descendants()
        return Load(
            cores=self.cores,
            before=before.others if before else None,
            during=during.others if during else None,
            stolen=during.stolen / self.cores if during else 0.0,
            waiting=median(self._queue) if self._queue else 0.0,
            neighbours=len({pid for pid in self.neighbours() if pid not in own and (PROC / str(pid)).exists()}),
            on_device=self.on_device,
        )


def taken_since(then: Times | None) -> float:
    """Core-seconds that others and the hypervisor took since an earlier reading; 0 where nobody can tell."""
    now = read_times()
    if then is None or now is None:
        return 0.0
    others = (now.busy - then.busy) - (now.own - then.own)
    return max(0.0, others) + max(0.0, now.stolen - then.stolen)


class _Share(NamedTuple):
    """Cores, on average."""

    others: float
    stolen: float


def _share(then: Times, now: Times) -> _Share | None:
    seconds = now.at - then.at
    if seconds < LEAST_S:
        return None
    others = (now.busy - then.busy) - (now.own - then.own)
    return _Share(max(0.0, others / seconds), max(0.0, (now.stolen - then.stolen) / seconds))


def read_times() -> Times | None:
    """The counters now; None where there is no such file, as outside Linux."""
    try:
        ticks = _ticks()
        busy = sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT] - ticks[_STEAL]
        return Times(time.monotonic(), busy / TICKS, ticks[_STEAL] / TICKS, sum(descendants().values()))
    except (OSError, ValueError, IndexError):
        return None


def _ticks() -> list[int]:
    with (PROC / "stat").open(encoding="ascii") as stat:
        return [int(word) for word in stat.readline().split()[1 : 1 + _COUNTED]]


def _stolen_until_now() -> tuple[float, float] | None:
    try:
        return time.monotonic(), _ticks()[_STEAL] / TICKS
    except (OSError, ValueError, IndexError):
        return None


def descendants() -> dict[int, float]:
    """This process and all below it, each with its seconds of processor time and those of its children that ended."""
    times: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (found := _process(entry)) is not None:
            times[int(entry.name)] = found[1]
            children.setdefault(found[0], []).append(int(entry.name))
    own, todo = {}, [os.getpid()]
    while todo:
        pid = todo.pop()
        if pid in times:
            own[pid] = times[pid]
            todo += children.get(pid, [])
    return own


def _process(entry: Path) -> tuple[int, float] | None:
    """The parent of a process, and its seconds; None where it has just ended."""
    try:
        # Its name may hold spaces and brackets.
        words = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return int(words[1]), sum(int(word) for word in words[11:15]) / TICKS
    except (OSError, ValueError, IndexError):
        return None


def runnable() -> int | None:
    """How many threads of the machine run or wait for a core, without the one that asks."""
    try:
        return max(0, int((PROC / "loadavg").read_text(encoding="ascii").split()[3].partition("/")[0]) - 1)
    except (OSError, ValueError, IndexError):
        return None
