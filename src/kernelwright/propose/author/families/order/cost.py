"""What a sort costs: its bytes, and the steps that a tile of it takes."""

from math import log2, prod

from kernelwright.propose.author.families.order.plan import Sorted
from kernelwright.propose.author.families.order.schedule import OrderSchedule, block

BYTES_US = 3.5e6
LAUNCH_US = 2.5
STEPS_US = 2.0e6
"""Elements that a large device compares and exchanges in a microsecond."""


def order_cost(plan: Sorted, schedule: OrderSchedule) -> float:
    """Estimated microseconds on a large device."""
    width = block(plan)
    bits = log2(width)
    steps = plan.places if schedule.how == "rounds" else bits * (bits + 1) / 2
    moved = 4.0 * sum(prod(e.sizes) for e in plan.part.elements) + 8.0 * plan.row_count * plan.places
    padded = -(-plan.row_count // schedule.rows) * schedule.rows * width
    spare = max(1.0, schedule.rows * width / (schedule.warps * 32) / 64)
    return LAUNCH_US + max(moved / BYTES_US, padded * steps / STEPS_US * spare)
