"""What a product costs: multiplications, what its tiles read from the L2 cache, or memory, whichever takes longest."""

from math import prod, sqrt

from kernelwright.propose.author.families.product.packing import FORMS, Packing, narrow
from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.families.product.schedule import (
    PROGRAMS,
    WIDE,
    ProductSchedule,
    item_bytes,
    matrices_of,
    packing_of,
    slice_bytes,
    stages_that_fit,
)
from kernelwright.records.tensor import ITEM_BYTES

FLOPS_US = {"ieee": 30e6, "tf32": 150e6, "tf32x3": 40e6, "bf16x6": 66e6, "bf16x3": 105e6, "half": 780e6}
"""Floating-point operations in a microsecond that tiles reach on an H200, as measured with tiles of 128 by 128."""
PACKED_US = {"tf32": 390e6, "bf16x6": 100e6, "bf16x3": 200e6, "fp16": 780e6, "fp16x3": 190e6, "half": 780e6}
"""The same of factors that are packed. Those of TF32, and of half precision and so of float16, are estimates: tiles of 128 by
128 reach 300 and 600, which is the limit of the cache for both."""
CACHE_US = 9.1e6
"""Bytes in a microsecond that all multiprocessors read from L2: what those 300 and 600 come to."""
NARROW = 0.35
"""What is left of that where loads are of single numbers, as under a window that slides (convolutions on an H200)."""
BYTES_US = 4.0e6
LAUNCH_US = 2.5
WARPS, ALONE = 8, 1.3
"""How many times as long a tile takes where fewer warps share a multiprocessor: nothing is done while they wait or store."""
HELD, MANY, HELD_OF_MANY = 128, 16, 48
"""Numbers of a tile's sums that a thread has registers for, beside what it reads with: of 255 in all, or of 128 where a
program has so many warps."""
STEP = 1.0
"""By which share, times numbers of the depth, a step is longer than what it multiplies: what it waits for."""
STAYING, STAYING_ELSE = 0.95, 1.0005
"""How many times as long a tile takes of programs that stay: 0.93 to 0.96 in three large products on an H200 with tiles of
128 by 256. What else there is was slower so, or was not measured: it costs next to nothing more, so that it is tried early."""
STAGES = {1: 1.5, 2: 1.05}
"""How many times as long a step takes where fewer slices than three are under way."""
UNUSUAL = 1.001
"""The same for another `group` than usual: what else is equal is tried first."""
CROWDED = 1.1
"""The same of a program of many warps whose sums fit: on an H200 it is never the faster one."""
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
    rate *= min(1.0, sqrt(schedule.block_m * schedule.block_n) / 128)
    item = item_bytes(plan, schedule)
    near = item * depth * tiles * (schedule.block_m + schedule.block_n) / CACHE_US
    stored = (4 if plan.precise else 2) * batch * rows * columns / BYTES_US
    before = _before(packing, item) if packing else 0.0
    multiplied = max(done / rate, near) * min(waves, 8.0) * _crowded(plan, schedule) * _pace(plan, schedule)
    return before + LAUNCH_US + max(multiplied, stored)


def _crowded(plan: Product, schedule: ProductSchedule) -> float:
    """How many times as long a tile takes for want of registers, of shared memory, or of others beside it."""
    form = FORMS.get(schedule.precision) if plan.precise else None
    sums = 2 if form and form.sliced else 1
    bytes_of_slice = slice_bytes(plan, schedule)
    if bytes_of_slice > plan.part.shared_bytes:
        return IMPOSSIBLE
    many = schedule.warps >= MANY
    if sums * schedule.block_m * schedule.block_n > (HELD_OF_MANY if many else HELD) * 32 * schedule.warps:
        return SPILT
    if many:
        return CROWDED
    beside = plan.part.shared_bytes // (stages_that_fit(plan, schedule) * bytes_of_slice)
    return 1.0 if beside * schedule.warps >= WARPS else ALONE


def _pace(plan: Product, schedule: ProductSchedule) -> float:
    """How many times as long a tile takes for its steps' sake."""
    unusual = UNUSUAL if schedule.group != ProductSchedule().group else 1.0
    unusual *= _staying(plan, schedule)
    return (1.0 + STEP / schedule.block_k) * STAGES.get(stages_that_fit(plan, schedule), 1.0) * unusual


def _staying(plan: Product, schedule: ProductSchedule) -> float:
    if not matrices_of(plan, schedule):
        return 1.0
    seen = plan.part.copies_blocks and schedule.block_n >= WIDE.block_n and plan.root.expr == plan.node
    return STAYING if seen else STAYING_ELSE


def _before(packing: Packing, item: int) -> float:
    """Estimated microseconds until the factors are laid out, each number in so many bytes."""
    scaled = packing.form.scaled
    reads = [2 if scaled and not one.tried else 1 for one in packing.tensors]
    moved = sum(
        (ITEM_BYTES[one.tensor.dtype] * n + item) * prod(one.tensor.shape)
        for n, one in zip(reads, packing.tensors, strict=True)
    )
    launches = scaled + (1 + scaled) * len(packing.tensors)
    return launches * LAUNCH_US + moved / BYTES_US
