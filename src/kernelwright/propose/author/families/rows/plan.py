"""Rows of dense data: two axes, passes over each row, and what is stored; and when a graph can be planned so.

A *flat* plan has no axis of its own along the rows: all elements are alike, and a block of them plays the part of a
row.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from kernelwright.errors import ProposeError
from kernelwright.propose.author.emit.scope import identifiers
from kernelwright.propose.author.ir.axes import Axes
from kernelwright.propose.author.ir.expr import (
    COL,
    ROW,
    At,
    Call,
    Count,
    Element,
    Expr,
    Index,
    Load,
    Reduce,
    Scan,
    transform,
    walk,
)
from kernelwright.propose.author.ir.positions import quotient, remainder
from kernelwright.propose.author.ir.program import HEAVY, Tensor, in_passes
from kernelwright.propose.author.read.builder import Value
from kernelwright.propose.author.read.read import Reading, live, read
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec


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
        return in_passes(self.nodes, lambda node: node.over == (COL,))

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
        return tuple(n for n in heavy if sum(n in nodes for nodes in users) > 1)

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


def lower(task: Task) -> Plan:
    """The task's reference as a fused loop nest.

    Raises:
        ProposeError: an operation, a dtype or a pattern of axes that the author does not write.
    """
    return rows_of(task, read(task))


def rows_of(task: Task, reading: Reading, *, placed: bool = False) -> Plan:
    """The plan of a graph that was read.

    Args:
        task: Whose graph it is.
        reading: What was read.
        placed: Whether tensors may run over parts of both axes, as a factor for each channel does in rows of several channels:
            they are read at places that are worked out.

    Raises:
        ProposeError: as `lower`.
    """
    names = ", ".join(dict.fromkeys(n.op for n in live(task.graph, task.workload.state)))
    try:
        for first in reading.kept:
            raise ProposeError(f"{first.node.op} ({first.node.name}): {first.why}")
        if reading.stored or task.workload.state:
            raise ProposeError("results that others read, or state")
        _check_outputs(reading.builder.axes, reading.results, task.workload.outputs)
        return _Finish(task, reading.builder.axes, reading.results, placed).plan()
    except ProposeError as error:
        raise ProposeError(f"{task.name!r} ({names}): {error}, which the built-in author cannot write") from error


def _check_outputs(axes: Axes, results: list[Value], specs: tuple[TensorSpec, ...]) -> None:
    for value, spec in zip(results, specs, strict=True):
        shape = tuple(axes.size(dim) for dim in value.shape)
        if shape != spec.shape or not spec.floating or spec.dtype == "float64":
            raise ProposeError(f"output {spec.name!r} is {spec.dtype} of shape {list(spec.shape)}")


@dataclass
class _Finish:
    """Names the axes of all expressions `ROW` and `COL`."""

    task: Task
    axes: Axes
    results: list[Value]
    placed: bool = False

    def __post_init__(self) -> None:
        self.roots = [v.expr for v in self.results]
        self.loads = {n.name: n for n in walk(*self.roots) if isinstance(n, Load)}

    def plan(self) -> Plan:
        base = self._base()
        split = self._split(base)
        flat = split is None
        rows, cols = ((), base) if split is None else (base[:split], base[split:])
        self.parts = {
            name: self._places(load, rows, cols) for name, load in self.loads.items() if self._partial(load, rows, cols)
        }
        name = dict.fromkeys(rows, ROW) | dict.fromkeys(cols, COL)
        exprs = [self._renamed(root, name, flat) for root in self.roots]
        plan = Plan(
            name=identifiers([self.task.name])[0], flat=flat,
            rows=self.axes.size(rows), cols=self.axes.size(cols),
            arguments=tuple(self._arguments(name, flat)),
            outputs=tuple(self._outputs(exprs, name, flat)),
        )  # fmt: skip
        _check(plan)
        return plan

    def _tuples(self) -> Iterator[tuple[int, ...]]:
        """Axes of every tensor that is read or written, slowest first."""
        yield from (self.axes.resolve(load.along) for load in self.loads.values())
        yield from (self.axes.resolve(tuple(a for dim in v.shape for a in dim)) for v in self.results)

    def _base(self) -> tuple[int, ...]:
        """The axes of the largest tensor."""
        tuples = list(self._tuples())
        base = max(tuples, key=len)
        if any(len(set(t)) != len(t) for t in tuples):
            raise ProposeError("a tensor that is combined with its own transpose")
        if any(not set(t) <= set(base) for t in tuples):
            raise ProposeError("an outer product of two tensors")
        if any(tuple(a for a in base if a in t) != t for t in tuples):
            raise ProposeError("a transposed tensor")
        return base

    def _split(self, base: tuple[int, ...]) -> int | None:
        """Where the rows' axes end; None when all elements are alike."""
        overs = {frozenset(self.axes.resolve(n.over)) for n in walk(*self.roots) if isinstance(n, Reduce)}
        indexed = any(isinstance(n, At) for n in walk(*self.roots))
        tuples = {frozenset(t) for t in self._tuples()}
        if tuples | overs <= {frozenset(base), frozenset()} and not indexed:
            return None
        if self.placed:
            tuples = {frozenset(self.axes.resolve(tuple(a for dim in v.shape for a in dim))) for v in self.results}
        for split in range(len(base) - 1, 0, -1):
            parts = [frozenset(base), frozenset(base[:split]), frozenset(base[split:]), frozenset()]
            if tuples | overs <= set(parts):
                return split
        raise ProposeError("broadcasts or reductions over other than the trailing axes")

    def _partial(self, load: Load, rows: tuple[int, ...], cols: tuple[int, ...]) -> bool:
        """Whether it runs over a part of an axis of the plan."""
        own = frozenset(self.axes.resolve(load.along))
        return any(own & set(side) not in (frozenset(), frozenset(side)) for side in (rows, cols))

    def _places(self, load: Load, rows: tuple[int, ...], cols: tuple[int, ...]) -> Element:
        """The load at positions that follow from those along the plan's axes."""
        own = self.axes.resolve(load.along)
        if load.at is not None:
            raise ProposeError("a gather along a part of a row")
        where = self._digits(rows, ROW) | self._digits(cols, COL)
        return Element(load.name, tuple(self.axes.size((a,)) for a in own), tuple(where[a] for a in own), load.kind)

    def _digits(self, side: tuple[int, ...], whole: int) -> dict[int, Expr]:
        """The position along each axis that one of the plan's is made of."""
        found: dict[int, Expr] = {}
        for number, axis in enumerate(side):
            position = quotient(Index(whole), self.axes.size(side[number + 1 :]))
            found[axis] = remainder(position, self.axes.size((axis,))) if number else position
        return found

    def _renamed(self, root: Expr, name: dict[int, int], flat: bool) -> Expr:
        def axes(old: tuple[int, ...]) -> tuple[int, ...]:
            new = tuple(sorted({name[a] for a in self.axes.resolve(old)}))
            return (ROW, COL) if flat and new else new

        def change(node: Expr) -> Expr:
            match node:
                case Load():
                    return self.parts.get(node.name) or replace(node, along=axes(node.along))
                case Count():
                    return Count(axes(node.over))
                case Reduce():
                    return _nested(Reduce(node.op, node.arg, axes(node.over)))
                case At():
                    return _picked(node, axes((node.axis,)))
                case Index() | Scan():
                    raise ProposeError("an element that depends on its position")
            return node

        return transform(root, change)

    def _arguments(self, name: dict[int, int], flat: bool) -> Iterator[Tensor]:
        specs = (*self.task.workload.tensors, *self.task.workload.parameters)
        for spec, identifier in zip(specs, identifiers([s.name for s in specs]), strict=True):
            load, part = self.loads.get(spec.name), spec.name in self.parts
            old = self.axes.resolve(load.along) if load and not part else ()
            along = tuple(sorted({name[a] for a in old}))
            along = (ROW, COL) if flat and along else along
            yield Tensor(spec.name, identifier, spec.shape, spec.dtype, along, spec.domain, placed=part)

    def _outputs(self, exprs: list[Expr], name: dict[int, int], flat: bool) -> Iterator[Output]:
        specs = self.task.workload.outputs
        for at, (value, spec, expr) in enumerate(zip(self.results, specs, exprs, strict=True)):
            old = self.axes.resolve(tuple(a for dim in value.shape for a in dim))
            along = tuple(sorted({name[a] for a in old}))
            along = (ROW, COL) if flat and along else along
            identifier = "out" if len(specs) == 1 else f"out{at}"
            yield Output(Tensor(spec.name, identifier, spec.shape, spec.dtype, along), expr)


