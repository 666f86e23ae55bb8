"""The schedule of attention, and its space."""

from kernelwright.propose.author.families.attention.plan import Attention
from kernelwright.propose.author.families.product.schedule import Precision
from kernelwright.propose.author.plan.expr import Const, Element, transform, walk
from kernelwright.propose.author.schedule.space import Option
from kernelwright.records.base import Record
from kernelwright.records.tensor import ITEM_BYTES

HALF_BYTES = 2
"""Of a number in half precision."""
WIDE_SUMS = 64 * 128
"""Sums of a program that four warps have no registers for, beside the parts of what they multiply."""
WARP_ROWS, WARPS_TOGETHER = 16, 4
"""Rows of a product that a warp makes on Hopper, and how many warps multiply together there."""
MOST_BYTES = 224 * 1024
"""Shared memory that a program takes at most, where it may have more."""
FEWEST, FEW = 16, 64
"""Least queries of a program and keys of a step, and queries from which on it gives up loading a step ahead first."""
PAIRED = 128
"""Registers of a thread with which two programs of eight warps share a multiprocessor of 65536."""


class AttentionSchedule(Record):
    """Degrees of freedom; none but `precision` changes a digit beyond rounding."""

    block_m: int = 64
    """Queries of a program. Powers of two, as the other."""
    block_n: int = 64
    """Keys of a step."""
    stages: int = 2
    warps: int = 4
    precision: Precision = "tf32x3"
    """How float32 is multiplied."""
    registers: int = 0
    """Most of a thread; none leaves it to the compiler."""


def attention_default(plan: Attention) -> AttentionSchedule:
    """Blocks whose factors and sums fit into registers and shared memory.

    128 queries read keys and values half as often as 64. In half precision two programs of eight warps share a multiprocessor:
    one makes weights while the other multiplies. Float32 is taken apart in registers, so that its steps are of 32 keys.
    """
    wide = max(plan.part.count(plan.features), plan.part.count(plan.columns))
    longest = max(16, 1 << (plan.part.count(plan.rows) - 1).bit_length())
    if plan.number == "float32" or wide > 128:
        m = min(128 if plan.number == "float32" or wide <= 64 else 64, longest)
        start = _that_fits(plan, AttentionSchedule(block_m=m, block_n=32, stages=2))
        start = start.model_copy(update={"warps": 8 if start.block_m * wide >= WIDE_SUMS else 4})
        return start.model_copy(update={"warps": warps_of(plan, start)})
    m, n = min(128, longest), 128 if wide <= 64 else 64
    most_bytes = min(MOST_BYTES, plan.part.shared_bytes)
    stages = _stages_that_fit(plan, m, n, most_bytes // 2)
    if m == 128 and stages > 1:
        return AttentionSchedule(block_m=m, block_n=n, stages=stages, warps=8, registers=PAIRED)
    stages = _stages_that_fit(plan, m, 64, most_bytes)
    return AttentionSchedule(block_m=m, block_n=64, stages=stages, warps=4 if wide <= 64 or m < 128 else 8)


def _that_fits(plan: Attention, schedule: AttentionSchedule) -> AttentionSchedule:
    """The schedule with fewer queries where a block has too little shared memory, then no step ahead, then fewer keys."""
    count, item = plan.part.count, 4 if plan.number == "float32" else HALF_BYTES
    deep, wide = (1 << (count(axes) - 1).bit_length() for axes in (plan.features, plan.columns))
    m, n, stages = schedule.block_m, schedule.block_n, schedule.stages
    while item * (m * deep + stages * n * (deep + wide)) > plan.part.shared_bytes and max(m, n) > FEWEST:
        if stages > 1 and m <= FEW:
            stages = 1
        else:
            m, n = (m // 2, n) if m > FEWEST else (m, n // 2)
    return schedule.model_copy(update={"block_m": m, "block_n": n, "stages": stages})


def _stages_that_fit(plan: Attention, m: int, n: int, most_bytes: int) -> int:
    """Three, or as many as so much shared memory holds beside the queries: of keys, values, and what meets the scores."""
    count = plan.part.count
    deep, wide = (1 << (count(axes) - 1).bit_length() for axes in (plan.features, plan.columns))
    beside = transform(plan.scores, lambda e: Const(0.0) if e == plan.product else e)
    reads = [e for e in walk(beside) if isinstance(e, Element) and not e.axes.isdisjoint(plan.span)]
    each = n * (deep + wide) * HALF_BYTES
    each += sum((n if e.axes.isdisjoint(plan.rows) else m * n) * ITEM_BYTES[plan.part.argument(e).dtype] for e in reads)
    return max(1, min(3, (most_bytes - m * deep * HALF_BYTES) // each))


def warps_of(plan: Attention, schedule: AttentionSchedule) -> int:
    """The schedule's warps, where each has rows of its own.

    Hopper's products have 16 rows a warp. With more warps than rows Triton deals out the columns too, and what it compiles of
    float32 that is taken apart then faults (Triton 3.6.0: 64 rows, eight warps).
    """
    most = schedule.block_m // WARP_ROWS
    return min(schedule.warps, most) if plan.number == "float32" and most >= WARPS_TOGETHER else schedule.warps


def attention_space(plan: Attention) -> list[Option]:
    """The options that mean something for this plan."""
    options = [
        Option("block_m", (16, 32, 64, 128), "compute"),
        Option("block_n", (16, 32, 64, 128), "memory"),
        Option("stages", (1, 2, 3, 4), "memory"),
        Option("warps", (4, 8), "latency"),
    ]
    if plan.number == "float32":
        options.append(Option("precision", ("tf32x3", "bf16x6", "bf16x3", "ieee"), "compute"))
    else:
        options.append(Option("registers", (0, PAIRED), "latency"))
    return options
