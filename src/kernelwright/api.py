"""The verbs that every interface calls: optimize, resume, check, profile, verify, recheck, admit, report, doctor.

Decides how the parts are put together and what is written into a run's folder. Refuses to know how
anything is shown. Nothing here imports torch; the referee's workers do.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

from kernelwright.engine.admission import REPORT as ADMISSION
from kernelwright.engine.admission import AdmissionRequest, admit
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
from kernelwright.engine.identity import config_of, new_card, same_circumstances
from kernelwright.engine.receipts import reissue, winner
from kernelwright.engine.recheck import RecheckRequest, recheck
from kernelwright.engine.request import CheckRequest, OptimizeRequest, OptimizeResult, ProfileRequest
from kernelwright.engine.run import Ending, Parts, run
from kernelwright.engine.summary import (
    BestKernel,
    CheckSummary,
    Figures,
    ProfileSummary,
    RunSummary,
    speaker,
    summarize,
)
from kernelwright.engine.suppliers import Shown, Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.engine.verify import DOES_NOT_HOLD, Verification, VerifyRequest, verify
from kernelwright.errors import StoreError
from kernelwright.execution.executor import Place
from kernelwright.records.check import Check
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.tasks.table import read_task

__all__ = [
    "ADMISSION",
    "DOES_NOT_HOLD",
    "AdmissionRequest",
    "BestKernel",
    "CheckRequest",
    "CheckSummary",
    "Event",
    "Figures",
    "Finished",
    "Judged",
    "Listener",
    "NewBest",
    "OptimizeRequest",
    "OptimizeResult",
    "Phase",
    "Place",
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
    "Verification",
    "VerifyRequest",
    "Warned",
    "admit",
    "check",
    "doctor",
    "list_runs",
    "load_config",
    "optimize",
    "present",
    "profile",
    "recheck",
    "report",
    "resume",
    "verify",
]

REPORT = "report.html"
KERNEL = "model_new.py"
"""The best kernel as a drop-in module, in the run's folder."""
RECEIPT = "receipt.json"
"""The receipt of its verdict, beside it."""


def optimize(request: OptimizeRequest, suppliers: Suppliers | None = None) -> OptimizeResult:
    """Search for a faster kernel; Ctrl-C ends the search with the best so far.

    Raises:
        KernelwrightError: the run could not begin, or its folder cannot be written.
        KeyboardInterrupt: interrupted before the run began.
    """
    return asyncio.run(_optimize(request, suppliers or Suppliers()))


async def _optimize(request: OptimizeRequest, suppliers: Suppliers) -> OptimizeResult:
    source, target = read_task(request.task), resolve_target(request.target, request.config.place)
    proposer = suppliers.proposer(request.config.proposer)
    evaluator = suppliers.open_evaluator(request.config.policy, request.config.place)
    try:
        suppliers.listener(Phase(text=f"admitting {source.name} on {target.name}"))
        task = await evaluator.admit(source, target)
        card = new_card(task, await evaluator.environment(), request.config)
        store = RunStore.create(request.runs / card.id, card)
        return await _run(store, request.config, Parts(proposer, evaluator, suppliers.listener), suppliers)
    finally:
        await evaluator.close()


def resume(folder: Path, suppliers: Suppliers | None = None) -> OptimizeResult:
    """Go on with a run that was killed, interrupted or broken off; a complete one is only summed up.

    Raises:
        StoreError: there is no such run, or it cannot go on here.
    """
    return asyncio.run(_resume(folder, suppliers or Suppliers()))


async def _resume(folder: Path, suppliers: Suppliers) -> OptimizeResult:
    store = RunStore.open(folder, writing=True)
    config, outcome = config_of(store.card), store.outcome()
    if outcome is not None and outcome.complete:
        return _wind_up(store, Ending(outcome), suppliers)
    proposer = suppliers.proposer(config.proposer)
    evaluator = suppliers.open_evaluator(config.policy, config.place)
    try:
        suppliers.listener(Phase(text=f"admitting {store.card.task.name} again"))
        task = await evaluator.admit(store.card.task.source, store.card.task.target)
        same_circumstances(store.card, await evaluator.environment())
        if task.id != store.card.task.id:
            raise StoreError(f"run {store.card.id}: the task is admitted differently now; start a new run")
        return await _run(store, config, Parts(proposer, evaluator, suppliers.listener), suppliers)
    finally:
        store.close()
        await evaluator.close()


async def _run(store: RunStore, config: RunConfig, parts: Parts, suppliers: Suppliers) -> OptimizeResult:
    card = store.card
    cache = suppliers.cache() if config.cache else None
    parts.listener(
        Started(
            run=card.id,
            folder=str(store.folder),
            task=card.task.name,
            target=card.task.target.name,
            budget=config.budget,
        )
    )
    try:
        return _wind_up(store, await run(store, config, replace(parts, cache=cache)), suppliers)
    finally:
        if cache is not None:
            cache.close()
        store.close()


def _wind_up(store: RunStore, ending: Ending, suppliers: Suppliers) -> OptimizeResult:
    kernel = _write_kernel(store, ending, suppliers)
    claim = winner(store, ending.outcome)
    receipt = reissue(claim, store.folder / RECEIPT) if claim is not None else None
    page = report(store.folder, suppliers=suppliers)
    shown = suppliers.present(store.card, store.attempts(), ending.outcome)
    return OptimizeResult(summarize(store), shown, page, kernel, receipt, ending.error, ending.interrupted)


def _write_kernel(store: RunStore, ending: Ending, suppliers: Suppliers) -> Path | None:
    attempt = speaker(store.attempts(), ending.outcome)
    if attempt is None:
        return None
    return _write(store.folder / KERNEL, suppliers.wrap(store.card.task, attempt.proposal.candidate))


def report(folder: Path, file: Path | None = None, suppliers: Suppliers | None = None) -> Path:
    """Write the run's report, also while it is running; into its folder, or into `file`.

    Raises:
        StoreError: there is no such run, or the report cannot be written.
    """
    store = RunStore.open(folder)
    try:
        text = (suppliers or Suppliers()).render(store.card, store.attempts(), store.outcome())
    finally:
        store.close()
    return _write(file or folder / REPORT, text)


def present(folder: Path, suppliers: Suppliers | None = None) -> Shown:
    """A run's summary for a terminal, also while it is running.

    Raises:
        StoreError: there is no such run.
    """
    store = RunStore.open(folder)
    try:
        return (suppliers or Suppliers()).present(store.card, store.attempts(), store.outcome())
    finally:
        store.close()


def _write(file: Path, text: str) -> Path:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error.strerror}): check the path and the disk") from None
    return file


def doctor(suppliers: Suppliers | None = None) -> list[Check]:
    """What this machine can do, and the cure for what it cannot."""
    return list((suppliers or Suppliers()).examine())


def list_runs(runs: Path) -> list[RunSummary]:
    """Every run below a folder, the oldest first.

    Raises:
        StoreError: one of them is corrupt.
    """
    return [_summary_at(file.parent) for file in sorted(runs.glob(f"*/{FILE}"))]


def _summary_at(folder: Path) -> RunSummary:
    store = RunStore.open(folder)
    try:
        return summarize(store)
    finally:
        store.close()
