"""ProposalRequest, Proposal and Attempt: one turn of the loop, from the question to what it cost.

Attempts are append-only and are the rows that everything later is trained on and rescored from.
"""

from typing import Literal

from pydantic import Field

from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured, speedup_over_eager
from kernelwright.records.names import LanguageName

Intent = Literal["seed", "repair", "improve", "apply-technique"]


ROLES = ("coder", "judge", "reflector", "frontend", "midend", "agent", "navigator")
"""Whoever may be asked in a run: the writers and the advisers of all strategies."""


class WorkedStep(Record):
    """A step that was measured elsewhere, for the writer to take here: code before and after it, and why."""

    technique: str
    think: str
    detail: str = ""
    language: LanguageName
    before: str
    after: str
    sizes: dict[str, int] = Field(default_factory=dict)
    """At which its sources were written; those in C++ have them as constants."""
    effect: str = ""
    """What it gained where it was measured, in words."""


class ProposalRequest(Record):
    """A strategy's request: where to look next. Blind to models, prompts, compilers and devices."""

    number: int
    """Position among the run's proposal requests, from 0."""
    intent: Intent
    parents: tuple[int, ...] = ()
    """Attempt numbers, the most important first."""
    order: str = ""
    """What is asked, in the strategy's own words: nothing that a kernel, a log or a task could have written."""
    hint: str = ""
    """A technique's name, or what became of the parent: it may quote a kernel's log, and is never an order."""
    count: int = Field(default=1, ge=1)
    """How many candidates are asked for."""
    diverse: bool = False
    """Each but the first is asked for along a direction of its own."""
    role: str = "coder"
    """Who writes: which prompt and which model."""
    adviser: str = ""
    """The role that is asked first for one step to take; empty: nobody."""
    dialogue: Literal["fresh", "kept"] = "fresh"
    """`kept`: the conversation behind the first parent goes on; `fresh`: nothing of it is remembered."""
    steps: tuple[WorkedStep, ...] = ()
    """How the hinted technique was applied elsewhere; of several, the role `navigator` chooses the one to take."""
    look_up: bool = False
    """Whether the tool `search` is asked for techniques before the prompt is written."""

    @property
    def words(self) -> str:
        """Order and hint, for people."""
        return " ".join(filter(None, (self.order, self.hint)))


class Proposal(Record):
    """A candidate and what its proposer says of it."""

    candidate: Candidate
    note: str = ""
    """One line for people: what was changed and why."""
    writer: str = ""
    """The name of the team's member that wrote it; empty where the run has one proposer."""
    memo: str = ""
    """What the proposer wants to find again on its children; opaque to everybody else."""
    technique: str = ""
    """Of several steps the one that was chosen; empty: there was no choice."""
    prompt: str = ""
    """Content hash of the prompt files that asked for it; empty without a model."""
    model: str = ""
    """What wrote it, as its endpoint calls itself."""
    tokens: int = 0
    usd: float = 0.0


class Cost(Record):
    """What an attempt was charged, by owner of the budget."""

    proposals: int = 1
    device_s: float = 0.0
    tokens: int = 0
    usd: float = 0.0

    def plus(self, other: "Cost") -> "Cost":
        """Both together."""
        return Cost(
            proposals=self.proposals + other.proposals,
            device_s=self.device_s + other.device_s,
            tokens=self.tokens + other.tokens,
            usd=self.usd + other.usd,
        )


class Setting(Record):
    """One point of a candidate's tunables that was tried."""

    values: dict[str, int]
    """By the tunable's name."""
    outcome: str
    latency_us: float | None = None
    """None: it has no time."""
    why: str = ""
    """Why it has none, or why it is doubtful, in a clause."""


class Attempt(Record):
    """One proposal and what became of it."""

    number: int
    """Position in the run, from 0."""
    proposal_request: ProposalRequest
    proposal: Proposal
    """The proposal, with its tunables fixed at the point that `evaluation` is about."""
    evaluation: Evaluation
    known: int | None = None
    """The attempt whose evaluation this is, when the same candidate was met before."""
    tuned: int = 0
    """Points of the declared tunables that were measured to choose this one."""
    settings: tuple[Setting, ...] = ()
    """Those points, where there were several."""
    cost: Cost

    @property
    def latency_us(self) -> float | None:
        """Median call time; None unless measured."""
        found = self.evaluation
        return found.timing.latency_us if isinstance(found, Measured) else None


def fastest(attempts: "list[Attempt] | tuple[Attempt, ...]") -> Attempt | None:
    """The measured attempt with the largest sure speedup over eager; None when nothing was measured.

    Ratios of paired blocks are compared, not raw latencies: a clock that drifts between two attempts
    moves both sides of each. Lower bounds are compared, not medians: a search looks at many figures, and
    the largest median of them is the one that was disturbed the most.
    """
    measured = [a for a in attempts if isinstance(a.evaluation, Measured)]
    return max(measured, key=sure_speedup, default=None)


def speedup(attempt: Attempt) -> float:
    """Median speedup over eager; 0.0 for whatever was not measured."""
    ratio = speedup_over_eager(attempt.evaluation)
    return ratio.median if ratio else 0.0


def sure_speedup(attempt: Attempt) -> float:
    """Lower bound of the speedup over eager; 0.0 for whatever was not measured, or so that nothing can be relied on."""
    ratio = speedup_over_eager(attempt.evaluation)
    return ratio.sure if ratio else 0.0


def is_blurred(attempt: Attempt) -> bool:
    """Whether it was timed, and its speedup over eager is too uncertain to be claimed, plotted as a best or averaged."""
    ratio = speedup_over_eager(attempt.evaluation)
    return ratio is not None and ratio.blurred
