"""A sum of sums of products is one sum over all of their axes, where no axis is summed twice."""

from kernelwright.propose.author.plan.expr import Call, Expr, Reduce, Size


def sum_of_sums(node: Expr, size: Size) -> Expr | None:
    """sum_i sum_j a b = sum_ij a b, where it makes room for a sum before the product: a factor lacks i."""
    match node:
        case Reduce(
            op="sum", kind="float", arg=Reduce(op="sum", kind="float", arg=Call(op="mul", args=(a, b))) as inner
        ):
            outer = set(node.over)
            if outer.isdisjoint(inner.over) and any(outer.isdisjoint(factor.axes) for factor in (a, b)):
                return Reduce("sum", inner.arg, (*node.over, *inner.over))
    return None
