"""What a comparison's figures are called, the same on the terminal and on the page."""

from kernelwright.bench.plan import Arm
from kernelwright.bench.records import AtK, Estimate, FastP, Figures, Speedup
from kernelwright.report.words import percent, times

NOTHING = "-"

STATUS: dict[str, str] = {
    "done": "done",
    "gave_up": "cannot be written",
    "not_admitted": "not admitted",
    "broken": "broken",
    "pending": "not run",
}


def arm_name(arm: Arm, arms: tuple[Arm, ...]) -> str:
    """An arm by those of its factors that differ between the arms."""
    parts = [arm.strategy]
    parts += [arm.proposer] if len({a.proposer for a in arms}) > 1 else []
    parts += [arm.reward] if len({a.reward for a in arms}) > 1 else []
    return " · ".join(parts)


def share(found: Estimate | None) -> str:
    """A share of tasks in percent."""
    return percent(found.value) if found else NOTHING


def share_interval(found: Estimate | None) -> str:
    """Its interval."""
    return f"{percent(found.low)} to {percent(found.high)}" if found else ""


def mean(found: Estimate | None) -> str:
    """A mean speedup."""
    return times(found.value) if found else NOTHING


def mean_interval(found: Estimate | None) -> str:
    """Its interval."""
    return f"{times(found.low)} to {times(found.high)}" if found else ""


def fast(figures: Figures, baseline: str, p: float) -> Estimate | None:
    """One fast_p."""
    return next((_share(f) for f in figures.fast if f.baseline == baseline and f.p == p), None)


def at(found: tuple[AtK, ...], k: int) -> Estimate | None:
    """One pass@k or solved@k."""
    return next((a.share for a in found if a.k == k), None)


def speedup(figures: Figures, baseline: str, over: str) -> Estimate | None:
    """One mean speedup."""
    return next((_mean(s) for s in figures.speedups if s.baseline == baseline and s.over == over), None)


def money(figures: Figures) -> str:
    """US dollars, and whether that is all; a dash where no model was asked."""
    if figures.unpriced:
        return f"${figures.usd:.2f} and unknown" if figures.usd else "unknown"
    return f"${figures.usd:.2f}" if figures.tokens or figures.usd else NOTHING


def _share(found: FastP) -> Estimate | None:
    return found.share


def _mean(found: Speedup) -> Estimate | None:
    return found.mean
