"""The verbs that every interface calls, one function each, and a workbench for kernels that come from outside.

Nothing here imports torch.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast, get_args

from pydantic import ValidationError

from kernelwright.bench.compare import compare
from kernelwright.bench.records import CellResult
from kernelwright.bench.request import (
    BenchBegins,
    BenchRequest,
    BenchResult,
    CellBegins,
    CellEnds,
    KernelBench,
    News,
    Total,
    read_model_sets,
    unheard,
)
from kernelwright.bench.runner import Order
from kernelwright.engine import first_prompt, session
from kernelwright.engine.admission import AdmissionRequest, admit
from kernelwright.engine.assignment import Assignment
from kernelwright.engine.audit import PUBLISHED, AuditRequest, AuditResult, audit
from kernelwright.engine.check import check, profile
from kernelwright.engine.config import RunConfig, Settings, load_config, nearest
from kernelwright.engine.events import (
    Asked,
    Event,
    Finished,
    Judged,
    NewBest,
    Phase,
    Proposed,
    Spent,
    Started,
    Warned,
    Writing,
)
from kernelwright.engine.farm import FarmStatus, farm_status
from kernelwright.engine.first_prompt import FirstPrompt
from kernelwright.engine.gateway.models import read_models
from kernelwright.engine.graph_build import BuildReport, BuildRequest, build, write_graph
from kernelwright.engine.listing import list_runs
from kernelwright.engine.receipts import DOES_NOT_HOLD, Verification, VerifyRequest, verify
from kernelwright.engine.recheck import RecheckRequest, recheck
from kernelwright.engine.request import CheckRequest, OptimizeRequest, OptimizeResult, ProfileRequest
from kernelwright.engine.retune import Retuning, retune
from kernelwright.engine.stored_runs import (
    best_attempt,
    figures,
    learn,
    overview,
    report,
    report_and_present,
    runs_at,
    source_of,
)
from kernelwright.engine.summary import (
    CheckSummary,
    Figures,
    ProfileSummary,
    RunSummary,
    UnreadableRun,
)
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import CPU, resolve_target
from kernelwright.engine.workbench import OUTSIDE, Workbench, WorkbenchStatus, open_bench
from kernelwright.errors import UsageError
from kernelwright.execution.executor import Place, place_of
from kernelwright.knowledge.graph.file import graph_of
from kernelwright.knowledge.graph.merge import unite
from kernelwright.knowledge.graph.stats import GraphStats, faults, stats
from kernelwright.knowledge.library import card_words
from kernelwright.knowledge.retrieval import Context, Hit, search
from kernelwright.records.base import complaint
from kernelwright.records.feedback import Bottleneck
from kernelwright.records.policy import Policy
from kernelwright.records.run import Check
from kernelwright.report.graph_page import FIGURES, render_graph, svg
from kernelwright.search.table import BASELINE, listed, spelled, spellings
from kernelwright.store.files import must_be_writable, must_take_folders, write_whole
from kernelwright.tasks.files import split_size, with_size
from kernelwright.tasks.kernel_file import parse_text, read_kernel
from kernelwright.tasks.serial_skeleton import skeleton
from kernelwright.tasks.table import read_task
from kernelwright.train.data.collect import Tally
from kernelwright.train.data.decontaminate import REPORT as DECONTAMINATED
from kernelwright.train.data.decontaminate import Decontamination, decontaminate
from kernelwright.train.data.making import DataReport, DataRequest, Revalidation, make_data
from kernelwright.train.data.making import revalidate as revalidate_data
from kernelwright.train.recipe import Progress as TrainingProgress
from kernelwright.train.recipe import Recipe, read_recipe
from kernelwright.train.recipes.plan import Pipeline, read_pipeline
from kernelwright.train.recipes.run import Planned as PlannedStage
from kernelwright.train.recipes.run import StageEvent, run_pipeline
from kernelwright.train.recipes.run import plan as plan_pipeline
from kernelwright.train.session import train


def optimize(request: OptimizeRequest, suppliers: Suppliers | None = None) -> OptimizeResult:
    """Search for a faster kernel; Ctrl-C ends the search with the best so far.

    Raises:
        KernelwrightError: the run could not begin, or its folder cannot be written.
        KeyboardInterrupt: interrupted before the run began.
    """
    return asyncio.run(begin(request, suppliers))


def first_prompts(request: OptimizeRequest, suppliers: Suppliers | None = None) -> tuple[FirstPrompt, ...]:
    """What a run would ask its models first; nobody is asked, and nothing is left behind.

    Raises:
        KernelwrightError: the run could not begin.
    """
    return asyncio.run(first_prompt.first_prompts(request, suppliers or Suppliers()))


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


def build_graph(request: BuildRequest, suppliers: Suppliers | None = None) -> BuildReport:
    """Grow a graph of techniques from trajectories and runs; a build that was cut goes on.

    Raises:
        KernelwrightError: the graph or a source cannot be read, or the referee broke.
    """
    return asyncio.run(_build(request, suppliers or Suppliers()))


async def _build(request: BuildRequest, suppliers: Suppliers) -> BuildReport:
    async with suppliers.evaluating(Policy(baselines=("eager",), final_baselines=())) as evaluator:
        return await build(request, evaluator, suppliers.listener, suppliers.model)


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
    graph = unite([graph_of(str(file)) for file in files])
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


def serial_skeleton(file: Path, function: str = "") -> str:
    """The TOML that makes a C or C++ file a task, as far as its code shows it.

    Raises:
        TaskError: there is no such function, or it takes what no array can be.
    """
    return skeleton(file, function)


def doctor(suppliers: Suppliers | None = None) -> list[Check]:
    """What this machine can do, and the fix for what it cannot."""
    return list((suppliers or Suppliers()).examine())


def task_file(task: Path) -> Path:
    """The file of a task's path, which may name a size too."""
    return split_size(task).file


def at_size_of(file: Path, task: str) -> Path:
    """The path of a file at the size that a task's name has, if it has one."""
    return with_size(file, split_size(Path(task)).size)
