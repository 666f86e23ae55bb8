"""brief: a right kernel is worth its speedup, anything else nothing."""

from kernelwright.records.evaluation import Evaluation, speedup_over_eager


def brief(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """The median speedup over eager; 0 for what was not measured."""
    speedup = speedup_over_eager(evaluation)
    return speedup.median if speedup else 0.0
