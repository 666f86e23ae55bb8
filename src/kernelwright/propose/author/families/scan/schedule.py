"""The schedule of a scan, and its space."""

from kernelwright.propose.author.families.scan.plan import Scanned
from kernelwright.propose.author.schedule.space import Option
from kernelwright.records.base import Record

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
