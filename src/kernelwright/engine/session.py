"""A session: a run from its request to what it leaves behind, whether new, resumed, or a cell of a comparison.

It puts the parts together and writes the files of the run's folder.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

from kernelwright.engine.config import RunConfig, colleagues, wished
from kernelwright.engine.events import Listener, Phase, Started, Warned
from kernelwright.engine.gateway.meter import forecast
from kernelwright.engine.gateway.router import open_router
from kernelwright.engine.opening import (
    config_of,
    measured_yardstick,
    must_fit,
    new_card,
    open_card,
    readmit,
    settle,
)
from kernelwright.engine.receipts.claims import reissue, winner
from kernelwright.engine.request import OptimizeRequest, OptimizeResult
from kernelwright.engine.run import Ending, Parts, create_run, run
from kernelwright.engine.summary import pytorch_stays, speaker, summarize
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.tuning import recalled
from kernelwright.errors import ProposeError, StoreError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.export.model_new import chosen, unwrap, why_none
from kernelwright.languages import names_for
from kernelwright.records.attempt import Attempt
from kernelwright.records.task import Task
from kernelwright.report import html, overview
from kernelwright.report.overview import StoredRun
from kernelwright.report.use import Files
from kernelwright.reward.predictor.experience import Row, Told, row_of, text_of
from kernelwright.store.database import FILE
from kernelwright.store.files import write_whole
from kernelwright.store.run import RunStore

REPORT = "report.html"
KERNEL = "model_new.py"
"""The best kernel as a drop-in module, in the run's folder."""
RECEIPT = "receipt.json"
"""The receipt of its verdict, beside it."""


async def begin(request: OptimizeRequest, suppliers: Suppliers) -> OptimizeResult:
    """A new run, from its task's admission to its end.

    Raises:
        KernelwrightError: it could not begin, or its folder cannot be written, or nobody could write a first kernel: nothing
            of it is left then.
    """
    settled = settle(request)
    async with _opened(settled.config, suppliers) as parts:
        card = await open_card(settled, parts.evaluator, suppliers.listener, parts.proposer)
        card = recalled(card, settled.config, parts.proposer, parts.tuning)
        if expected := forecast(settled.config, card.task):
            suppliers.listener(Phase(text=expected))
        _say_if_no_drop_in(card.task, settled.config, suppliers.listener)
        with closing(create_run(request.runs / card.id, card, settled.config, parts.states)) as store:
            result = await play(store, settled.config, parts, suppliers)
            if isinstance(result.error, ProposeError) and not store.attempts() and not store.messages():
                store.discard()
                raise result.error
            return result


def _say_if_no_drop_in(task: Task, config: RunConfig, listener: Listener) -> None:
    """What is known before the search is not kept until its end."""
    written = config.language or names_for(task.target.kind)[0]
    if why := why_none(task, written):
        listener(Warned(text=f"a {written} kernel of this task can be no drop-in and is left as it is judged: {why}"))


async def go_on(folder: Path, suppliers: Suppliers) -> OptimizeResult:
    """A run that was killed, interrupted or broken off; a complete one is only summed up.

    Raises:
        StoreError: there is no such run, or it cannot go on here.
    """
    with closing(RunStore.open(folder, writing=True)) as store:
        outcome = store.outcome()
        if outcome is not None and outcome.complete:
            return wind_up(store, Ending(outcome), suppliers)
        return await _resume(store, suppliers)


async def _resume(store: RunStore, suppliers: Suppliers) -> OptimizeResult:
    config = config_of(store.card)
    async with _opened(config, suppliers) as parts:
        await readmit(store.card, parts.evaluator, suppliers.listener)
        return await play(store, config, parts, suppliers)


@asynccontextmanager
async def _opened(config: RunConfig, suppliers: Suppliers) -> AsyncIterator[Parts]:
    """The parts of a run with a referee, models and memory of its own; a cell of a comparison shares no memory."""
    evaluator = suppliers.open_evaluator(config.policy, config.place)
    try:
        async with _assembled(config, evaluator, suppliers) as parts:
            yield replace(parts, states=suppliers.states(), tuning=suppliers.tuning())
    finally:
        await evaluator.close()


async def play_in(
    folder: Path, task: Task, config: RunConfig, evaluator: Evaluator, suppliers: Suppliers
) -> OptimizeResult:
    """A run in this very folder, new or gone on with, of a task that this evaluator has admitted already.

    Raises:
        KernelwrightError: it cannot begin or go on here.
    """
    here = await evaluator.environment(task.target)
    config = colleagues(wished(config, task.source.limits, task.target.kind), task.target)
    async with _assembled(config, evaluator, suppliers) as parts:
        if (folder / FILE).is_file():
            store = RunStore.open(folder, writing=True)
        else:
            held_against = await measured_yardstick(task, evaluator, parts.proposer)
            store = RunStore.create(folder, new_card(task, here, config, held_against))
        with closing(store):
            must_fit(store.card, task, here)
            return await play(store, config, parts, suppliers)


@asynccontextmanager
async def _assembled(config: RunConfig, evaluator: Evaluator, suppliers: Suppliers) -> AsyncIterator[Parts]:
    """The swappable parts, made before anything is started: a missing key or package is said at once.

    Its models are closed in the end; the evaluator is its owner's to close.

    Raises:
        UsageError: a part cannot be had.
    """
    proposer = suppliers.proposer(config.proposer)
    predictor = suppliers.predictor(config.predictor, config.reward) if config.predictor is not None else None
    router = open_router(config, suppliers.model)
    try:
        yield Parts(proposer, evaluator, suppliers.listener, predictor, router, suppliers.library)
    finally:
        await router.close()


