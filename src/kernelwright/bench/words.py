"""What a comparison's figures are called, the same on the terminal and on the page."""

from collections.abc import Callable, Iterable
from statistics import fmean

from kernelwright.bench.plan import Arm
from kernelwright.bench.records import AtK, CellFigures, CellResult, Mean
from kernelwright.report.words import percent, times

NOTHING = "-"
NO_INTERVAL = "\N{EN DASH}"
WHY_NO_INTERVAL = (
    "A dash in place of an interval: fewer than three tasks, or all alike, which says nothing of other tasks."
)

STATUS: dict[str, str] = {
    "done": "done",
    "gave_up": "cannot be written",
    "not_admitted": "not admitted",
    "no_answer": "no answer",
    "unpaid": "not run",
    "broken": "broken",
    "pending": "not run",
}


def arm_name(arm: Arm, arms: tuple[Arm, ...]) -> str:
    """An arm by those of its factors that differ between the arms."""
    parts = [arm.strategy]
    parts += [arm.proposer] if len({a.proposer for a in arms}) > 1 else []
    parts += [arm.model] if arm.model else []
    parts += [arm.reward] if len({a.reward for a in arms}) > 1 else []
    return " · ".join(parts)


def share(found: Mean | None) -> str:
    """A share of tasks in percent."""
    return percent(found.value) if found else NOTHING


def share_interval(found: Mean | None) -> str:
    """Its interval; a dash where there is none."""
    return _interval(found, percent)


def mean(found: Mean | None) -> str:
    """A mean speedup."""
    return times(found.value) if found else NOTHING


def mean_interval(found: Mean | None) -> str:
    """Its interval; a dash where there is none."""
    return _interval(found, times)


def _interval(found: Mean | None, shown: Callable[[float], str]) -> str:
    if found is None or found.low is None or found.high is None:
        return NO_INTERVAL if found else ""
    return f"{shown(found.low)} to {shown(found.high)}"


def fast(figures: CellFigures, baseline: str, p: float) -> Mean | None:
    """One fast_p."""
    return next((f.share for f in figures.fast if f.baseline == baseline and f.p == p), None)


def at(found: tuple[AtK, ...], k: int) -> AtK | None:
    """One pass@k or solved@k."""
    return next((a for a in found if a.k == k), None)


def fewer(found: AtK | None, figures: CellFigures) -> str:
    """The number of cells it covers, where that is not all of them."""
    few = found is not None and found.cells is not None and found.cells < figures.cells
    return f"{found.cells} of {figures.cells} cells" if found and few else ""


def each(cells: Iterable[CellResult]) -> str:
    """How many attempts the complete runs made, from fewest to most."""
    made = sorted({len(cell.steps) for cell in cells if cell.status == "done"})
    return str(made[0]) if len(made) == 1 else f"{made[0]} to {made[-1]}" if made else NOTHING


def asked(cells: Iterable[CellResult]) -> str:
    """How many proposal requests the complete runs asked for, on the average."""
    counted = [cell.asked for cell in cells if cell.status == "done" and cell.asked is not None]
    return f"{fmean(counted):.1f}" if counted else NOTHING


def speedup(figures: CellFigures, baseline: str, over: str) -> Mean | None:
    """One mean speedup."""
    return next((s.mean for s in figures.speedups if s.baseline == baseline and s.over == over), None)


def money(figures: CellFigures) -> str:
    """US dollars, and whether that is all; a dash where no model was asked."""
    if figures.unpriced:
        return f"${figures.usd:.2f} and unknown" if figures.usd else "unknown"
    return f"${figures.usd:.2f}" if figures.tokens or figures.usd else NOTHING
