"""Receipts: written for what was judged here, and replayed on this machine, to compare the result with what they say.

A receipt claims what the records say, in the environment that was noted with them. To verify one, the task is admitted
again; the candidate is judged on the receipt's own seeds, then measured as a final on fresh ones. The receipt is a
stranger's text: `store.receipt_file` has read it, its kernel runs in the same sandbox as any other, and of its policy only
what is stricter than asked for can matter.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from kernelwright.engine.events import Phase
from kernelwright.engine.opening import config_of
from kernelwright.engine.replay_comparison import changes, compare, inadmissible, isolation_changes
from kernelwright.engine.summary import speaker
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import ReceiptError, TaskError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.evaluation import Measured
from kernelwright.records.policy import Policy
from kernelwright.records.receipt import Claim, Receipt, ReplayComparison
from kernelwright.records.run import Environment, Outcome
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.store.receipt_file import is_proved, read_receipt, write_receipt
from kernelwright.store.run import RunStore
from kernelwright.store.secret import make_secret
from kernelwright.tasks.table import read_task

DOES_NOT_HOLD = 9
"""Exit code of a verdict that was replayed and does not hold."""


def issue(claim: Claim, file: Path, *, follow: bool = True) -> Path:
    """Write the receipt of a claim, dated now; `follow` as in `write_whole`.

    Raises:
        StoreError: the file cannot be written.
    """
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return write_receipt(Receipt.sealed(created, claim, make_secret().seal), file, follow=follow)


def reissue(claim: Claim, file: Path, warn: Callable[[str], None]) -> Path:
    """As `issue`, but a receipt that says the same already keeps its date; what it replaces is said."""
    if file.is_symlink() or file.exists():
        try:
            if read_receipt(file).claim == claim and not file.is_symlink():
                return file
            why = "is a link" if file.is_symlink() else "says something else, of an earlier ending or by another hand"
        except ReceiptError as error:
            why = f"cannot be believed ({error})"
        warn(f"{file} {why}: it is written anew from the run's own records")
    return issue(claim, file, follow=False)


def winner(store: RunStore, outcome: Outcome | None) -> Claim | None:
    """What a run claims of its best kernel; None where nothing was right."""
    attempt = speaker(store.history(), outcome)
    return claim_of(store, attempt) if attempt is not None else None


def claim_of(store: RunStore, attempt: Attempt) -> Claim:
    """What a run claims of one attempt."""
    card, found = store.card, attempt.evaluation
    return Claim(
        task=card.task,
        candidate=attempt.proposal.candidate,
        policy=config_of(card).policy,
        effort="final" if isinstance(found, Measured) and found.timing.final else "search",
        environment=card.environment,
        evaluation=found,
    )


@dataclass(frozen=True)
class VerifyRequest:
    """Which receipt is to be replayed, and how."""

    receipt: Path
    task: Path | None = None
    """The task that the receipt must be about; None: whichever it brings."""
    isolation: Literal["auto", "strict"] = "auto"
    save: Path | None = None
    """Where the receipt of this machine's own verdict is written."""


class Verification(Record):
    """What became of a receipt here."""

    receipt: str
    """Its file."""
    hash: str
    created: str
    task: str
    task_id: str
    target: Target
    effort: str
    """Of the recorded evaluation; a `search` has no seeds to replay."""
    policy: dict[str, str]
    """The options under which it was judged that are not the usual ones."""
    comparison: ReplayComparison
    proved: bool = False
    """Its seal is this user's own: what it says was written here."""

    @property
    def exit_code(self) -> int:
        """0: it holds."""
        return 0 if self.comparison.holds else DOES_NOT_HOLD


class Here(NamedTuple):
    """Where a claim is looked at again."""

    evaluator: Evaluator
    task: Task
    environment: Environment


def verify(request: VerifyRequest, suppliers: Suppliers | None = None) -> Verification:
    """Replay a receipt on this machine.

    Raises:
        ReceiptError: it cannot be trusted to be one, or is about another task.
        MachineError: it was measured on a GPU, and there is none here.
        RefereeError: the referee broke.
    """
    receipt = read_receipt(request.receipt)
    if request.task is not None:
        _must_be_about(receipt, request.task)
    return asyncio.run(_verify(request, receipt, suppliers or Suppliers()))


async def _verify(request: VerifyRequest, receipt: Receipt, suppliers: Suppliers) -> Verification:
    claim = localized(receipt.claim, request.isolation)
    async with suppliers.evaluating(claim.policy) as evaluator:
        suppliers.listener(Phase(text=f"admitting {claim.task.name} on {claim.task.target.name}"))
        comparison = await stand(evaluator, claim)
        if request.save is not None and comparison.evaluation is not None:
            environment = await evaluator.environment()
            fresh = claim.model_copy(
                update={"environment": environment, "evaluation": comparison.evaluation, "effort": "final"}
            )
            issue(fresh, request.save)
    return _verification(request, receipt, comparison)


async def stand(evaluator: Evaluator, claim: Claim) -> ReplayComparison:
    """The standing of a claim on this machine, its task admitted anew.

    Raises:
        RefereeError: the referee broke.
    """
    try:
        task = await evaluator.admit(claim.task.source, claim.task.target)
    except TaskError as error:
        environment = await evaluator.environment()
        return inadmissible(claim, str(error), changes(claim.environment, environment))
    return await stand_admitted(Here(evaluator, task, await evaluator.environment()), claim)


async def stand_admitted(here: Here, claim: Claim) -> ReplayComparison:
    """The standing of a claim about a task that was admitted here.

    Raises:
        RefereeError: the referee broke.
    """
    seeds = claim.evaluation.seeds
    again = await here.evaluator.replay(here.task, claim.candidate, seeds) if seeds else None
    found = await here.evaluator.evaluate(here.task, claim.candidate, "final")
    then = claim.environment
    changed = [*changes(then, here.environment), *isolation_changes(then, here.environment)]
    return compare(claim, found, again, changed)


def localized(claim: Claim, isolation: Literal["auto", "strict"]) -> Claim:
    """The claim as this machine can look at it: on the GPU that is here, and never less confined than asked."""
    recorded = claim.task.target
    target = resolve_target(recorded.kind) if recorded.present else recorded
    strict = "strict" in (isolation, claim.policy.isolation)
    policy = claim.policy.model_copy(update={"isolation": "strict" if strict else "auto"})
    task = claim.task.model_copy(update={"target": target})
    return claim.model_copy(update={"policy": policy, "task": task})


def _must_be_about(receipt: Receipt, file: Path) -> None:
    source = read_task(file)
    found = receipt.claim.task.source
    if _judged_by(source) != _judged_by(found):
        raise ReceiptError(
            f"the receipt is about another task than {str(file)!r}: the task that it brings is called {found.name!r} "
            "and has another source"
        )


def _judged_by(source: TaskSource) -> tuple[object, ...]:
    return source.source, source.domains, source.comparators, source.workloads


def _verification(request: VerifyRequest, receipt: Receipt, comparison: ReplayComparison) -> Verification:
    claim = receipt.claim
    usual, options = Policy().model_dump(mode="json"), claim.policy.model_dump(mode="json")
    return Verification(
        receipt=str(request.receipt),
        hash=receipt.hash,
        created=receipt.created,
        task=claim.task.name,
        task_id=claim.task.id,
        target=claim.task.target,
        effort=claim.effort,
        policy={name: str(value) for name, value in options.items() if value != usual[name]},
        comparison=comparison,
        proved=is_proved(receipt),
    )
