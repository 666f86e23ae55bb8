"""Every rule, in the order in which they are tried. A rule gives the same value by less work, or None where it does not apply.

Rules hold in exact arithmetic; the referee compares every kernel with the reference in double precision all the same. To add
one: a file with a function, and a line here.
"""

from collections.abc import Callable

from kernelwright.propose.author.algebra.sum_of_products import sum_of_products
from kernelwright.propose.author.algebra.sum_of_sums import sum_of_sums
from kernelwright.propose.author.plan.expr import Expr, transform

Rule = Callable[[Expr], Expr | None]
RULES: dict[str, Rule] = {"a sum of sums": sum_of_sums, "a sum before a product": sum_of_products}
"""By what they do, in words."""


def rewritten(expr: Expr) -> Expr:
    """The expression with every rule applied wherever it can be, from the inside out."""
    return transform(expr, _changed)


def _changed(node: Expr) -> Expr:
    for rule in RULES.values():
        found = rule(node)
        if found is not None:
            return rewritten(found)
    return node
