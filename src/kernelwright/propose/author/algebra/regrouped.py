"""A chain of matrix products in the order that multiplies least: (A B) v as A (B v), and Q K^T V without a large Q K^T."""

from math import prod

from kernelwright.propose.author.plan.expr import Call, Expr, Reduce, Size

LESS = 2
"""How many times less must be multiplied, before the order that a person wrote is left."""


def regrouped(node: Expr, size: Size) -> Expr | None:
    """sum_k (sum_j a_ij b_jk) c_kl = sum_j a_ij (sum_k b_jk c_kl), where that multiplies less."""
    match node:
        case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(first, second)), over=outer):
            for chain, last in ((first, second), (second, first)):
                match chain:
                    case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(a, b)), over=inner):
                        for left, right in ((a, b), (b, a)):
                            found = _grouped(left, right, last, inner, outer)
                            if found is not None and LESS * _work(found, size) <= _work(node, size):
                                return found
    return None


def _grouped(left: Expr, right: Expr, last: Expr, inner: tuple[int, ...], outer: tuple[int, ...]) -> Expr | None:
    """The left factor times the product of the other two, where each of the two sums is over what both of its factors have."""
    apart = (left.axes | left.bound).isdisjoint(outer) and (last.axes | last.bound).isdisjoint(inner)
    if not apart or not set(outer) <= right.axes & last.axes or not set(inner) <= left.axes & right.axes:
        return None
    return Reduce("sum", Call("mul", (left, Reduce("sum", Call("mul", (right, last)), outer))), inner)


def _work(node: Expr, size: Size) -> int:
    """Multiplications of the sums of two products, one within the other."""
    done = 0
    while isinstance(node, Reduce) and isinstance(node.arg, Call):
        done += prod(size(axis) for axis in node.arg.axes)
        node = next((part for part in node.arg.args if _is_product(part)), node.arg)
    return done


def _is_product(node: Expr) -> bool:
    return isinstance(node, Reduce) and node.op == "sum" and isinstance(node.arg, Call) and node.arg.op == "mul"
