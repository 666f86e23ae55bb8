"""The Predictor protocol: a guess of what is worth evaluating first, before anything is run; and its ranking.

It only ranks; the referee decides. Deterministic given what it learned, since a resumed run learns again.
The default is None: proposals keep their order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import Field, JsonValue

from kernelwright.records.attempt import Attempt, Proposal, ProposalRequest
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.task import Task

Build = Callable[[Candidate], Awaitable[Evaluation]]
"""What a compiler says of a candidate, nothing of which is run."""
ALONE = frozenset({"agent"})
"""Roles that are asked for no more than is evaluated: their tools take the device's time before there is anything to rank."""


class PredictorConfig(Record):
    """How proposals are ranked before device time is spent."""

    experience: Path | None = None
    """What `kernelwright learn` wrote; None: learned in this run alone, which ranks nothing before eight attempts."""
    oversample: int = Field(default=3, ge=1)
    """Proposals that are asked for where one is evaluated. An agent is asked for one: see `ALONE`."""
    build: bool = True
    """Compile each first, and let the predictor see what the compiler says."""

    def asked(self, proposal_request: ProposalRequest) -> int:
        """Proposals to ask for, of which the proposal request's count is evaluated."""
        return proposal_request.count * (1 if proposal_request.role in ALONE else self.oversample)


class Predictor(Protocol):
    """A learned stand-in for the reward."""

    def scores(self, task: Task, candidates: Sequence[tuple[Candidate, Evaluation | None]]) -> Sequence[float]:
        """One for each of these siblings, each with what its compiler said; higher is more promising."""
        ...

    def learn(self, task: Task, attempt: Attempt, reward: float) -> None:
        """Take one judged attempt into account, with what the strategy is told of it."""
        ...


class Ranked(NamedTuple):
    """A proposal with its score, and the compiler's seconds that it took."""

    proposal: Proposal
    score: float
    seconds: float


def ranking_row(ranked: Ranked, *, dropped: bool) -> dict[str, JsonValue]:
    """A row of a ranking as it is journaled. What is dropped leaves no attempt, so that its source stands here."""
    row: dict[str, JsonValue] = {"note": ranked.proposal.note, "score": round(ranked.score, 4), "dropped": dropped}
    return row | ({"source": ranked.proposal.candidate.source} if dropped else {})


async def rank(
    predictor: Predictor, task: Task, proposals: Sequence[Proposal], build: Build | None, known: frozenset[str]
) -> list[Ranked]:
    """The same proposals, most promising first; what was judged before goes last, since it teaches nothing."""
    first = [next(p.candidate.points()) for p in proposals]
    built = await asyncio.gather(*(build(c) for c in first)) if build is not None else [None] * len(first)
    scores = predictor.scores(task, list(zip(first, built, strict=True)))
    ranked = [
        Ranked(p, score, b.total_seconds if b is not None else 0.0)
        for p, score, b in zip(proposals, scores, built, strict=True)
    ]
    return sorted(ranked, key=lambda r: (r.proposal.candidate.id in known, -r.score))
