"""Feedback: an attempt turned into words and features for whoever proposes next; and what holds a kernel back."""

from typing import Literal

from kernelwright.records.base import Record

Bottleneck = Literal[
    "memory", "compute", "latency", "occupancy", "launch", "spills", "uncoalesced", "bank_conflicts", "tail", "unknown"
]

BROADER: dict[Bottleneck, Bottleneck] = {
    "occupancy": "latency", "spills": "latency", "bank_conflicts": "latency", "tail": "latency", "uncoalesced": "memory",
}  # fmt: skip
"""The class that a particular cause belongs to, for who tells only the broad ones apart."""


class Finding(Record):
    """One thing that holds a kernel back."""

    bottleneck: Bottleneck
    kernel: str = ""
    """The kernel that it is about; empty: the whole call."""
    gain: float | None = None
    """The largest share of the call's time that curing it could save, 0 to 1; None where that cannot be told."""
    evidence: str
    """One sentence with the numbers."""
    suggestion: str
    """One thing to do about it."""


class Statement(Record):
    """Everything that holds a kernel back, the most to gain first, and the same in words."""

    findings: tuple[Finding, ...]
    words: str

    @property
    def bottleneck(self) -> Bottleneck:
        """The first finding's; `unknown` when nothing stands out."""
        return self.findings[0].bottleneck if self.findings else "unknown"


class Feedback(Record):
    """What one attempt taught: its reward, and words and features that say why.

    The reward is a number to search or train by; the words are for a reader. Made by `feedback/` from the attempt, its
    parent and the best so far.
    """

    attempt: int
    reward: float = 0.0
    """By the run's reward function; higher is better. 0.0 outside a run."""
    words: str
    """For a reader: outcome, numbers, what to look at. Starts with the outcome's class."""
    works: bool
    """Right; timed too where the device is here."""
    speedup_best: float | None = None
    """Median speedup over eager relative to the best attempt before it; above one is a new best."""
    speedup_eager: float | None = None
    bottleneck: Bottleneck = "unknown"
    roofline: float | None = None
    """Share of the measured ceiling, 0 to 1."""
    latency_us: float | None = None
