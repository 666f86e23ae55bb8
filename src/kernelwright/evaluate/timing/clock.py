"""The clock: paired, interleaved blocks of all sides on the same fresh inputs, timed by the grader from outside.

A block is one or more rounds. In a round every side computes the same calls once, on inputs that nobody has seen
before; the order of sides is drawn for each block and mirrored from one round to the next. A side's sample for the
block is its smallest round, so that one interruption does not spoil it (research on this protocol: docs/referee.md).
Between its turns a side is frozen. `after` sees every side's results before the next one runs and says what is right;
`settled` says when the clock has seen enough.
"""

import secrets
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from kernelwright.evaluate.sandbox.compute_process import MOST_CALLS, ComputeProcess, TimedRun
from kernelwright.evaluate.timing.conditions import Watch

Calls = list[tuple[int, ...]]

SAMPLE_NS = 3_000_000
"""Shortest sample worth timing from outside, where waking a process costs tens of microseconds."""
ROUNDS = 3
MOST_IN_TURN = 16
"""Calls of a round that are handed over one by one."""
ALONE_NS = 1_000_000
"""A call that takes as long is a sample by itself: there is nothing to share with others, and waking is a small part of it."""
MOST_LOOKS, WARM_S, REHEARSAL = 8, 0.5, 0.2
"""Looks at a side before the first block that counts, in single calls and in blocks; seconds that the former may take, and
share of a benchmark's seconds that the latter may."""
GIVEN, LONGER = 48, 1.25
"""Samples of trusted sides of which the quickest says how long being given parameters takes, and how many times as long it may
take: on a busy machine others would leave room for work."""
AGREES = 0.05
"""Two looks at a warm side differ by less."""
IN_TURN, CHALLENGED = 4, 3
"""Of so many blocks all but one are held once more with calls one by one; one has a challenge among its rounds, by lot."""
DISAGREES_US = 20.0
"""Microseconds a call that waking and answering may differ by, from one question to the next."""
LEAST_BUSY_NS, MOST_BUSY_NS = 30_000, 5_000_000
"""How long the device may be kept busy before a call, so that twice the longest queueing of any side hides there."""


@dataclass(frozen=True)
class Pace:
    """How much one block holds."""

    rounds: int = ROUNDS
    sample_ns: int = SAMPLE_NS
    most_calls: int = MOST_CALLS
    slowest_ns: int = 2_000_000_000
    """Longest that one side's sample may take for the sake of another's. Serial code takes thousands of times as long as
    what is made of it, and must compute each timed call too."""
    rehearsed: bool = False
    """Whether a block is held first that does not count: memory for a sample's results is new to every side then."""


OUTSIDE = Pace()
DEVICE = Pace(rounds=1, most_calls=16, slowest_ns=100_000_000, rehearsed=True)
"""Each call is timed by itself and a sample is their median, so that more, smaller blocks are worth more."""


@dataclass(frozen=True)
class Arm:
    """A side of the benchmark."""

    name: str
    process: ComputeProcess
    variant: str = ""
    trusted: bool = False
    """Whether its own word on what starting a kernel takes in its process is the referee's."""
    on_host: bool = False
    """Whether it is serial code beside a device's clock: what it queues takes as long as the call, and nothing hides that."""


@dataclass(frozen=True)
class Samples:
    """Microseconds for one call, a block each, by side; and how far the two clocks agree."""

    us: dict[str, list[float]]
    calls: int
    quietest: dict[str, TimedRun]
    """The fastest sample of each side: the one that the machine disturbed least."""
    cpu_us: dict[str, float]
    """Processor microseconds of one call, all threads together: the median over all rounds, by side."""
    in_turn_us: dict[str, list[float]] = field(default_factory=dict)
    """Microseconds of one call in some blocks, by side, where calls were handed over one by one; `idle`: nothing done."""
    at_once_us: dict[str, list[float]] = field(default_factory=dict)
    """The same blocks as samples."""