async def play(store: RunStore, config: RunConfig, parts: Parts, suppliers: Suppliers) -> OptimizeResult:
    """Search and finals, and what they leave in the folder."""
    card = store.card
    cache = suppliers.cache() if config.cache else None
    folder, target = str(store.folder), card.task.target.name
    parts.listener(Started(run=card.id, folder=folder, task=card.task.name, target=target, budget=config.budget))
    try:
        return wind_up(store, await run(store, config, replace(parts, cache=cache)), suppliers)
    finally:
        if cache is not None:
            cache.close()


def wind_up(store: RunStore, ending: Ending, suppliers: Suppliers) -> OptimizeResult:
    """Write the best kernel, its receipt and the report into the run's folder."""
    best = speaker(store.attempts(), ending.outcome)
    kernel, source = (None, None) if pytorch_stays(store.card, best) else _write_kernel(store, best, suppliers)
    claim = winner(store, ending.outcome)
    receipt = reissue(claim, store.folder / RECEIPT) if claim is not None else None
    page = write_report(store.folder, None, suppliers)
    shown = suppliers.present(store.card, store.attempts(), ending.outcome, store.messages())
    return OptimizeResult(summarize(store), shown, page, kernel, source, receipt, ending.error, ending.interrupted)


def _write_kernel(
    store: RunStore, best: Attempt | None, suppliers: Suppliers
) -> tuple[Path, None] | tuple[None, Path] | tuple[None, None]:
    """The best kernel as a drop-in, or where it cannot be one, as it was judged; at most one of both."""
    if best is None:
        return None, None
    candidate = best.proposal.candidate
    try:
        return write_whole(store.folder / KERNEL, suppliers.wrap(store.card.task, candidate)), None
    except ProposeError as error:
        file = write_whole(store.folder / f"kernel{candidate.suffix}", chosen(candidate))
        suppliers.listener(Warned(text=f"no drop-in is written: {error}; the kernel is in {file}"))
        return None, file


def write_report(folder: Path, file: Path | None, suppliers: Suppliers) -> Path:
    """Write a run's page into its folder, or into `file`.

    Raises:
        StoreError: there is no such run, or the page cannot be written.
    """
    with closing(RunStore.open(folder)) as store:
        text = suppliers.render(store.card, store.attempts(), store.outcome(), store.messages(), _files(folder))
    return write_whole(file or folder / REPORT, text)


def write_overview(folders: Sequence[Path], file: Path) -> tuple[Path, list[StoredRun]]:
    """Write the page over several runs; one that cannot be read is named on it and hides no other.

    Raises:
        StoreError: none of them can be read, or the page cannot be written.
    """
    runs, unreadable = _readable(folders)
    return write_whole(file, overview.render(runs, unreadable, str(file.parent))), runs


def write_figures(folders: Sequence[Path], into: Path) -> list[Path]:
    """Write the charts as SVG files: those of one run, or those that compare several.

    Raises:
        StoreError: no run can be read, or a file cannot be written.
    """
    runs, _ = _readable(folders)
    one = runs[0]
    charts = overview.figures(runs) if len(runs) > 1 else html.figures(one.card, one.attempts, one.outcome)
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{into} cannot be made ({error.strerror}): name another folder") from None
    return [write_whole(into / name, chart) for name, chart in charts.items()]


def _readable(folders: Sequence[Path]) -> tuple[list[StoredRun], dict[str, str]]:
    """The runs that can be read, and what is wrong with the others, by folder."""
    runs, unreadable = [], {}
    for folder in folders:
        try:
            runs.append(stored(folder))
        except StoreError as error:
            unreadable[str(folder)] = str(error)
    if not runs:
        raise StoreError("; ".join(unreadable.values()) or "no runs were named")
    return runs, unreadable


def stored(folder: Path) -> StoredRun:
    """A run with all that a page over several shows of it.

    Raises:
        StoreError: there is no such run, or it is corrupt.
    """
    page = folder / REPORT
    with closing(RunStore.open(folder)) as store:
        where = str(page) if page.is_file() else ""
        return StoredRun(str(folder), store.card, store.attempts(), store.outcome(), where)


def _files(folder: Path) -> Files:
    there = {name: str(folder / name) for name in (KERNEL, RECEIPT) if (folder / name).is_file()}
    guarded = KERNEL in there and unwrap((folder / KERNEL).read_text("utf-8")) is not None
    return Files(kernel=there.get(KERNEL, ""), receipt=there.get(RECEIPT, ""), guarded=guarded)


def write_experience(folders: Sequence[Path], file: Path) -> int:
    """Write what the attempts of runs taught; returns how many rows.

    Raises:
        StoreError: a folder is no run, or the file cannot be written.
    """
    rows = [row for folder in folders for row in _taught(folder)]
    write_whole(file, text_of(rows))
    return len(rows)


def _taught(folder: Path) -> list[Row]:
    with closing(RunStore.open(folder)) as store:
        preset, task = str(store.card.config.get("reward", "")), store.card.task
        told = {tell.attempt: Told(preset, tell.reward) for tell in store.tells()}
        attempts = [a for a in store.attempts() if a.known is None]
        return [row for a in attempts if (row := row_of(task, a, told.get(a.number))) is not None]
