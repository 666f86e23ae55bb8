"""Rewrites: each gives the same in double precision, by less work, and only where its condition holds."""

import pytest
from author_cases import case, model

from kernelwright.propose.author.algebra.table import rewritten
from kernelwright.propose.author.designs import triton_design
from kernelwright.propose.author.plan.expr import Call, Element, Index, Reduce

torch = pytest.importorskip("torch")
M, K, N = 0, 1, 2
SIZES = {M: 5, K: 7, N: 11}


def tensor(name, *axes):
    return Element(name, tuple(SIZES[a] for a in axes), tuple(map(Index, axes)))


def mul(a, b):
    return Call("mul", (a, b))


X, W, V = tensor("x", M, K), tensor("w", K, N), tensor("v", K)
DATA = {name: torch.randn([SIZES[a] for a in axes], dtype=torch.float64) for name, axes in
        (("x", (M, K)), ("w", (K, N)), ("v", (K,)))}  # fmt: skip


def value(expr):
    """In double precision, with a dimension for every axis."""
    match expr:
        case Element(name=name, index=index):
            axes = [i.axis for i in index]
            return DATA[name].reshape([SIZES[a] if a in axes else 1 for a in SIZES])
        case Call(op="mul", args=(a, b)):
            return value(a) * value(b)
        case Reduce(op="sum", arg=arg, over=over):
            return value(arg).expand(*SIZES.values()).sum(over, keepdim=True) if over else value(arg)
    raise AssertionError(expr)


CHANGED = {
    "a matrix is summed before it is multiplied": (
        Reduce("sum", Reduce("sum", mul(X, W), (K,)), (N,)), Reduce("sum", mul(X, Reduce("sum", W, (N,))), (K,)),
    ),
    "so is the left one": (
        Reduce("sum", Reduce("sum", mul(X, W), (K,)), (M,)), Reduce("sum", mul(Reduce("sum", X, (M,)), W), (K,)),
    ),
    "in one sum": (Reduce("sum", mul(X, W), (K, N)), Reduce("sum", mul(X, Reduce("sum", W, (N,))), (K,))),
}  # fmt: skip
KEPT = {
    "a product": Reduce("sum", mul(X, W), (K,)),
    "a factor that runs over nothing else": Reduce("sum", mul(V, W), (K, N)),
    "the largest": Reduce("amax", mul(X, W), (K, N)),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_rule_gives_the_same_by_less_work(name):
    before, after = CHANGED[name]
    found = rewritten(before)
    assert found == after
    squeezed = [value(e)[tuple(slice(None) if a in e.axes else 0 for a in SIZES)] for e in (before, found)]
    assert torch.allclose(*squeezed, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", KEPT)
def test_where_its_condition_does_not_hold_nothing_changes(name):
    assert rewritten(KEPT[name]) == KEPT[name]


def test_the_sum_of_a_products_rows_needs_no_product():
    source = model("(x @ w).sum(1)", "torch.randn(64, 64), torch.randn(64, 64)", arguments="x, w")
    design = triton_design(case(source, "summed", "cuda").task)
    assert [kernel.family for kernel in design.program.kernels] == ["strided", "strided"]
