"""Admission: which tasks of a directory can be judged, and why the others cannot.

Values only; the referee finds them, `engine.admission` gathers them.
"""

from typing import Literal

from kernelwright.records.base import Record
from kernelwright.records.task import Target, Task

Reason = Literal[
    "no_task", "unreadable", "raises", "dies", "slow", "too_large", "mutates_state", "random",
    "not_finite", "ignores_input", "trivial", "unfit", "not_examined",
]  # fmt: skip
"""Why a task is not fit: `unfit` is a refusal without a class of its own; `not_examined`: the referee or the machine
broke, and nothing is known of the task."""

REASON_MEANING: dict[Reason, str] = {
    "no_task": "defines neither Model nor get_inputs",
    "unreadable": "is no file in a task format",
    "raises": "its reference raises",
    "dies": "its reference's process ends by itself or needs too much memory",
    "slow": "takes too long",
    "too_large": "needs more device memory than there is",
    "mutates_state": "its reference changes its own parameters or buffers",
    "random": "two calls on the same inputs differ",
    "not_finite": "gives NaN on its own inputs, or infinities that eager and fp64 do not share",
    "ignores_input": "its result does not depend on one of its inputs",
    "trivial": "a trivial answer would pass",
    "unfit": "cannot be judged",
    "not_examined": "could not be examined; nothing is known of it",
}
"""One line for each reason."""


class Checked(Record):
    """One thing that was looked at, with its figure in words."""

    name: str
    status: Literal["passed", "warned", "refused"]
    figure: str
    """What was found, with numbers and units; of a warning also what it means for measurements."""


class Fitness(Record):
    """What the referee found of a task that it admits."""

    checks: tuple[Checked, ...]
    task: Task | None = None
    """As it is admitted."""


class TaskReport(Record):
    """One file of a directory."""

    key: str
    """Identity of source, target, versions and policy: an equal one needs no second look."""
    file: str
    name: str
    fit: bool
    reason: Reason | None
    """None for a fit task."""
    message: str
    """Why it is not fit, with the fix; empty for a fit task."""
    checks: tuple[Checked, ...]
    seconds: float
    task: Task | None = None
    """A fit task as it is admitted, with its workload and its graph; None in reports of earlier versions."""

    @property
    def warnings(self) -> tuple[Checked, ...]:
        """What is no reason to refuse it, and worth knowing before its figures are read."""
        return tuple(check for check in self.checks if check.status == "warned")


class Admission(Record):
    """A directory of tasks, examined."""

    created: str
    """ISO 8601, UTC."""
    target: Target
    device: str
    versions: dict[str, str]
    tasks: tuple[TaskReport, ...]
    """In the order of their paths."""
    skipped: tuple[str, ...]
    """Files of the directories that are no tasks: neither `Model` nor `get_inputs`."""
    all_fit: bool
