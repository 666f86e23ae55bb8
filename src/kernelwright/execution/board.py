"""How many workers each of several commands on one cluster may hold, and what each of them is at.

Every command reports to one board. Users share by weight, a user's commands alike, and nobody gets more than it wants: max-min
fairness (Bertsekas and Gallager, Data Networks, 1992, 6.5.2). Workers are whole, shares are not: the odd workers go to those
who were given too little so far, for at least `TURN_S`. What nobody wants stays with whoever has it.

Knows nothing of Ray: `cluster` keeps one in an actor, and simulations call it as it is.
"""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

WEIGHTS = "KERNELWRIGHT_WEIGHTS"
"""Set where nodes are started: users' weights, such as `alice=3,bob=1`. A user who is not named weighs 1."""
GONE_S = 60.0
"""A command that says nothing for so long has ended."""
WANTED_S = 60.0
"""A command wants as many workers as it had jobs at once within so long, so that one that thinks keeps its worker."""
TURN_S = 60.0
"""A worker that two commands have in turn is each one's for so long, or twice that."""
RATED_S = 300.0
"""Rate and utilisation are of the latest so many seconds."""

K = TypeVar("K", bound=Hashable)


class Report(NamedTuple):
    """What one command says of itself."""

    name: str
    """No other's."""
    user: str
    where: str
    """Host and process id."""
    command: str
    gpu: bool
    """Whether its workers have a GPU each; those that have not share other resources."""
    room: int
    """Workers that the cluster has room for and that it can use."""
    held: dict[str, int]
    """Workers that it has or is opening, by node."""
    busy: dict[str, int]
    """Those of them that have jobs."""
    waiting: dict[str, int]
    """Jobs that no worker has yet, by task."""
    wanted: int = 0
    """Most jobs at once since the last report."""
    at_work: int = 0
    """Jobs that workers have now."""
    answered: int = 0
    """Since it began; so with the next two."""
    lost: int = 0
    """Workers."""
    retried: int = 0
    """Jobs that lost their worker and were begun again."""


class Grant(NamedTuple):
    """What a command may do."""

    most: int
    """Workers that it may hold."""
    others: dict[str, int]
    """Workers that others hold, by node."""


class Line(NamedTuple):
    """One command as a person sees it."""

    report: Report
    weight: float
    most: int
    verdicts_a_minute: float
    busy: float
    """Workers that were busy, on average."""


@dataclass
class _Known:
    """A command, and its latest reports: when, jobs wanted, jobs answered, workers busy."""

    report: Report
    since: float
    samples: deque[tuple[float, int, int, int]] = field(default_factory=deque)
    credit: float = 0.0
    """Worker seconds that it was given too little, as far as they count."""
    odd: bool = False
    """Whether one of the workers that do not divide is its."""
    most: int = 0

    def take(self, report: Report, now: float) -> None:
        self.report = report
        self.samples.append((now, report.wanted, report.answered, sum(report.busy.values())))
        while now - self.samples[0][0] > RATED_S:
            self.samples.popleft()

    def wants(self, now: float) -> int:
        latest = max((wanted for at, wanted, *_ in self.samples if now - at <= WANTED_S), default=0)
        return min(self.report.room, latest)

    def line(self, weight: float) -> Line:
        first, last = self.samples[0], self.samples[-1]
        passed = last[0] - first[0]
        rate = 60 * (last[2] - first[2]) / passed if passed else 0.0
        busy = sum(each[3] for each in self.samples) / len(self.samples)
        return Line(self.report, weight, self.most, rate, busy)


def fill(amount: float, wants: Mapping[K, float], weights: Mapping[K, float]) -> dict[K, float]:
    """Each what it wants, or its part by weight of what the others leave, whichever is less."""
    got, left = dict[K, float](), dict(wants)
    while left:
        part = amount / sum(weights[each] for each in left)
        content = [each for each in left if left[each] <= part * weights[each]]
        if not content:
            return got | {each: part * weights[each] for each in left}
        for each in content:
            got[each] = left.pop(each)
            amount -= got[each]
    return got


