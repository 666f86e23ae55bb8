"""The page over several runs: a table, the best run of each task, and the two best kernels of a task side by side.

Runs are compared where they are about the same task on the same device, and by final figures alone: the largest lower
bound over eager is the best, and an interval that is too wide is no figure. The chart has a row for each run, with its
interval, on a shared logarithmic scale.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelwright.records.answer import BRIEF, compared, times
from kernelwright.records.attempt import Attempt, sure_speedup
from kernelwright.records.evaluation import Measured
from kernelwright.records.measure import BaselineName, Versus
from kernelwright.records.run import Outcome, RunCard
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import WIDE, Scale, around
from kernelwright.report.headline import Headline, headline
from kernelwright.report.html import alone, page
from kernelwright.report.tally import difference

NO_COMPARISON = "\N{EN DASH}"
BASELINES: tuple[BaselineName, ...] = ("eager", "compile")


@dataclass(frozen=True)
class StoredRun:
    """One run, as its store has it."""

    folder: str
    card: RunCard
    attempts: Sequence[Attempt]
    outcome: Outcome | None
    page: str = ""
    """Where its own report lies."""


@dataclass(frozen=True)
class Entry:
    """One run with what may be claimed of it."""

    run: StoredRun
    told: Headline

    @property
    def final(self) -> Measured | None:
        """The final measurement."""
        return self.told.measured if self.told.standing == "final" else None

    @property
    def how(self) -> str:
        """Who searched: the strategy, and the proposer or the models."""
        config = self.run.card.config
        strategy, models = config.get("strategy"), config.get("models")
        name = str(strategy.get("name", "")) if isinstance(strategy, dict) else ""
        named = (
            [str(m.get("name", "")) for m in models.values() if isinstance(m, dict)] if isinstance(models, dict) else []
        )
        who = ", ".join(dict.fromkeys(named)) or str(config.get("proposer", ""))
        return ", ".join(part for part in (name, who) if part)

    def against(self, baseline: BaselineName) -> Versus | None:
        """The final comparison with one baseline; None where there is none."""
        return self.final.timing.against(baseline) if self.final else None

    def said(self, baseline: BaselineName) -> str:
        """That comparison in words; a dash where there is none."""
        found = self.against(baseline)
        return compared(found.speedup, found.verdict) if found else NO_COMPARISON

    @property
    def rank(self) -> float:
        """By what runs are compared; 0.0 without a figure."""
        return sure_speedup(self.told.attempt) if self.told.attempt and self.final else 0.0


class Pair(NamedTuple):
    """The two best kernels of a task that differ, and their difference."""

    first: Entry
    second: Entry
    diff: Markup


@dataclass(frozen=True)
class TaskRuns:
    """All runs about one task on one device, the best first."""

    entries: tuple[Entry, ...]

    @property
    def best(self) -> Entry | None:
        """The run with the largest lower bound over eager."""
        return self.entries[0] if self.entries[0].rank else None

    @property
    def won(self) -> bool:
        """Whether a final kernel of its is surely faster than eager, also where by how much is not known."""
        return any(entry.final and entry.told.answer == "faster" for entry in self.entries)

    @property
    def timed(self) -> bool:
        """Whether any of its runs has a final figure: the others are neither won nor lost."""
        return any(entry.final for entry in self.entries)

    @property
    def pair(self) -> Pair | None:
        """The best kernel beside the next best that is another."""
        ranked = [e for e in self.entries if e.rank]
        others = [e for e in ranked[1:] if _source(e) != _source(ranked[0])]
        if not others:
            return None
        return Pair(ranked[0], others[0], difference(_source(others[0]), _source(ranked[0])))

    def chart(self, baseline: BaselineName, width: int) -> Markup:
        """Every run's interval over one baseline."""
        found = [(name(n, e), e.against(baseline)) for n, e in enumerate(self.entries, 1)]
        return speedup_chart([Bar(row, v if v and not v.speedup.blurred else None) for row, v in found], width)


