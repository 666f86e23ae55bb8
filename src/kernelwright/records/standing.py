"""Standing: whether a recorded verdict still holds, finding by finding, and what is different here.

Values only; `engine.standing` decides them.
"""

from kernelwright.records.base import Record
from kernelwright.records.evaluation import Evaluation


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


class Standing(Record):
    """A verdict beside the one that was reached here."""

    holds: bool
    """No finding says otherwise."""
    findings: tuple[Finding, ...]
    changed: tuple[Change, ...]
    evaluation: Evaluation | None
    """Made here, as a final, with fresh seeds; None when the task itself can no longer be judged."""
