"""Stored runs, read and shown: a run's page and summary, a page over several, their charts, and what they taught.

A run that cannot be read hides no other.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from kernelwright.engine.events import Warned
from kernelwright.engine.summary import speaker
from kernelwright.engine.suppliers import Shown, Suppliers
from kernelwright.errors import StoreError
from kernelwright.export.model_new import unwrap
from kernelwright.records.attempt import Attempt
from kernelwright.records.task import TaskSource
from kernelwright.report import html
from kernelwright.report import overview as several
from kernelwright.report.html import Files
from kernelwright.report.overview import StoredRun
from kernelwright.reward.predictor.experience import NamedReward, Row, row_of, text_of
from kernelwright.store.database import FILE
from kernelwright.store.files import make_folder, write_whole
from kernelwright.store.run import RunStore

REPORT, OVERVIEW = "report.html", "overview.html"
"""The page of a run, in its folder, and that over several, in the folder that holds them."""
KERNEL, RECEIPT = "model_new.py", "receipt.json"
"""The best kernel as a drop-in module, and the receipt of its verdict, in the run's folder."""


def report(
    folder: Path, file: Path | None = None, suppliers: Suppliers | None = None, wanted: Sequence[int] = ()
) -> Path:
    """Write the run's report, also while it is running; into its folder, or into `file`.

    Attempts that are `wanted` are on it in full. Where it has not all of them, a table of all lies beside it.

    Raises:
        StoreError: there is no such run, or the report cannot be written.
    """
    with closing(RunStore.open(folder)) as store:
        return write_report(store, suppliers or Suppliers(), file, wanted)


def report_and_present(
    folder: Path, file: Path | None, suppliers: Suppliers, wanted: Sequence[int]
) -> tuple[Path, Shown]:
    """Both at once: a long run is read once.

    Raises:
        StoreError: as `report`.
    """
    with closing(RunStore.open(folder)) as store:
        return write_report(store, suppliers, file, wanted), shown(store, suppliers)


def write_report(store: RunStore, suppliers: Suppliers, file: Path | None = None, wanted: Sequence[int] = ()) -> Path:
    """The same of an open store."""
    place, attempts, outcome = file or store.folder / REPORT, store.history(), store.outcome()
    beside = place.with_name(f"{place.stem}-attempts.html")
    if table := html.render_table(store.card, attempts, outcome, place.name):
        write_whole(beside, table, follow=False)
    named = beside.name if table else ""
    files = replace(_files(store.folder), table=named, wanted=tuple(wanted), unproved=store.unproved)
    if store.unproved:
        suppliers.listener(Warned(text=f"this run is unproved: {store.unproved}"))
    page = suppliers.render(store.card, attempts, outcome, store.conversations(), files)
    return write_whole(place, page, follow=file is not None)


def shown(store: RunStore, suppliers: Suppliers) -> Shown:
    """An open run's summary for a terminal, also while it is running."""
    return suppliers.present(store.card, store.history(), store.outcome(), store.conversations())


def overview(folders: Sequence[Path], file: Path | None = None) -> tuple[Path, Shown]:
    """Write a page over several runs: a table, the best of each task, two kernels side by side; also for a terminal.

    A folder of runs stands for the runs in it. `file`: `overview.html` in the folder that holds them all where none is
    named.

    Raises:
        StoreError: none of them can be read, or the page cannot be written.
    """
    found = runs_at(folders)
    place = Path(os.path.commonpath([folder.absolute() for folder in found])) if len(found) > 1 else found[0].parent
    page = file or Path(os.path.relpath(place)) / OVERVIEW
    runs, unreadable = _readable(found, whole=False)
    return write_whole(page, several.render(runs, unreadable, str(page.parent))), several.present(runs)


def figures(folders: Sequence[Path], into: Path) -> list[Path]:
    """Write the charts as SVG files: those of one run, or those that compare several.

    Raises:
        StoreError: no run can be read, or a file cannot be written.
    """
    found = runs_at(folders)
    runs, _ = _readable(found, whole=len(found) == 1)
    one = runs[0]
    charts = several.figures(runs) if len(runs) > 1 else html.figures(one.card, one.attempts, one.outcome)
    make_folder(into, "name another folder")
    return [write_whole(into / name, chart) for name, chart in charts.items()]


def learn(folders: Sequence[Path], file: Path) -> int:
    """Write what the attempts of runs taught, for `--predictor`; returns how many rows.

    Raises:
        StoreError: a folder is no run, or the file cannot be written.
    """
    rows = [row for folder in folders for row in _experience(folder)]
    write_whole(file, text_of(rows))
    return len(rows)


def runs_at(folders: Sequence[Path]) -> list[Path]:
    """The runs that these folders are, or hold."""
    each = ([f] if (f / FILE).exists() else sorted(r.parent for r in f.glob(f"*/{FILE}")) or [f] for f in folders)
    return list(dict.fromkeys(folder for runs in each for folder in runs))


def best_attempt(folder: Path) -> Attempt | None:
    """The attempt that speaks for a run: the final one, otherwise the best of the search; None: nothing was right.

    Raises:
        StoreError: there is no such run.
    """
    with closing(RunStore.open(folder)) as store:
        return speaker(store.history(), store.outcome())


def source_of(folder: Path) -> TaskSource:
    """The task of a stored run, as its author wrote it.

    Raises:
        StoreError: there is no such run.
    """
    with closing(RunStore.open(folder)) as store:
        return store.card.task.source


def _readable(folders: Sequence[Path], whole: bool) -> tuple[list[StoredRun], dict[str, str]]:
    """The runs that can be read, and what is wrong with the others, by folder.

    Unless they are read as a `whole`, a run whose final speaks for it comes without its attempts.
    """
    runs, unreadable = [], {}
    for folder in folders:
        page = folder / REPORT
        try:
            with closing(RunStore.open(folder)) as store:
                where = str(page) if page.is_file() else ""
                name = f"{folder} (unproved)" if store.unproved else str(folder)
                outcome = store.outcome()
                attempts = () if outcome and outcome.final and not whole else store.attempts()
                runs.append(StoredRun(name, store.card, attempts, outcome, where))
        except StoreError as error:
            unreadable[str(folder)] = str(error)
    if not runs:
        raise StoreError("; ".join(unreadable.values()) or "no runs were named")
    return runs, unreadable


def _files(folder: Path) -> Files:
    there = {name: str(folder / name) for name in (KERNEL, RECEIPT) if (folder / name).is_file()}
    guarded = KERNEL in there and unwrap((folder / KERNEL).read_text("utf-8")) is not None
    return Files(kernel=there.get(KERNEL, ""), receipt=there.get(RECEIPT, ""), guarded=guarded, folder=str(folder))


def _experience(folder: Path) -> list[Row]:
    with closing(RunStore.open(folder)) as store:
        preset, task = str(store.card.config.get("reward", "")), store.card.task
        rewards = {tell.attempt: NamedReward(preset, tell.reward) for tell in store.tells()}
        attempts = [a for a in store.attempts() if a.known is None]
        return [row for a in attempts if (row := row_of(task, a, rewards.get(a.number))) is not None]
