"""The verbs that every interface calls, one function each, and a workbench for kernels that come from outside.

Nothing here imports torch.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast, get_args

from pydantic import ValidationError

from kernelwright.bench.compare import compare
from kernelwright.bench.plan import Cell
from kernelwright.bench.records import CellResult, Comparison
from kernelwright.bench.request import (
    BenchBegins,
    BenchRequest,
    BenchResult,
    CellBegins,
    CellEnds,
    KernelBench,
    ModelSets,
    News,
    Precision,
    Total,
    read_model_sets,
    unheard,
)
from kernelwright.bench.runner import Order
from kernelwright.engine import session
from kernelwright.engine.admission import REPORT as ADMISSION
from kernelwright.engine.admission import AdmissionRequest, admit
from kernelwright.engine.audit import PUBLISHED, AuditRequest, AuditResult, audit
from kernelwright.engine.check import check, profile
from kernelwright.engine.config import RunConfig, Settings, load_config, nearest
from kernelwright.engine.events import (
    Event,
    Finished,
    Judged,
    Listener,
    NewBest,
    Phase,
    Proposed,
    Spent,
    Started,
    Warned,
    Writing,
)
from kernelwright.engine.external.assignment import Assignment
from kernelwright.engine.external.workbench import OUTSIDE, Workbench, WorkbenchStatus, open_bench
from kernelwright.engine.gateway.router import read_models
from kernelwright.engine.graph_build import BuildReport, BuildRequest, build, write_graph
from kernelwright.engine.receipts.recheck import RecheckRequest, recheck
from kernelwright.engine.receipts.verify import DOES_NOT_HOLD, Verification, VerifyRequest, verify
from kernelwright.engine.request import CheckRequest, OptimizeRequest, OptimizeResult, ProfileRequest
from kernelwright.engine.summary import (
    BestKernel,
    CheckSummary,
    Figures,
    ProfileSummary,
    RunSummary,
    UnreadableRun,
    speaker,
    summarize,
)
from kernelwright.engine.suppliers import Shown, Suppliers
from kernelwright.engine.target import CPU, resolve_target
from kernelwright.errors import StoreError, UsageError
from kernelwright.execution.executor import Place
from kernelwright.knowledge.graph.file import graph_of
from kernelwright.knowledge.graph.merge import united
from kernelwright.knowledge.graph.stats import GraphStats, faults, stats
from kernelwright.knowledge.library import card_words
from kernelwright.knowledge.retrieval import Context, Hit, search
from kernelwright.models.config import ModelConfig
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import complaint
from kernelwright.records.check import Check
from kernelwright.records.feedback import Bottleneck
from kernelwright.records.policy import Policy
from kernelwright.records.task import TaskSource
from kernelwright.report.graph_page import FIGURES, render_graph, svg
from kernelwright.report.overview import present as present_runs
from kernelwright.search.table import BASELINE, listed, spelled, spellings
from kernelwright.store.database import FILE
from kernelwright.store.files import must_be_writable, must_take_folders, write_whole
from kernelwright.store.run import RunStore
from kernelwright.tasks.files import split_size, with_size
from kernelwright.tasks.kernel_file import parse_text, read_kernel
from kernelwright.tasks.table import read_task
from kernelwright.train.data.making import DataReport, DataRequest, Revalidation, make_data
from kernelwright.train.data.making import revalidate as revalidate_data
from kernelwright.train.recipe import Progress as TrainingProgress
from kernelwright.train.recipe import Recipe, read_recipe
from kernelwright.train.session import Trained, train

__all__ = [
    "ADMISSION",
    "BASELINE",
    "CPU",
    "DOES_NOT_HOLD",
    "OUTSIDE",
    "PUBLISHED",
    "AdmissionRequest",
    "Assignment",
    "AuditRequest",
    "AuditResult",
    "BenchBegins",
    "BenchRequest",
    "BenchResult",
    "BestKernel",
    "BuildReport",
    "BuildRequest",
    "Cell",
    "CellBegins",
    "CellEnds",
    "CellResult",
    "CheckRequest",
    "CheckSummary",
    "Comparison",
    "DataReport",
    "DataRequest",
    "Event",
    "Figures",
    "Finished",
    "GraphStats",
    "Hit",
    "Judged",
    "KernelBench",
    "Listener",
    "ModelConfig",
    "ModelSets",
    "NewBest",
    "News",
    "OptimizeRequest",
    "OptimizeResult",
    "Phase",
    "Place",
    "Precision",
    "ProfileRequest",
    "ProfileSummary",
    "Proposed",
    "RecheckRequest",
    "Recipe",
    "Revalidation",
    "RunConfig",
    "RunSummary",
    "Settings",
    "Spent",
    "Started",
    "Suppliers",
    "Total",
    "Trained",
    "TrainingProgress",
    "UnreadableRun",
    "Verification",
    "VerifyRequest",
    "Warned",
    "Workbench",
    "WorkbenchStatus",
    "Writing",
    "admit",
    "at_size_of",
    "audit",
    "begin",
    "bench",
    "best_attempt",
    "build_graph",
    "card_words",
    "check",
    "doctor",
    "figures",
    "find_techniques",
    "graph_faults",
    "graph_stats",
    "learn",
    "list_runs",
    "listed",
    "load_config",
    "make_data",
    "merge_graphs",
    "must_be_writable",
    "must_take_folders",
    "nearest",
    "open_workbench",
    "optimize",
    "overview",
    "parse_text",
    "present",
    "profile",
    "read_kernel",
    "read_model_sets",
    "read_models",
    "read_recipe",
    "read_task",
    "recheck",
    "report",
    "resolve_target",
    "resume",
    "revalidate_data",
    "runs_at",
    "show_graph",
    "source_of",
    "spelled",
    "spellings",
    "task_file",
    "train",
    "verify",
    "write_whole",
]

OVERVIEW = "overview.html"
"""The page over several runs, in the folder that holds them."""


def optimize(request: OptimizeRequest, suppliers: Suppliers | None = None) -> OptimizeResult:
    """Search for a faster kernel; Ctrl-C ends the search with the best so far.

    Raises:
        KernelwrightError: the run could not begin, or its folder cannot be written.
        KeyboardInterrupt: interrupted before the run began.
    """
    return asyncio.run(begin(request, suppliers))


async def begin(request: OptimizeRequest, suppliers: Suppliers | None = None) -> OptimizeResult:
    """The same for a caller with an event loop; cancelling it ends the search with the best so far.

    Raises:
        KernelwrightError: as `optimize`.
    """
    return await session.begin(request, suppliers or Suppliers())


def resume(folder: Path, suppliers: Suppliers | None = None) -> OptimizeResult:
    """Go on with a run that was killed, interrupted or broken off; a complete one is only summed up.

    Raises:
        StoreError: there is no such run, or it cannot go on here.
    """
    return asyncio.run(session.go_on(folder, suppliers or Suppliers()))


async def open_workbench(what: OptimizeRequest | Path, suppliers: Suppliers | None = None) -> Workbench:
    """A run whose kernels come from outside, new or a folder's to go on with; see `engine.outside`. Close it in the end."""
    parts = suppliers or Suppliers()
    return await open_bench(what, parts, lambda store, ending: session.wind_up(store, ending, parts))


