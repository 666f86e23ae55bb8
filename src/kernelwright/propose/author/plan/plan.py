"""The plan: two axes, passes over each row, and what is stored. Plain data, made by `plan.lower`.

A *flat* plan has no axis of its own along the rows: all elements are alike, and a block of them plays the part of a
row.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from kernelwright.propose.author.plan.expr import COL, ROW, Call, Element, Expr, Load, Reduce, transform, walk
from kernelwright.records.tensor import Domain, DType

HEAVY = frozenset({"exp", "expm1", "log", "log1p", "tanh", "sigmoid", "softplus", "erf", "normal_cdf", "sin", "cos"})
"""Calls that cost tens of instructions."""
NARROW: frozenset[DType] = frozenset({"float16", "bfloat16"})
"""Floating types that are stored, but not computed with."""
WIDENED: frozenset[DType] = NARROW | {"float8_e4m3fn"}
"""The same for Triton, which has one of eight bits too."""


@dataclass(frozen=True)
class Tensor:
    """A tensor argument or result under the identifier that the source uses."""

    name: str
    identifier: str
    shape: tuple[int, ...]
    dtype: DType
    along: tuple[int, ...]
    """The plan's axes that it runs over."""
    domain: Domain = Domain.REAL
    rounded: bool = False
    """Whether its numbers have no more digits than TF32's: only of buffers between kernels."""
    placed: bool = False
    """Whether it runs over a part of an axis, and is read at places that are worked out."""


@dataclass(frozen=True)
class Output:
    """A result and the expression of one element."""

    tensor: Tensor
    expr: Expr


@dataclass(frozen=True)
class Fusion:
    """Two row reductions of which the second needs the first, but which one pass can make together.

    `softmax`: max, and sum of exp(x - max) (Milakov and Gimelshein 2018, algorithm 3). `variance`: sum,
    and sum of squared distances from the mean (Chan, Golub and LeVeque 1983, pairwise update).
    """

    kind: Literal["softmax", "variance"]
    first: Reduce
    second: Reduce
    element: Expr
    """x, in both."""


@dataclass(frozen=True)
class Plan:
    """A fused loop nest."""

    name: str
    flat: bool
    rows: int
    cols: int
    """Elements of a row; of everything when flat."""
    arguments: tuple[Tensor, ...]
    """In the order of the calling convention."""
    outputs: tuple[Output, ...]

    @cached_property
    def nodes(self) -> list[Expr]:
        """Every distinct expression, children first."""
        return walk(*(o.expr for o in self.outputs))

    @cached_property
    def passes(self) -> tuple[tuple[Reduce, ...], ...]:
        """Row reductions, grouped into passes: each needs only what earlier passes gave."""
        depth: dict[str, int] = {}
        groups: list[list[Reduce]] = []
        for node in self.nodes:
            below = max((depth[child.key] for child in node.children), default=0)
            depth[node.key] = below
            if isinstance(node, Reduce) and node.over == (COL,):
                depth[node.key] = below + 1
                groups += [[]] * (len(groups) <= below)
                groups[below] = [*groups[below], node]
        return tuple(tuple(group) for group in groups)

    @cached_property
    def totals(self) -> tuple[Reduce, ...]:
        """Reductions over rows."""
        return tuple(n for n in self.nodes if isinstance(n, Reduce) and n.over == (ROW,))

    @cached_property
    def fusion(self) -> Fusion | None:
        """The first pair of passes that one pass can make, if there is one."""
        if self.flat:
            return None
        pairs = ((a, b) for a in self._reductions for b in self._reductions)
        return next((f for a, b in pairs if (f := _softmax(a, b) or _variance(a, b))), None)

    @property
    def placed(self) -> bool:
        """Whether something is read at places that are worked out."""
        return any(tensor.placed for tensor in self.arguments)

    @property
    def meets_once(self) -> bool:
        """Whether what each block of a row tells of itself makes every reduction of the row, and elements come after them."""
        second = self.fusion.second if self.fusion else None
        waits = [r for group in self.passes[1:] for r in group if r != second]
        elements_alone = bool(self.stored) and not self.per_row and not self.totals
        return not self.flat and bool(self.passes) and not waits and elements_alone

    @property
    def _reductions(self) -> Iterable[Reduce]:
        return (r for group in self.passes for r in group)

    @property
    def stored(self) -> tuple[Output, ...]:
        """Outputs with an element for every element of a row."""
        return tuple(o for o in self.outputs if COL in o.tensor.along)

    @property
    def per_row(self) -> tuple[Output, ...]:
        """Outputs with one element for each row."""
        return tuple(o for o in self.outputs if o.tensor.along == (ROW,))

    @property
    def scalars(self) -> tuple[Output, ...]:
        """Outputs of a single element."""
        return tuple(o for o in self.outputs if not o.tensor.along)

    @cached_property
    def reused(self) -> tuple[Expr, ...]:
        """Costly element expressions that more than one pass needs: worth keeping in a buffer."""
        if self.flat or not self.passes:
            return ()
        users = [walk(*(r.arg for r in group)) for group in self.passes]
        users.append(walk(*(o.expr for o in self.stored)))
        heavy = [n for n in self.nodes if isinstance(n, Call) and n.axes == {ROW, COL} and n.op in HEAVY]
        return tuple(n for n in heavy if sum(_computes(n, nodes) for nodes in users) > 1)

    @cached_property
    def divides_by_rows(self) -> bool:
        """Whether an element is divided by something that its whole row shares."""
        return any(is_row_division(n) for n in self.nodes)

    @property
    def calls(self) -> frozenset[str]:
        """Names of the pointwise operations in use."""
        return frozenset(n.op for n in self.nodes if isinstance(n, Call))

    def argument(self, load: Load | Element) -> Tensor:
        """The tensor that a load reads."""
        return next(t for t in self.arguments if t.name == load.name)


def is_row_division(node: Expr) -> bool:
    """Whether `node` divides an element by a value of its row."""
    return isinstance(node, Call) and node.op == "div" and COL in node.args[0].axes and node.args[1].axes == {ROW}


def with_reciprocals(plan: Plan) -> Plan:
    """The plan with one division for each row, and products in place of the others."""

    def change(node: Expr) -> Expr:
        if isinstance(node, Call) and is_row_division(node):
            return Call("mul", (node.args[0], Call("reciprocal", (node.args[1],))))
        return node

    return replace(plan, outputs=tuple(Output(o.tensor, transform(o.expr, change)) for o in plan.outputs))


def outside(root: Expr, stop: tuple[int, ...]) -> list[Expr]:
    """Nodes under `root` that are computed with it: nothing below a reduction over `stop`."""
    out: dict[str, Expr] = {}
    todo = [root]
    while todo:
        node = todo.pop()
        if node.key not in out:
            out[node.key] = node
            todo += [] if isinstance(node, Reduce) and node.over == stop else node.children
    return list(out.values())


def _computes(node: Expr, nodes: list[Expr]) -> bool:
    return node in nodes


def _softmax(first: Reduce, second: Reduce) -> Fusion | None:
    match second.arg:
        case Call(op="exp", args=(Call(op="sub", args=(x, m)),)) if (
            second.op == "sum" and first.op == "max" and m == first and x == first.arg
        ):
            return Fusion("softmax", first, second, x)
    return None


def _variance(first: Reduce, second: Reduce) -> Fusion | None:
    match second.arg:
        case Call(op="mul", args=(Call(op="sub", args=(x, Call(op="div", args=(s, _)))) as d, e)) if (
            d == e and first.op == "sum" and second.op == "sum" and s == first and x == first.arg
        ):
            return Fusion("variance", first, second, x)
    return None
