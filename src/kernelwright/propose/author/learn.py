"""How the author learns: from a parent's memo and feedback to the next turn of a dial.

Hill climbing that remembers. The memo of a lineage carries its best schedule with the speedup it had, and
every turn that was tried; a turn that paid is continued in its direction, one that did not is taken back.
Without feedback the first parent is changed at random. Refuses to know plans, languages and sources.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import JsonValue, ValidationError

from kernelwright.propose.author.schedule.space import Space, Turn
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.feedback import Bottleneck, Feedback

S = TypeVar("S", bound=Record)
PAYS = 1.01
"""Factor of speedup above which a turn has paid and is worth continuing."""
MATCHED = 4.0
"""How much likelier a dial is turned that eases the bottleneck that was found."""
NEIGHBOUR = 2.0
"""How much likelier a dial moves by one step than by more."""


class Memo(Record):
    """What the author wants to find again on a proposal's children."""

    version: int = 1
    language: str
    schedule: dict[str, JsonValue]
    """Of this proposal."""
    turned: tuple[str, ...] = ()
    """Turns that made it from its base, as `dial=value`."""
    best: dict[str, JsonValue] | None = None
    """The lineage's best measured schedule before this proposal; None when nothing was measured."""
    best_score: float = 0.0
    """Its speedup over eager."""
    tried: tuple[str, ...] = ()
    """Turns tried from that best, this proposal's among them."""


def read_memo(text: str) -> Memo | None:
    """The memo; None for a candidate that the author did not write, or of another version."""
    try:
        memo = Memo.model_validate_json(text)
    except ValidationError:
        return None
    return memo if memo.version == 1 else None


@dataclass(frozen=True)
class Step(Generic[S]):
    """A schedule to try, and what is remembered of how it came about."""

    schedule: S
    note: str
    memo: Memo


@dataclass(frozen=True)
class Standing(Generic[S]):
    """Where a lineage stands: its best schedule, that one's score, what was tried from it."""

    schedule: S
    score: float
    tried: frozenset[str] = frozenset()
    onward: Turn | None = None
    """The turn that paid last."""


