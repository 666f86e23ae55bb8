"""What only one factor runs over is summed before the product: the rows of a matrix before it is multiplied with a vector."""

from kernelwright.propose.author.plan.expr import Call, Expr, Reduce, Size


def sum_of_products(node: Expr, size: Size) -> Expr | None:
    """sum_ij a_ik b_ij = sum_i a_ik sum_j b_ij, where both factors run over i, and the other one over a k that b lacks."""
    match node:
        case Reduce(op="sum", kind="float", arg=Call(op="mul", kind="float", args=(left, right)), over=over):
            for alone, other, first in ((left, right, False), (right, left, True)):
                apart = tuple(axis for axis in over if axis in alone.axes and axis not in other.axes)
                shared = tuple(axis for axis in over if axis not in apart)
                if apart and shared and set(shared) <= alone.axes & other.axes and other.axes - alone.axes:
                    summed = Reduce("sum", alone, apart)
                    return Reduce("sum", Call("mul", (other, summed) if first else (summed, other)), shared)
    return None
