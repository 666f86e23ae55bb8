"""Every family of Triton kernels in the order in which they are asked. To add one: a folder, and a row here."""

from kernelwright.errors import ProposeError
from kernelwright.propose.author.families.attention.cost import attention_cost
from kernelwright.propose.author.families.attention.plan import matched as attention_matched
from kernelwright.propose.author.families.attention.schedule import (
    AttentionSchedule,
    attention_default,
    attention_space,
)
from kernelwright.propose.author.families.attention.triton import write_triton as write_attention
from kernelwright.propose.author.families.family import Family, Match, Text
from kernelwright.propose.author.families.product.cost import product_cost
from kernelwright.propose.author.families.product.plan import factors
from kernelwright.propose.author.families.product.plan import matched as product_matched
from kernelwright.propose.author.families.product.schedule import ProductSchedule, product_default, product_space
from kernelwright.propose.author.families.product.triton import write_triton as write_product
from kernelwright.propose.author.families.scan.cost import scan_cost
from kernelwright.propose.author.families.scan.plan import matched as scan_matched
from kernelwright.propose.author.families.scan.schedule import ScanSchedule, scan_default, scan_space
from kernelwright.propose.author.families.scan.triton import write_triton as write_scan
from kernelwright.propose.author.families.strided.cost import strided_cost
from kernelwright.propose.author.families.strided.cpp_schedule import (
    LoopSchedule,
    loop_cost,
    loop_default,
    loop_space,
)
from kernelwright.propose.author.families.strided.plan import matched as strided_matched
from kernelwright.propose.author.families.strided.schedule import StridedSchedule, strided_default, strided_space
from kernelwright.propose.author.families.strided.triton import write_triton as write_strided
from kernelwright.propose.author.plan.program import Part

TRITON: tuple[Family, ...] = (
    Family(
        "attention",
        attention_matched,
        AttentionSchedule,
        attention_default,
        attention_space,
        attention_cost,
        write_attention,
    ),
    Family("scan", scan_matched, ScanSchedule, scan_default, scan_space, scan_cost, write_scan),
    Family("product", product_matched, ProductSchedule, product_default, product_space, product_cost, write_product),
    Family("strided", strided_matched, StridedSchedule, strided_default, strided_space, strided_cost, write_strided),
)


def _cpu_matched(part: Part) -> Match | None:
    """Everything but products, which a library's kernels make faster on a CPU."""
    if any(factors(part, node) for node in part.heavies):
        raise ProposeError("a product of matrices, which PyTorch's library makes as fast as a CPU can")
    return strided_matched(part)


def _unwritten(plan: object, schedule: object, name: str, prefix: str) -> Text:
    raise AssertionError("loops are written into their program's one function")


CPP: tuple[Family, ...] = (
    Family("loops", _cpu_matched, LoopSchedule, loop_default, loop_space, loop_cost, _unwritten),
)
"""Families of C++ loops."""
