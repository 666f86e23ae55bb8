"""The numeric reward of TritonGym's loop: heavy penalties first, then the inverse of the latency."""

from kernelwright.records.evaluation import (
    BuildFailed,
    Compiled,
    Crashed,
    Evaluation,
    Measured,
    Refused,
    TimedOut,
    Verified,
)

DOES_NOT_COMPILE = -10.0
DOES_NOT_WORK = -5.0


def tritongym(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """-10 unless it compiles, -5 unless it is right, then max(0, 10 / latency in ms).

    Right without a time (`verified`, `compiled`) is 0: it earned no penalty and no speed.
    """
    match evaluation:
        case Measured(timing=timing):
            return max(0.0, 10.0 / (timing.latency_us / 1000.0))
        case Verified() | Compiled():
            return 0.0
        case Refused() | BuildFailed() | Crashed(stage="compile") | TimedOut(stage="compile"):
            return DOES_NOT_COMPILE
    return DOES_NOT_WORK
