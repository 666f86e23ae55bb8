"""The schedules of kernels for rows, in Triton and in C++. Every field changes the source or the launch, none the result."""

from math import prod
from typing import Literal

from kernelwright.propose.author.families.rows.plan import Plan
from kernelwright.propose.author.ir.expr import COL
from kernelwright.propose.author.ir.program import HEAVY, NARROW
from kernelwright.propose.author.ir.space import Option, Space
from kernelwright.records.base import Record

WHOLE_LIMIT = 32768
"""Longest row, in elements, that one program holds at once."""
SMALL_TILE = 1024
"""Elements below which a program takes several rows: with fewer, its overhead shows."""
SHARES, SHARED_TILE = 4096, 4096
"""Shares of a total that one program adds up at a time, and tiles of short rows of which small ones would leave more.

That program is alone on the device, and by estimate takes a microsecond each time. Not timed.
"""
MOST_PARTS = 256
"""Blocks of a row that programs share: each reads as many numbers as there are."""
LANES = 32
MOST_WARPS, OF_LONGEST = 16, 32
"""Warps of a program, and of one with so long a row that registers would spill."""


class TritonSchedule(Record):
    """Degrees of freedom of the Triton author; the defaults are safe everywhere."""

    block: int = 4096
    """Elements that a program takes at a time: of a row, or of everything when flat. A power of two."""
    rows: int = 1
    """Rows that a program takes at a time. A power of two."""
    warps: int = 8
    stages: int = 1
    """Loads that a loop keeps in flight, in iterations."""
    unroll: int = 1
    """Blocks that a flat reduction loads before it adds."""
    grid: Literal["tiles", "persistent"] = "tiles"
    """One program for each tile, or as many as the device holds, each taking many tiles."""
    waves: int = 4
    """Programs for each multiprocessor in a persistent grid."""
    passes: Literal["whole", "separate", "online", "decoupled"] = "whole"
    """A row at once, or in blocks with one pass for each reduction, or with fused reductions, or by several programs."""
    order: Literal["forward", "alternate"] = "forward"
    """Whether every other pass runs backwards, to find the last blocks still in the cache."""
    combine: Literal["two-stage", "atomic"] = "two-stage"
    """How programs' shares of a total meet: through a buffer and a second kernel, or by atomics."""
    eviction: Literal["normal", "evict-first", "evict-last"] = "evict-last"
    """Cache hint of loads: every one is kept longest, or the last one of an element is dropped first."""
    division: Literal["exact", "reciprocal"] = "exact"


