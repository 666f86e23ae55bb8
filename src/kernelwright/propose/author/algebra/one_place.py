"""A sum in which a condition leaves one place needs no sum: a diagonal matrix times a matrix, a trace, a one-hot choice."""

from kernelwright.propose.author.plan.expr import Call, Const, Expr, Index, Reduce, Size, transform, walk


def one_place(node: Expr, size: Size) -> Expr | None:
    """sum_k [i = k] a_k b_k = a_i b_i, where i is a position outside of the sum and never beyond the end of k."""
    match node:
        case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(a, b)), over=over):
            for chosen, other in ((a, b), (b, a)):
                if (found := _chosen(chosen, over, size)) is not None:
                    value, inner, outer = found
                    return _without(Call("mul", (value, other)), over, inner, outer)
        case Reduce(op="sum", kind="float", arg=arg, over=over) if (found := _chosen(arg, over, size)) is not None:
            return _without(found[0], over, *found[1:])
    return None


def _chosen(expr: Expr, over: tuple[int, ...], size: Size) -> tuple[Expr, int, int] | None:
    """What is summed where two positions are equal, the one of the sum, and the one outside of it."""
    match expr:
        case Call(
            op="where", args=(Call(op="eq", args=(Index(axis=first), Index(axis=second))), value, Const(value=0.0))
        ):
            for inner, outer in ((first, second), (second, first)):
                if inner in over and outer not in over and size(outer) <= size(inner):
                    return value, inner, outer
    return None


def _without(summed: Expr, over: tuple[int, ...], inner: int, outer: int) -> Expr | None:
    """The sum without one of its axes, at the position of another; None where something beneath sums over that other one."""
    if any(isinstance(node, Reduce) and outer in node.over for node in walk(summed)):
        return None
    moved = transform(summed, lambda node: Index(outer) if node == Index(inner) else node)
    left = tuple(axis for axis in over if axis != inner)
    return Reduce("sum", moved, left) if left else moved
