"""What attention costs: two products at the rate of the units that do them."""

from kernelwright.propose.author.families.attention.plan import Attention
from kernelwright.propose.author.families.attention.schedule import AttentionSchedule
from kernelwright.propose.author.families.product.cost import FLOPS_US, LAUNCH_US
from kernelwright.propose.author.families.product.schedule import PROGRAMS


def attention_cost(plan: Attention, schedule: AttentionSchedule) -> float:
    """Estimated microseconds on a large device."""
    count = plan.part.count
    blocks = count(plan.batch) * -(-count(plan.rows) // schedule.block_m)
    waves = -(-blocks // PROGRAMS) * PROGRAMS / blocks
    steps = -(-count(plan.span) // schedule.block_n) * schedule.block_n
    done = 2.0 * blocks * schedule.block_m * steps * (count(plan.features) + count(plan.columns))
    rate = FLOPS_US[schedule.precision if plan.number == "float32" else "half"]
    rate *= min(1.0, schedule.block_m / 64) * min(1.0, schedule.block_n / 32)
    return LAUNCH_US + done / rate * min(waves, 8.0)
