"""Rewards that published systems train with, and our own default. See `reward.table` for what a reward is.

Each is the published formula where the paper or its code gives one. A kernel that is right and was not timed earns what
being right earns, and nothing for a speed that nobody measured.
"""

import math

from kernelwright.records.evaluation import (
    Compiled,
    Crashed,
    Evaluation,
    Incorrect,
    Measured,
    TimedOut,
    Verified,
    is_right,
    speedup_over_eager,
)
from kernelwright.records.measure import Versus

RIGHT = 0.3
"""What being right earns under Kevin's reward, TritonForge's and ours."""
CAP = 3.0
"""Of a speedup, as Dr. Kernel caps it."""
FASTER = 1.05
"""CUDA Agent's bar: five per cent, for raw ratios are noisy."""


def verified_speedup(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """Our default: 0 unless right; else 0.3 + capped log2 speedup beyond noise, times own kernels' share of the time.

    The speedup is over the better of eager and `torch.compile`, and counts with its lower bound where the verdict is
    faster; slower or inconclusive earns no speed and costs none. Twice as fast is worth 1, the cap is log2(3).
    """
    if not is_right(evaluation):
        return 0.0
    gain = math.log2(min(max(_sure_gain(evaluation), 1.0), CAP))
    return RIGHT + gain * _share(evaluation)


def kevin(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """0.3 if right, plus the speedup over eager (Kevin-32B, arXiv 2507.11948): no cap, nothing for a wrong kernel."""
    return RIGHT + _median(evaluation) if is_right(evaluation) else 0.0


def drkernel(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """1 if right, plus min(speedup, 3), plus own kernels' share of the time (Dr. Kernel, arXiv 2602.05885)."""
    if not is_right(evaluation):
        return 0.0
    return 1.0 + min(_median(evaluation), CAP) + _share(evaluation)


def cuda_agent(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """-1 wrong, 1 right, 2 over 5 % faster than eager, 3 than `torch.compile` too (CUDA Agent, arXiv 2602.24286)."""
    if not is_right(evaluation):
        return -1.0
    if _over(evaluation, "eager") <= FASTER:
        return 1.0
    return 3.0 if _over(evaluation, "compile") > FASTER else 2.0


def tritonforge(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """0.1 if it compiles, 0.3 more if right, plus the gain over eager up to 1.6 (TritonForge); a slow one loses none."""
    if is_right(evaluation):
        return 0.1 + RIGHT + min(max(_median(evaluation) - 1.0, 0.0), 1.6)
    return 0.1 if _compiles(evaluation) else 0.0


def regraph(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """-1 if wrong; the speedup over eager if at least 1, and speedup - 1 below that (ReGraphT, arXiv 2510.19873).

    Right without a time is 0.
    """
    if isinstance(evaluation, Verified | Compiled):
        return 0.0
    speedup = _median(evaluation)
    return -1.0 if not is_right(evaluation) else speedup if speedup >= 1.0 else speedup - 1.0


def regraph_seed(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """The speedup over eager, 0 if wrong: what the closed loop around ReGraphT's search updates its policy with.

    Right without a time is 1: as fast as what it began with.
    """
    if isinstance(evaluation, Verified | Compiled):
        return 1.0
    return _median(evaluation) if is_right(evaluation) else 0.0


def _compiles(evaluation: Evaluation) -> bool:
    match evaluation:
        case Crashed(stage="compile") | TimedOut(stage="compile"):
            return False
        case Compiled() | Incorrect() | Crashed() | TimedOut():
            return True
    return False


def _median(evaluation: Evaluation) -> float:
    """Median speedup over eager; 0 where no time was taken."""
    ratio = speedup_over_eager(evaluation)
    return ratio.median if ratio else 0.0


def _over(evaluation: Evaluation, baseline: str) -> float:
    found = [v for v in _versus(evaluation) if v.baseline == baseline]
    return found[0].speedup.median if found else 0.0


def _sure_gain(evaluation: Evaluation) -> float:
    """Lower bound of the speedup over the better baseline, where the verdict says faster; else 1: no gain."""
    versus = [v for v in _versus(evaluation) if v.baseline in ("eager", "compile")]
    if not versus or any(v.verdict != "faster" for v in versus):
        return 1.0
    return min(v.speedup.low for v in versus)


def _versus(evaluation: Evaluation) -> tuple[Versus, ...]:
    return evaluation.timing.versus if isinstance(evaluation, Measured) else ()


def _share(evaluation: Evaluation) -> float:
    """Own kernels' share of the device's time; 1 where nothing tells, for then filters have let it through."""
    audit = evaluation.audit if isinstance(evaluation, Measured) else None
    return audit.own_share if audit is not None and audit.own_share is not None else 1.0
