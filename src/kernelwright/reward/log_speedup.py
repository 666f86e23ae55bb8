"""A scale-free reward: twice as fast is worth the same for a short kernel and for a long one."""

import math

from kernelwright.records.evaluation import Compiled, Evaluation, Measured, Verified, speedup_over_eager

DOES_NOT_WORK = -4.0
"""As bad as sixteen times slower than eager."""


def log_speedup(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """log2 of the median speedup over eager, no lower than -4; -4 unless it is right; 0 if not timed."""
    match evaluation:
        case Measured():
            ratio = speedup_over_eager(evaluation)
            return max(DOES_NOT_WORK, math.log2(ratio.median)) if ratio and ratio.median > 0 else 0.0
        case Verified() | Compiled():
            return 0.0
    return DOES_NOT_WORK
