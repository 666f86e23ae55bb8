"""Finals: the best few of the search are measured again, and only that figure is published.

A search picks its best by figures that were lucky enough to be picked; so the finalist is measured anew
with fresh inputs. It stands if its new figure still beats what the search saw of the next one; otherwise
the next is measured too and the better one wins. A finalist that is no longer right is out.
"""

from collections.abc import Sequence

from kernelwright.engine.judge import Judge
from kernelwright.records.attempt import Attempt, Cost, sure_speedup
from kernelwright.records.evaluation import Measured


async def play_finals(judge: Judge, attempts: Sequence[Attempt], finalists: int) -> Attempt | None:
    """The winner with its final evaluation; None when nothing was measured or no finalist stood.

    Raises:
        RefereeError: the referee broke.
    """
    ranked = rank_distinct(attempts)
    winner: Attempt | None = None
    for place, attempt in enumerate(ranked):
        final = await _measure_again(judge, attempt)
        if isinstance(final.evaluation, Measured) and (winner is None or sure_speedup(final) > sure_speedup(winner)):
            winner = final
        following = sure_speedup(ranked[place + 1]) if place + 1 < len(ranked) else 0.0
        if winner is not None and (sure_speedup(winner) >= following or place + 1 >= finalists):
            break
    return winner


def rank_distinct(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Measured attempts, best first, each candidate once."""
    measured = (a for a in attempts if isinstance(a.evaluation, Measured))
    first: dict[str, Attempt] = {}
    for attempt in sorted(measured, key=lambda a: (-sure_speedup(a), a.number)):
        first.setdefault(attempt.proposal.candidate.id, attempt)
    return list(first.values())


async def _measure_again(judge: Judge, attempt: Attempt) -> Attempt:
    _, evaluation = await judge.judge(attempt.proposal.candidate, "final")
    cost = Cost(proposals=0, device_s=evaluation.total_seconds)
    return attempt.model_copy(update={"evaluation": evaluation, "known": None, "cost": cost})
