"""Feedback: an attempt turned into words and features for whoever proposes next."""

from typing import Literal

from kernelwright.records.base import Record

Bottleneck = Literal["memory", "compute", "latency", "launch", "unknown"]


class Feedback(Record):
    """What one attempt taught. Made by `feedback/` from the attempt, its parent and the best so far."""

    attempt: int
    words: str
    """For a reader: outcome, numbers, what to look at. Starts with the outcome's class."""
    works: bool
    """Right, and timed."""
    speedup_best: float | None = None
    """Median speedup over eager relative to the best attempt before it; above one is a new best."""
    speedup_eager: float | None = None
    bottleneck: Bottleneck = "unknown"
    roofline: float | None = None
    """Share of the measured ceiling, 0 to 1."""
    latency_us: float | None = None
