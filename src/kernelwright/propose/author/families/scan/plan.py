"""Running sums and products along one axis, with anything pointwise before and after.

A program takes whole rows, block after block, and carries what the blocks before came to.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

from kernelwright.propose.author.families.family import Match
from kernelwright.propose.author.families.strided.plan import merged, stride
from kernelwright.propose.author.ir.expr import Scan, walk
from kernelwright.propose.author.ir.program import Part, heavies
from kernelwright.propose.author.ir.space import Option
from kernelwright.records.base import Record


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


WHOLE_LIMIT = 8192
"""Longest block that one program holds."""
TILE = 2048
BESIDE = 32
"""Rows that a program takes where their elements lie apart: a load of 128 bytes is of as many rows."""
FEW, PROGRAMS = 132 * 2, 132 * 4
"""Programs that leave a large device idle, and that do not."""
LONG = 8
"""Blocks of a row from which on another launch costs less than to take one after the other."""
LEAST = 2
"""Blocks of a part, at least."""


class ScanSchedule(Record):
    """Degrees of freedom; none changes the result beyond rounding."""

    rows: int = 1
    """Rows that a program takes. A power of two."""
    block: int = 1024
    """Elements of a row that are scanned at once. A power of two."""
    warps: int = 4
    parts: int = 1
    """Programs that share a row."""


def scan_default(plan: Scanned) -> ScanSchedule:
    """Whole rows where they fit; of rows whose elements lie apart, as many as a line of memory has elements.

    Long rows that are few are shared.
    """
    start = _of_whole_rows(plan)
    blocks, programs = -(-plan.length // start.block), -(-plan.row_count // start.rows)
    if blocks < LONG or programs >= FEW:
        return start
    block = min(TILE, start.block)
    parts = min(PROGRAMS // programs, plan.length // (LEAST * block))
    return ScanSchedule(rows=start.rows, block=block, parts=1 << (parts.bit_length() - 1))


def _of_whole_rows(plan: Scanned) -> ScanSchedule:
    if plan.apart:
        block = min(TILE // BESIDE, 1 << (plan.length - 1).bit_length())
        return ScanSchedule(rows=min(BESIDE, 1 << (plan.row_count - 1).bit_length()), block=block)
    block = min(WHOLE_LIMIT, 1 << (plan.length - 1).bit_length())
    rows = min(max(1, TILE // block), 1 << max(0, plan.row_count - 1).bit_length())
    return ScanSchedule(rows=rows, block=block, warps=8 if rows * block >= 4096 else 4)


def parts_of(plan: Scanned, schedule: ScanSchedule) -> tuple[int, int]:
    """Into how many parts of how many elements rows are cut: of whole blocks, none of them empty."""
    blocks = -(-plan.length // schedule.block)
    each = -(-blocks // schedule.parts)
    return -(-blocks // each), each * schedule.block


def scan_space(plan: Scanned) -> list[Option]:
    """The options that mean something for this plan."""
    sizes = (16, 32, 64, 128, 256) if plan.apart else (256, 512, 1024, 2048, 4096, 8192)
    blocks = tuple(b for b in sizes if b < 2 * plan.length) or (sizes[0],)
    options = [
        Option("rows", (8, 16, 32, 64, 128) if plan.apart else (1, 2, 4, 8, 16), "latency"),
        Option("block", blocks, "memory"),
        Option("warps", (2, 4, 8, 16), "latency"),
    ]
    most = scan_default(plan).parts
    shared = tuple(parts for parts in (1, most // 4, most // 2, most, most * 2) if parts)
    return [*options, Option("parts", tuple(dict.fromkeys(shared)), "latency")] if most > 1 else options


BYTES_US = 3.5e6
SECTOR = 32
"""Bytes that memory hands out at least."""
LAUNCH_US = 2.5
BLOCK_US = 1.2
"""From one block of a row to the next."""


def scan_cost(plan: Scanned, schedule: ScanSchedule) -> float:
    """Estimated microseconds on a large device. Rows that are shared are read by two kernels."""
    parts, share = parts_of(plan, schedule)
    read, stored = 4.0 * sum(prod(e.sizes) for e in plan.part.elements), 4.0 * plan.row_count * plan.length
    sparse = max(1.0, SECTOR / (4 * schedule.rows)) if plan.apart else 1.0
    programs = -(-plan.row_count // schedule.rows) * parts
    turns = share // schedule.block * -(-programs // PROGRAMS)
    kernels = [read + stored, *[read] * (parts > 1)]
    return sum(LAUNCH_US + max(moved * sparse / BYTES_US, turns * BLOCK_US) for moved in kernels)
