"""The comparison on the terminal: a row for each arm, as a rich table.

Says the same as the page, shorter. All untrusted text goes through `report.words.line` into `Text`.
"""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelwright.bench import words
from kernelwright.bench.records import FAILED, ArmFigures, Comparison, Naive
from kernelwright.report.words import line, seconds, times

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

_DIFFER = "These rows stand on different tasks; the page has a table over those that are settled in every row."


def render(comparison: Comparison) -> RenderableType:
    """The whole summary; print it on any console."""
    parts: list[RenderableType] = [Text(line(label, 200), style="bold yellow") for label in comparison.labels]
    parts += [_table(comparison), Text(_NOTE, style="dim")]
    if any(row.shared.cells < row.figures.cells for row in comparison.arms):
        parts.append(Text(_DIFFER, style="yellow"))
    if comparison.naive:
        parts.append(_naive(comparison.naive))
    failed = [cell for cell in comparison.cells if cell.status in (*FAILED, "broken", "unpaid")]
    for cell in failed[:12]:
        told = f"{cell.cell.name}: {words.STATUS[cell.status]}: {cell.reason}"
        parts.append(Text(line(told, 200), style="red"))
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
        name = words.arm_name(row.arm, comparison.plan.arms)
        drill = " (drill)" if row.figures.drill else ""
        cells = [*_cells(row), *([f"{row.figures.tokens:,}", words.money(row.figures)] if talked else ())]
        table.add_row(Text(line(name + drill, 60)), *(Text(cell) for cell in cells))
    return table


def _cells(row: ArmFigures) -> list[str]:
    found = row.figures
    return [
        f"{found.cells}" if not found.missing else f"{found.cells}/{found.cells + found.missing}",
        words.share(found.correct),
        words.share(words.fast(found, "eager", 1.0)),
        words.mean(words.speedup(found, "eager", "all")),
        words.mean(words.speedup(found, "compile", "all")),
        words.mean(words.speedup(found, "eager", "solved")),
        f"{found.first_right:.1f}" if found.first_right is not None else words.NOTHING,
        seconds(found.device_s),
    ]


def _naive(naive: tuple[Naive, ...]) -> Text:
    told = [f"{one.task} {times(one.eager.median) if one.eager else one.outcome}" for one in naive]
    return Text(line(f"naive kernels over eager: {', '.join(told)}", 2000), style="dim")
