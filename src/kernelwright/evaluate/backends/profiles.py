"""What profiles of all backends have in common: whatever fails becomes a note."""

from collections.abc import Callable

from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.sandbox.candidate_process import ChildRaisedError, TamperedError
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError

FAILURES = (
    ChildGoneError, ChildSlowError, ChildRaisedError, TamperedError, KernelwrightError, OSError, KeyError, TypeError,
    ValueError,
)  # fmt: skip
"""Whatever a profiled process, or our reading of it, can come to."""
WHOLE = 1 << 40
"""Bytes that no cache holds."""


def read_gbps(ceiling_gbps: Callable[[int], float], notes: list[str]) -> float | None:
    """The device's read bandwidth in 10^9 bytes a second; None where it cannot be measured, with a note."""
    try:
        return ceiling_gbps(WHOLE)
    except FAILURES as failure:
        notes.append(f"the read bandwidth could not be measured: {told(failure)}")
        return None


def told(failure: BaseException) -> str:
    """A failure in words that fit a note."""
    if isinstance(failure, ChildSlowError):
        return "it did not end in time"
    log = str(getattr(failure, "log", "")).strip().splitlines()
    words = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
    return f"{words} {log[-1] if log else ''}".strip()[:400]
