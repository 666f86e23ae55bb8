"""Sizes that a kernel meets beside its workloads: between them and beyond, where kernels that fit a few sizes go wrong.

Nobody who writes a kernel knows them before: the referee draws them. No such size is much larger than the largest workload.
"""

import math
import random
from collections.abc import Mapping, Sequence

from kernelwright.records.workloads import Axis, WorkloadPoint, WorkloadSet

KINDS = ("one", "odd", "below", "many", "above", "zero", "beyond", "prime", "between")
"""Ones, odd ones, one less and one more than a power of two, more than 65,535, none at all, beyond the largest, primes, and
any between two workloads."""
MOST_BLOCKS = 65_535
"""Of a grid's second dimension; what sixteen bits count."""
ROOM = 1.5
"""How much larger than the largest workload such a size may be, all axes taken together."""
NARROW = 4
"""Beside more than 65,535 of one axis, about so many of every other."""
TRIES = 12
"""For each size that is asked for."""


def drawn_points(workloads: WorkloadSet, count: int, generator: random.Random) -> list[WorkloadPoint]:
    """At most `count` points that are no workloads, each of another kind while there are kinds; none where nothing varies."""
    free = [point for point in workloads.points if not point.fixed]
    if not free or not workloads.varying:
        return []
    known = [point.axes for point in workloads.points]
    begin = generator.randrange(len(KINDS))
    found: list[WorkloadPoint] = []
    for turn in range(TRIES * count):
        if len(found) == count:
            break
        kind, base = KINDS[(begin + turn) % len(KINDS)], generator.choice(free)
        axes = base.axes | _changed(workloads.varying, free, kind, generator)
        room = ROOM * max(_volume(point.axes) for point in free)
        if axes not in known and workloads.allows(axes) and _volume(axes) <= room:
            known.append(axes)
            found.append(base.model_copy(update={"name": kind, "axes": axes, "weight": 0.0, "protected": False}))
    return found


def _changed(
    varying: Sequence[Axis], free: Sequence[WorkloadPoint], kind: str, generator: random.Random
) -> dict[str, int]:
    """Some axes with values of this kind."""
    chosen = generator.sample(varying, 1 if kind == "many" else generator.randint(1, len(varying)))
    narrow = {axis.name: axis.low + axis.step * -(-(NARROW - axis.low) // axis.step) for axis in varying}
    changed = {a.name: _value(a, kind, [p.axes[a.name] for p in free], generator) for a in chosen}
    return {**narrow, **changed} if kind == "many" else changed


def _volume(axes: Mapping[str, int]) -> int:
    return math.prod(max(1, size) for size in axes.values())


def _value(axis: Axis, kind: str, values: Sequence[int], generator: random.Random) -> int:
    """A size of this kind on the axis's steps; within its range wherever there is one."""
    low, high = max(1, axis.low), axis.high if axis.declared else max(2, 2 * max(values))
    match kind:
        case "zero":
            wanted = 0
        case "one":
            wanted = low
        case "many":
            wanted = MOST_BLOCKS + generator.randint(1, 2)
        case "beyond":
            wanted = generator.randint(min(max(values) + 1, high), high)
        case "between":
            wanted = generator.randint(min(values), max(values))
        case "odd":
            wanted = generator.randint(low, high) | 1
        case "prime":
            wanted = _prime(generator.randint(low, high))
        case _:
            wanted = 2 ** generator.randint(1, max(1, high.bit_length() - 1)) + (1 if kind == "above" else -1)
    return axis.low + (wanted - axis.low) // axis.step * axis.step if wanted >= axis.low else wanted


def _prime(start: int) -> int:
    """The largest prime that is no larger, or two."""
    for number in range(start, 2, -1):
        if all(number % factor for factor in range(2, math.isqrt(number) + 1)):
            return number
    return 2
