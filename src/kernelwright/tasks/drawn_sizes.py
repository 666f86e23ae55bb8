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
MANY = 4
"""So many times that for more than 65,535 of one axis."""
NARROW = 4
"""Where the largest of one axis leaves room for little, every other one is about so large."""
ALIKE = 0.4
"""Chance that another axis gets a value of the same kind."""
TRIES = 12
"""For each size that is asked for."""


def drawn_points(workloads: WorkloadSet, count: int, generator: random.Random) -> list[WorkloadPoint]:
    """At most `count` points that are no workloads; none where nothing varies.

    Each is of another kind while there are kinds, and then the same of the next axis.
    """
    free, varying = [point for point in workloads.points if not point.fixed], workloads.varying
    if not free or not varying:
        return []
    known = [point.axes for point in workloads.points]
    room = ROOM * max(_volume(point.axes) for point in free)
    begin = generator.randrange(len(KINDS) * len(varying))
    found: list[WorkloadPoint] = []
    for turn in range(begin, begin + TRIES * count):
        kind, axis = KINDS[turn % len(KINDS)], varying[turn // len(KINDS) % len(varying)]
        base = generator.choice(free)
        axes = _changed(varying, axis, (base, *free), kind, generator)
        fits = room * (MANY if kind == "many" else 1)
        if _volume(axes) > fits:
            axes = {**_narrow(varying), axis.name: axes[axis.name]}
        if axes not in known and workloads.allows(axes) and _volume(axes) <= fits:
            known.append(axes)
            found.append(base.model_copy(update={"name": kind, "axes": axes, "weight": 0.0, "protected": False}))
        if len(found) == count:
            break
    return found


def _changed(
    varying: Sequence[Axis], first: Axis, points: Sequence[WorkloadPoint], kind: str, generator: random.Random
) -> dict[str, int]:
    """The first point's axes, of which one has a value of this kind, and each other one by chance."""
    axes = dict(points[0].axes)
    for axis in varying:
        if axis is first or (kind != "many" and generator.random() < ALIKE):
            axes[axis.name] = _value(axis, kind, [point.axes[axis.name] for point in points], generator)
    return axes


def _narrow(varying: Sequence[Axis]) -> dict[str, int]:
    """Small values of every axis."""
    return {a.name: min(a.high, a.low + a.step * -(-max(0, NARROW - a.low) // a.step)) for a in varying}


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
            wanted = MOST_BLOCKS + generator.randint(2, 16)
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
