"""Receipt: a verdict with everything that is needed to reach it again, anywhere.

The hash over all of it catches a receipt that was edited, by accident or by somebody in a hurry. Whoever edits a receipt can
compute it again; the seal only its writer can. What a receipt is worth to others is what `kernelwright verify` measures: a
`ReplayComparison`, which `engine.replay_comparison` makes; a `Recheck` asks the same of a whole run.
"""

import json
from collections.abc import Callable, Mapping

from pydantic import Field, JsonValue

from kernelwright.records.base import Record, identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task

RECEIPT_VERSION = 1
"""The version of the fields below; a receipt of another version is refused."""


class Claim(Record):
    """What was judged, where, and what was found."""

    task: Task
    candidate: Candidate
    """With no tunable left open."""
    policy: Policy
    effort: Effort
    environment: Environment
    """Device, versions and isolation of the machine that judged."""
    evaluation: Evaluation
    """With its tier, its samples and, for a final, the seeds that were revealed."""


class Receipt(Record):
    """One verdict on paper."""

    receipt: int = Field(default=RECEIPT_VERSION, ge=1)
    """Version of these fields."""
    created: str
    """ISO 8601, UTC: when the receipt was written."""
    claim: Claim
    seal: str = ""
    """Of `content_hash` without it, by the secret of whoever wrote it (`store.secret`); empty: by nobody."""
    hash: str
    """`content_hash` of all other fields."""

    @classmethod
    def sealed(cls, created: str, claim: Claim, seal: Callable[[str], str] = lambda digest: "") -> "Receipt":
        """The receipt of a claim, with its seal and its hash."""
        blank = cls(created=created, claim=claim, hash="")
        # By way of its text: there an infinite number is a word, as it will be in the file.
        document = json.loads(blank.model_dump_json())
        document["seal"] = seal(content_hash(document))
        return blank.model_copy(update={"seal": document["seal"], "hash": content_hash(document)})


def content_hash(document: Mapping[str, JsonValue]) -> str:
    """SHA-256, in hex, of the canonical JSON of a receipt's document without its hash.

    Of the document and not of the record: a later version that knows a new field with a default still finds the
    hash that an old receipt was sealed with.
    """
    return identity("receipt", {name: value for name, value in document.items() if name != "hash"}, digits=64)


class Change(Record):
    """One circumstance that is not what it was."""

    name: str
    """`device`, `isolation`, or the name of a version."""
    then: str
    now: str


class Finding(Record):
    """One part of the verdict, then and now, in words with their figures."""

    what: str
    """`outcome`, `accuracy`, or `speedup over` a baseline."""
    then: str
    now: str
    holds: bool | None
    """None: told, and nothing follows from it."""


class ReplayComparison(Record):
    """A verdict beside the one that was reached here."""

    holds: bool
    """No finding says otherwise."""
    findings: tuple[Finding, ...]
    changed: tuple[Change, ...]
    evaluation: Evaluation | None
    """Made here, as a final, with fresh seeds; None when the task itself can no longer be judged."""


class Rechecked(Record):
    """One attempt of a run, judged again."""

    attempt: int
    candidate: str
    """Its id."""
    best: bool
    """Whether it is the run's best; that one's figure is its final's."""
    comparison: ReplayComparison


class RecheckLine(Record):
    """One line of a run's recheck file: a row, or the end of a pass."""

    environment_key: str
    """Identity of device, versions and policy here: rows of others say nothing about today."""
    row: Rechecked | None
    """None: every attempt of the pass was judged; the next one begins anew."""


class Recheck(Record):
    """One pass over a run."""

    run: str
    folder: str
    task: str
    target: Target
    device: str
    changed: tuple[Change, ...]
    """Device and versions, between the run and now."""
    measured: bool
    """False: nothing changed, so that nothing was judged again."""
    rows: tuple[Rechecked, ...]
    """The best first, then by the speedup that the search saw."""
    holds: bool
    """All that was judged holds."""
    left: int
    """Attempts that the budget left out; the same command goes on with them."""
