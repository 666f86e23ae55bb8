"""Limits: what a strategy may know of the run around it."""

from pydantic import Field

from kernelwright.records.base import Record


class Limits(Record):
    """Given to every strategy beside its own configuration."""

    proposals: int = Field(ge=1)
    """The run's budget of proposals."""
    target_us: float | None = None
    """Call time that is good enough; None: as fast as possible."""
