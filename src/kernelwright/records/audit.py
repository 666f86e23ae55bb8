"""Audit: how a new best was audited before it was believed. Values only.

A failed probe ends the evaluation as another outcome, so a `Audit` that is kept has none. A probe that did not run
says why.
"""

from typing import Literal

from kernelwright.records.base import Record

ProbeName = Literal[
    "races",
    "perturbation",
    "new_values",
    "new_storage",
    "two_results",
    "source",
    "ablation",
    "own_share",
    "memcheck",
    "racecheck",
]


class Probe(Record):
    """One probe and what it found."""

    name: ProbeName
    status: Literal["passed", "failed", "not_run"]
    evidence: str
    """What was seen; for a probe that was not run, why not."""
    seconds: float = 0.0
    """Wall time."""


class Audit(Record):
    """All probes of one candidate, in the order in which they were made."""

    probes: tuple[Probe, ...]
    own_share: float | None = None
    """Share of the device's time that its own kernels took, 0 to 1; None where nothing could tell."""

    @property
    def seconds(self) -> float:
        """Wall time of all probes."""
        return sum(p.seconds for p in self.probes)
