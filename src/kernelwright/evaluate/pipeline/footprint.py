"""How much device memory a session takes, and how many draws and cases fit into what is free.

Decides what gives way first where a task is large: the clock's extra inputs, then checked seeds, never a regime and never
the last draw. Refuses to know what the numbers are allocated with.
"""

from dataclasses import dataclass

from kernelwright.errors import TaskError
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

OUTBOX = 4 << 30
"""Most bytes for the results of several calls; those of one call always fit."""
WIDE = 2 << 30
"""Most bytes of fp64 results that are kept as they are; larger ones are kept in single precision, which adds half an
ulp of it to every error."""
SLACK = 1 << 30
"""Left free: contexts of children, the compiled baseline's own scratch."""


@dataclass(frozen=True)
class Footprint:
    """Bytes on the device, and what they hold."""

    draws: int
    """Drawn inputs that stay."""
    kept: int
    """Of them, those that are checked."""
    nbytes: int


def wide(outputs: tuple[TensorSpec, ...]) -> bool:
    """Whether expected results are kept in fp64."""
    return 8 * sum(o.numel for o in outputs) <= WIDE


def expected_bytes(outputs: tuple[TensorSpec, ...]) -> int:
    """Of one case's expected results, as they are kept."""
    return sum(o.numel * (kept_bytes(o, wide(outputs))) for o in outputs)


def kept_bytes(output: TensorSpec, is_wide: bool) -> int:
    """Of one element of an expected result."""
    own = ITEM_BYTES[output.dtype]
    return max(own, 8 if is_wide else 4) if output.floating else own


def fit(
    inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...], regimes: int, seeds: int, pool: int, free: int
) -> Footprint:
    """As many draws as are wanted, or as fit.

    Args:
        inputs: tensors of one call.
        outputs: results of one call.
        regimes: cases beside the draws; they share one place for their inputs.
        seeds: draws that should be checked.
        pool: bytes of inputs that the clock would like to have.
        free: bytes that the session may take.

    Raises:
        TaskError: not even one draw fits.
    """
    one_in = max(1, sum(t.nbytes for t in inputs))
    one_out = sum(t.nbytes for t in outputs)
    one_case = expected_bytes(outputs)
    # The reference's fp64 variant holds its inputs and two generations of results twice as wide.
    working = 2 * one_in + 4 * one_out + (2 * one_case if not wide(outputs) else one_case)
    boxes = 2 * max(one_out, min(OUTBOX, 48 * one_out))
    left = free - working - boxes - one_in - regimes * one_case - SLACK
    wanted = max(seeds, min(64, pool // one_in))
    kept = min(seeds, left // (one_in + one_case))
    if kept < 1:
        raise TaskError(
            f"the task needs about {(free - left + one_in + one_case) / 1e9:.0f} GB of device memory to be judged "
            f"and {free / 1e9:.0f} GB are free: make its inputs smaller",
            "too_large",
        )
    draws = min(wanted, kept + (left - kept * (one_in + one_case)) // one_in)
    return Footprint(draws, kept, free - left + draws * one_in + kept * one_case)