def by_task(runs: Sequence[StoredRun]) -> list[TaskRuns]:
    """The runs in groups that may be compared, in the order in which the tasks first appear."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for run in runs:
        entry = Entry(run, headline(run.card, run.attempts, run.outcome))
        groups.setdefault((run.card.task.id, run.card.environment.device.name), []).append(entry)
    return [TaskRuns(tuple(sorted(group, key=lambda e: (-e.rank, e.run.folder)))) for group in groups.values()]


def render(runs: Sequence[StoredRun], unreadable: Mapping[str, str], place: str) -> str:
    """The page, which is to lie in the folder `place`; `unreadable` says what is wrong with the folders of others."""
    groups = by_task(runs)
    return page(
        "overview.html.j2",
        groups=groups,
        count=len(runs),
        title=title(groups),
        unreadable=unreadable,
        links={run.folder: os.path.relpath(run.page, place) for run in runs if run.page},
    )


def title(groups: Sequence[TaskRuns]) -> str:
    """How many of the tasks that were timed were won, and how many were not timed."""
    timed = sum(group.timed for group in groups)
    tasks = "task" if timed == 1 else "tasks"
    won = f"{sum(group.won for group in groups)} of {timed} {tasks} faster than eager PyTorch"
    untimed = f"{len(groups) - timed} not timed" if len(groups) > timed else ""
    return f"{won}; {untimed}" if timed and untimed else untimed.capitalize() or won


def figures(runs: Sequence[StoredRun]) -> dict[str, str]:
    """The charts as SVG files, by name: one for each task and baseline."""
    return {
        f"{number}-{_safe(group.entries[0].run.card.task.name)}-{baseline}.svg": alone(group.chart(baseline, WIDE))
        for number, group in enumerate(by_task(runs), 1)
        for baseline in BASELINES
    }


def present(runs: Sequence[StoredRun]) -> RenderableType:
    """The same for a terminal: a table for each task."""
    groups = by_task(runs)
    parts: list[RenderableType] = [Text(title(groups), style="bold"), Text("")]
    for group in groups:
        card = group.entries[0].run.card
        where = f"{card.task.name} on {card.environment.device.name}, target {card.task.target.name}"
        parts += [Text(words.line(where), style="bold"), _table(group), *_folders(group), Text("")]
    return Group(*parts)


def _folders(group: TaskRuns) -> list[Text]:
    """Each run's folder, on a line that is not broken: to be copied."""
    named = ((name(n, entry), words.line(entry.run.folder, 4096)) for n, entry in enumerate(group.entries, 1))
    return [Text(f"{short}  {folder}", style="dim", no_wrap=True, overflow="ignore") for short, folder in named]


def _table(group: TaskRuns) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    table.add_column("run", no_wrap=True, min_width=8)
    table.add_column("call", justify="right", no_wrap=True, min_width=8)
    for heading in BASELINES:
        # What is uncertain takes words, which go on below.
        table.add_column(heading, justify="right", ratio=1)
    for number, entry in enumerate(group.entries, 1):
        call = (
            words.microseconds(entry.final.timing.latency_us)
            if entry.final
            else BRIEF.get(entry.told.answer, NO_COMPARISON)
        )
        said = map(entry.said, BASELINES)
        table.add_row(words.line(name(number, entry)), call, *said, style="bold green" if entry is group.best else "")
    return table


def name(place: int, entry: Entry) -> str:
    """A short name: the place in the table, and the end of the run's id."""
    return f"{place}. {entry.run.card.id.rsplit('-', 1)[-1]}"


def _source(entry: Entry) -> str:
    assert entry.told.attempt is not None
    return entry.told.attempt.proposal.candidate.source


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:60]


ROW, TOP, BOTTOM, RIGHT = 26, 8, 40, 60
"""RIGHT: room for the figure beside the interval."""
LABEL = 0.34
"""Share of the width that a name takes."""
LETTER = 7.2
"""Pixels of a letter, about."""


@dataclass(frozen=True)
class Bar:
    """One run against one baseline; `found` is None where it was not measured anew, or gave no figure."""

    name: str
    found: Versus | None


def speedup_chart(bars: Sequence[Bar], width: int) -> Markup:
    """The chart; a run without a figure keeps its row and says so."""
    left = round(width * LABEL)
    edges = [edge for bar in bars if bar.found for edge in (bar.found.speedup.low, bar.found.speedup.high)]
    x = around([0.8, 1.25, *edges], left, width - RIGHT)
    bottom = TOP + ROW * len(bars)
    parts = [*_grid(x, bottom)]
    for row, bar in enumerate(bars):
        parts += _chart_row(bar, x, TOP + ROW * row)
    return svg.frame(width, bottom + BOTTOM, describe(bars), parts)


def describe(bars: Sequence[Bar]) -> str:
    """The chart in words."""
    return "; ".join(f"{bar.name}: {_figure_text(bar.found)}" for bar in bars) or "No runs."


def _figure_text(found: Versus | None) -> str:
    if found is None:
        return "no final figure"
    return compared(found.speedup, found.verdict)


def _grid(x: Scale, bottom: float) -> list[Markup]:
    parts = []
    for tick in sorted({1.0, *x.ticks(6)}):
        parts.append(svg.rule(x(tick), TOP, x(tick), bottom, "one" if tick == 1 else "grid"))
        if tick == 1 or abs(x(tick) - x(1)) >= 26:
            parts.append(svg.text(x(tick), bottom + 17, f"{tick:g}×", "one" if tick == 1 else "tick", "middle"))
    return parts


def _chart_row(bar: Bar, x: Scale, top: float) -> list[Markup]:
    middle = top + ROW / 2
    name = words.line(bar.name, int(x.start / LETTER))
    parts = [svg.text(x.start - 12, middle + 4, name, "label", "end")]
    if bar.found is None:
        return [*parts, svg.text(x.start + 6, middle + 4, "no final figure")]
    ratio = bar.found.speedup
    low, high = x(ratio.low), x(ratio.high)
    drawn = [
        svg.bar(low, middle - 5, max(high - low, 3), 10, "interval"),
        svg.rule(x(ratio.median), middle - 9, x(ratio.median), middle + 9, "median"),
    ]
    parts.append(svg.element("g", *drawn, class_=f"v-{bar.found.verdict}"))
    return [*parts, svg.text(max(high, x(ratio.median)) + 8, middle + 4, times(ratio.median), "label")]