@dataclass
class _Tally:
    """What is known while a benchmark goes on."""

    names: Sequence[str]
    us: dict[str, list[float]] = field(init=False)
    cpu_ns: dict[str, list[int]] = field(init=False)
    quietest: dict[str, TimedRun] = field(default_factory=dict)
    in_turn_us: dict[str, list[float]] = field(default_factory=dict)
    at_once_us: dict[str, list[float]] = field(default_factory=dict)
    outside_ns: int = 0
    aside: list[dict[str, float]] = field(default_factory=list)
    """Blocks that others disturbed."""
    began: float = field(default_factory=time.perf_counter)

    @property
    def held(self) -> int:
        """Blocks that count."""
        return len(self.us[self.names[0]])

    def over(self, blocks: int, limit_s: float) -> bool:
        """Whether there are enough blocks, or too many were disturbed, or another would take too long."""
        taken, spent_s = self.held + len(self.aside), max(time.perf_counter() - self.began, self.outside_ns / 1e9)
        more = 1 + len(self.aside) / max(1, taken)
        return self.held >= blocks or len(self.aside) > blocks or _enough(taken, spent_s, limit_s * more)

    def __post_init__(self) -> None:
        self.us = {name: [] for name in self.names}
        self.cpu_ns = {name: [] for name in self.names}

    def count(self, best: dict[str, float]) -> None:
        """A block counts."""
        for name, value in best.items():
            self.us[name].append(value)

    def add(self, name: str, ran: TimedRun) -> None:
        """One sample, whether or not its block will count."""
        self.outside_ns += ran.outside_ns
        self.cpu_ns[name].append(ran.cpu_ns)
        self.quietest[name] = min(self.quietest.get(name, ran), ran, key=lambda r: r.outside_ns)