def weights_of(told: str) -> dict[str, float]:
    """Users' weights; what cannot be read as one is left out."""
    pairs = (each.strip().partition("=") for each in told.split(","))
    return {user: float(weight) for user, _, weight in pairs if weight.replace(".", "", 1).isdigit() and float(weight)}


class Board:
    """Its functions are called one after another."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, weights: str | None = None) -> None:
        self._clock = clock
        self._weights = weights_of(os.environ.get(WEIGHTS, "") if weights is None else weights)
        self._known: dict[str, _Known] = {}
        self._counted: dict[bool, float] = {}

    def report(self, told: dict[str, Any]) -> dict[str, Any]:
        """Take a `Report` as a dictionary; answers its `Grant` as one: versions of this package may differ."""
        report, now = Report(**{name: told[name] for name in Report._fields if name in told}), self._clock()
        self._forget(now)
        known = self._known.setdefault(report.name, _Known(report, now))
        known.take(report, now)
        self._share(report.gpu, now)
        others = Counter[str]()
        for each in self._alike(report.gpu):
            others.update(each.report.held if each is not known else {})
        return Grant(known.most, dict(others))._asdict()

    def leave(self, name: str) -> None:
        """That command has ended."""
        self._known.pop(name, None)

    def lines(self) -> list[dict[str, Any]]:
        """A `Line` for each command, the first to come first."""
        self._forget(self._clock())
        lines = [each.line(self._weight(each.report.user)) for each in self._known.values()]
        return [{**each._asdict(), "report": each.report._asdict()} for each in lines]

    def _weight(self, user: str) -> float:
        return self._weights.get(user, 1.0)

    def _alike(self, gpu: bool) -> list[_Known]:
        return [each for each in self._known.values() if each.report.gpu == gpu]

    def _forget(self, now: float) -> None:
        for name in [n for n, each in self._known.items() if now - each.samples[-1][0] > GONE_S]:
            del self._known[name]

    def _share(self, gpu: bool, now: float) -> None:
        """Decide anew what each of them may hold."""
        all_ = self._alike(gpu)
        room = max(each.report.room for each in all_)
        parts = self._parts(all_, room, now)
        self._count(all_, parts, now)
        odd = round(sum(parts)) - sum(map(int, parts))
        most_wronged = sorted(
            (n for n, part in enumerate(parts) if part > int(part)),
            key=lambda n: all_[n].credit + TURN_S * all_[n].odd,
            reverse=True,
        )
        spare = room - round(sum(parts))
        for n, each in enumerate(all_):
            each.odd = n in most_wronged[:odd]
            each.most = int(parts[n]) + each.odd + spare

    def _parts(self, all_: list[_Known], room: int, now: float) -> list[float]:
        by_user: dict[str, dict[int, float]] = {}
        for n, each in enumerate(all_):
            by_user.setdefault(each.report.user, {})[n] = each.wants(now)
        whole = {user: sum(wants.values()) for user, wants in by_user.items()}
        users = fill(room, whole, {user: self._weight(user) for user in by_user})
        parts = dict[int, float]()
        for user, wants in by_user.items():
            parts |= fill(users[user], wants, dict.fromkeys(wants, 1.0))
        return [round(parts[n], 9) for n in range(len(all_))]

    def _count(self, all_: list[_Known], parts: list[float], now: float) -> None:
        """What was given too little or too much since the last time; no more than two turns are remembered."""
        gpu = all_[0].report.gpu
        passed, self._counted[gpu] = now - self._counted.get(gpu, now), now
        for each, part in zip(all_, parts, strict=True):
            credit = each.credit + passed * (part - sum(each.report.held.values()))
            each.credit = max(-2 * TURN_S, min(2 * TURN_S, credit))
