"""What a run adds up to: counts of outcomes, the best so far, stage seconds and cost.

Pure sums over attempts. An attempt whose evaluation was already known, in this run or from the cache, is counted,
but its stages are not added: nothing ran.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.records.attempt import Attempt, Cost, speedup, sure_speedup
from kernelwright.records.evaluation import OUTCOMES


@dataclass(frozen=True)
class Step:
    """The attempt at which the best so far changed, and to what median speedup over eager."""

    attempt: int
    speedup: float


def counts(attempts: Sequence[Attempt]) -> dict[str, int]:
    """How often each outcome occurred, best outcome first; those that never did are left out."""
    names = [a.evaluation.outcome for a in attempts]
    return {name: names.count(name) for name in OUTCOMES if name in names}


def staircase(attempts: Sequence[Attempt]) -> tuple[Step, ...]:
    """Every new best, in order of attempts. As everywhere the lower bound decides, so that the median can step down."""
    steps: list[Step] = []
    best = 0.0
    for attempt in attempts:
        if sure_speedup(attempt) > best:
            best = sure_speedup(attempt)
            steps.append(Step(attempt.number, speedup(attempt)))
    return tuple(steps)


def stage_seconds(attempts: Sequence[Attempt]) -> dict[str, float]:
    """Wall seconds by stage of the referee, in the order in which stages first appear."""
    total: dict[str, float] = {}
    for attempt in attempts:
        ran = attempt.known is None and not attempt.evaluation.cached_from
        for stage in attempt.evaluation.seconds if ran else ():
            total[stage.stage] = total.get(stage.stage, 0.0) + stage.seconds
    return total


def cost(attempts: Sequence[Attempt]) -> Cost:
    """What all attempts were charged together."""
    charged = [a.cost for a in attempts]
    return Cost(
        proposals=sum(c.proposals for c in charged),
        device_s=sum(c.device_s for c in charged),
        tokens=sum(c.tokens for c in charged),
        usd=sum(c.usd for c in charged),
    )


def disabled(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Every defence that was switched off for at least one attempt."""
    return tuple(sorted({name for a in attempts for name in a.evaluation.disabled}))
