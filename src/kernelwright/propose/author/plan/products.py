"""PyTorch's products as sums of products, and attention out of two of them: which kernel a sum becomes is decided later."""

from math import sqrt

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Dim, Rule, Value
from kernelwright.propose.author.plan.expr import Call, Const
from kernelwright.propose.author.plan.operations import scaled, softmax
from kernelwright.propose.author.plan.positions import plus, whole
from kernelwright.propose.author.plan.views import swapped


def product(b: Builder, left: Value, right: Value) -> Value:
    """The matrix product with leading dimensions that broadcast, and vectors as `torch.matmul` takes them."""
    right = b.renamed(right)  # or two products with one factor would take each other's axes for theirs
    vector_left, vector_right = len(left.shape) == 1, len(right.shape) == 1
    left = b.reshaped(left, ((), *left.shape)) if vector_left else left
    right = b.reshaped(right, (*right.shape, ())) if vector_right else right
    wide = b.reshaped(left, (*left.shape, ()))
    across = b.reshaped(right, (*right.shape[:-2], (), *right.shape[-2:]))
    total = b.reduce("sum", b.call("mul", wide, across), (-2,), keep=False)
    shape = list(total.shape)
    if vector_right:
        del shape[-1]
    if vector_left:
        del shape[-1 - (not vector_right)]
    return b.reshaped(total, shape)


def _matmul(left: str, right: str) -> Rule:
    return lambda b, a: product(b, a.tensor(left), a.tensor(right))


def _linear(b: Builder, a: Arguments) -> Value:
    found = product(b, a.tensor("input"), swapped(b, a.tensor("weight"), 0, 1))
    bias = a.optional("bias")
    return found if bias is None else b.call("add", found, bias)


def _added(left: str, right: str) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        found = scaled(b, product(b, a.tensor(left), a.tensor(right)), a.number("alpha", 1))
        beta = a.number("beta", 1)
        return b.value(found) if beta == 0 else b.call("add", found, scaled(b, a.tensor("self"), beta))

    return rule


def _outer(b: Builder, a: Arguments) -> Value:
    left, right = a.tensor("self"), a.tensor("vec2")
    right = b.renamed(right)
    return b.call("mul", b.reshaped(left, (left.shape[0], ())), right)


def _einsum(b: Builder, a: Arguments) -> Value:
    equation = str(a.raw("equation")).replace(" ", "")
    if "..." in equation:
        raise ProposeError("an einsum with an ellipsis")
    given, _, out = equation.partition("->")
    terms, values = given.split(","), a.tensors("tensors")
    if "->" not in equation:
        out = "".join(sorted(c for c in set(given) - {","} if given.count(c) == 1))
    if any(len(set(term)) < len(term) for term in terms):
        raise ProposeError("an einsum that takes a diagonal")
    letters = list(dict.fromkeys(out + "".join(terms)))
    found: Value | None = None
    for term, value in zip(terms, values, strict=True):
        value = value if found is None else b.renamed(value)
        dims: list[Dim] = [value.shape[term.index(c)] if c in term else () for c in letters]
        wide = b.reshaped(value, dims)
        found = wide if found is None else b.call("mul", found, wide)
    if found is None:
        raise ProposeError("an einsum of nothing")
    rest = range(len(out), len(letters))
    return b.reduce("sum", found, tuple(rest), keep=False) if rest else found


def _attention(b: Builder, a: Arguments) -> Value:
    query, key, value = a.tensor("query"), a.tensor("key"), a.tensor("value")
    if a.number("dropout_p", 0):
        raise ProposeError("attention with dropout, which is random")
    if a.flag("enable_gqa") and b.axes.size(query.shape[-3]) != b.axes.size(key.shape[-3]):
        query, key, value = _grouped(b, query, key, value)
    scale = a.number("scale", 1 / sqrt(b.axes.size(query.shape[-1]) or 1))
    scores = b.call("mul", product(b, query, swapped(b, key, -1, -2)), scale)
    if a.flag("is_causal"):
        row, column = b.position(scores.shape[-2]), b.position(scores.shape[-1])
        seen = Value(Call("le", (column, plus(row, whole(0))), "bool"), scores.shape)
        scores = b.call("where", seen, scores, float("-inf"))
    mask = a.optional("attn_mask")
    if mask is not None and mask.expr.kind == "bool":
        scores = b.call("where", mask, scores, float("-inf"))
    elif mask is not None:
        scores = b.call("add", scores, mask)
    weights = softmax(b, scores, (-1,))
    if mask is not None:
        top = b.reduce("max", scores, (-1,), keep=True)
        weights = b.call("where", b.call("eq", top, float("-inf")), 0.0, weights)  # of a query that may see nothing
    found = product(b, weights, value)
    wanted = a.tensor("query").shape
    if len(found.shape) == len(wanted):
        return found
    return b.reshaped(found, (*found.shape[:-4], (*found.shape[-4], *found.shape[-3]), *found.shape[-2:]))


def _grouped(b: Builder, query: Value, key: Value, value: Value) -> tuple[Value, Value, Value]:
    """Query heads as groups, each of which reads the same keys and values."""
    heads = b.axes.size(key.shape[-3])
    parts = b.axes.view((query.shape[-3],), (heads, -1))
    split = b.reshaped(query, (*query.shape[:-3], *parts, *query.shape[-2:]))
    wide = [b.reshaped(v, (*v.shape[:-2], (), *v.shape[-2:])) for v in (key, value)]
    return split, wide[0], wide[1]


def _dot(b: Builder, a: Arguments) -> Value:
    left = a.tensor("self")
    right = a.tensor("tensor" if a.raw("tensor") is not None else "other")
    return b.reduce("sum", b.call("mul", left, right), None, keep=False)


def _trace(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    condition = Call("eq", (b.position(x.shape[0]), b.position(x.shape[1])), "bool")
    return b.reduce("sum", Value(Call("where", (condition, x.expr, Const(0.0)), "float"), x.shape), None, keep=False)


PRODUCTS: dict[str, Rule] = {
    "aten.matmul.default": _matmul("self", "other"), "aten.mm.default": _matmul("self", "mat2"),
    "aten.bmm.default": _matmul("self", "mat2"), "aten.mv.default": _matmul("self", "vec"),
    "aten.dot.default": _dot, "aten.vdot.default": _dot, "aten.trace.default": _trace,
    "aten.linear.default": _linear,
    "aten.addmm.default": _added("mat1", "mat2"), "aten.addmv.default": _added("mat", "vec"),
    "aten.baddbmm.default": _added("batch1", "batch2"),
    "aten.outer.default": _outer, "aten.ger.default": _outer, "aten.einsum.default": _einsum,
    "aten.scaled_dot_product_attention.default": _attention,
}  # fmt: skip
