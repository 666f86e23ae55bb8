"""Receipts of what was judged here: of one kernel, and of a run's winner.

They claim what the records say, in the environment that was noted with them.
"""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from kernelwright.engine.opening import config_of
from kernelwright.engine.summary import speaker
from kernelwright.errors import ReceiptError
from kernelwright.records.attempt import Attempt
from kernelwright.records.evaluation import Measured
from kernelwright.records.policy import Effort
from kernelwright.records.receipt import Claim, Receipt
from kernelwright.records.run import Outcome
from kernelwright.store.receipt_file import read_receipt, write_receipt
from kernelwright.store.run import RunStore


def issue(claim: Claim, file: Path) -> Path:
    """Write the receipt of a claim, dated now.

    Raises:
        StoreError: the file cannot be written.
    """
    return write_receipt(Receipt.sealed(datetime.now(UTC).isoformat(timespec="seconds"), claim), file)


def reissue(claim: Claim, file: Path) -> Path:
    """As `issue`, but a receipt that says the same already keeps its date."""
    with suppress(ReceiptError):
        if read_receipt(file).claim == claim:
            return file
    return issue(claim, file)


def winner(store: RunStore, outcome: Outcome | None) -> Claim | None:
    """What a run claims of its best kernel; None where nothing was right."""
    attempt = speaker(store.attempts(), outcome)
    return claim_of(store, attempt) if attempt is not None else None


def claim_of(store: RunStore, attempt: Attempt) -> Claim:
    """What a run claims of one attempt."""
    card = store.card
    return Claim(
        task=card.task,
        candidate=attempt.proposal.candidate,
        policy=config_of(card).policy,
        effort=_effort(attempt),
        environment=card.environment,
        evaluation=attempt.evaluation,
    )


def _effort(attempt: Attempt) -> Effort:
    found = attempt.evaluation
    return "final" if isinstance(found, Measured) and found.timing.final else "search"
