"""A session: a run from its request to what it leaves behind, whether new, resumed, or a cell of a comparison.

It puts the parts together and writes the files of the run's folder.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from kernelwright.engine.config import RunConfig, complete_config
from kernelwright.engine.events import Phase, Started, Warned
from kernelwright.engine.gateway.models import forecast, open_router
from kernelwright.engine.listing import keep_summary
from kernelwright.engine.opening import (
    measured_yardstick,
    must_fit,
    new_card,
    open_card,
    places_of,
    readmit,
    resolve_request,
    trusted_config,
)
from kernelwright.engine.receipts import reissue, winner
from kernelwright.engine.request import OptimizeRequest, OptimizeResult
from kernelwright.engine.run import Ending, Parts, create_run, run, with_tuned_schedule
from kernelwright.engine.stored_runs import KERNEL, RECEIPT, shown, write_report
from kernelwright.engine.summary import disturbed, pytorch_stays, speaker, summarize
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import ProposeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.evaluate.over_workloads import at_axes
from kernelwright.export.model_new import chosen, why_none
from kernelwright.languages import names_for
from kernelwright.records.answer import BRIEF, answer_of
from kernelwright.records.attempt import Attempt
from kernelwright.records.receipt import Claim
from kernelwright.records.task import Task
from kernelwright.store.addresses import remember
from kernelwright.store.database import FILE
from kernelwright.store.files import write_whole
from kernelwright.store.run import RunStore
from kernelwright.tasks.free_axes import declared


async def begin(request: OptimizeRequest, suppliers: Suppliers) -> OptimizeResult:
    """A new run, from its task's admission to its end.

    Raises:
        KernelwrightError: it could not begin, or its folder cannot be written, or nobody could write a first kernel: nothing
            of it is left then.
    """
    resolved = resolve_request(request)
    remember(places_of(resolved.config))
    async with _opened(resolved.config, suppliers) as parts:
        card = await open_card(resolved, parts.evaluator, suppliers.listener, parts.proposer)
        card = with_tuned_schedule(card, resolved.config, parts.proposer, parts.tuning)
        if expected := forecast(resolved.config, card.task):
            suppliers.listener(Phase(text=expected))
        # What is known before the search is not kept until its end.
        written = resolved.config.language or names_for(card.task.target.kind)[0]
        if why := why_none(card.task, written):
            said = f"a {written} kernel of this task can be no drop-in and is left as it is judged: {why}"
            suppliers.listener(Warned(text=said))
        with closing(create_run(request.runs / card.id, card, resolved.config, parts.states)) as store:
            result = await play(store, resolved.config, parts, suppliers)
            if isinstance(result.error, ProposeError) and not store.attempts() and not store.messages():
                store.discard()
                raise result.error
            return result


async def go_on(folder: Path, suppliers: Suppliers) -> OptimizeResult:
    """A run that was killed, interrupted or broken off; a complete one is only summed up.

    Raises:
        StoreError: there is no such run, or it cannot go on here.
    """
    with closing(RunStore.open(folder, writing=True)) as store:
        if store.unproved:
            suppliers.listener(Warned(text=f"this run is unproved: {store.unproved}"))
        outcome = store.outcome()
        if outcome is not None and outcome.complete and not disturbed(outcome):
            return wind_up(store, Ending(outcome), suppliers)
        config = trusted_config(store.card)
        async with _opened(config, suppliers) as parts:
            await readmit(store.card, parts.evaluator, suppliers.listener)
            return await play(store, config, parts, suppliers)


@asynccontextmanager
async def _opened(config: RunConfig, suppliers: Suppliers) -> AsyncIterator[Parts]:
    """The parts of a run with a referee, models and memory of its own; a cell of a comparison shares no memory."""
    async with (
        suppliers.evaluating(config.policy, config.place) as evaluator,
        _assembled(config, evaluator, suppliers) as parts,
    ):
        yield replace(parts, states=suppliers.states(), tuning=suppliers.tuning())


async def play_in(
    folder: Path, task: Task, config: RunConfig, evaluator: Evaluator, suppliers: Suppliers
) -> OptimizeResult:
    """A run in this very folder, new or gone on with, of a task that this evaluator has admitted already.

    Raises:
        KernelwrightError: it cannot begin or go on here.
    """
    here = await evaluator.environment(task.target)
    config = complete_config(config, task.source.limits, task.target, compared=True)
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
    best = speaker(store.history(), ending.outcome)
    kernel, source = (None, None) if pytorch_stays(store.card, best) else _write_kernel(store, best, suppliers)
    receipt = _write_receipt(store, winner(store, ending.outcome), suppliers)
    page = write_report(store, suppliers)
    said = shown(store, suppliers)
    found = summarize(store)
    store.afterwards(partial(keep_summary, found))
    return OptimizeResult(found, said, page, kernel, source, receipt, ending.error, ending.interrupted)


def _write_receipt(store: RunStore, claim: Claim | None, suppliers: Suppliers) -> Path | None:
    """A receipt claims what was measured by this user: none is written of a run that nothing proves."""

    def warn(text: str) -> None:
        suppliers.listener(Warned(text=text))

    if claim is not None and store.unproved:
        warn(
            "no receipt is written of an unproved run: `kernelwright check TASK KERNEL --receipt FILE` measures for one"
        )
    return reissue(claim, store.folder / RECEIPT, warn) if claim is not None and not store.unproved else None


def _write_kernel(
    store: RunStore, best: Attempt | None, suppliers: Suppliers
) -> tuple[Path, None] | tuple[None, Path] | tuple[None, None]:
    """The best kernel as a drop-in, or where it cannot be one, as it was judged; at most one of both."""
    if best is None:
        return None, None
    candidate, answer, task = best.proposal.candidate, answer_of(best.evaluation), store.card.task
    # At the end, since what stands before our part of the file is the kernel as it was judged.
    untimed = f"\n# For {task.target.name}: {BRIEF[answer]}.\n" if answer in BRIEF else ""
    try:
        # Under the task's own name, which the kernel's function has.
        main = task.main.model_copy(update={"source": task.main.source.model_copy(update={"name": task.name})})
        other = suppliers.other_sizes(task, best)
        if task.parts and other is not None:
            main = main.model_copy(update={"parts": task.parts, "free": declared(task)})
        text = suppliers.wrap(main, candidate if main.parts else at_axes(candidate, main), other)
        return write_whole(store.folder / KERNEL, text + untimed, follow=False), None
    except ProposeError as error:
        file = write_whole(store.folder / f"kernel{candidate.suffix}", chosen(candidate), follow=False)
        suppliers.listener(Warned(text=f"no drop-in is written: {error}; the kernel is in {file}"))
        return None, file
