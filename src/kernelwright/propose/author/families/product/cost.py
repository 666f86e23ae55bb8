"""What a product costs: its multiplications at the rate of the units that do them, or its bytes, whichever takes longer."""

import math

from kernelwright.propose.author.families.product.packing import narrow
from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.families.product.schedule import (
    BLOCK_BYTES,
    PROGRAMS,
    ProductSchedule,
    item_bytes,
    packing_of,
    slice_bytes,
)

FLOPS_US = {"ieee": 30e6, "tf32": 150e6, "tf32x3": 40e6, "bf16x6": 66e6, "bf16x3": 105e6, "half": 600e6}
"""Floating-point operations in a microsecond that tiles reach on an H200, as measured with tiles of 128 by 128."""
PACKED_US = {"tf32": 300e6, "bf16x6": 100e6, "bf16x3": 200e6, "half": 600e6}
"""The same of factors that are packed."""
NARROW = 0.35
"""What is left of that where loads are of single numbers, as under a window that slides (convolutions on an H200)."""
BYTES_US = 4.0e6
LAUNCH_US = 2.5
HELD = 128
"""Numbers of a tile's sums that a thread has registers for, beside what it reads with: of 255 in all."""
SPILT = 4.0
"""How many times as long a tile takes whose sums do not fit."""
IMPOSSIBLE = 100.0
"""The same where a block has no shared memory for one slice: it does not start."""


def product_cost(plan: Product, schedule: ProductSchedule) -> float:
    """Estimated microseconds on a large device."""
    batch, rows, columns, depth = plan.extents
    down, across = -(-rows // schedule.block_m), -(-columns // schedule.block_n)
    tiles = batch * down * across
    waves = -(-tiles // PROGRAMS) * PROGRAMS / tiles
    packing = packing_of(plan, schedule)
    if packing is not None:
        depth = depth // packing.extent * (packing.extent + packing.pad)
    done = 2.0 * tiles * schedule.block_m * schedule.block_n * depth
    rate = (PACKED_US if packing else FLOPS_US)[schedule.precision if plan.precise else "half"]
    rate *= NARROW if packing is None and narrow(plan) else 1.0
    rate *= min(1.0, math.sqrt(schedule.block_m * schedule.block_n) / 128) / _crowded(plan, schedule)
    item = item_bytes(plan, schedule)
    moved = item * depth * tiles * (schedule.block_m + schedule.block_n) / 4 + item * batch * rows * columns
    packed = [math.prod(one.tensor.shape) for one in packing.tensors] if packing else []
    before = sum(LAUNCH_US + count * (2 * item) / BYTES_US for count in packed)
    return before + LAUNCH_US + max(done / rate * min(waves, 8.0), moved / BYTES_US)


def _crowded(plan: Product, schedule: ProductSchedule) -> float:
    """How many times as long a tile takes for want of registers, or of shared memory."""
    sums = 2 if plan.precise and schedule.precision == "bf16x6" else 1
    if slice_bytes(plan, schedule) > BLOCK_BYTES:
        return IMPOSSIBLE
    return SPILT if sums * schedule.block_m * schedule.block_n > HELD * 32 * schedule.warps else 1.0
