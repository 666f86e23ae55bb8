"""Running sums and products along one axis, with anything pointwise before and after.

A program takes whole rows, block after block, and carries what the blocks before came to.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

from kernelwright.propose.author.families.family import Match
from kernelwright.propose.author.families.strided.plan import merged, stride
from kernelwright.propose.author.plan.expr import Scan, walk
from kernelwright.propose.author.plan.program import Part, heavies


@dataclass(frozen=True)
class Scanned:
    """A scan along an axis of rows."""

    part: Part
    node: Scan
    rows: tuple[int, ...]

    @property
    def row_count(self) -> int:
        """Rows in all."""
        return self.part.count(self.rows)

    @property
    def length(self) -> int:
        """Elements of a row."""
        return self.part.sizes[self.node.axis]

    @cached_property
    def apart(self) -> bool:
        """Whether elements of a row lie apart in what is read most, and those of neighbouring rows beside each other."""
        if not self.rows or not self.part.elements:
            return False
        most = max(self.part.elements, key=lambda element: prod(element.sizes))
        along, beside = (stride(most, axis, self.part.sizes) for axis in (self.node.axis, self.rows[-1]))
        return along != 1 and beside == 1


def matched(part: Part) -> Match | None:
    """The part as one scan, or what must be stored for it to be one."""
    found = part.heavies
    scans = [node for node in found if isinstance(node, Scan)]
    if not scans or len(part.roots) > 1:
        return None
    root, node = part.roots[0], scans[0]
    others = [other for other in found if other is not node]
    if any(node in walk(other) for other in others):
        return Match(None, [node])
    inner = heavies(node.arg)
    if others or inner:
        return Match(None, [*others, *inner])
    if node.axes != set(root.axes):
        return Match(None, [node]) if root.expr != node else None
    rows = tuple(a for a in root.axes if a != node.axis)
    joined, (rows,) = merged(part, [rows])
    (node,) = (n for n in joined.heavies if isinstance(n, Scan))
    return Match(Scanned(joined, node, rows))
