"""Receipt: a verdict with everything that is needed to reach it again, anywhere.

The hash over all of it catches a receipt that was edited, by accident or by somebody in a hurry. It is not a signature:
whoever edits a receipt can compute it again. What a receipt is worth is what `kernelwright verify` measures.
"""

import hashlib
import json
from collections.abc import Mapping

from pydantic import Field, JsonValue

from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Task

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
    hash: str
    """`content_hash` of all other fields."""

    @classmethod
    def sealed(cls, created: str, claim: Claim) -> "Receipt":
        """The receipt of a claim, with its hash."""
        blank = cls(created=created, claim=claim, hash="")
        # By way of its text: there an infinite number is a word, as it will be in the file.
        document = json.loads(blank.model_dump_json())
        return blank.model_copy(update={"hash": content_hash(document)})


def content_hash(document: Mapping[str, JsonValue]) -> str:
    """SHA-256, in hex, of the canonical JSON of a receipt's document without its hash.

    Of the document and not of the record: a later version that knows a new field with a default still finds the
    hash that an old receipt was sealed with.
    """
    fields = {name: value for name, value in document.items() if name != "hash"}
    text = json.dumps(["receipt", fields], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
