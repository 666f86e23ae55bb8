"""What attention costs: two products at the rate of the units that do them, or reading keys and values, if that is longer."""

from kernelwright.propose.author.families.attention.plan import Attention
from kernelwright.propose.author.families.attention.schedule import AttentionSchedule
from kernelwright.propose.author.families.product.cost import FLOPS_US, LAUNCH_US
from kernelwright.propose.author.families.product.schedule import PROGRAMS

CACHED_US = 6.0e6
"""Bytes in a microsecond that programs read from the cache that they share."""
WIDE_STEP = 128 * 128
"""Scores of a step that are enough for more than four warps, of half precision."""
IN_STEP = 0.75
"""What is left of the rate where the eight warps of a multiprocessor's only program wait for one another at smaller steps. A
guess: Triton's own example leaves these out on Hopper."""


def attention_cost(plan: Attention, schedule: AttentionSchedule) -> float:
    """Estimated microseconds on a large device."""
    count, half = plan.part.count, plan.number != "float32"
    blocks = count(plan.batch) * -(-count(plan.rows) // schedule.block_m)
    waves = -(-blocks // PROGRAMS) * PROGRAMS / blocks
    keys = -(-count(plan.span) // schedule.block_n) * schedule.block_n
    wide = count(plan.features) + count(plan.columns)
    rate = FLOPS_US["half" if half else schedule.precision]
    rate *= min(1.0, schedule.block_m / 64) * min(1.0, schedule.block_n / 32)
    small = schedule.block_m * schedule.block_n < WIDE_STEP
    alone = schedule.warps > 4 and not schedule.registers
    rate *= IN_STEP if half and alone and small else 1.0
    done = 2.0 * blocks * schedule.block_m * keys * wide / rate * min(waves, 8.0)
    read = blocks * keys * wide * (2 if half else 4) / CACHED_US
    return LAUNCH_US + max(done, read)
