"""The fp64 reference in slices of rows, where a row's result depends on that row alone.

Whether it does is tried, on a few rows: the others are changed, and rows are moved. A task's eager code says so itself; no
list of operations is needed.
"""

from collections.abc import Callable, Sequence

import torch

from kernelwright.evaluate import float8
from kernelwright.evaluate.entrypoints.reference.effects import apart
from kernelwright.evaluate.triton.model import flatten

ROWS = 4
"""Rows of each half that is tried."""
CLOSE = 1e-3
"""Relative difference that another order of adding up makes at most, in single precision or TF32."""
SLICE_BYTES = 1 << 28
"""Of a slice's inputs and results in double precision, about."""
Called = Callable[[Sequence[object]], object]


def sliced_inputs(called: Called, leaves: Sequence[object], outputs: Sequence[torch.Tensor]) -> tuple[int, ...]:
    """Which inputs can be cut into rows together; none where no choice of them gives the same results."""
    if not outputs or any(not o.dim() or len(o) != len(outputs[0]) for o in outputs):
        return ()
    rows = len(outputs[0])
    long = [i for i, v in enumerate(leaves) if isinstance(v, torch.Tensor) and v.dim() and len(v) == rows]
    for chosen in (tuple(long), tuple(long[:1])):
        if chosen and rows >= 2 * ROWS and _independent(called, leaves, chosen, outputs):
            return chosen
    return ()


def run_in_slices(
    called: Called, leaves: Sequence[object], chosen: Sequence[int], into: Sequence[torch.Tensor], row_bytes: int = 0
) -> list[torch.Tensor]:
    """The results of all slices, in `into`, which is as large as the whole and may be of another precision.

    `row_bytes` is what a row takes at most; 0: nobody knows, and its inputs and results count.
    """
    rows = len(into[0])
    moved = sum(v[:1].numel() for i in chosen if isinstance(v := leaves[i], torch.Tensor))
    one = max(row_bytes, 8 * (moved + sum(o[:1].numel() for o in into)), 1)
    step = max(1, SLICE_BYTES // one)
    for first in range(0, rows, step):
        found = flatten(called(cut(leaves, chosen, slice(first, min(rows, first + step)))))
        for whole, part in zip(into, found, strict=True):
            whole[first : first + len(part)] = part
    return list(into)


def cut(leaves: Sequence[object], chosen: Sequence[int], rows: slice) -> list[object]:
    """Leaves of which the chosen ones have these rows alone."""
    return [v[rows] if i in chosen and isinstance(v, torch.Tensor) else v for i, v in enumerate(leaves)]


def _independent(
    called: Called, leaves: Sequence[object], chosen: Sequence[int], outputs: Sequence[torch.Tensor]
) -> bool:
    few = cut(leaves, chosen, slice(0, 2 * ROWS))
    others = [_changed(v) if i in chosen else v for i, v in enumerate(few)]
    try:
        whole, beside = (flatten(called(x)) for x in (few, others))
        behind = flatten(called(cut(few, chosen, slice(ROWS, 2 * ROWS))))
    except (RuntimeError, ValueError, IndexError, AssertionError, TypeError):
        # Its code has the number of rows in it.
        return False
    shaped = all(w.shape == (2 * ROWS, *o.shape[1:]) for w, o in zip(whole, outputs, strict=True))
    return (
        shaped
        and all(_close(w[:ROWS], b[:ROWS]) for w, b in zip(whole, beside, strict=True))
        and all(_close(w[ROWS:], b) for w, b in zip(whole, behind, strict=True))
    )


def _changed(value: object) -> object:
    """With other rows in the second half."""
    assert isinstance(value, torch.Tensor)
    changed = value.clone()
    half = changed[ROWS:]
    half.copy_(float8.stored(float8.wide(half) * 3 + 1, half.dtype) if value.is_floating_point() else half.flip(0))
    return changed


def _close(some: torch.Tensor, other: torch.Tensor) -> bool:
    if some.shape != other.shape:
        return False
    if not (some.is_floating_point() or some.is_complex()):
        return bool(torch.equal(some, other))
    return apart(some, other) <= CLOSE