class Learner(Generic[S]):
    """Chooses the next schedule in one space."""

    def __init__(self, space: Space[S], language: str, seed: int) -> None:
        self.space = space
        self.language = language
        self.draw = random.Random(seed)

    def start(self, default: S) -> Step[S]:
        """A starting point: the default with about half of the dials drawn anew."""
        count = max(1, len(self.space.dials) // 2)
        schedule = self.space.scattered(default, self.draw.getrandbits(32), count)
        return self._step(schedule, (), None, "a starting point")

    def improve(self, default: S, parents: Sequence[Attempt], feedback: Sequence[Feedback]) -> Step[S]:
        """A parent with one dial turned, or two when every single turn has been tried."""
        standing = self._standing(default, parents, feedback)
        bottleneck = feedback[0].bottleneck if feedback else "unknown"
        turns = self._onward(standing) or self._choose(standing, bottleneck)
        schedule = self.space.turned(standing.schedule, *turns)
        because = f", {bottleneck} bound" if bottleneck != "unknown" else ""
        note = f"turned {', '.join(t.name for t in turns)}{because}" if turns else "nothing left to turn"
        return self._step(schedule, turns, standing, note)

    def apply(
        self, default: S, parents: Sequence[Attempt], feedback: Sequence[Feedback], hint: str
    ) -> Step[S]:
        """The turn that the hint names; an improvement like any other when it names none."""
        turn = self.space.named(hint)
        if turn is None:
            return self.improve(default, parents, feedback)
        standing = self._standing(default, parents, feedback)
        schedule = self.space.turned(standing.schedule, turn)
        return self._step(schedule, (turn,), standing, f"applied {turn.name}")

    def repair(self, default: S, parents: Sequence[Attempt], feedback: Sequence[Feedback]) -> Step[S]:
        """Away from what failed: the lineage's best with another turn, or the safe default."""
        standing = self._standing(default, parents, feedback)
        if standing.score > 0:
            return self.improve(default, parents, feedback)
        return self._step(default, (), standing, "back to the safe default")

    def _standing(self, default: S, parents: Sequence[Attempt], feedback: Sequence[Feedback]) -> Standing[S]:
        """The best of the parents' lineages; without feedback, the first parent as it is."""
        if not feedback:
            memos = [m for p in parents if (m := self._memo(p))]
            return Standing(self._schedule(memos[0].schedule) if memos else default, 0.0)
        pairs = zip(parents, feedback, strict=True)
        standings = [self._lineage(memo, words) for p, words in pairs if (memo := self._memo(p))]
        best = max(standings, key=lambda s: s.score, default=Standing(default, 0.0))
        tried = frozenset[str]().union(*(s.tried for s in standings if s.schedule == best.schedule))
        return Standing(best.schedule, best.score, tried, best.onward)

    def _lineage(self, memo: Memo, words: Feedback) -> Standing[S]:
        score = (words.speedup_eager or 0.0) if words.works else 0.0
        if memo.best is not None and memo.best_score >= score:
            return Standing(self._schedule(memo.best), memo.best_score, frozenset(memo.tried))
        turned = [self._turn(name) for name in memo.turned]
        paid = score > PAYS * memo.best_score and len(turned) == 1
        onward = turned[0] if paid and memo.best is not None else None
        return Standing(self._schedule(memo.schedule), score, frozenset(memo.tried), onward)

    def _onward(self, standing: Standing[S]) -> tuple[Turn, ...]:
        """One step further in the direction that paid, if there is one that was not tried."""
        if standing.onward is None:
            return ()
        values = self.space.by_name[standing.onward.dial].values
        tried = [v for v in values if f"{standing.onward.dial}={v}" in standing.tried]
        at = values.index(standing.onward.value)
        beyond = [values[i] for i in (at - 1, at + 1) if 0 <= i < len(values) and values[i] not in tried]
        return (Turn(standing.onward.dial, beyond[0]),) if len(beyond) == 1 else ()

    def _choose(self, standing: Standing[S], bottleneck: Bottleneck) -> tuple[Turn, ...]:
        """One turn that was not tried, drawn by weight; two together when all were."""
        turns = list(self.space.turns(standing.schedule))
        fresh = [t for t in turns if t.name not in standing.tried]
        if fresh:
            weights = [self._weight(standing.schedule, t, bottleneck) for t in fresh]
            return (self.draw.choices(fresh, weights)[0],)
        pair = self.draw.sample(turns, min(2, len(turns)))
        return tuple({turn.dial: turn for turn in pair}.values())

    def _weight(self, schedule: S, turn: Turn, bottleneck: Bottleneck) -> float:
        dial = self.space.by_name[turn.dial]
        now = getattr(schedule, turn.dial)
        near = now in dial.values and abs(dial.values.index(now) - dial.values.index(turn.value)) == 1
        share = NEIGHBOUR if near else 1.0
        return share * (MATCHED if dial.eases == bottleneck else 1.0) / (len(dial.values) - 1)

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

    def _turn(self, name: str) -> Turn:
        dial, _, value = name.partition("=")
        return Turn(dial, int(value) if value.isdigit() else value)

    def _step(self, schedule: S, turns: Sequence[Turn], standing: Standing[S] | None, note: str) -> Step[S]:
        known = standing is not None and standing.score > 0
        names = tuple(t.name for t in turns)
        memo = Memo(
            language=self.language,
            schedule=schedule.model_dump(),
            turned=names,
            best=standing.schedule.model_dump() if standing is not None and known else None,
            best_score=standing.score if standing is not None else 0.0,
            tried=tuple(sorted({*names, *(standing.tried if standing is not None else ())})),
        )
        return Step(schedule, note, memo)
