"""How far apart processes of one program are, where that lasts as long as they live: what no block of one pair shows.

On a virtual machine of two cores two processes of one program differed by a tenth for life, and the interval of a program
against itself excluded one in nine of twelve contests (docs/log.md, 2026-11-24). So before a CPU's verdict tells a small
difference, eager is begun a few times more, once for a task. What a verdict tells must exceed what these processes differ by,
and by how much the reference's own differs from them, which is one of no such kind: it was 10 % faster than all of four that
hardly differed. Some tasks have now and then a process that is a quarter faster than the rest; six need not have met it, so a
module that is told is begun once more as well.

On a GPU it is rarer: of 98 programs at full size four were told apart from themselves, by 2 to 7 % (docs/log.md,
2026-11-25). Six processes do not fit beside tasks of gigabytes, so three are begun one after another there, each in a contest
with eager of its own. Three of 248 were told apart nevertheless (2026-11-26), each by a process that was not like most of its
kind: so a candidate whose difference is small is begun once more too, and what its two processes differ by counts
(`timing.py`).
"""

import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from kernelwright.evaluate.sandbox.compute_process import ComputeProcess, TimedRun
from kernelwright.evaluate.session.loaded import LoadedCandidate
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import FAILURES
from kernelwright.evaluate.timing.clock import ROUNDS, SAMPLE_NS
from kernelwright.records.measure import Ratio

TWINS = 6
"""Further processes of eager's program, all of a candidate's kind: the reference's own does other things between two calls."""
RANGE_TO_NEXT = 1.68
"""Times the range of six processes' log times: so far from the middle of them, at most, lies a seventh in 99 of 100 cases, if
they are normal. By simulation, which a unit test repeats: few processes say little of how far apart others are."""
ONE_BY_ONE, RANGE_OF_FOUR = 3, 3.03
"""Further processes on a GPU, and times the range of these and eager's own: so far from the first lies a fifth."""
LARGE = 1.5
"""A ratio beyond this is told in any case: contests of a program with itself, under the whole referee, stayed within 1.25."""
LARGE_ON_DEVICE = 1.25
"""The same on a GPU, where 1.07 was the largest."""
CLOSE_ON_DEVICE = 1.1
"""A ratio within which a candidate is begun once more there: that takes a search a second each time."""
MOST_BLOCKS, LEAST_BLOCKS, LIMIT_S = 24, 3, 3.0
"""Blocks in which all of them are timed, and seconds after which no further one begins. Of eight blocks the noise within a
process looked like a difference between them."""
WARMING, WARMING_S = 16, 0.25
"""Questions to each of them before, and seconds after which no further one is put."""
MOST_BYTES = 256 << 20
"""Inputs and results of a call beyond which nobody looks: so many processes would fill the memory."""
LONGEST_S = 0.1
"""Seconds of eager's call beyond which nobody looks: six processes would take a minute of three blocks."""
Begin = Callable[[], AbstractContextManager[LoadedCandidate]]


def is_small(speedup: Ratio, large: float = LARGE) -> bool:
    """Whether processes of one program may be as far apart."""
    return 1 / large < speedup.median < large


def process_spread(session: Session, begin: Begin) -> float:
    """The relative difference that two processes of the task's own program may show; 0 where nobody could look.

    Looked at once for a session. `begin` starts one more of them.
    """
    if session.process_spread is None:
        session.process_spread = _looked_at(session, begin)
    return session.process_spread


def _looked_at(session: Session, begin: Begin) -> float:
    if session.task.workload.compulsory_bytes > MOST_BYTES or session.eager_s > LONGEST_S:
        return 0.0
    try:
        with ExitStack() as running:
            twins = [running.enter_context(begin()).process for _ in range(TWINS)]
            own, *others = _times(session, [_Eager(session.reference), *twins])
            return spread_of(own, others)
    except FAILURES:
        # What runs as a reference need not run as a candidate: nothing is known then.
        return 0.0


def spread_in_turn(session: Session, contest: Callable[[], Sequence[float] | None]) -> float:
    """As `process_spread`, from a few contests with eager, each of a process that begins and ends with it.

    `contest` returns the logs of the process's time over eager's, by block; None: it came to none.
    """
    if session.process_spread is None:
        contests = (contest() for _ in range(ONE_BY_ONE if session.eager_s <= LONGEST_S else 0))
        # The first that comes to nothing ends it: so would the others.
        own = [float(np.median(logs)) for logs in takewhile(bool, contests) if logs]
        session.process_spread = beyond_range([0.0, *own], RANGE_OF_FOUR) if len(own) == ONE_BY_ONE else 0.0
    return session.process_spread


def beyond_range(logs: Sequence[float], times: float, apart: float = 0.0) -> float:
    """The relative difference at so many times the range of these logs, `apart` besides, as far as one is ever held back."""
    return min(LARGE, float(np.exp(apart + times * np.ptp(logs)))) - 1


def spread_of(eagers: Sequence[float], times: Sequence[Sequence[float]]) -> float:
    """From the times of eager and of six processes, block by block, to what one more may differ by from eager, for life.

    A process counts by the median of its blocks, each beside what was usual in that block: what the machine drifts through
    is common to all.
    """
    logs = np.log(np.asarray(times))
    usual = np.median(logs, axis=0)
    own, apart = np.median(logs - usual, axis=1), abs(float(np.median(np.log(np.asarray(eagers)) - usual)))
    return beyond_range(own.tolist(), RANGE_TO_NEXT, apart)


@dataclass(frozen=True)
class _Eager:
    """The reference's own process, asked as the others are."""

    process: ComputeProcess
    calls_at_once = None

    def ready(self, calls: int) -> None:
        """Nothing is poisoned there."""

    def run(self, calls: Sequence[Sequence[int]], checked: bool) -> TimedRun:
        """What eager takes for a sample."""
        return self.process.run(calls, checked, variant="eager")


def _times(session: Session, processes: Sequence[ComputeProcess | _Eager]) -> list[list[float]]:
    """Each process's blocks, on a case that all of them know: nobody here has an interest in its time."""
    calls = _sample(session, processes)
    found: list[list[float]] = [[] for _ in processes]
    start = time.perf_counter()
    while len(found[0]) < LEAST_BLOCKS or (len(found[0]) < MOST_BLOCKS and time.perf_counter() - start < LIMIT_S):
        order = secrets.SystemRandom().sample(range(len(processes)), len(processes))
        best = [min(_run(processes[i], calls) for _ in range(ROUNDS)) for i in order]
        for i, value in zip(order, best, strict=True):
            found[i].append(value)
    return found


def _sample(session: Session, processes: Sequence[ComputeProcess | _Eager]) -> list[tuple[int, ...]]:
    """As many calls as a sample of a benchmark holds, and all processes warm."""
    one = [session.cases[0].offsets]
    quickest = min(_warm(process, one) for process in processes)
    most = min([session.most_calls(), *(p.calls_at_once for p in processes if p.calls_at_once)])
    return one * max(1, min(most, round(SAMPLE_NS / quickest)))


def _warm(process: ComputeProcess | _Eager, calls: Sequence[Sequence[int]]) -> float:
    """The quickest of its first questions, in nanoseconds; a process still finds new pages in a dozen of them."""
    times, start = [_run(process, calls)], time.perf_counter()
    while len(times) < WARMING and time.perf_counter() - start < WARMING_S:
        times.append(_run(process, calls))
    return min(times)


def _run(process: ComputeProcess | _Eager, calls: Sequence[Sequence[int]]) -> float:
    process.ready(len(calls))
    return float(process.run(calls, checked=False).outside_ns)
