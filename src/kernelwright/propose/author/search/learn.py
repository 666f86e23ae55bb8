"""How the author learns: from a parent's memo and feedback to the next change of one schedule option.

This is hill climbing without stored state. The best schedule of a lineage fixes one order in which its options are
changed. A proposal request takes the change at its distance from the attempt that measured that best, so siblings which know
nothing of each other never try the same. A change that paid makes a new best and is continued in its direction. Where somebody
estimates what schedules cost, what is thought to be slower comes later, and single changes that are thought to be hopeless do
not come. Without feedback the first parent is changed at random. Plans, languages and sources are unknown here.
"""

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import JsonValue, ValidationError

from kernelwright.propose.author.ir.space import Move, Setting, Space
from kernelwright.propose.author.search.portfolio import Kept, Portfolio, measured, of_use
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.feedback import BROADER, Bottleneck, Feedback

S = TypeVar("S", bound=Record)
Fingerprint = Callable[[S], str]
"""What tells the kernels of two schedules apart: an option may mean nothing beside the others."""
Estimate = Callable[[S], float]
"""Microseconds that a schedule's kernels may take."""
PAYS = 1.01
"""Factor of speedup above which a turn has paid and is worth continuing."""
MATCHED = 4.0
"""How much likelier an option is turned that eases the bottleneck that was found."""
NEIGHBOUR = 2.0
"""How much likelier an option moves by one step than by more."""
BEHIND = 0.15
"""How much less likely a value is that lies behind one that did not pay: most options have one optimum."""
HOME = 2.0
"""How much likelier an option goes back to where a person would start."""
DEAR = 4.0
"""Times the best's estimate from which on a schedule is not tried: what was estimated so took 1.6 to 270 times as long, of
49 schedules of two kernels (docs/log.md, 2026-11-28)."""

DRAWS = 32
"""Times that a starting point, or a pair of moves, is drawn until one will do."""


class Base(Record):
    """The best measured schedule of a lineage."""

    schedule: dict[str, JsonValue]
    score: float
    """Its speedup over eager."""
    at: int
    """Number of the proposal request that proposed it."""
    bottleneck: Bottleneck = "unknown"
    tried: tuple[str, ...] = ()
    """Turns that had been tried when it became the best."""
    onward: str = ""
    """The turn that made it, where that paid and may be continued."""


class Memo(Record):
    """What the author wants to find again on a proposal's children."""

    version: int = 1
    language: str
    schedule: dict[str, JsonValue]
    """The schedule of this proposal."""
    turned: tuple[str, ...] = ()
    """Turns that made it from `base`, as `option=value`."""
    base: Base | None = None
    """The lineage's best before this proposal; None when nothing was measured."""
    kept: tuple[Kept, ...] = ()
    """Over workloads, the schedules of the lineage that were the best at some."""
    portfolio: Portfolio | None = None
    """What the kernel is instead of `schedule` alone."""


def read_memo(text: str) -> Memo | None:
    """The memo; None for a candidate that the author did not write, or of another version."""
    try:
        memo = Memo.model_validate_json(text)
    except ValidationError:
        return None
    return memo if memo.version == 1 else None


def kept(parents: Sequence[Attempt]) -> tuple[Kept, ...]:
    """Of some lineages, the schedules that were the best at some workload; a portfolio's own figures belong to none."""
    found: list[Kept] = []
    for parent in parents:
        if (memo := read_memo(parent.proposal.memo)) is not None:
            own = measured(parent) if memo.portfolio is None else {}
            found += [*memo.kept, *([Kept(schedule=memo.schedule, speedups=own)] if own else [])]
    return of_use(found)


@dataclass(frozen=True)
class Step(Generic[S]):
    """A schedule to try, and what is remembered of how it came about."""

    schedule: S
    note: str
    memo: Memo