def bench(request: BenchRequest, suppliers: Suppliers | None = None, news: News = unheard) -> BenchResult:
    """Compare strategies, proposers and rewards on tasks; a bench that is there goes on. Ctrl-C sums up what is there.

    Raises:
        KernelwrightError: no cell can be run as asked, or the folder holds another bench.
    """
    return asyncio.run(compare(request, suppliers or Suppliers(), _run_cell, news))


async def _run_cell(order: Order, suppliers: Suppliers) -> OptimizeResult:
    return await session.play_in(order.folder, order.task, order.config, order.evaluator, suppliers)


def learn(folders: Sequence[Path], file: Path) -> int:
    """Write what the attempts of runs taught, for `--predictor`; returns how many rows.

    Raises:
        StoreError: a folder is no run, or the file cannot be written.
    """
    return session.write_experience(folders, file)


def report(folder: Path, file: Path | None = None, suppliers: Suppliers | None = None) -> Path:
    """Write the run's report, also while it is running; into its folder, or into `file`.

    Raises:
        StoreError: there is no such run, or the report cannot be written.
    """
    return session.write_report(folder, file, suppliers or Suppliers())


def overview(folders: Sequence[Path], file: Path | None = None) -> tuple[Path, Shown]:
    """Write a page over several runs: a table, the best of each task, two kernels side by side; also for a terminal.

    A folder of runs stands for the runs in it. `file`: `overview.html` in the folder that holds them all where none is
    named.

    Raises:
        StoreError: none of them can be read, or the page cannot be written.
    """
    found = runs_at(folders)
    place = Path(os.path.commonpath([folder.absolute() for folder in found])) if len(found) > 1 else found[0].parent
    page, runs = session.write_overview(found, file or Path(os.path.relpath(place)) / OVERVIEW)
    return page, present_runs(runs)


def runs_at(folders: Sequence[Path]) -> list[Path]:
    """The runs that these folders are, or hold."""
    each = ([f] if (f / FILE).exists() else sorted(r.parent for r in f.glob(f"*/{FILE}")) or [f] for f in folders)
    return list(dict.fromkeys(folder for runs in each for folder in runs))


