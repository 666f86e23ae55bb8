"""Rewrites of expressions that a compiler does not make: the same value by less work.

They hold in exact arithmetic; the referee compares every kernel with the reference in double precision all the same. Nothing
is stored first.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from kernelwright.propose.author.ir.expr import Call, Const, Expr, Index, Reduce, Size, transform, walk
from kernelwright.propose.author.ir.program import Root, heavies
from kernelwright.propose.author.rules.rule import Cut, Lowering, Rule, Site, instead


def one_place(site: Site) -> Cut | None:
    """sum_k [i = k] a_k b_k = a_i b_i, where i is a position outside of the sum and never beyond the end of k."""
    over, size = site.node.over, site.lowering.size
    match site.node:
        case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(a, b))):
            for chosen, other in ((a, b), (b, a)):
                if (found := _chosen(chosen, over, size)) is not None:
                    value, inner, outer = found
                    return _without(site.node, Call("mul", (value, other)), inner, outer)
        case Reduce(op="sum", kind="float", arg=arg) if (found := _chosen(arg, over, size)) is not None:
            return _without(site.node, *found)
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


def _without(whole: Reduce, summed: Expr, inner: int, outer: int) -> Cut | None:
    """The sum without one of its axes, at the position of another; None where something beneath sums over that other one."""
    if any(isinstance(node, Reduce) and outer in node.over for node in walk(summed)):
        return None
    moved = transform(summed, lambda node: Index(outer) if node == Index(inner) else node)
    left = tuple(axis for axis in whole.over if axis != inner)
    return instead(whole, Reduce("sum", moved, left) if left else moved)


def sum_of_sums(site: Site) -> Cut | None:
    """sum_i sum_j a b = sum_ij a b, where it makes room for a sum before the product: a factor lacks i."""
    match site.node:
        case Reduce(
            op="sum", kind="float", arg=Reduce(op="sum", kind="float", arg=Call(op="mul", args=(a, b))) as inner
        ):
            outer = set(site.node.over)
            if outer.isdisjoint(inner.over) and any(outer.isdisjoint(factor.axes) for factor in (a, b)):
                return instead(site.node, Reduce("sum", inner.arg, (*site.node.over, *inner.over)))
    return None


def sum_of_products(site: Site) -> Cut | None:
    """sum_ij a_ik b_ij = sum_i a_ik sum_j b_ij, where both factors run over i, and the other one over a k that b lacks."""
    match site.node:
        case Reduce(op="sum", kind="float", arg=Call(op="mul", kind="float", args=(left, right)), over=over):
            for alone, other, first in ((left, right, False), (right, left, True)):
                apart = tuple(axis for axis in over if axis in alone.axes and axis not in other.axes)
                shared = tuple(axis for axis in over if axis not in apart)
                if apart and shared and set(shared) <= alone.axes & other.axes and other.axes - alone.axes:
                    summed = Reduce("sum", alone, apart)
                    factors = (other, summed) if first else (summed, other)
                    return instead(site.node, Reduce("sum", Call("mul", factors), shared))
    return None


def regrouped(site: Site) -> Cut | None:
    """sum_k (sum_j a_ij b_jk) c_kl = sum_j a_ij (sum_k b_jk c_kl), which may multiply less."""
    orders: list[Expr] = []
    match site.node:
        case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(first, second)), over=outer):
            for chain, last in ((first, second), (second, first)):
                match chain:
                    case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(a, b)), over=inner):
                        found = (_grouped(left, right, last, inner, outer) for left, right in ((a, b), (b, a)))
                        orders += [one for one in found if one is not None]
    if not orders:
        return None
    least = min(orders, key=lambda one: _work(one, site.lowering.size))
    return instead(site.node, least, *(_work(one, site.lowering.size) for one in (site.node, least)))


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


def rewritten(
    root: Root, lowering: Lowering, rules: Sequence[Rule], stored: frozenset[str] = frozenset()
) -> tuple[Root, tuple[str, ...]]:
    """The root with every rule applied wherever it can be, from the inside out; and the names of those that were.

    What reduces a value that is `stored` anyway stays: to make it of something else would be more work, not less.
    """
    used: dict[str, None] = {}

    def changed(node: Expr) -> Expr:
        if not isinstance(node, Reduce) or any(inner.key in stored for inner in heavies(node.arg)):
            return node
        for rule in rules:
            cut = rule.apply(Site(node, root, lowering))
            if cut is not None and rule.pays(cut):
                used[rule.name] = None
                found = cut.then()
                assert not isinstance(found, Cut), "algebra stores nothing"
                return transform(found[node.key], changed)
        return node

    return replace(root, expr=transform(root.expr, changed)), tuple(used)
