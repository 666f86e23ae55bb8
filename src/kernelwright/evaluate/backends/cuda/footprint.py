"""How much device memory a session takes, and how many draws and cases fit into what is free.

Where a task is large, the clock's places for fresh inputs give way first, then checked seeds, but never an input
distribution, the last place or the last draw.
"""

from dataclasses import dataclass

from kernelwright.errors import TaskError
from kernelwright.evaluate.timing.clock import DEVICE
from kernelwright.records.task import Workload
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

OUTBOX = 4 << 30
"""Most bytes for the results of several calls; those of one call always fit."""
WIDE = 2 << 30
"""Most bytes of fp64 results that are kept as they are; larger ones are kept in single precision, which adds half an
ulp of it to every error."""
SPARE = 4 << 30
"""Most bytes of fresh inputs for the calls of one sample; those of one call always fit. More would take long to write."""
SLACK = 1 << 30
"""Left free: contexts of children, the compiled baseline's own scratch."""


@dataclass(frozen=True)
class Footprint:
    """Bytes on the device, and what they hold."""

    kept: int
    """Draws that stay and are checked."""
    spare: int
    """Places for fresh inputs and parameters, one for each call of a sample."""
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


def fit(workload: Workload, distributions: int, seeds: int, free: int) -> Footprint:
    """As many draws and spare places as are wanted, or as fit.

    Args:
        workload: tensors, parameters and results of one call.
        distributions: cases beside the draws; they share one place for their inputs.
        seeds: draws that should be checked.
        free: bytes that the session may take.

    Raises:
        TaskError: not even one draw fits.
    """
    outputs = workload.outputs
    one_in = max(1, sum(t.nbytes for t in workload.tensors))
    one_out, held = sum(t.nbytes for t in outputs), sum(p.nbytes for p in workload.parameters)
    one_place = one_in + held
    one_case = expected_bytes(outputs)
    # The reference's fp64 variant holds its inputs and two generations of results twice as wide.
    working = 2 * one_in + 4 * one_out + (2 * one_case if not wide(outputs) else one_case)
    boxes = 2 * max(one_out, min(OUTBOX, 48 * one_out))
    left = free - working - boxes - one_in - 2 * held - distributions * one_case - SLACK
    wanted = max(1, min(DEVICE.most_calls, SPARE // one_place))
    kept = min(seeds, (left - one_place) // (one_in + one_case))
    if kept < 1:
        raise TaskError(
            f"the task needs about {(free - left + one_place + one_in + one_case) / 1e9:.0f} GB of device memory to be judged "
            f"and {free / 1e9:.0f} GB are free: make its inputs smaller",
            "too_large",
        )
    spare = min(wanted, (left - kept * (one_in + one_case)) // one_place)
    return Footprint(kept, spare, free - left + spare * one_place + kept * (one_in + one_case))
