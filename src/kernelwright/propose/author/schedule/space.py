"""The space that a schedule's fields span: options with ordered values, what neighbours are, and how to move."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from kernelwright.records.base import Record
from kernelwright.records.feedback import Bottleneck

Setting = str | int
S = TypeVar("S", bound=Record)


@dataclass(frozen=True)
class Dial:
    """One degree of freedom."""

    name: str
    values: tuple[Setting, ...]
    """In order: neighbours differ little."""
    eases: Bottleneck
    """The bottleneck that this dial is most likely to move."""


@dataclass(frozen=True)
class Turn:
    """A dial set to a value."""

    dial: str
    value: Setting

    @property
    def name(self) -> str:
        """How notes and memos spell it."""
        return f"{self.dial}={self.value}"


@dataclass(frozen=True)
class Space(Generic[S]):
    """Every schedule of one record type that makes sense for one plan."""

    record: type[S]
    dials: tuple[Dial, ...]

    @cached_property
    def by_name(self) -> dict[str, Dial]:
        """The dials under their names."""
        return {dial.name: dial for dial in self.dials}

    def turns(self, schedule: S) -> Iterator[Turn]:
        """Every single change of a dial."""
        for dial in self.dials:
            now = getattr(schedule, dial.name)
            yield from (Turn(dial.name, value) for value in dial.values if value != now)

    def turned(self, schedule: S, *turns: Turn) -> S:
        """The schedule after turning dials."""
        update = {turn.dial: turn.value for turn in turns}
        return self.record.model_validate(schedule.model_dump() | update)

    def scattered(self, schedule: S, seed: int, dials: int) -> S:
        """The schedule with some dials, drawn by the seed, at values drawn by the seed."""
        draw = random.Random(seed)
        chosen = draw.sample(self.dials, min(dials, len(self.dials)))
        return self.turned(schedule, *(Turn(d.name, draw.choice(d.values)) for d in chosen))

    def named(self, hint: str) -> Turn | None:
        """The turn that a hint names: a value such as `streaming`, or `dial=value`."""
        wanted = hint.lower().replace("-", " ").replace("_", " ")
        turns = [Turn(dial.name, value) for dial in self.dials for value in dial.values]
        exact = [t for t in turns if t.name == hint]
        words = [t for t in turns if isinstance(t.value, str) and t.value in wanted.split()]
        return next(iter(exact or words), None)
