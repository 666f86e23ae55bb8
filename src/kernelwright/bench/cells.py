"""Reads what became of each cell from its run's journal, or from the list of failures if it never had one.

Nothing is written: the disk alone says which cells have ended.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from kernelwright.bench.records import Cell, CellResult, Failure, TraceStep
from kernelwright.engine.opening import config_of
from kernelwright.engine.summary import figures_of, speaker
from kernelwright.errors import StoreError
from kernelwright.records.attempt import Attempt, Cost
from kernelwright.records.evaluation import is_right
from kernelwright.records.run import Environment, Message, RunCard, spending, unbooked
from kernelwright.report.dialogues import DRILL
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore

CELLS = "cells"
"""Folder of the runs, below the bench's."""


def first_environment(bench: Path, cells: Sequence[Cell]) -> Environment | None:
    """The circumstances of the first cell that was begun; all others must have the same."""
    for cell in cells:
        folder = bench / CELLS / cell.name
        if (folder / FILE).is_file():
            # One whose journal cannot be read is a row of its own; the next one speaks.
            with suppress(StoreError), closing(RunStore.open(folder)) as store:
                return store.card.environment
    return None


def read_cell(bench: Path, cell: Cell, failures: Mapping[str, Failure]) -> CellResult:
    """What is known of a cell; one whose journal cannot be read is broken."""
    try:
        return _read(bench, cell, failures)
    except StoreError as error:
        return CellResult(cell=cell, status="broken", reason=str(error))


def _read(bench: Path, cell: Cell, failures: Mapping[str, Failure]) -> CellResult:
    folder = bench / CELLS / cell.name
    failure = failures.get(cell.name)
    if not (folder / FILE).is_file():
        if failure is None:
            return CellResult(cell=cell, status="pending", reason="Not begun.")
        return CellResult(cell=cell, status=failure.status, reason=failure.reason)
    with closing(RunStore.open(folder)) as store:
        attempts, messages, outcome, card = store.attempts(), store.messages(), store.outcome(), store.card
    blank = CellResult(cell=cell, status="pending", folder=f"{CELLS}/{cell.name}")
    found = blank.model_copy(
        update={
            **_costs(attempts, messages),
            **_speakers(card, attempts, messages),
            # Answered with or without an attempt.
            "asked": len({a.proposal_request.number for a in attempts} | {m.proposal_request for m in messages}),
        }
    )
    if outcome is None or not outcome.complete:
        reason = outcome.stopped if outcome else "Still running, or killed."
        status = failure.status if failure else "pending"
        return found.model_copy(update={"status": status, "reason": failure.reason if failure else reason})
    best = speaker(attempts, outcome)
    ending = {"status": "done", "reason": outcome.stopped}
    return found.model_copy(update={**ending, **(_best(best) if best else {})})


def _costs(attempts: Sequence[Attempt], messages: Sequence[Message]) -> dict[str, object]:
    """The attempts with what had been spent at each, and all that was spent.

    What a proposal request's dialogues cost beside its attempts (advice, profiles, lost replies) is booked on its
    first attempt, or on the next one where it yielded none: it was spent before.
    """
    said: dict[int, list[Message]] = {}
    for message in messages:
        said.setdefault(message.proposal_request, []).append(message)
    booked: dict[int, list[Cost]] = {}
    for attempt in attempts:
        booked.setdefault(attempt.proposal_request.number, []).append(attempt.cost)
    beside = {number: unbooked(said[number], booked.get(number, ())) for number in sorted(said)}
    steps: list[TraceStep] = []
    total = Cost(proposals=0)
    for attempt in attempts:
        for number in [n for n in beside if n <= attempt.proposal_request.number]:
            total = total.plus(beside.pop(number))
        total = total.plus(attempt.cost)
        steps.append(_step(attempt, total))
    for left in beside.values():
        total = total.plus(left)
    first = next((number for number, step in enumerate(steps, 1) if step.right), None)
    return {"steps": tuple(steps), "first_right": first, "device_s": total.device_s,
            "tokens": total.tokens, "usd": total.usd}  # fmt: skip


def _step(attempt: Attempt, spent: Cost) -> TraceStep:
    found = figures_of(attempt.evaluation)
    return TraceStep(
        outcome=attempt.evaluation.outcome,
        right=is_right(attempt.evaluation),
        eager=found.speedup_eager,
        compile=found.speedup_compile,
        device_s=spent.device_s,
        tokens=spent.tokens,
        usd=spent.usd,
    )


def _best(attempt: Attempt) -> dict[str, object]:
    found = figures_of(attempt.evaluation)
    return {
        "correct": is_right(attempt.evaluation),
        "attempt": attempt.number,
        "language": attempt.proposal.candidate.language,
        "latency_us": found.latency_us,
        "eager": found.speedup_eager,
        "compile": found.speedup_compile,
    }


def _speakers(card: RunCard, attempts: Sequence[Attempt], messages: Sequence[Message]) -> dict[str, object]:
    """Which models spoke. A scripted server is known by its name, as asked for or as it calls itself."""
    paid = spending(messages)
    said = {attempt.proposal.model for attempt in attempts} | {one.model for one in paid}
    asked = {model.name for model in config_of(card).models.values()} if paid else set()
    return {
        "models": tuple(sorted(said - {""})),
        "unpriced": any(one.usd is None for one in paid),
        "drill": any(name.startswith(DRILL) for name in said | asked),
    }
