"""Reductions and scans by a function of the kernel's own, in Triton's interpreter: a few calls on whole tiles.

The interpreter calls the function for every element, which takes seconds for a tile of some thousand. Here each call
combines two halves, as lanes of a warp do: a reduction in the order that shuffles have, which needs a function that is
associative and commutative, as on the device; a scan in log2(n) sweeps, in order (Hillis and Steele, Data Parallel
Algorithms, CACM 29(12), 1986). A function that only takes single elements, since it branches on them, gets these.
"""

from collections.abc import Callable, Sequence

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.errors import InterpreterError

from kernelwright.evaluate.triton.untyped import Array, Untyped, replaced

Combine = Callable[[list[Array], list[Array]], list[Array]]
"""Two tiles for each operand, combined element by element."""


def install_trees() -> None:
    """Patch this process's interpreter."""
    reduce, scan = interpreter.ReduceOps.generic_reduce, interpreter.ScanOps.generic_scan
    interpreter.ReduceOps.generic_reduce = _or_by_element(_reduced, reduce)
    interpreter.ScanOps.generic_scan = _or_by_element(_scanned, scan)
    for kind in (interpreter.ReduceOps, interpreter.ScanOps):
        kind.apply_impl = _waiting(kind.apply_impl)


def _waiting(apply: Untyped) -> Untyped:
    """Threads wait for each other where they put together what each of them has."""

    def applied(self: Untyped, given: Untyped) -> Untyped:
        interpreter.interpreter_builder.guard.waited()
        return apply(self, given)

    return applied


def _or_by_element(whole: Untyped, by_element: Untyped) -> Untyped:
    def computed(self: Untyped, given: Sequence[Untyped]) -> Untyped:
        try:
            with replaced(tl.core.tensor, __bool__=_is_true):
                return whole(self, given)
        except (ValueError, TypeError, InterpreterError):
            return by_element(self, given)

    return computed


def _is_true(value: Untyped) -> bool:
    """Of one element; the interpreter's own answer for a tile is whether all are, and the function would go one way for all.

    Raises:
        ValueError: it is a tile.
    """
    return bool(np.asarray(value.handle.data))


def _reduced(self: Untyped, given: Sequence[Untyped]) -> list[Untyped]:
    tiles = [np.asarray(one.handle.data) for one in given]
    axis = self.axis or 0
    totals = halved([tile.reshape(-1) if self.axis is None else tile for tile in tiles], axis, _combine(self, given))
    if not self.keep_dims:
        totals = [np.squeeze(total, axis) for total in totals]
    elif self.axis is None:
        totals = [total.reshape((1,) * tiles[0].ndim) for total in totals]
    scalar_or_tile = [total if total.shape else total.item() for total in totals]
    return [self.to_tensor(total, one.dtype) for total, one in zip(scalar_or_tile, given, strict=True)]


def halved(tiles: list[Array], axis: int, combine: Combine) -> list[Array]:
    """One element along an axis, which stays: the first half is combined with the second until one is left.

    Args:
        tiles: Of one shape; along the axis it is a power of two.
        axis: Which is reduced.
        combine: Any associative and commutative function.
    """
    while (length := tiles[0].shape[axis]) > 1:
        first, second = ([np.take(t, part, axis) for t in tiles] for part in np.split(np.arange(length), 2))
        tiles = combine(first, second)
    return tiles


def _scanned(self: Untyped, given: Sequence[Untyped]) -> list[Untyped]:
    found = swept([np.asarray(one.handle.data) for one in given], self.axis, _combine(self, given))
    return [self.to_tensor(tile, one.dtype) for tile, one in zip(found, given, strict=True)]


def swept(tiles: list[Array], axis: int, combine: Combine) -> list[Array]:
    """The inclusive scan along an axis: each element with the one that lies 1, 2, 4 … before it.

    Args:
        tiles: Of one shape.
        axis: Along which they are scanned.
        combine: Any associative function; the earlier elements come first.
    """
    length, distance = tiles[0].shape[axis], 1
    places = np.arange(length)
    while distance < length:
        earlier, later = ([np.take(t, part, axis) for t in tiles] for part in (places[:-distance], places[distance:]))
        begun = [np.take(t, places[:distance], axis) for t in tiles]
        made = combine(earlier, later)
        tiles = [np.concatenate(parts, axis) for parts in zip(begun, made, strict=True)]
        distance *= 2
    return tiles


def _combine(self: Untyped, given: Sequence[Untyped]) -> Combine:
    """The kernel's function on tiles in the types of its operands."""

    def combine(first: list[Array], second: list[Array]) -> list[Array]:
        pairs = [[self.to_tensor(t, one.dtype) for t, one in zip(side, given, strict=True)] for side in (first, second)]
        made = self.combine_fn.fn(*pairs[0], *pairs[1])
        made = made if isinstance(made, tuple) else (made,)
        values = [one.handle.data if isinstance(one, tl.core.tensor) else one for one in made]
        return [np.broadcast_to(v, t.shape).astype(t.dtype) for v, t in zip(values, first, strict=True)]

    return combine