def triton_default(plan: Plan) -> TritonSchedule:
    """Where a person would start: one small tile a program, whole rows where they fit.

    Measured on an H200: many programs that load everything at once, and leave the overlap to the
    scheduler of the device, beat fewer that loop, pipelined or not. Only a total over everything wants a
    loop, since it keeps its sums in registers. Keeping what is read longest in the cache gained up to 4 %,
    even where everything is read once and every call had other inputs.
    """
    if plan.flat and plan.totals:
        return _of_everything(heavy=bool(plan.calls & HEAVY))
    if plan.flat:
        return TritonSchedule(passes="separate", block=SMALL_TILE, warps=_warps(SMALL_TILE, 8))
    if _shared(plan):
        # A thread holds 32 elements of one tensor, or 16 of each.
        alone = sum(COL in tensor.along for tensor in plan.arguments) == 1
        return TritonSchedule(passes="decoupled", block=8192, warps=8 if alone else 16)
    if plan.cols > WHOLE_LIMIT:
        fused = "online" if plan.fusion else "separate"
        return TritonSchedule(passes=fused, block=8192, warps=16, order="alternate")
    block = 1 << (plan.cols - 1).bit_length()
    many = bool(plan.totals) and plan.rows * block > SHARES * SMALL_TILE
    rows = max(1, (SHARED_TILE if many else SMALL_TILE) // block)
    each = 16 if plan.passes else 8
    return TritonSchedule(rows=rows, warps=_warps(rows * block, each))


def _of_everything(*, heavy: bool) -> TritonSchedule:
    """Of a total: many loads under way, or many warps where an element takes dozens of instructions to work out.

    Sixteen elements of two operands, read two blocks ahead, leave registers for one program on a multiprocessor: four warps on
    each scheduler, too few to work on some while others wait. Eight elements leave room for three.
    """
    block, unroll = (4096, 1) if heavy else (8192, 2)
    return TritonSchedule(passes="separate", block=block, warps=16, unroll=unroll, grid="persistent", waves=8)


def _warps(tile: int, each: int) -> int:
    """Warps that give a thread `each` elements of a tile, and four at least."""
    most = OF_LONGEST if tile > WHOLE_LIMIT // 2 else MOST_WARPS
    return max(4, min(most, tile // (LANES * each)))


def _shared(plan: Plan) -> bool:
    """Whether a row is several programs' work."""
    return not plan.flat and plan.cols > WHOLE_LIMIT and plan.meets_once


def _triton_blocks(plan: Plan) -> tuple[int, ...]:
    """Elements of a tile. Where rows are shared each program reads what all of a row's blocks came to: these are few."""
    sizes = (512, 1024, 2048, 4096, 8192)
    return tuple(b for b in sizes if b * MOST_PARTS >= plan.cols or b == sizes[-1]) if _shared(plan) else sizes


def triton_space(plan: Plan) -> Space[TritonSchedule]:
    """The options that mean something for this plan, each with its values in order."""
    options = [
        Option("block", _triton_blocks(plan), "memory"),
        Option("warps", (8, 16, 32) if _shared(plan) else (2, 4, 8, 16, 32), "latency"),
        Option("grid", ("tiles", "persistent"), "latency"),
        Option("waves", (1, 2, 4, 8, 16), "latency"),
        Option("eviction", ("evict-last", "normal", "evict-first"), "memory"),
        Option("stages", (1, 2, 3, 4), "memory"),
    ]
    if not plan.flat:
        whole = ("whole",) * (plan.cols <= WHOLE_LIMIT)
        options.append(Option("rows", (1, 2, 4, 8, 16), "latency"))
        online, decoupled = ("online",) * (plan.fusion is not None), ("decoupled",) * plan.meets_once
        passes = decoupled if plan.placed else (*whole, "separate", *online, *decoupled)
        options.append(Option("passes", passes, "memory"))
    if plan.flat and plan.totals:
        options.append(Option("unroll", (1, 2, 4), "memory"))
    if plan.passes and not plan.flat:
        options.append(Option("order", ("forward", "alternate"), "memory"))
    if plan.totals and not {total.op for total in plan.totals} & {"amax", "amin"}:  # atomics know no NaN
        options.append(Option("combine", ("two-stage", "atomic"), "latency"))
    if plan.divides_by_rows:
        options.append(Option("division", ("exact", "reciprocal"), "compute"))
    return Space(TritonSchedule, tuple(options))


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
        block=min(_cpp_blocks(plan), key=lambda n: abs(n - 4096)),
        accumulators=4 if plan.passes and not plan.flat else 1,
        cache="keep" if plan.reused and plan.cols <= CACHE_LIMIT else "recompute",
        division="reciprocal" if plan.divides_by_rows else "exact",
        prefetch="next" if slow and plan.flat and _written(plan) >= MAPPED_BYTES else "hardware",
    )


def _written(plan: Plan) -> int:
    """Bytes of its results, but for those of a single element."""
    return sum(4 * prod(o.tensor.shape) for o in plan.stored)


def _cpp_blocks(plan: Plan) -> tuple[int, ...]:
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
        Option("block", _cpp_blocks(plan), "memory"): (plan.flat or bool(plan.passes)) and len(_cpp_blocks(plan)) > 1,
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
