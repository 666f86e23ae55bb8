"""The verbs that every interface calls, one function each, and a workbench for kernels that come from outside.

Nothing here imports torch.
"""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

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
from kernelwright.engine.config import RunConfig, Settings, load_config
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
)
from kernelwright.engine.external.assignment import Assignment
from kernelwright.engine.external.workbench import OUTSIDE, Workbench, WorkbenchStatus, open_bench
from kernelwright.engine.gateway.router import read_models
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
from kernelwright.errors import StoreError
from kernelwright.execution.executor import Place
from kernelwright.models.config import ModelConfig
from kernelwright.records.attempt import Attempt
from kernelwright.records.check import Check
from kernelwright.search.table import BASELINE, listed, spelled, spellings
from kernelwright.store.database import FILE
from kernelwright.store.files import must_be_writable, must_take_folders, write_whole
from kernelwright.store.run import RunStore
from kernelwright.tasks.kernel_file import parse_text, read_kernel
from kernelwright.tasks.table import read_task

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
    "Cell",
    "CellBegins",
    "CellEnds",
    "CellResult",
    "CheckRequest",
    "CheckSummary",
    "Comparison",
    "Event",
    "Figures",
    "Finished",
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
    "RunConfig",
    "RunSummary",
    "Settings",
    "Spent",
    "Started",
    "Suppliers",
    "Total",
    "UnreadableRun",
    "Verification",
    "VerifyRequest",
    "Warned",
    "Workbench",
    "WorkbenchStatus",
    "admit",
    "audit",
    "begin",
    "bench",
    "best_attempt",
    "check",
    "doctor",
    "learn",
    "list_runs",
    "listed",
    "load_config",
    "must_be_writable",
    "must_take_folders",
    "open_workbench",
    "optimize",
    "parse_text",
    "present",
    "profile",
    "read_kernel",
    "read_model_sets",
    "read_models",
    "read_task",
    "recheck",
    "report",
    "resolve_target",
    "resume",
    "spelled",
    "spellings",
    "verify",
    "write_whole",
]


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


def list_runs(runs: Path) -> list[RunSummary | UnreadableRun]:
    """Every run below a folder, the oldest first; one that is corrupt hides no other."""
    return [_summary_at(file.parent) for file in sorted(runs.glob(f"*/{FILE}"))]


def _summary_at(folder: Path) -> RunSummary | UnreadableRun:
    try:
        with closing(RunStore.open(folder)) as store:
            return summarize(store)
    except StoreError as error:
        return UnreadableRun(folder=str(folder), error=str(error))
