"""Every rule, in the order in which they are tried. A rule gives the same value by less work, or None where it does not apply.

Rules hold in exact arithmetic; the referee compares every kernel with the reference in double precision all the same. To add
one: a file with a function, and a line here.
"""

from collections.abc import Callable
from typing import NamedTuple

from kernelwright.propose.author.algebra.one_place import one_place
from kernelwright.propose.author.algebra.regrouped import regrouped
from kernelwright.propose.author.algebra.sum_of_products import sum_of_products
from kernelwright.propose.author.algebra.sum_of_sums import sum_of_sums
from kernelwright.propose.author.plan.expr import Expr, Size, transform

Rule = Callable[[Expr, Size], Expr | None]
RULES: dict[str, Rule] = {
    "one place of a sum": one_place,
    "a sum of sums": sum_of_sums,
    "a sum before a product": sum_of_products,
    "a chain of products regrouped": regrouped,
}
"""By what they do, in the words that a kernel's file and the report say."""


class Rewritten(NamedTuple):
    """An expression, and the rules that led to it."""

    expr: Expr
    rules: tuple[str, ...]


def rewritten(expr: Expr, size: Size) -> Rewritten:
    """The expression with every rule applied wherever it can be, from the inside out."""
    used: dict[str, None] = {}

    def changed(node: Expr) -> Expr:
        for name, rule in RULES.items():
            found = rule(node, size)
            if found is not None:
                used[name] = None
                return transform(found, changed)
        return node

    return Rewritten(transform(expr, changed), tuple(used))