def figures(folders: Sequence[Path], into: Path) -> list[Path]:
    """Write the charts as SVG files: those of one run, or those that compare several.

    Raises:
        StoreError: no run can be read, or a file cannot be written.
    """
    return session.write_figures(runs_at(folders), into)


def present(folder: Path, suppliers: Suppliers | None = None) -> Shown:
    """A run's summary for a terminal, also while it is running.

    Raises:
        StoreError: there is no such run.
    """
    store = RunStore.open(folder)
    try:
        return (suppliers or Suppliers()).present(store.card, store.attempts(), store.outcome(), store.messages())
    finally:
        store.close()


def build_graph(request: BuildRequest, suppliers: Suppliers | None = None) -> BuildReport:
    """Grow a graph of techniques from trajectories and runs; a build that was cut goes on.

    Raises:
        KernelwrightError: the graph or a source cannot be read, or the referee broke.
    """
    return asyncio.run(_build(request, suppliers or Suppliers()))


async def _build(request: BuildRequest, suppliers: Suppliers) -> BuildReport:
    evaluator = suppliers.open_evaluator(Policy(baselines=("eager",), final_baselines=()))
    try:
        return await build(request, evaluator, suppliers.listener, suppliers.model)
    finally:
        await evaluator.close()


def show_graph(file: Path | None, page: Path | None, picture: Path | None) -> list[Path]:
    """Write a graph's page, its picture, or both; returns what was written.

    Raises:
        UsageError: the graph cannot be read.
        StoreError: a file cannot be written.
    """
    graph = graph_of(str(file or ""))
    known = stats(graph).model_dump()
    told = [(words, str(known[name])) for name, words in FIGURES.items()]
    written = [] if page is None else [write_whole(page, render_graph(graph, told))]
    return written if picture is None else [*written, write_whole(picture, svg(graph))]


def merge_graphs(files: Sequence[Path], out: Path) -> GraphStats:
    """Put graphs together, each example once, with what all of them measured.

    Raises:
        UsageError: a graph cannot be read.
        StoreError: the result cannot be written.
    """
    graph = united([graph_of(str(file)) for file in files])
    write_graph(graph, out)
    return stats(graph)


def graph_stats(file: Path | None) -> GraphStats:
    """A graph in figures; None: the one that comes with the package.

    Raises:
        UsageError: it cannot be read.
    """
    return stats(graph_of(str(file or "")))


def graph_faults(file: Path | None) -> tuple[str, ...]:
    """What does not fit together in a graph, a sentence each.

    Raises:
        UsageError: it cannot even be read.
    """
    return faults(graph_of(str(file or "")))


def find_techniques(query: str, where: Mapping[str, object], bottleneck: str, limit: int) -> tuple[Hit, ...]:
    """Techniques that apply somewhere (the fields of `Context`), what to try first at the beginning.

    Raises:
        UsageError: there is no such kind, language or bottleneck.
    """
    if bottleneck not in get_args(Bottleneck):
        raise UsageError(f"the bottleneck {bottleneck!r} must be one of {', '.join(get_args(Bottleneck))}")
    try:
        context = Context.model_validate(where)
    except ValidationError as error:
        fault = error.errors()[0]
        raise UsageError(f"{fault['loc'][0]}: {complaint(fault)}") from None
    return search(query, context, cast("Bottleneck", bottleneck), limit)


def doctor(suppliers: Suppliers | None = None) -> list[Check]:
    """What this machine can do, and the fix for what it cannot."""
    return list((suppliers or Suppliers()).examine())


def best_attempt(folder: Path) -> Attempt | None:
    """The attempt that speaks for a run: the final one, otherwise the best of the search; None: nothing was right.

    Raises:
        StoreError: there is no such run.
    """
    with closing(RunStore.open(folder)) as store:
        return speaker(store.attempts(), store.outcome())


def source_of(folder: Path) -> TaskSource:
    """The task of a stored run, as its author wrote it.

    Raises:
        StoreError: there is no such run.
    """
    with closing(RunStore.open(folder)) as store:
        return store.card.task.source


def task_file(task: Path) -> Path:
    """The file of a task's path, which may name a size too."""
    return split_size(task).file


def at_size_of(file: Path, task: str) -> Path:
    """The path of a file at the size that a task's name has, if it has one."""
    return with_size(file, split_size(Path(task)).size)


def list_runs(runs: Path) -> list[RunSummary | UnreadableRun]:
    """Every run below a folder, the oldest first; one that is corrupt hides no other."""
    return [_summary_at(file.parent) for file in sorted(runs.glob(f"*/{FILE}"))]


def _summary_at(folder: Path) -> RunSummary | UnreadableRun:
    try:
        with closing(RunStore.open(folder)) as store:
            return summarize(store)
    except StoreError as error:
        return UnreadableRun(folder=str(folder), error=str(error))
