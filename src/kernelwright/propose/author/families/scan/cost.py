"""What a scan costs: its bytes, and the blocks of a row that wait for one another."""

from math import prod

from kernelwright.propose.author.families.scan.plan import Scanned
from kernelwright.propose.author.families.scan.schedule import ScanSchedule

BYTES_US = 3.5e6
SECTOR = 32
"""Bytes that memory hands out at least."""
LAUNCH_US = 2.5
BLOCK_US = 1.2
"""From one block of a row to the next."""
PROGRAMS = 132 * 4


def scan_cost(plan: Scanned, schedule: ScanSchedule) -> float:
    """Estimated microseconds on a large device."""
    moved = 4.0 * sum(prod(e.sizes) for e in plan.part.elements) + 4.0 * plan.row_count * plan.length
    moved *= max(1.0, SECTOR / (4 * schedule.rows)) if plan.apart else 1.0
    programs = -(-plan.row_count // schedule.rows)
    turns = -(-plan.length // schedule.block) * -(-programs // PROGRAMS)
    return LAUNCH_US + max(moved / BYTES_US, turns * BLOCK_US)
