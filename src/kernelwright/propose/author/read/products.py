"""PyTorch's products as sums of products, and attention out of two of them: which kernel a sum becomes is decided later."""

from collections.abc import Sequence
from math import sqrt

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.expr import Call
from kernelwright.propose.author.ir.positions import plus, whole
from kernelwright.propose.author.read.builder import Arguments, Builder, Rule, Value, call
from kernelwright.propose.author.read.pointwise import scaled
from kernelwright.propose.author.read.reductions import softmax
from kernelwright.propose.author.read.views import swapped


def product(b: Builder, left: Value, right: Value) -> Value:
    """The matrix product with leading dimensions that broadcast, and vectors as `torch.matmul` takes them."""
    right = b.renamed(right)  # or two products with one factor would take each other's axes for theirs
    vector_left, vector_right = len(left.shape) == 1, len(right.shape) == 1
    left = left.shaped(((), *left.shape)) if vector_left else left
    right = right.shaped((*right.shape, ())) if vector_right else right
    across = right.shaped((*right.shape[:-2], (), *right.shape[-2:]))
    total = b.reduce("sum", left.shaped((*left.shape, ())) * across, (-2,), keep=False)
    total = total.spliced(-1) if vector_right else total
    return total.spliced(-1 if vector_right else -2) if vector_left else total


def _matmul(left: str, right: str) -> Rule:
    return lambda b, a: product(b, a.tensor(left), a.tensor(right))


def _linear(b: Builder, a: Arguments) -> Value:
    found, bias = product(b, a.tensor("input"), swapped(a.tensor("weight"), 0, 1)), a.optional("bias")
    return found if bias is None else found + bias


def _added(left: str, right: str) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        found, beta = product(b, a.tensor(left), a.tensor(right)), a.number("beta", 1)
        found = b.value(scaled(b, found, a.number("alpha", 1)))
        return found if beta == 0 else found + scaled(b, a.tensor("self"), beta)

    return rule


def _outer(b: Builder, a: Arguments) -> Value:
    left = a.tensor("self")
    return left.shaped((left.shape[0], ())) * b.renamed(a.tensor("vec2"))


def _einsum(b: Builder, a: Arguments) -> Value:
    values = a.tensors("tensors")
    terms, out = _subscripts(str(a.raw("equation")).replace(" ", ""), [len(v.shape) for v in values])
    letters = list(dict.fromkeys(out + "".join(terms)))
    found: Value | None = None
    for term, value in zip(terms, values, strict=True):
        term, value = _diagonals(b, term, value if found is None else b.renamed(value))
        wide = value.shaped([value.shape[term.index(c)] if c in term else () for c in letters])
        found = wide if found is None else found * wide
    if found is None:
        raise ProposeError("an einsum of nothing")
    rest = range(len(out), len(letters))
    return b.reduce("sum", found, tuple(rest), keep=False) if rest else found


def _subscripts(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Each operand's letters and the result's; what an ellipsis stands for has digits, aligned at the last one."""
    given, arrow, out = equation.partition("->")
    if not arrow:
        single = sorted(c for c in {*given} - {*",."} if given.count(c) == 1)
        out = "".join(["..." if "..." in given else "", *single])
    terms = given.split(",")
    hidden = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    digits = [
        chr(ord("0") + n) for n in range(max((h for h, t in zip(hidden, terms, strict=True) if "..." in t), default=0))
    ]
    spelled = [t.replace("...", "".join(digits[len(digits) - h :])) for h, t in zip(hidden, terms, strict=True)]
    return spelled, out.replace("...", "".join(digits))


def _diagonals(b: Builder, term: str, value: Value) -> tuple[str, Value]:
    """The operand where all positions of a letter that stands twice are one."""
    for at in reversed(range(len(term))):
        if (first := term.index(term[at])) < at:
            value = b.pick(value, at, b.position(value.shape[first]), ())
            value = value.spliced(at)
            term = term[:at] + term[at + 1 :]
    return term, value


def _attention(b: Builder, a: Arguments) -> Value:
    query, key, value = a.tensor("query"), a.tensor("key"), a.tensor("value")
    if a.number("dropout_p", 0):
        raise ProposeError("attention with dropout, which is random")
    if a.flag("enable_gqa") and query.size(-3) != key.size(-3):
        query, key, value = _grouped(b, query, key, value)
    scale = a.number("scale", 1 / sqrt(query.size(-1) or 1))
    scores = product(b, query, swapped(key, -1, -2)) * scale
    if a.flag("is_causal"):
        row, column = b.position(scores.shape[-2]), b.position(scores.shape[-1])
        seen = scores.with_expr(Call("le", (column, plus(row, whole(0))), "bool"))
        scores = call("where", seen, scores, float("-inf"))
    mask = a.optional("attn_mask")
    if mask is not None and mask.expr.kind == "bool":
        scores = call("where", mask, scores, float("-inf"))
    elif mask is not None:
        scores = scores + mask
    weights = softmax(scores, (-1,))
    if mask is not None:
        top = b.reduce("max", scores, (-1,), keep=True)
        weights = call("where", call("eq", top, float("-inf")), 0.0, weights)  # of a query that may see nothing
    found = product(b, weights, value)
    return found if len(found.shape) == len(a.tensor("query").shape) else found.merged(-4)


def _grouped(b: Builder, query: Value, key: Value, value: Value) -> tuple[Value, Value, Value]:
    """Query heads as groups, each of which reads the same keys and values."""
    split = query.spliced(-3, *b.axes.view((query.shape[-3],), (key.size(-3), -1)))
    key, value = (v.shaped((*v.shape[:-2], (), *v.shape[-2:])) for v in (key, value))
    return split, key, value


def _dot(b: Builder, a: Arguments) -> Value:
    right = a.tensor("other" if a.raw("tensor") is None else "tensor")
    return b.reduce("sum", a.tensor("self") * right, None, keep=False)


def _trace(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    condition = Call("eq", (b.position(x.shape[0]), b.position(x.shape[1])), "bool")
    return b.reduce("sum", x.where(condition), None, keep=False)


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
