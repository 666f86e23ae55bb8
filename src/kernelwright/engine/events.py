"""Events: what a run reports while it works, to a screen, a log or another program.

Each event is small plain data and is journaled with its time; listeners get the same values. `replayed` marks what a
resumed run only walks through again.
"""

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from kernelwright.engine.budget import Budget
from kernelwright.records.attempt import Cost, ProposalRequest
from kernelwright.records.base import Record
from kernelwright.records.feedback import Feedback
from kernelwright.records.measure import Versus
from kernelwright.records.run import Outcome


class _Event(Record):
    replayed: bool = False


class Phase(_Event):
    """Something long begins that is not an attempt: admission, baselines, finals."""

    kind: Literal["phase"] = "phase"
    text: str
    search_over: bool = False
    """No attempt follows."""


class Started(_Event):
    """The run has its folder and its card."""

    kind: Literal["started"] = "started"
    run: str
    folder: str
    task: str
    target: str
    budget: Budget


class Asked(_Event):
    """The strategy said where to look next."""

    kind: Literal["asked"] = "asked"
    proposal_request: ProposalRequest


class Writing(_Event):
    """A model's reply is coming, piece by piece. Told about once a second and not recorded."""

    kind: Literal["writing"] = "writing"
    proposal_request: int
    role: str
    tokens: int
    """So far, about."""


class Proposed(_Event):
    """The proposer answered a proposal request."""

    kind: Literal["proposed"] = "proposed"
    proposal_request: int
    notes: tuple[str, ...]
    """One line for each candidate."""


class Judged(_Event):
    """An attempt is complete."""

    kind: Literal["judged"] = "judged"
    attempt: int
    outcome: str
    feedback: Feedback
    reason: str = ""
    """Why it was not right, in one sentence; empty if it was."""
    latency_us: float | None
    versus: tuple[Versus, ...] = ()
    known: int | None = None
    cached_from: str = ""
    """The run whose evaluation was taken over from the search cache."""
    writer: str = ""
    """Which of several proposers wrote it."""


class NewBest(_Event):
    """The attempt just judged is the best so far."""

    kind: Literal["new_best"] = "new_best"
    attempt: int


class Warned(_Event):
    """Something is not as it should be, and the run goes on without it."""

    kind: Literal["warned"] = "warned"
    text: str


class Spent(_Event):
    """The ledger after an attempt."""

    kind: Literal["spent"] = "spent"
    spent: Cost
    budget: Budget


class Finished(_Event):
    """The run ended, for the reason in the outcome."""

    kind: Literal["finished"] = "finished"
    outcome: Outcome


Event = Annotated[
    Phase | Started | Asked | Writing | Proposed | Judged | NewBest | Warned | Spent | Finished,
    Field(discriminator="kind"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Reads an Event back from JSON."""

Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """The listener that ignores everything."""