@dataclass(frozen=True)
class Past:
    """What is known when a step is asked for."""

    parents: Sequence[Attempt] = ()
    feedback: Sequence[Feedback] = ()
    """One for each parent; empty when it is withheld."""
    number: int = 0
    """The proposal request's number."""
    sibling: int = 0
    """Position among the proposal request's candidates."""
    siblings: int = 1


class Learner(Generic[S]):
    """Chooses the next schedule in one space. `home` is where a person would start."""

    def __init__(
        self,
        space: Space[S],
        language: str,
        home: S,
        seed: int,
        fingerprint: Fingerprint[S] = repr,
        estimate: Estimate[S] | None = None,
    ) -> None:
        self.space = space
        self.language = language
        self.home = home
        self.draw = random.Random(seed)
        self.fingerprint = fingerprint
        self.estimate = estimate

    def default(self) -> Step[S]:
        """Home as it is."""
        return self._step(self.home, (), None, "the default")

    def recalled(self, fields: dict[str, JsonValue], where: str) -> Step[S] | None:
        """A schedule of another run; None where this space has no such option or value."""
        try:
            schedule = self._schedule(fields)
        except ValidationError:
            return None
        fits = all(getattr(schedule, o.name) in o.values for o in self.space.options)
        return self._step(schedule, (), None, where) if fits else None

    def start(self) -> Step[S]:
        """A starting point: home with about half of the options drawn anew, again if that changed nothing or is hopeless."""
        count = max(1, len(self.space.options) // 2)
        for _ in range(DRAWS):
            schedule = self.space.scattered(self.home, self.draw.getrandbits(32), count)
            if self._worth(schedule, self.home) and self.fingerprint(schedule) != self.fingerprint(self.home):
                break
        return self._step(schedule, (), None, "a starting point")

    def improve(self, past: Past) -> Step[S]:
        """The lineage's best with the next option turned; two options when every single turn was tried."""
        base = self._base(past)
        if base is None:
            return self._blind(past)
        picks = self._picks(base, self._distance(base, past) + 1)
        return self._turned(base, picks[-1] if picks else ())

    def another(self, past: Past) -> Step[S]:
        """A step drawn for this request alone, where the one that was its turn is known."""
        base = self._base(past)
        if base is None:
            return self._blind(past) if past.parents else self.start()
        schedule = self._schedule(base.schedule)
        return self._turned(base, self._pair(self.draw, schedule, self._worths(schedule), {self.fingerprint(schedule)}))

    def _turned(self, base: Base, moves: tuple[Move, ...]) -> Step[S]:
        because = f", {base.bottleneck} bound" if base.bottleneck != "unknown" else ""
        note = f"turned {_names(moves)}{because}"
        return self._step(self.space.turned(self._schedule(base.schedule), *moves), moves, base, note)

    def apply(self, past: Past, hint: str) -> Step[S]:
        """The turn that the hint names; an improvement like any other when it names none."""
        move = self.space.named(hint)
        if move is None:
            return self.improve(past)
        base = self._base(past)
        parent = self._schedule(base.schedule) if base else self._first(past)
        return self._step(self.space.turned(parent, move), (move,), base, f"applied {move.name}")

    def repair(self, past: Past) -> Step[S]:
        """Away from what failed: the lineage's best with another turn, or home, which is safe."""
        if self._base(past) is not None:
            return self.improve(past)
        return self._step(self.home, (), None, "back to the safe default")

    def _blind(self, past: Past) -> Step[S]:
        """The first parent with any option turned."""
        parent = self._first(past)
        moves = list(self.space.moves(parent))
        move = tuple(self.draw.sample(moves, min(1, len(moves))))
        return self._step(self.space.turned(parent, *move), move, None, f"turned {_names(move)} blindly")

    def _first(self, past: Past) -> S:
        memos = [memo for p in past.parents if (memo := self._memo(p))]
        return self._schedule(memos[0].schedule) if memos else self.home

    # What the parents teach.

    def _base(self, past: Past) -> Base | None:
        """The best of the parents' lineages; None without feedback, or where nothing was measured."""
        pairs = zip(past.parents, past.feedback, strict=False)
        found = [base for p, words in pairs if (base := self._lineage(p, words))]
        return max(found, key=lambda base: base.score, default=None)

    def _lineage(self, parent: Attempt, words: Feedback) -> Base | None:
        memo = self._memo(parent)
        score = (words.speedup_eager or 0.0) if words.works else 0.0
        if memo is None or score == 0.0:
            return memo.base if memo else None
        before, at = memo.base, parent.proposal_request.number
        if before is not None and before.score >= score:
            return before
        tried = {*memo.turned}
        if before is not None:
            picks = self._picks(before, max(0, at - before.at))
            tried |= {*before.tried, *(move.name for moves in picks for move in moves)}
            tried |= {Move(option, _setting(before, option)).name for option, _, _ in map(_parted, memo.turned)}
        paid = before is not None and score > PAYS * before.score and len(memo.turned) == 1
        return Base(
            schedule=memo.schedule, score=score, at=at, bottleneck=words.bottleneck,
            tried=tuple(sorted(tried)), onward=memo.turned[0] if paid else "",
        )  # fmt: skip

    def _distance(self, base: Base, past: Past) -> int:
        """How many proposals came between the base and this one."""
        return max(0, past.number - base.at - 1) * past.siblings + past.sibling

    # The order of turns.

    def _picks(self, base: Base, count: int) -> list[tuple[Move, ...]]:
        """The first turns in the order that belongs to a base: always the same for the same base."""
        draw = random.Random(str(sorted(base.schedule.items())))
        schedule = self._schedule(base.schedule)
        tried = set(base.tried)
        worth = self._worths(schedule)
        picks: list[tuple[Move, ...]] = [(move,) for move in self._onward(base, schedule, list(worth))]
        picks += self._homeward(base, schedule)
        while len(picks) < count and worth:
            tried |= {move.name for turned in picks for move in turned}
            fresh = [move for move in worth if move.name not in tried]
            if not fresh:
                return [*picks, *self._pairs(draw, schedule, worth, picks, count)]
            weights = [self._weight(base, schedule, move, tried) * worth[move] for move in fresh]
            move = draw.choices(fresh, weights)[0]
            # Asked of few, since each is written for it: a network has hundreds of options.
            if self._changes(schedule, move):
                picks.append((move,))
            else:
                del worth[move]
        return picks[:count]

    def _pairs(
        self,
        draw: random.Random,
        schedule: S,
        worth: Mapping[Move, float],
        picks: Sequence[tuple[Move, ...]],
        count: int,
    ) -> list[tuple[Move, ...]]:
        """Further turns, of which no two make the same kernel as long as others are found."""
        known = {self.fingerprint(self.space.turned(schedule, *turned)) for turned in ((), *picks)}
        found: list[tuple[Move, ...]] = []
        while len(picks) + len(found) < count:
            found.append(self._pair(draw, schedule, worth, known))
            known.add(self.fingerprint(self.space.turned(schedule, *found[-1])))
        return found

    def _pair(
        self, draw: random.Random, schedule: S, worth: Mapping[Move, float], known: AbstractSet[str]
    ) -> tuple[Move, ...]:
        """Two moves; drawn again where together they are hopeless, or make a known kernel. None where nothing is free."""
        turned: tuple[Move, ...] = ()
        for _ in range(DRAWS if worth else 0):
            first, second = draw.choices(list(worth), list(worth.values()), k=2)
            turned = (first, second) if first.option != second.option else (first,)
            made = self.space.turned(schedule, *turned)
            if self._worth(made, schedule) and self.fingerprint(made) not in known:
                break
        return turned

    def _homeward(self, base: Base, schedule: S) -> list[tuple[Move, ...]]:
        """From a start that nothing was tried on: all the way home at once, to see which of the two is better."""
        if base.tried or base.onward:
            return []
        away = [Move(d.name, getattr(self.home, d.name)) for d in self.space.options]
        moves = tuple(t for t in away if getattr(schedule, t.option) != t.value)
        return [moves] if self.fingerprint(self.space.turned(schedule, *moves)) != self.fingerprint(schedule) else []

    def _worths(self, schedule: S) -> dict[Move, float]:
        """Of each move that is not hopeless, how likely it is tried. Where all are, the estimate is wrong: all are alike."""
        found = {move: self._worth(self.space.turned(schedule, move), schedule) for move in self.space.moves(schedule)}
        return {move: worth for move, worth in found.items() if worth} or dict.fromkeys(found, 1.0)

    def _worth(self, schedule: S, best: S) -> float:
        """How likely a schedule is tried, by what it and the best are estimated to take: 0 to 1, and 1 where nobody knows."""
        if self.estimate is None:
            return 1.0
        times = self.estimate(schedule) / max(self.estimate(best), sys.float_info.min)
        return 0.0 if times >= DEAR else 1.0 / max(1.0, times) ** 2

    def _changes(self, schedule: S, move: Move) -> bool:
        return self.fingerprint(self.space.turned(schedule, move)) != self.fingerprint(schedule)

    def _onward(self, base: Base, schedule: S, moves: Sequence[Move]) -> list[Move]:
        """One step further in the direction that paid, if there is one that was not tried."""
        if not base.onward:
            return []
        last = self._turn(base.onward)
        values = self.space.by_name[last.option].values
        if last.value not in values:
            return []
        at = values.index(last.value)
        beside = {values[i] for i in (at - 1, at + 1) if 0 <= i < len(values)}
        ahead = [t for t in moves if t.option == last.option and t.value in beside and t.name not in base.tried]
        return ahead if len(ahead) == 1 and self._changes(schedule, ahead[0]) else []

    def _weight(self, base: Base, schedule: S, move: Move, tried: set[str]) -> float:
        option = self.space.by_name[move.option]
        weight = MATCHED if option.eases in (base.bottleneck, BROADER.get(base.bottleneck)) else 1.0
        weight *= HOME if getattr(self.home, move.option) == move.value else 1.0
        now = getattr(schedule, move.option)
        if now in option.values:
            low, high = sorted((option.values.index(now), option.values.index(move.value)))
            passed = option.values[low + 1 : high]
            weight *= NEIGHBOUR if not passed else 1.0
            weight *= BEHIND if any(f"{option.name}={v}" in tried for v in passed) else 1.0
        return weight

    # Memos.

    def _memo(self, attempt: Attempt) -> Memo | None:
        """The attempt's memo with what the engine's sweep chose written into its schedule."""
        memo = read_memo(attempt.proposal.memo)
        if memo is None or memo.language != self.language:
            return None
        chosen = {d.name.lower(): d.value for d in attempt.proposal.candidate.defines}
        known = {name: value for name, value in chosen.items() if name in memo.schedule}
        return memo.model_copy(update={"schedule": memo.schedule | known})

    def _schedule(self, fields: dict[str, JsonValue]) -> S:
        return self.space.record.model_validate(fields)

    def _turn(self, name: str) -> Move:
        option, _, value = _parted(name)
        return Move(option, int(value) if value.isdigit() else value)

    def _step(self, schedule: S, moves: Sequence[Move], base: Base | None, note: str) -> Step[S]:
        names = tuple(move.name for move in moves)
        memo = Memo(language=self.language, schedule=schedule.model_dump(), turned=names, base=base)
        return Step(schedule, note, memo)


def _names(moves: Sequence[Move]) -> str:
    return ", ".join(move.name for move in moves) or "nothing"


def _parted(name: str) -> tuple[str, str, str]:
    return name.partition("=")


def _setting(base: Base, option: str) -> Setting:
    """What the base has an option set to."""
    value = base.schedule[option]
    return value if isinstance(value, int) else str(value)
