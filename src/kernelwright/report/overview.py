"""The page over several runs: a table, the best run of each task, and the two best kernels of a task side by side.

Runs are compared where they are about the same task on the same device, and by final figures alone: the largest lower
bound over eager is the best, and an interval that is too wide is no figure.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelwright.records.attempt import Attempt, sure_speedup
from kernelwright.records.evaluation import Measured
from kernelwright.records.measure import BaselineName, Versus
from kernelwright.records.run import Outcome, RunCard
from kernelwright.report import words
from kernelwright.report.charts.runs import Bar, speedups
from kernelwright.report.charts.svg import WIDE
from kernelwright.report.headline import Headline, headline
from kernelwright.report.html import alone, page
from kernelwright.report.tally import difference

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
        """The final comparison with one baseline; None where there is none, or where its interval is too wide."""
        found = self.final.timing.against(baseline) if self.final else None
        return found if found is not None and not found.speedup.blurred else None

    @property
    def rank(self) -> float:
        """By what runs are compared; 0.0 without a figure."""
        return sure_speedup(self.told.attempt) if self.told.attempt and self.against("eager") else 0.0


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
        """Whether its best kernel is surely faster than eager."""
        versus = self.best.against("eager") if self.best else None
        return versus is not None and versus.verdict == "faster"

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
        return speedups([Bar(name(n, e), e.against(baseline)) for n, e in enumerate(self.entries, 1)], width)


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
        won=sum(group.won for group in groups),
        unreadable=unreadable,
        links={run.folder: os.path.relpath(run.page, place) for run in runs if run.page},
    )


def figures(runs: Sequence[StoredRun]) -> dict[str, str]:
    """The charts as SVG files, by name: one for each task and baseline."""
    return {
        f"{number}-{_safe(group.entries[0].run.card.task.name)}-{baseline}.svg": alone(group.chart(baseline, WIDE))
        for number, group in enumerate(by_task(runs), 1)
        for baseline in BASELINES
    }


def present(runs: Sequence[StoredRun]) -> RenderableType:
    """The same for a terminal: a table for each task."""
    parts: list[RenderableType] = []
    for group in by_task(runs):
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
    table.add_column("run", no_wrap=True, ratio=1)
    for heading in ("call", *BASELINES):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, entry in enumerate(group.entries, 1):
        shown = [v.speedup if (v := entry.against(b)) else None for b in BASELINES]
        ratios = [f"{words.times(r.median)} ({r.low:.2f} to {r.high:.2f})" if r else "-" for r in shown]
        call = words.microseconds(entry.final.timing.latency_us) if entry.final else "-"
        table.add_row(words.line(name(number, entry)), call, *ratios, style="bold green" if entry is group.best else "")
    return table


def name(place: int, entry: Entry) -> str:
    """A short name: the place in the table, and the end of the run's id."""
    return f"{place}. {entry.run.card.id.rsplit('-', 1)[-1]}"


def _source(entry: Entry) -> str:
    assert entry.told.attempt is not None
    return entry.told.attempt.proposal.candidate.source


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:60]
