"""The schedule of a C++ kernel over any axes, and its space."""

from typing import Literal

from kernelwright.propose.author.families.strided.plan import Strided
from kernelwright.propose.author.plan.expr import Call
from kernelwright.propose.author.plan.plan import HEAVY, NARROW
from kernelwright.propose.author.schedule.space import Option
from kernelwright.records.base import Record


class CpuSchedule(Record):
    """What every kernel of loops may choose."""

    distribution: Literal["static", "dynamic"] = "static"
    vector_bits: Literal[256, 512] = 256


class LoopSchedule(CpuSchedule):
    """Degrees of freedom; none changes the result."""

    lanes: int = 256
    """Neighbouring results that a thread makes together."""


def loop_default(plan: Strided) -> LoopSchedule:
    """Where a person would start: wide vectors where there is arithmetic to hide."""
    heavy = any(isinstance(n, Call) and n.op in HEAVY for n in plan.part.nodes)
    heavy = heavy or any(t.dtype in NARROW for t in (*plan.part.reads, *plan.part.writes))
    return LoopSchedule(vector_bits=512 if heavy else 256)


def loop_space(plan: Strided) -> list[Option]:
    """The options that mean something for this plan."""
    options = [
        Option("distribution", ("static", "dynamic"), "latency"),
        Option("vector_bits", (256, 512), "compute"),
    ]
    lanes = Option("lanes", (32, 64, 128, 256, 512, 1024), "memory")
    return options if plan.reduced and plan.dense_columns else [lanes, *options]


def loop_cost(plan: Strided, schedule: LoopSchedule) -> float:
    """No estimate: every schedule costs the same."""
    return 0.0
