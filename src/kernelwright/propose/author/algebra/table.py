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
from kernelwright.propose.author.plan.expr import Expr, Reduce, Size, transform
from kernelwright.propose.author.plan.program import heavies

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


def rewritten(expr: Expr, size: Size, stored: frozenset[str] = frozenset()) -> Rewritten:
    """The expression with every rule applied wherever it can be, from the inside out.

    What reduces a value that is `stored` anyway stays: to make it of something else would be more work, not less.
    """
    used: dict[str, None] = {}

    def changed(node: Expr) -> Expr:
        if isinstance(node, Reduce) and stored and any(inner.key in stored for inner in heavies(node.arg)):
            return node
        for name, rule in RULES.items():
            found = rule(node, size)
            if found is not None:
                used[name] = None
                return transform(found, changed)
        return node

    return Rewritten(transform(expr, changed), tuple(used))
