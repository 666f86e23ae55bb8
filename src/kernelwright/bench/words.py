"""A comparison in words: what its figures are called, the same on the terminal and on the page; and the terminal's table.

The table has a row for each arm and says the same as the page, shorter. All untrusted text goes through
`report.words.line` into `Text`.
"""

import csv
from collections.abc import Callable, Iterable
from io import StringIO
from statistics import fmean

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelwright.bench.records import FAILED, Arm, ArmFigures, AtK, CellFigures, CellResult, Comparison, Mean, Naive
from kernelwright.records.answer import times
from kernelwright.report.words import line, percent, seconds

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
    parts += [arm.reward] if several_rewards(arms) else []
    return " · ".join(parts)


def several_rewards(arms: tuple[Arm, ...]) -> bool:
    """Whether a strategy is run with more than one: otherwise each has its own, and its name says which."""
    return len({(a.strategy, a.reward) for a in arms}) > len({a.strategy for a in arms})


COLUMNS = ("task", "strategy", "proposer", "model", "reward", "seed", "status", "right", "latency_us",
           "eager", "eager_low", "eager_high", "compile", "compile_low", "compile_high",
           "attempts", "first_right", "device_s", "tokens", "usd", "drill", "reason")  # fmt: skip


def csv_table(comparison: Comparison) -> str:
    """A row for each cell, with the final's ratios; what was not measured is empty, and so is a price that nobody knows."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(map(_row, comparison.cells))
    return text.getvalue()


def _row(found: CellResult) -> list[object]:
    arm, ratios = found.cell.arm, (found.eager, found.compile)
    return [
        _cell_text(found.cell.task), arm.strategy, arm.proposer, _cell_text(arm.model), arm.reward, found.cell.seed,
        found.status, found.correct, found.latency_us,
        *(value for r in ratios for value in ((r.median, r.low, r.high) if r else (None,) * 3)),
        len(found.steps), found.first_right, found.device_s, found.tokens, None if found.unpriced else found.usd,
        found.drill, _cell_text(found.reason),
    ]  # fmt: skip


def _cell_text(hostile: str) -> str:
    """One line that no spreadsheet takes for a formula."""
    text = line(hostile, 400)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


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


def perf_rows(comparison: Comparison) -> list[tuple[str, str, Mean | None]]:
    """Arm, figure and value, as TritonGym reports them: Pass@k, Perf@k, Perf when measured anew, and the cost of a pass.

    Pass@k is the unbiased one where attempts are independent; else whether one of the first k was right.
    """
    rows: list[tuple[str, str, Mean | None]] = []
    for row in comparison.arms:
        name, found = arm_name(row.arm, comparison.plan.arms), row.figures
        rows += [(name, f"Pass@{one.k}", one.share) for one in found.pass_at or found.solved_at]
        rows += [(name, f"Perf@{one.k}", one.share) for one in found.perf_at]
        rows += [(name, "Perf", found.perf)]
        rows += [(name, f"{what} a pass", found.per_pass.get(what)) for what in ("device_s", "tokens", "usd")]
    return rows


def perf_csv(comparison: Comparison) -> str:
    """These rows with their intervals; what was not measured is empty."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("arm", "figure", "value", "low", "high", "tasks"))
    for arm, name, found in perf_rows(comparison):
        told = (found.value, found.low, found.high, found.tasks) if found else (None,) * 4
        rows.writerow((_cell_text(arm), name, *told))
    return text.getvalue()


_COLUMNS = (
    "cells",
    "right",
    "fast_1\neager",
    "mean\neager",
    "mean\ncompile",
    "as is\neager",
    "until\nright",
    "device\ntime",
)
_MODELS = ("tokens", "money")
_NOTE = (
    "right, fast_1: share of all tasks that end with a right kernel, with one faster than eager. mean: "
    "geometric mean of final speedups over all tasks, 1.0 where the kernel is slower or there is none; as is: of the right "
    "kernels alone, losses too. until right: attempts. "
    "The page has intervals, curves and the other figures."
)

_PERF_NOTE = (
    "Perf: the oracle's time over the kernel's, 0 where none is right, the mean over all tasks; above 1 the kernels are "
    "faster than the experts'. @k: of the first k attempts, by figures of the search."
)
_DIFFER = "These rows stand on different tasks; the page has a table over those that are settled in every row."


def terminal_table(comparison: Comparison) -> RenderableType:
    """The whole summary; print it on any console."""
    parts: list[RenderableType] = [Text(line(label, 200), style="bold yellow") for label in comparison.labels]
    parts += [_table(comparison), Text(_NOTE, style="dim")]
    if any(row.shared.cells < row.figures.cells for row in comparison.arms):
        parts.append(Text(_DIFFER, style="yellow"))
    if comparison.oracles:
        parts += [Text(_PERF_NOTE, style="dim"), _perf(comparison)]
    if comparison.naive:
        parts.append(_naive(comparison.naive))
    failed = [cell for cell in comparison.cells if cell.status in (*FAILED, "broken", "unpaid")]
    for cell in failed[:12]:
        text = f"{cell.cell.name}: {STATUS[cell.status]}: {cell.reason}"
        parts.append(Text(line(text, 200), style="red"))
    if len(failed) > 12:
        parts.append(Text(f"and {len(failed) - 12} more, in bench.json", style="red"))
    return Group(*parts)


def _table(comparison: Comparison) -> Table:
    talked = any(row.figures.tokens for row in comparison.arms)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", overflow="ellipsis", min_width=12)
    for name in (*_COLUMNS, *(_MODELS if talked else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for row in comparison.arms:
        name = arm_name(row.arm, comparison.plan.arms)
        drill = " (drill)" if row.figures.drill else ""
        cells = [*_cells(row), *([f"{row.figures.tokens:,}", money(row.figures)] if talked else ())]
        table.add_row(Text(line(name + drill, 60)), *(Text(cell) for cell in cells))
    return table


def _perf(comparison: Comparison) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "against the oracles", "", "interval", "tasks"):
        table.add_column(name, no_wrap=True)
    for arm, name, found in perf_rows(comparison):
        told = (
            (f"{found.value:.3g}", _interval(found, "{:.3g}".format), f"{found.tasks}") if found else (NOTHING, "", "")
        )
        table.add_row(*(Text(line(cell, 60)) for cell in (arm, name, *told)))
    return table


def _cells(row: ArmFigures) -> list[str]:
    found = row.figures
    return [
        f"{found.cells}" if not found.missing else f"{found.cells}/{found.cells + found.missing}",
        share(found.correct),
        share(fast(found, "eager", 1.0)),
        mean(speedup(found, "eager", "all")),
        mean(speedup(found, "compile", "all")),
        mean(speedup(found, "eager", "solved")),
        f"{found.first_right:.1f}" if found.first_right is not None else NOTHING,
        seconds(found.device_s),
    ]


def _naive(naive: tuple[Naive, ...]) -> Text:
    kernels = [f"{one.task} {times(one.eager.median) if one.eager else one.outcome}" for one in naive]
    return Text(line(f"naive kernels over eager: {', '.join(kernels)}", 2000), style="dim")
