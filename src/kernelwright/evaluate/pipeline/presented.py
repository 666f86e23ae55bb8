"""Presented: the task that a session stands for, as it was handed in, beside what is really run."""

from dataclasses import dataclass

from kernelwright.records.task import Task


@dataclass(frozen=True)
class Presented:
    """What the session stands for."""

    task: Task
    """The task as it was handed in; `Session.task` is smaller where an interpreter must run it."""
    init: str | None
    """The constructor's arguments as Python text, for candidates that are modules themselves."""
    reduction: str
    """How much smaller, in words; empty at full size."""

    def init_source(self) -> str:
        """A file with nothing of the task but its `get_init_inputs`: a candidate's process may not see the reference."""
        return f"def get_init_inputs():\n    return {self.init or '[]'}\n"
