"""The clock: paired, interleaved blocks of all sides on the same fresh inputs, timed by the grader from outside.

A block is three rounds. In a round every side computes the same calls once, on windows of the inputs that nobody has
seen before; the order of sides is random and mirrored from one round to the next. A side's sample for the block is its
smallest of three, so that one interruption does not spoil it (research on this protocol: docs/referee.md). Between its
turns a side is frozen. Decides nothing about right or wrong: `after` sees every side's results before the next one runs.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from kernelwright.evaluate.sandbox.contestant import Contestant, Ran

Calls = list[tuple[int, ...]]

SAMPLE_NS = 3_000_000
"""Shortest sample worth timing from outside, where waking a process costs tens of microseconds."""
MOST_CALLS = 48
ROUNDS = 3


@dataclass(frozen=True)
class Entrant:
    """A side of the contest."""

    name: str
    contestant: Contestant
    variant: str = ""


@dataclass(frozen=True)
class Samples:
    """Microseconds for one call, a block each, by side; and how far the two clocks agree."""

    us: dict[str, list[float]]
    calls: int
    quietest: dict[str, Ran]
    """The fastest sample of each side: the one that the machine disturbed least."""
    cpu_us: dict[str, float]
    """Processor microseconds of one call, all threads together: the median over all rounds, by side."""
    call_us: float
    """Median wall time of one call of the candidate, from outside."""


@dataclass
class Contest:
    """How to run one: where fresh inputs come from, who looks at results, how long it may take."""

    entrants: Sequence[Entrant]
    fresh: Callable[[int], Calls]
    """Windows for this many calls; called once a round."""
    after: Callable[[Entrant, Ran], None]
    """Sees the results of a side, which is frozen."""
    round_over: Callable[[], None]
    most_calls: int = MOST_CALLS
    """Calls that one sample may hold: their results lie in memory together."""
    inside: bool = False
    """Trust the child's own clock; only a test of the defence does."""

    def calls_per_sample(self) -> int:
        """Warm every side up, and choose calls so that the fastest side's sample is long enough."""
        fastest = float("inf")
        for _ in range(2):
            calls = self.fresh(1)
            for entrant in self.entrants:
                ran = self._run(entrant, calls)
                fastest = min(fastest, ran.inside_ns if self.inside else ran.outside_ns)
            self.round_over()
        return max(1, min(self.most_calls, round(SAMPLE_NS / fastest)))

    def hold(self, blocks: int, limit_s: float) -> Samples:
        """Time up to `blocks` blocks within about `limit_s` seconds: at least eight, fewer of a kernel of many seconds."""
        count = self.calls_per_sample()
        us: dict[str, list[float]] = {e.name: [] for e in self.entrants}
        walls: list[float] = []
        quietest: dict[str, Ran] = {}
        cpu: dict[str, list[int]] = {name: [] for name in us}
        spent = 0.0
        for block in range(blocks):
            if _enough(block, spent, limit_s):
                break
            best = dict.fromkeys(us, float("inf"))
            for order in self._orders():
                calls = self.fresh(count)
                for entrant in order:
                    ran = self._run(entrant, calls)
                    time_ns = ran.inside_ns if self.inside else ran.outside_ns
                    best[entrant.name] = min(best[entrant.name], time_ns / count / 1000)
                    spent += ran.outside_ns / 1e9
                    cpu[entrant.name].append(ran.cpu_ns)
                    if entrant.name == "candidate":
                        walls.append(ran.outside_ns / count / 1000)
                    known = quietest.setdefault(entrant.name, ran)
                    quietest[entrant.name] = min(known, ran, key=lambda r: r.outside_ns)
                self.round_over()
            for name, value in best.items():
                us[name].append(value)
        cpu_us = {name: median(v) / count / 1000 for name, v in cpu.items()}
        return Samples(us, count, quietest, cpu_us, median(walls))

    def _orders(self) -> list[list[Entrant]]:
        order = secrets.SystemRandom().sample(list(self.entrants), len(self.entrants))
        return [order if i % 2 == 0 else order[::-1] for i in range(ROUNDS)]

    def _run(self, entrant: Entrant, calls: Calls) -> Ran:
        ran = entrant.contestant.run(calls, checked=False, variant=entrant.variant)
        self.after(entrant, ran)
        return ran


def _enough(blocks: int, spent_s: float, limit_s: float) -> bool:
    """Whether another block would take too long; a kernel of many seconds gets by with three."""
    if blocks >= 8:
        return spent_s + spent_s / blocks > limit_s
    return blocks >= 3 and spent_s > 4 * limit_s