def _picked(node: At, axis: tuple[int, ...]) -> Expr:
    if axis != (COL,) or node.inside is not None or any(isinstance(n, Index) for n in walk(node.index)):
        raise ProposeError("a gather along other than the last axis")
    return _indexed(node.arg, node.index)


def _nested(node: Reduce) -> Expr:
    """Rows first, then over rows; an operand that does not vary is counted instead of added up."""
    out = node.arg
    for axis in reversed(node.over):
        if axis in out.axes:
            out = Reduce(node.op, out, (axis,))
        elif node.op == "sum":
            out = Call("mul", (out, Count((axis,))))
    return out


def _indexed(arg: Expr, index: Expr) -> Expr:
    """`arg` with its index along `COL` replaced; reductions over `COL` do not see it."""
    if COL not in arg.axes:
        return arg
    match arg:
        case Load():
            return replace(arg, at=index)
        case Call():
            return replace(arg, args=tuple(_indexed(a, index) for a in arg.args))
    raise ProposeError("a gather of a gather")


def _check_operation(node: Expr) -> None:
    if isinstance(node, Reduce) and (node.op == "prod" or node.kind != "float"):
        raise ProposeError(f"a reduction by {node.op} of {node.kind} elements")
    if isinstance(node, Call) and node.kind == "int" and node.op != "where":
        raise ProposeError(f"{node.op} of {node.kind} elements")


DTYPES = frozenset({"float32", "float16", "bfloat16", "int64", "int32", "bool"})


def _check(plan: Plan) -> None:
    """Refuse what needs a second sweep over all rows, or a reduction across rows of each column."""
    places = {n.key for e in plan.nodes if isinstance(e, Element) for n in walk(*e.index)}
    for node in plan.nodes:
        if node.key in places:
            continue
        _check_operation(node)
        if isinstance(node, Reduce) and node.over == (ROW,) and COL in node.axes:
            raise ProposeError("a reduction over leading axes that keeps the last one")
        inner = any(isinstance(n, Reduce) and n.over == (ROW,) for n in walk(*node.children))
        if inner and (node.axes or isinstance(node, Reduce)):
            raise ProposeError("an element that needs a reduction over all rows first")
    _check_tensors(plan)


def _check_tensors(plan: Plan) -> None:
    if any((t.along or t.placed) and t.dtype not in DTYPES for t in plan.arguments):
        raise ProposeError("integers of less than 32 bits")
    if not any(len(t.along) == 2 for t in plan.arguments):
        raise ProposeError("no input runs over all elements")
    for output in plan.outputs:
        if output.tensor.along == (COL,):
            raise ProposeError("an output without the leading axes")
