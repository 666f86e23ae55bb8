"""Recheck: a run's best, or all that it measured, judged again if something has changed since.

If nothing changed, nothing is judged. Each row is on the disk, in the run's folder, before the next is begun, so an
interrupted or unaffordable pass continues where it stopped. The run itself is not touched: its figures were true in its
environment.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from kernelwright.engine.cached_evaluator import rank_distinct
from kernelwright.engine.events import Listener, Phase
from kernelwright.engine.opening import trusted_config
from kernelwright.engine.receipts import Here, claim_of, localized, stand_admitted
from kernelwright.engine.replay_comparison import changes, inadmissible
from kernelwright.engine.summary import speaker
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import StoreError, TaskError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import identity
from kernelwright.records.evaluation import Verified
from kernelwright.records.receipt import Claim, Recheck, Rechecked, RecheckLine
from kernelwright.records.run import Environment, RunCard
from kernelwright.store.files import Lines, open_lines, write_whole
from kernelwright.store.run import RunStore

LINES, SUMMARY = "recheck.jsonl", "recheck.json"
"""Files in the run's folder: the rows as they come, and the last pass as one document."""


@dataclass(frozen=True)
class RecheckRequest:
    """Which run is to be judged again, and how much of it."""

    run: Path
    every: bool = False
    """All that the run found right, and not the best alone."""
    force: bool = False
    """Also where nothing changed."""
    budget_s: float | None = None
    """Seconds after which no other attempt is begun."""
    isolation: Literal["auto", "strict"] = "auto"


class Claimed(NamedTuple):
    """One attempt that is to be judged again."""

    attempt: int
    best: bool
    claim: Claim


class Pass(NamedTuple):
    """What one pass works with."""

    card: RunCard
    due: Sequence[Claimed]
    request: RecheckRequest
    evaluator: Evaluator
    listener: Listener


def recheck(request: RecheckRequest, suppliers: Suppliers | None = None) -> Recheck:
    """Judge a run again.

    Raises:
        StoreError: there is no such run, it found nothing right, or its folder cannot be written.
        MachineError: it ran on a GPU, and there is none here.
        RefereeError: the referee broke; what was judged before it is kept.
    """
    return asyncio.run(_recheck(request, suppliers or Suppliers()))


async def _recheck(request: RecheckRequest, suppliers: Suppliers) -> Recheck:
    with closing(RunStore.open(request.run)) as store:
        card, due = store.card, _due(store, request)
    trusted_config(card)
    policy = due[0].claim.policy
    async with suppliers.evaluating(policy) as evaluator:
        found = await _judge_again(Pass(card, due, request, evaluator, suppliers.listener))
    write_whole(request.run / SUMMARY, found.model_dump_json(indent=1) + "\n", follow=False)
    return found


def _due(store: RunStore, request: RecheckRequest) -> list[Claimed]:
    attempts, outcome = store.attempts(), store.outcome()
    best = speaker(attempts, outcome)
    if best is None:
        raise StoreError(f"the run at {request.run} found nothing right: there is nothing to judge again")
    chosen = [best]
    if request.every:
        named = {best.proposal.candidate.id}
        chosen += [a for a in _right(attempts) if a.proposal.candidate.id not in named]
    return [Claimed(a.number, a is best, localized(claim_of(store, a), request.isolation)) for a in chosen]


def _right(attempts: Sequence[Attempt]) -> list[Attempt]:
    verified = {a.proposal.candidate.id: a for a in reversed(attempts) if isinstance(a.evaluation, Verified)}
    return [*rank_distinct(attempts), *sorted(verified.values(), key=lambda a: a.number)]


async def _judge_again(work: Pass) -> Recheck:
    card, request = work.card, work.request
    claim = work.due[0].claim
    work.listener(Phase(text=f"admitting {card.task.name} on {claim.task.target.name}"))
    try:
        task = await work.evaluator.admit(claim.task.source, claim.task.target)
    except TaskError as error:
        environment = await work.evaluator.environment()
        changed = changes(card.environment, environment)
        comparison = inadmissible(claim, str(error), changed)
        row = Rechecked(attempt=work.due[0].attempt, candidate=claim.candidate.id, best=True, comparison=comparison)
        return _summarize(work, environment, [row])
    here = Here(work.evaluator, task, await work.evaluator.environment())
    if not request.force and not changes(card.environment, here.environment):
        return _summarize(work, here.environment, [])
    with open_lines(RecheckLine, request.run / LINES) as lines:
        return _summarize(work, here.environment, await _rows(work, here, lines))


async def _rows(work: Pass, here: Here, lines: Lines[RecheckLine]) -> list[Rechecked]:
    environment_key = _environment_key(here.environment, work.due[0].claim)
    known = _open_rows(lines.read(), environment_key)
    rows: list[Rechecked] = []
    start, limit = time.monotonic(), work.request.budget_s
    for place, due in enumerate(work.due):
        row = known.get((due.attempt, due.best))
        if row is None:
            if limit is not None and time.monotonic() - start >= limit:
                continue
            work.listener(Phase(text=f"judging attempt {due.attempt} again ({place + 1} of {len(work.due)})"))
            comparison = await stand_admitted(here, due.claim)
            row = Rechecked(attempt=due.attempt, candidate=due.claim.candidate.id, best=due.best, comparison=comparison)
            lines.append(RecheckLine(environment_key=environment_key, row=row))
        rows.append(row)
    if len(rows) == len(work.due):
        lines.append(RecheckLine(environment_key=environment_key, row=None))
    return rows


def _open_rows(lines: Sequence[RecheckLine], environment_key: str) -> dict[tuple[int, bool], Rechecked]:
    """The rows of the pass under these circumstances that was not finished."""
    rows: dict[tuple[int, bool], Rechecked] = {}
    for line in lines:
        if line.environment_key != environment_key:
            continue
        if line.row is None:
            rows.clear()
        else:
            rows[line.row.attempt, line.row.best] = line.row
    return rows


def _environment_key(here: Environment, claim: Claim) -> str:
    device = here.device
    return identity(
        "environment",
        {
            "device": [device.kind, device.name, device.cores],
            "versions": dict(here.versions),
            "policy": claim.policy.model_dump(mode="json"),
        },
    )


def _summarize(work: Pass, here: Environment, rows: Sequence[Rechecked]) -> Recheck:
    card = work.card
    changed = changes(card.environment, here)
    measured = bool(changed) or work.request.force
    return Recheck(
        run=card.id,
        folder=str(work.request.run),
        task=card.task.name,
        target=card.task.target,
        device=here.device.name,
        changed=tuple(changed),
        measured=measured,
        rows=tuple(rows),
        holds=all(row.comparison.holds for row in rows),
        left=len(work.due) - len(rows) if measured else 0,
    )
