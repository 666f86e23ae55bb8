"""The schedule of a C++ kernel. Every field changes the source or the flags, none the result."""

from math import prod
from typing import Literal

from kernelwright.propose.author.plan.plan import HEAVY, NARROW, Plan
from kernelwright.propose.author.schedule.space import Option, Space
from kernelwright.records.base import Record

CACHE_LIMIT = 32768
"""Longest row, in elements, that is kept on a thread's stack."""
MAPPED_BYTES = 32 << 20
"""Size of results from which on the C library maps memory anew for each, whose pages the kernel's zeros have just brought
into the caches. Stores past the caches gain 5 % where a result's pages are there already, as in the referee, and lose 70 %
in the program of whoever uses the kernel (docs/log.md)."""
SLOW = frozenset({"log", "log1p", "expm1", "softplus", "erf", "normal_cdf"})
"""Calls that take so long that too few lines are under way; others lose by asking for them."""
BLOCKS = (1024, 2048, 4096, 8192, 16384)
"""Elements of a block, worth trying."""


class CppSchedule(Record):
    """Degrees of freedom of the C++ author; the defaults are safe everywhere."""

    threads: Literal["all", "half", "one"] = "all"
    distribution: Literal["static", "dynamic"] = "static"
    chunk: int = 0
    """Rows (blocks, when flat) handed to a thread at a time; 0 gives each thread one equal share."""
    block: int = 4096
    """Elements that are reduced or staged together."""
    accumulators: int = 1
    """Vectors of partial sums side by side; one lets the compiler choose."""
    order: Literal["rows", "columns"] = "rows"
    """Which loop is the outer one where rows need no reduction."""
    passes: Literal["separate", "online"] = "separate"
    """Whether fusable reductions share a pass over the row."""
    cache: Literal["recompute", "keep"] = "recompute"
    """Whether costly elements that two passes need are kept in a buffer."""
    stores: Literal["plain", "streaming"] = "plain"
    """Streaming stores write past the caches."""
    exp: Literal["polynomial", "libm"] = "polynomial"
    division: Literal["exact", "reciprocal"] = "exact"
    """Whether a division by a row's value becomes a product with its reciprocal."""
    combine: Literal["reduction", "atomic"] = "reduction"
    """How threads' shares of a total meet."""
    prefetch: Literal["hardware", "next"] = "hardware"
    """`next` asks for the next row's (block's) lines by instruction."""
    vector_bits: Literal[256, 512] = 256
    unroll: Literal["compiler", "loops"] = "compiler"


def cpp_default(plan: Plan) -> CppSchedule:
    """Where a person would start.

    Wide vectors where there is arithmetic to hide, that of narrow numbers included, lines asked for ahead where it takes so
    long that the hardware does not, and several sums where one would wait for itself.
    """
    narrow = any(t.dtype in NARROW for t in (*plan.arguments, *(o.tensor for o in plan.outputs)))
    heavy, slow = narrow or bool(plan.calls & HEAVY), narrow or bool(plan.calls & SLOW)
    return CppSchedule(
        vector_bits=512 if heavy else 256,
        block=min(_blocks(plan), key=lambda n: abs(n - 4096)),
        accumulators=4 if plan.passes and not plan.flat else 1,
        cache="keep" if plan.reused and plan.cols <= CACHE_LIMIT else "recompute",
        division="reciprocal" if plan.divides_by_rows else "exact",
        prefetch="next" if slow and plan.flat and _written(plan) >= MAPPED_BYTES else "hardware",
    )


def _written(plan: Plan) -> int:
    """Bytes of its results, but for those of a single element."""
    return sum(4 * prod(o.tensor.shape) for o in plan.stored)


def _blocks(plan: Plan) -> tuple[int, ...]:
    """Block sizes that differ: for rows, those shorter than a row and one that is not."""
    if plan.flat:
        return BLOCKS
    shorter = [n for n in BLOCKS if n < plan.cols]
    return (*shorter, *BLOCKS[len(shorter) : len(shorter) + 1])


def cpp_space(plan: Plan) -> Space[CppSchedule]:
    """The options that mean something for this plan, each with its values in order."""
    has_rows = not plan.flat
    options = {
        Option("threads", ("all", "half", "one"), "compute"): True,
        Option("distribution", ("static", "dynamic"), "latency"): True,
        Option("chunk", (0, 1, 4, 16, 64), "latency"): True,
        Option("vector_bits", (256, 512), "compute"): True,
        Option("prefetch", ("hardware", "next"), "memory"): True,
        Option("unroll", ("compiler", "loops"), "compute"): True,
        Option("block", _blocks(plan), "memory"): (plan.flat or bool(plan.passes)) and len(_blocks(plan)) > 1,
        Option("accumulators", (1, 2, 4, 8), "compute"): bool(plan.passes),
        Option("order", ("rows", "columns"), "memory"): has_rows and not plan.passes,
        Option("passes", ("separate", "online"), "memory"): plan.fusion is not None,
        Option("cache", ("recompute", "keep"), "compute"): bool(plan.reused) and plan.cols <= CACHE_LIMIT,
        Option("stores", ("plain", "streaming"), "memory"): 0 < _written(plan) < MAPPED_BYTES,
        Option("exp", ("polynomial", "libm"), "compute"): bool(plan.calls & HEAVY),
        Option("division", ("exact", "reciprocal"), "compute"): plan.divides_by_rows,
        Option("combine", ("reduction", "atomic"), "latency"): bool(plan.totals),
    }
    return Space(CppSchedule, tuple(option for option, meant in options.items() if meant))
