"""Brief: what lists, sums and charts need of an attempt, read from its row without the rest.

A run of twenty thousand attempts is read in seconds this way, and fits in memory. Whoever shows an attempt in full asks for
that one. A list of attempts at hand and those of a store are used alike: `briefs` and `numbered` ask either.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol, runtime_checkable

from pydantic import AliasPath, BaseModel, ConfigDict, Field

from kernelwright.records.attempt import Attempt, Cost
from kernelwright.records.evaluation import StageSeconds
from kernelwright.records.measure import Load, Ratio, Versus
from kernelwright.records.reasons import reason_of


class Brief(BaseModel):
    """An attempt without its source, samples, errors and logs."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)

    number: int
    outcome: str = Field(validation_alias=AliasPath("evaluation", "outcome"))
    intent: str = Field(validation_alias=AliasPath("proposal_request", "intent"))
    request: int = Field(validation_alias=AliasPath("proposal_request", "number"))
    parents: tuple[int, ...] = Field((), validation_alias=AliasPath("proposal_request", "parents"))
    hint: str = Field("", validation_alias=AliasPath("proposal_request", "hint"))
    chosen: str = Field("", validation_alias=AliasPath("proposal", "technique"))
    note: str = Field("", validation_alias=AliasPath("proposal", "note"))
    writer: str = Field("", validation_alias=AliasPath("proposal", "writer"))
    latency_us: float | None = Field(None, validation_alias=AliasPath("evaluation", "timing", "latency_us"))
    versus: tuple[Versus, ...] = Field((), validation_alias=AliasPath("evaluation", "timing", "versus"))
    load: Load | None = Field(None, validation_alias=AliasPath("evaluation", "timing", "load"))
    seconds: tuple[StageSeconds, ...] = Field((), validation_alias=AliasPath("evaluation", "seconds"))
    cached_from: str = Field("", validation_alias=AliasPath("evaluation", "cached_from"))
    disabled: tuple[str, ...] = Field((), validation_alias=AliasPath("evaluation", "disabled"))
    known: int | None = None
    cost: Cost
    why: str = ""
    """Why it was not found right; empty if it was."""

    @cached_property
    def eager(self) -> Ratio | None:
        """The speedup over eager; None for whatever was not measured beside it."""
        return next((v.speedup for v in self.versus if v.baseline == "eager"), None)

    @property
    def speedup(self) -> float:
        """Median speedup over eager; 0.0 for whatever was not measured."""
        return self.eager.median if self.eager else 0.0

    @property
    def sure_speedup(self) -> float:
        """Its lower bound; 0.0 for whatever was not measured, or so that nothing can be relied on."""
        return self.eager.sure if self.eager else 0.0

    @property
    def blurred(self) -> bool:
        """Whether it was timed, and its speedup is too uncertain to be claimed or plotted as a best."""
        return self.eager is not None and self.eager.blurred

    @property
    def busy(self) -> Load | None:
        """What the machine did beside the timing, where that makes its figures doubtful."""
        return self.load if self.load is not None and self.load.busy else None

    @property
    def right(self) -> bool:
        """Right in every case, timed or not."""
        return self.outcome in ("measured", "verified")

    @property
    def technique(self) -> str:
        """Which step it was written with."""
        return self.chosen or self.hint


@runtime_checkable
class Briefed(Protocol):
    """A list of attempts that has them in brief, and each in full at its number."""

    def briefs(self) -> Sequence[Brief]:
        """All of them, in order."""
        ...

    def numbered(self, number: int) -> Attempt | None:
        """One of them in full; None: there is none of that number."""
        ...


def brief_of(attempt: Attempt) -> Brief:
    """An attempt in brief."""
    return Brief.model_validate(attempt).model_copy(update={"why": reason_of(attempt.evaluation)})


def briefs(attempts: Sequence[Attempt]) -> Sequence[Brief]:
    """All attempts in brief, in order."""
    return attempts.briefs() if isinstance(attempts, Briefed) else [brief_of(attempt) for attempt in attempts]


def numbered(attempts: Sequence[Attempt], number: int) -> Attempt | None:
    """The attempt of that number in full; None: it is not among them."""
    if isinstance(attempts, Briefed):
        return attempts.numbered(number)
    return next((attempt for attempt in attempts if attempt.number == number), None)
