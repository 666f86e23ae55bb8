"""What a scan costs: its bytes, and the blocks of a row that wait for one another."""

from math import prod

from kernelwright.propose.author.families.scan.plan import Scanned
from kernelwright.propose.author.families.scan.schedule import PROGRAMS, ScanSchedule, parts_of

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
