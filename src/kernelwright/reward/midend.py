"""The mid-end agent's reward: how much faster than its parent, and nothing for what it broke."""

from kernelwright.records.evaluation import Compiled, Evaluation, Measured, Verified, speedup_over_eager

CAP = 3.0
"""More than this in one edit earns no more: a luckily slow parent must not be worth a search."""
EVEN = 1.0
"""Right and timed, beside a parent of whose time nothing is known: no gain that anybody measured."""
UNTIMED = 0.1
"""Not broken, and no speed that anybody measured."""


def midend(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """min(parent's time / its own, 3) if it is right, 0 if it is not; 0.1 if it works and was not timed.

    Both times are taken as speedups over eager, each measured beside its own eager. Beside a parent without a time, or
    none, it is 1: the first time that is taken is no gain over anything.
    """
    match evaluation:
        case Measured():
            before, after = speedup_over_eager(parent) if parent is not None else None, speedup_over_eager(evaluation)
            return min(after.median / before.median, CAP) if before and after and before.median else EVEN
        case Verified() | Compiled():
            return UNTIMED
    return 0.0
