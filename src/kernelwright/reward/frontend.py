"""The frontend agent's reward: is it right? Speed earns it nothing, so that it never gambles correctness for it."""

from kernelwright.records.evaluation import Compiled, Crashed, Evaluation, Incorrect, Measured, TimedOut, Verified

RIGHT = 1.0
UNKNOWN = 0.5
"""It compiles for a device that is not here: neither right nor wrong."""
COMPILES = 0.2
"""It compiles and is wrong."""


def frontend(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """1 if it is right; 0.5 if it was only compiled; 0.2 if it compiles and is wrong; else 0, suspects too."""
    match evaluation:
        case Measured() | Verified():
            return RIGHT
        case Compiled():
            return UNKNOWN
        case Crashed(stage="compile") | TimedOut(stage="compile"):
            return 0.0
        case Incorrect() | Crashed() | TimedOut():
            return COMPILES
    return 0.0
