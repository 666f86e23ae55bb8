"""The schedule of attention, and its space."""

from kernelwright.propose.author.families.attention.plan import Attention
from kernelwright.propose.author.families.product.schedule import Precision
from kernelwright.propose.author.schedule.space import Option
from kernelwright.records.base import Record


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


def attention_default(plan: Attention) -> AttentionSchedule:
    """Blocks whose factors and sums fit into registers and shared memory."""
    wide = max(plan.part.count(plan.features), plan.part.count(plan.columns))
    precise = plan.number == "float32"
    m = 128 if 64 < wide <= 128 and not precise else 64  # of 64 features, four warps and 64 queries led on an H200
    n = 32 if precise or wide > 128 else 64
    longest = max(16, 1 << (plan.part.count(plan.rows) - 1).bit_length())
    stages = 2 if precise or wide > 128 else 3
    return AttentionSchedule(block_m=min(m, longest), block_n=n, stages=stages, warps=8 if m * wide >= 128 * 64 else 4)


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
    return options
