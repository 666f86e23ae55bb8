"""The schedule of a sort in C++, and its space."""

from kernelwright.propose.author.families.order.plan import Sorted
from kernelwright.propose.author.families.strided.cpp_schedule import CpuSchedule
from kernelwright.propose.author.schedule.space import Option


def sort_start(plan: Sorted) -> CpuSchedule:
    """Where a person would start."""
    return CpuSchedule()


def sort_options(plan: Sorted) -> list[Option]:
    """The options that mean something for this plan."""
    return [Option("distribution", ("static", "dynamic"), "latency"), Option("vector_bits", (256, 512), "compute")]
