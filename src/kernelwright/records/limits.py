"""Limits: what a task's author requires besides the right result, and what the author hopes for.

A limit only tightens: nothing in it can widen what the referee's policy allows. `evaluate/session/limits.py` enforces
them.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kernelwright.devices import facts
from kernelwright.records.base import Record
from kernelwright.records.names import ArchName

NOTE_CHARACTERS = 500
NOTES = 32

MOST_REGISTERS = max(int(row["registers_thread"]) for row in facts().values())
"""Of one thread, on any architecture."""
Bytes = Annotated[int, Field(ge=0)]


class TaskLimits(Record):
    """Limits on hardware and means; each may be left out."""

    arch: ArchName = ""
    """The GPU that the kernel is for, such as `sm_86`. The default of --target; on another one the task is refused."""
    workspace_bytes: Bytes | None = None
    """Most device memory that a kernel may ask the referee for beside its results."""
    shared_bytes: Bytes | None = None
    """Most shared memory of one block, static and dynamic."""
    registers: Annotated[int, Field(ge=1, le=MOST_REGISTERS)] | None = None
    """Most registers of one thread, as the compiler counts them."""
    library_calls: Literal["", "forbid"] = ""
    """`forbid`: a final counts only where its own kernels take the time, whatever the policy says."""
    target_us: Annotated[float, Field(gt=0, lt=1e12)] | None = None
    """A goal and no limit: call time that is good enough, in microseconds. The default of --target-us."""
    notes: tuple[Annotated[str, StringConstraints(max_length=NOTE_CHARACTERS)], ...] = Field(
        default=(), max_length=NOTES
    )
    """Told to the proposer only: nothing holds them."""