@dataclass
class PairedBenchmark:
    """How to run one: where fresh inputs come from, who looks at results, how long it may take."""

    arms: Sequence[Arm]
    fresh: Callable[[int], Calls]
    """Writes inputs for this many calls, and says where they lie; called once a round."""
    after: Callable[[Arm, TimedRun], None]
    """Sees the results of a side, which is frozen."""
    round_over: Callable[[], None]
    among: Callable[[int], Calls] | None = None
    """As `fresh`, with others beside them that look the same and that nobody is told of; None: no calls one by one."""
    challenge: Callable[[int], Calls] | None = None
    """As `fresh`, with inputs in which what a candidate may have left out shows; None: there are none."""
    most_calls: int = MOST_CALLS
    """Calls that one sample may hold: their results lie in memory together."""
    inside: bool = False
    """The child's own clock counts: the device's, or in a test of the defence."""
    pace: Pace = OUTSIDE
    settled: Callable[[dict[str, list[float]]], bool] = lambda samples: False
    """Whether the samples so far are enough; asked after every block that counts."""
    watch: Watch = field(default_factory=Watch)
    doubted: bool = False
    """Calls one by one are compared with samples that are held for it, among as many other inputs: what else was written
    pushes results out of the caches. That costs time, so it is for a second look."""
    _given_ns: deque[int] = field(default_factory=lambda: deque(maxlen=GIVEN), init=False)
    """How long trusted sides took of late to be given a call's parameters."""
    overhead_us: dict[str, float] = field(default_factory=dict, init=False)
    """What starting a kernel takes in each side's process; known where every side's word on it can be trusted."""

    def calls_per_sample(self) -> int:
        """Warm every side up until two looks agree, and choose calls so that the fastest side's sample is long enough."""
        looks, begin = [self._look()], time.perf_counter()
        while len(looks) < 2 or (len(looks) < MOST_LOOKS and not _agree(*looks[-2:])):
            looks.append(self._look())
            if time.perf_counter() - begin > WARM_S:
                break
        fastest, queued = min(us for look in looks for us, _ in look.values()) * 1000, self._queued(looks[-1])
        slowest = max(us for us, _ in looks[-1].values()) * 1000
        for arm in self.arms:
            arm.process.spin_before_calls(min(MOST_BUSY_NS, max(LEAST_BUSY_NS, 2 * queued)))
        if fastest >= ALONE_NS and not self.inside:
            return 1
        most = min(self.most_calls, self.pace.most_calls, int(self.pace.slowest_ns / slowest))
        return max(1, min(most, round(self.pace.sample_ns / fastest)))

    def _look(self) -> dict[str, tuple[float, int]]:
        """One call of every side: microseconds, and nanoseconds that the host took to queue it."""
        calls, found = self.fresh(1), {}
        for arm in self.arms:
            ran = self._run(arm, calls)
            found[arm.name] = (self._call_us(ran, 1), ran.queued_ns)
        self.round_over()
        return found

    def _queued(self, look: dict[str, tuple[float, int]]) -> int:
        return max((look[arm.name][1] for arm in self.arms if not arm.on_host), default=0)

    def _rehearse(self, count: int, limit_s: float) -> None:
        """Blocks that do not count, until two of them agree: memory for their results is new to every side at first.

        A module that is loaded, or a setting that is tuned, when it is needed makes an early block several times as slow as
        all others, and one such block among ten is the end of an interval.
        """
        names, begin = [e.name for e in self.arms], time.perf_counter()
        before: dict[str, tuple[float, int]] | None = None
        for _ in range(MOST_LOOKS):
            block = {name: (us, 0) for name, us in self._block(count, _Tally(names)).items()}
            if (before and _agree(before, block)) or time.perf_counter() - begin > REHEARSAL * limit_s:
                return
            before = block

    def hold(self, blocks: int, limit_s: float) -> Samples:
        """Time up to `blocks` blocks within about `limit_s` seconds: at least eight, fewer of a kernel of many seconds.

        Blocks that others disturbed are set aside and taken again, as many as that at most and within as many seconds more.
        """
        count = self.calls_per_sample()
        names = [e.name for e in self.arms]
        if self.pace.rehearsed:
            self._rehearse(count, limit_s)
        self._ask_overheads()
        self.watch.begin()
        tally = _Tally(names)
        while not tally.over(blocks, limit_s):
            held = tally.held
            best = self._block(count, tally, challenged=not held or not secrets.randbelow(CHALLENGED))
            if self.watch.spoiled():
                continue
            if self.watch.noisy():
                tally.aside.append(best)
                continue
            tally.count(best)
            if count > 1 and (not held or secrets.randbelow(IN_TURN)):
                self._in_turn(min(count, MOST_IN_TURN), best, tally)
            if self.settled(tally.us):
                break
        self.watch.disturbed = len(tally.aside) > tally.held
        # There is no better figure then, and no verdict rests on it.
        for best in tally.aside[: blocks - tally.held] if self.watch.disturbed else ():
            tally.count(best)
        cpu_us = {name: median(v) / count / 1000 for name, v in tally.cpu_ns.items()}
        return Samples(tally.us, count, tally.quietest, cpu_us, tally.in_turn_us, tally.at_once_us)

    def once_more(self, calls: int) -> None:
        """One more round of eager and the candidate, whose time does not count: for what only many results tell."""
        windows = self.fresh(calls)
        for arm in self.arms:
            if arm.name in ("eager", "candidate"):
                self._run(arm, windows)
        self.round_over()

    def waiting_us(self, calls: int) -> dict[str, float]:
        """Wall microseconds of one call by side, for a program that waits for each result: the median of three rounds.

        A child's own clock is believed while the grader's agrees: what an empty question takes is no part of a call, and
        a graph is captured beforehand. The candidate's figure is the grader's where that says clearly more.
        """
        found: dict[str, list[float]] = {e.name: [] for e in self.arms}
        for order in self._orders(ROUNDS):
            windows = self.fresh(calls)
            for arm in order:
                ran = arm.process.run_waiting(windows, arm.variant)
                self.after(arm, ran)
                us = ran.inside_ns / calls / 1000
                if arm.name == "candidate":
                    empty = arm.process.run_waiting([], arm.variant)
                    outside = (ran.outside_ns - empty.outside_ns) / calls / 1000
                    us = outside if outside > 1.1 * us + DISAGREES_US else us
                found[arm.name].append(us)
            self.round_over()
        return {name: median(values) for name, values in found.items()}

    def _ask_overheads(self) -> None:
        if not all(e.trusted for e in self.arms):
            return
        offsets, asked = self.fresh(1)[0], {}
        for process in {id(e.process): e.process for e in self.arms}.values():
            asked[id(process)] = process.overhead_us(offsets)
        self.overhead_us = {e.name: asked[id(e.process)] for e in self.arms}
        self.round_over()

    def _excess_us(self, name: str) -> float:
        """By how much starting a kernel takes longer in a side's process than in the quickest: no merit of its kernel."""
        return self.overhead_us[name] - min(self.overhead_us.values()) if self.overhead_us else 0.0

    def _block(self, count: int, tally: _Tally, challenged: bool = False) -> dict[str, float]:
        """The fastest of its rounds, by side; a challenge is one more of them, anywhere, whose time does not count."""
        best = {e.name: float("inf") for e in self.arms}
        orders = self._orders(self.pace.rounds)
        at = secrets.randbelow(len(orders) + 1) if challenged and self.challenge else -1
        for number, order in enumerate(orders):
            if number == at:
                self._challenge(count, tally)
            calls = self.fresh(count)
            for arm in order:
                ran = self._run(arm, calls)
                us = self._call_us(ran, count) - self._excess_us(arm.name)
                best[arm.name] = min(best[arm.name], us)
                tally.add(arm.name, ran)
            self.round_over()
        if at == len(orders):
            self._challenge(count, tally)
        return best

    def _challenge(self, count: int, tally: _Tally) -> None:
        assert self.challenge is not None
        calls, (order,) = self.challenge(count), self._orders(1)
        tally.outside_ns += sum(self._run(arm, calls).outside_ns for arm in order)
        self.round_over()

    def _in_turn(self, calls: int, at_once: dict[str, float], tally: _Tally) -> None:
        """The block once more, with calls handed over one by one; `idle` is what that takes eager's process alone."""
        if self.among is None:
            return
        at_once = self._at_once(self.among, calls, tally) if self.doubted else at_once
        best = dict.fromkeys(("idle", *tally.names), float("inf"))
        for order in self._orders(self.pace.rounds):
            windows = self.among(calls)
            for arm in order:
                side, variant = arm.process, arm.variant
                ran = {arm.name: side.run_in_turn(windows, variant)}
                self.after(arm, ran[arm.name])
                if arm.name == "eager":
                    ran["idle"] = side.run_in_turn(windows, variant, idle=True)
                tally.outside_ns += sum(r.outside_ns for r in ran.values())
                best |= {name: min(best[name], r.outside_ns / calls / 1000) for name, r in ran.items()}
            self.round_over()
        for name, value in best.items():
            tally.in_turn_us.setdefault(name, []).append(value)
        for name, value in at_once.items():
            tally.at_once_us.setdefault(name, []).append(value)

    def _at_once(self, among: Callable[[int], Calls], calls: int, tally: _Tally) -> dict[str, float]:
        """The same block with all of its calls known from the start, among the same number of inputs."""
        best = dict.fromkeys(tally.names, float("inf"))
        for order in self._orders(self.pace.rounds):
            windows = among(calls)
            for arm in order:
                ran = self._run(arm, windows)
                tally.outside_ns += ran.outside_ns
                best[arm.name] = min(best[arm.name], ran.outside_ns / calls / 1000)
            self.round_over()
        return best

    def _call_us(self, ran: TimedRun, count: int) -> float:
        """Microseconds of one call of a sample: their median where each was timed, else their mean."""
        if ran.each_ns and self.inside:
            return median(ran.each_ns) / 1000
        return (ran.inside_ns if self.inside else ran.outside_ns) / count / 1000

    def _orders(self, rounds: int) -> list[list[Arm]]:
        order = secrets.SystemRandom().sample(list(self.arms), len(self.arms))
        return [order if i % 2 == 0 else order[::-1] for i in range(rounds)]

    def _run(self, arm: Arm, calls: Calls) -> TimedRun:
        ran = arm.process.run(calls, checked=False, variant=arm.variant)
        self.watch.turn_over()
        self.after(arm, ran)
        return self._charged(arm, ran)

    def _charged(self, arm: Arm, ran: TimedRun) -> TimedRun:
        """With what a candidate took to be given its parameters beyond what others take: it worked something out of them."""
        if arm.name != "candidate":
            self._given_ns.append(ran.given_ns)
            return ran
        allowed = LONGER * min(self._given_ns, default=ran.given_ns)
        return replace(ran, outside_ns=ran.outside_ns + max(0, round(ran.given_ns - allowed)))


def _agree(first: dict[str, tuple[float, int]], second: dict[str, tuple[float, int]]) -> bool:
    """Whether every side took as long as before."""
    return all(abs(first[name][0] - us) <= AGREES * max(first[name][0], us) for name, (us, _) in second.items())


def _enough(blocks: int, spent_s: float, limit_s: float) -> bool:
    """Whether another block would take too long; a kernel of many seconds gets by with three."""
    if blocks >= 8:
        return spent_s + spent_s / blocks > limit_s
    return blocks >= 3 and spent_s > 4 * limit_s
