"""Tuning: the schedule that was the best for a family of kernels at a class of shapes, for later runs to try first."""

from pydantic import JsonValue

from kernelwright.records.base import Record


class TuningKey(Record):
    """What a schedule is good for; the device stands beside it."""

    language: str
    family: str
    """Of the kernels that do the task, such as `rows` or `product+strided`."""
    shape_class: str
    """Dtype, and the sizes that matter as powers of two."""


class TuningEntry(Record):
    """A schedule that won, and where."""

    key: TuningKey
    device: str
    schedule: dict[str, JsonValue]
    speedup: float
    """Over eager, its lower bound, in that run."""
    task: str
    run: str
