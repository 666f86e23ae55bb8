"""Every rule by language, in the order in which they are tried. To add one: a function, and a row here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.propose.author.families.family import Family
from kernelwright.propose.author.ir.expr import Expr, Reduce
from kernelwright.propose.author.ir.program import Program
from kernelwright.propose.author.rules.algebra import one_place, regrouped, sum_of_products, sum_of_sums
from kernelwright.propose.author.rules.fuse import fused
from kernelwright.propose.author.rules.layouts import laid_out
from kernelwright.propose.author.rules.moments import moments_of_stretches, moments_of_tiles
from kernelwright.propose.author.rules.pack_rows import packed_rows
from kernelwright.propose.author.rules.rule import Rule
from kernelwright.propose.author.rules.split_reduction import innermost, separable_windows, split_on_cpu, split_on_gpu
from kernelwright.propose.author.rules.tiles import over_tiles, reductions
from kernelwright.records.task import Task

Sites = Callable[[Expr], Sequence[Reduce]]
"""Where in an expression rules are tried."""
ProgramRule = Callable[[Program, Task, Sequence[Family]], Program]


@dataclass(frozen=True)
class Rules:
    """What is rewritten for one language."""

    algebra: tuple[Rule, ...]
    """Of a task's expressions, before they are cut into kernels. Kernels' files and the report name them."""
    reductions: tuple[tuple[Sites, tuple[Rule, ...]], ...]
    """Of each root, before a family is asked: the first rule that pays is taken at each site."""
    programs: tuple[ProgramRule, ...]
    """Of finished programs."""
    stores_shared: bool
    """Whether kernels store a product that several operations read, so that algebra would only add work."""


ALGEBRA = (
    Rule("one place of a sum", one_place),
    Rule("a sum of sums", sum_of_sums),
    Rule("a sum before a product", sum_of_products),
    Rule("a chain of products regrouped", regrouped, gain=2.0),
)
TRITON = Rules(
    ALGEBRA,
    (
        (reductions, (Rule("a product's tiles", over_tiles),)),
        (
            innermost,
            (
                Rule("moments of a product's tiles", moments_of_tiles),
                Rule("moments of stretches", moments_of_stretches),
                Rule("windows by their sides", separable_windows, gain=1.25),
                Rule("rows packed together", packed_rows),
                Rule("shares of many programs", split_on_gpu),
            ),
        ),
    ),
    (fused, laid_out),
    stores_shared=True,
)
CPP = Rules(ALGEBRA, ((innermost, (Rule("shares of many threads", split_on_cpu),)),), (fused,), stores_shared=False)
