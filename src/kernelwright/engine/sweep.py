"""The sweep of declared tunables: structure is compared with structure, not with luck in a constant.

Every point is evaluated within the budget before the candidate is compared with others; each is a sample charged to
device seconds.
"""

import random
from math import prod
from typing import NamedTuple

from kernelwright.engine.judge import Judge, Judgement
from kernelwright.records.attempt import Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import merit


class Swept(NamedTuple):
    """A proposal after the referee: its tunables fixed at the best point, and all that was tried."""

    proposal: Proposal
    verdict: Judgement
    tried: tuple[Judgement, ...]


async def sweep(judge: Judge, proposal: Proposal, points: int, allowance_s: float) -> Swept:
    """Evaluate at most `points` settings while device seconds are left; the default one always.

    Raises:
        RefereeError: the referee broke.
    """
    best: tuple[Candidate, Judgement] | None = None
    tried: list[Judgement] = []
    for candidate in choose_points(proposal.candidate, points):
        if best is not None and _seconds(tried) >= allowance_s:
            break
        found = await judge.judge(candidate)
        tried.append(found)
        if best is None or merit(found.evaluation) > merit(best[1].evaluation):
            best = candidate, found
    assert best is not None
    return Swept(proposal.model_copy(update={"candidate": best[0]}), best[1], tuple(tried))


def choose_points(candidate: Candidate, limit: int) -> list[Candidate]:
    """All settings, or the default one and a sample that depends on the candidate alone."""
    total = prod(len(tunable.values) for tunable in candidate.tunables)
    if total <= limit:
        return list(candidate.points())
    chosen = {0, *random.Random(candidate.id).sample(range(1, total), limit - 1)}
    return [point for index, point in enumerate(candidate.points()) if index in chosen]


def _seconds(tried: list[Judgement]) -> float:
    return sum(found.evaluation.paid_seconds for found in tried)
