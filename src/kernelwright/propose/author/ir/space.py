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
class Option:
    """One degree of freedom."""

    name: str
    values: tuple[Setting, ...]
    """In order: neighbours differ little."""
    eases: Bottleneck
    """The bottleneck that this option is most likely to move."""


@dataclass(frozen=True)
class Move:
    """An option set to a value."""

    option: str
    value: Setting

    @property
    def name(self) -> str:
        """How notes and memos spell it."""
        return f"{self.option}={self.value}"


@dataclass(frozen=True)
class Space(Generic[S]):
    """Every schedule of one record type that makes sense for one plan."""

    record: type[S]
    options: tuple[Option, ...]

    @cached_property
    def by_name(self) -> dict[str, Option]:
        """The options under their names."""
        return {option.name: option for option in self.options}

    def moves(self, schedule: S) -> Iterator[Move]:
        """Every single change of an option."""
        for option in self.options:
            now = getattr(schedule, option.name)
            yield from (Move(option.name, value) for value in option.values if value != now)

    def turned(self, schedule: S, *moves: Move) -> S:
        """The schedule after turning options."""
        update = {move.option: move.value for move in moves}
        return self.record.model_validate(schedule.model_dump() | update)

    def scattered(self, schedule: S, seed: int, options: int) -> S:
        """The schedule with some options, drawn by the seed, at values drawn by the seed."""
        draw = random.Random(seed)
        chosen = draw.sample(self.options, min(options, len(self.options)))
        return self.turned(schedule, *(Move(d.name, draw.choice(d.values)) for d in chosen))

    def named(self, hint: str) -> Move | None:
        """The turn that a hint names: a value such as `streaming`, or `option=value`."""
        wanted = hint.lower().replace("-", " ").replace("_", " ")
        moves = [Move(option.name, value) for option in self.options for value in option.values]
        exact = [t for t in moves if t.name == hint]
        words = [t for t in moves if isinstance(t.value, str) and t.value in wanted.split()]
        return next(iter(exact or words), None)
