"""Rewrites: each gives the same in double precision, by less work, and only where its condition holds."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from author_cases import case, model

from kernelwright.propose.author.ir.expr import Call, Const, Element, Index, Reduce
from kernelwright.propose.author.ir.program import Root, Tensor
from kernelwright.propose.author.rules.algebra import rewritten
from kernelwright.propose.author.rules.table import ALGEBRA
from kernelwright.propose.author.search.designs import triton_design

torch = pytest.importorskip("torch")
M, K, N = 0, 1, 2
SIZES = {M: 5, K: 7, N: 11}


def tensor(name, *axes):
    return Element(name, tuple(SIZES[a] for a in axes), tuple(map(Index, axes)))


def mul(a, b):
    return Call("mul", (a, b))


def total(arg, *over):
    return Reduce("sum", arg, over)


def where_equal(first, second, value):
    return Call("where", (Call("eq", (Index(first), Index(second)), "bool"), value, Const(0.0)))


X, W, V, U, D = tensor("x", M, K), tensor("w", K, N), tensor("v", K), tensor("u", N), tensor("d", M)
MOVED = replace(W, index=(Index(M), Index(N)))
"""The rows of w that x's first axis says."""
SIZED = SimpleNamespace(size=SIZES.__getitem__)
DATA = {one.name: torch.randn(one.sizes, dtype=torch.float64) for one in (X, W, V, U, D)}
GRID = {a: torch.arange(n).reshape([n if a == b else 1 for b in SIZES]) for a, n in SIZES.items()}


def value(expr):
    """In double precision, with a dimension for every axis."""
    match expr:
        case Element(name=name, index=index):
            return DATA[name][tuple(GRID[i.axis] for i in index)]
        case Call(op="where", args=(Call(op="eq", args=(first, second)), chosen, Const())):
            return value(chosen) * (GRID[first.axis] == GRID[second.axis])
        case Call(op="mul", args=(a, b)):
            return value(a) * value(b)
        case Reduce(op="sum", arg=arg, over=over):
            return value(arg).expand(*SIZES.values()).sum(over, keepdim=True) if over else value(arg)
    raise AssertionError(expr)


def by_algebra(expr):
    """What the rules make of an expression, and their names."""
    root, rules = rewritten(Root(Tensor("out", "out", (), "float32", ()), (), expr), SIZED, ALGEBRA)
    return root.expr, rules


CHANGED = {
    "a matrix is summed before it is multiplied": (
        Reduce("sum", Reduce("sum", mul(X, W), (K,)), (N,)), Reduce("sum", mul(X, Reduce("sum", W, (N,))), (K,)),
    ),
    "so is the left one": (
        Reduce("sum", Reduce("sum", mul(X, W), (K,)), (M,)), Reduce("sum", mul(Reduce("sum", X, (M,)), W), (K,)),
    ),
    "in one sum": (Reduce("sum", mul(X, W), (K, N)), Reduce("sum", mul(X, Reduce("sum", W, (N,))), (K,))),
    "a diagonal matrix times a matrix": (total(mul(where_equal(M, K, D), W), K), mul(D, MOVED)),
    "and from the right": (total(mul(W, where_equal(K, M, D)), K), mul(D, MOVED)),
    "the sum of a diagonal": (total(where_equal(K, M, W), K, N), total(MOVED, N)),
    "a matrix times a matrix times a vector": (
        total(mul(total(mul(X, W), K), U), N), total(mul(X, total(mul(W, U), N)), K),
    ),
    "the other way about": (total(mul(U, total(mul(W, X), K)), N), total(mul(X, total(mul(W, U), N)), K)),
}  # fmt: skip
KEPT = {
    "a product": Reduce("sum", mul(X, W), (K,)),
    "a factor that runs over nothing else": Reduce("sum", mul(V, W), (K, N)),
    "the largest": Reduce("amax", mul(X, W), (K, N)),
    "a diagonal that is longer than the sum": total(mul(where_equal(K, M, V), D), M),
    "a diagonal of what is summed over its place": total(mul(where_equal(M, K, D), total(X, M)), K),
    "a chain in the better order": total(mul(X, total(mul(W, U), N)), K),
    "a chain whose last factor sums over the first one's axis": total(mul(total(mul(X, W), K), total(mul(V, W), K)), N),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_rule_gives_the_same_by_less_work(name):
    before, after = CHANGED[name]
    found, rules = by_algebra(before)
    assert found == after
    assert rules
    squeezed = [value(e)[tuple(slice(None) if a in e.axes else 0 for a in SIZES)] for e in (before, found)]
    assert torch.allclose(*squeezed, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", KEPT)
def test_where_its_condition_does_not_hold_nothing_changes(name):
    assert by_algebra(KEPT[name]) == (KEPT[name], ())


def test_the_sum_of_a_products_rows_needs_no_product():
    source = model("(x @ w).sum(1)", "torch.randn(64, 64), torch.randn(64, 64)", arguments="x, w")
    design = triton_design(case(source, "summed", "cuda").task)
    assert [kernel.family for kernel in design.program.kernels] == ["strided", "strided"]


def test_a_diagonal_needs_no_product_and_the_file_says_by_which_rule():
    source = model("torch.diag(v) @ w", "torch.randn(64), torch.randn(64, 64)", arguments="v, w")
    design = triton_design(case(source, "scaled", "cuda").task)
    assert [kernel.family for kernel in design.program.kernels] == ["strided"]
    assert "By algebra: one place of a sum." in design.write(design.default).source
    assert design.algebra == "by algebra: one place of a sum"
