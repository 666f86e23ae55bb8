"""Attention: softmax of scores, times values, where the scores are a product themselves.

A program keeps a block of queries and walks over the keys: the softmax is carried on from block to block, so that the scores
are never stored (Dao et al. 2022, FlashAttention, algorithm 1; Milakov and Gimelshein 2018, online softmax). Whatever is done
to the scores in between, such as a scale, a mask by position or a bias, is computed on the way.
"""

from dataclasses import dataclass
from math import inf

from kernelwright.propose.author.families.family import Match
from kernelwright.propose.author.families.product.plan import factors
from kernelwright.propose.author.plan.expr import Call, Const, Element, Expr, Index, Reduce, walk
from kernelwright.propose.author.plan.program import Part, Root, heavies

LOG2_E = 1.4426950408889634
WIDEST = 256
"""Features of a head that a program can keep."""


@dataclass(frozen=True)
class Attention:
    """Attention over [batch, queries, keys] with what is made of the result before it is stored."""

    part: Part
    node: Reduce
    """The sum over keys."""
    scores: Expr
    product: Reduce
    """Queries with keys, inside the scores."""
    queries: Expr
    keys: Expr
    values: Expr
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    """Of queries."""
    span: tuple[int, ...]
    """Of keys."""
    features: tuple[int, ...]
    columns: tuple[int, ...]
    """Of values."""

    @property
    def root(self) -> Root:
        """What is stored."""
        return self.part.roots[0]

    @property
    def causal(self) -> Expr | None:
        """The scores without their mask, where that hides every key behind its query and nothing else."""
        if len(self.rows) != 1 or len(self.span) != 1:
            return None
        seen = Call("le", (Index(self.span[0]), Index(self.rows[0])), "bool")
        match self.scores:
            case Call(op="where", args=(condition, x, Const(value=hidden))) if condition == seen and hidden == -inf:
                return x
        return None

    @property
    def spares(self) -> bool:
        """Whether the result is zero, and not what 0 / 0 is, where a query sees nothing."""
        return any(_seen(factor) is not factor for factor in self.node.arg.children)

    @property
    def number(self) -> str:
        """What the factors are multiplied as."""
        reads = [n for f in (self.queries, self.keys, self.values) for n in walk(f) if isinstance(n, Element)]
        dtypes = {self.part.argument(n).dtype for n in reads} & {"float32", "float16", "bfloat16"}
        return dtypes.pop() if len(dtypes) == 1 else "float32"


def matched(part: Part) -> Match | None:
    """The part as attention."""
    if len(part.roots) > 1 or len(part.heavies) != 1:
        return None
    (node,) = part.heavies
    pair = factors(part, node)
    if pair is None or not isinstance(node, Reduce):
        return None
    found = [(scores, other) for w, other in (pair, pair[::-1]) if (scores := _scores(w, node.over)) is not None]
    if not found:
        return None
    scores, values = found[0]
    inner = [n for n in heavies(scores) if factors(part, n)]
    if len(inner) != 1 or len(heavies(scores)) != 1 or heavies(values):
        return None
    product = inner[0]
    both = factors(part, product)
    if both is None or not isinstance(product, Reduce) or any(heavies(f) for f in both):
        return None
    keys, queries = sorted(both, key=lambda f: not set(node.over) <= f.axes)
    return _planned(part, node, product, (scores, queries, keys, values))


def _planned(part: Part, node: Reduce, product: Reduce, exprs: tuple[Expr, Expr, Expr, Expr]) -> Match | None:
    scores, queries, keys, values = exprs
    order = part.roots[0].axes
    span, features = node.over, product.over

    def along(axes: frozenset[int]) -> tuple[int, ...]:
        return tuple(a for a in order if a in axes)

    columns = along(values.axes - scores.axes)
    rows = along(queries.axes - keys.axes - values.axes)
    batch = along(frozenset(order) - set(rows) - set(columns))
    sides = set(rows) | set(columns) | set(batch)
    fits = part.count(features) <= WIDEST and part.count(columns) <= WIDEST
    shaped = sides == set(order) == set(node.axes) and len(columns) == 1 and bool(rows)
    if not fits or not shaped or set(features) & (scores.axes | set(span)) or not set(span) <= keys.axes & values.axes:
        return None
    return Match(Attention(part, node, scores, product, queries, keys, values, batch, rows, span, features, columns))


def _seen(weights: Expr) -> Expr:
    """The weights without the zeros that they are where a query sees nothing."""
    match weights:
        case Call(
            op="where", args=(Call(op="eq", args=(Reduce(op="max") as top, Const(value=least))), Const(value=0.0), x)
        ):
            return x if least == -inf and top in walk(x) else weights
    return weights


def _scores(weights: Expr, span: tuple[int, ...]) -> Expr | None:
    """x, where the weights are exp(x - max x) / sum exp(x - max x) over the keys."""
    match _seen(weights):
        case Call(
            op="div", args=(Call(op="exp", args=(Call(op="sub", args=(x, Reduce(op="max") as top)),)) as e, total)
        ):
            whole = Reduce("sum", e, top.over)
            if set(top.over) == set(span) and top.arg == x and total == whole:
                return x
    return None


def in_powers_of_two(scores: Expr) -> Expr:
    """The scores over log 2, so that a power of two is what the exponential was; a scale takes the factor into itself."""
    match scores:
        case Call(op="mul", args=(x, Const(value=scale))):
            return Call("mul", (x, Const(scale * LOG2_E)))
        case Call(op="where", args=(condition, x, Const(value=hidden))) if hidden == -inf:
            return Call("where", (condition, in_powers_of_two(x), Const(-inf)))
    return Call("mul", (scores, Const(LOG2_E)))


def scale_of(scores: Expr, product: Expr) -> float | None:
    """What the scores are the product times, where that is above zero and nothing else is done to it."""
    match scores:
        case Call(op="mul", args=(x, Const(value=scale))) if x == product and scale > 0:
            return float(scale)
    return None
