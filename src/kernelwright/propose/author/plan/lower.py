"""From the OpGraph to the plan: read every operation, then find the two axes that all tensors share.

An operation that the author cannot write is named in the error.
"""

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Axes, Value
from kernelwright.propose.author.plan.expr import (
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
from kernelwright.propose.author.plan.plan import Output, Plan, Tensor
from kernelwright.propose.author.plan.positions import quotient, remainder
from kernelwright.propose.author.plan.read import Reading, live, read
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec


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


RESERVED = frozenset({
    "alignas", "and", "asm", "auto", "bool", "case", "catch", "char", "class", "const", "default",
    "delete", "do", "double", "enum", "explicit", "extern", "float", "for", "friend", "goto", "inline",
    "int", "long", "mutable", "namespace", "new", "not", "operator", "or", "private", "public",
    "register", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw",
    "true", "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "out",
    "rows", "cols", "row", "col", "begin", "end", "block", "exp", "log", "erf", "tanh", "sqrt", "abs",
    "max", "min", "main", "std", "fast", "tl", "torch", "triton",
})  # fmt: skip
"""Words that mean something else in the sources."""


def identifiers(names: list[str]) -> list[str]:
    """Names as identifiers of both languages, all different."""
    out: list[str] = []
    for name in names:
        plain = re.sub(r"\W|^(?=\d)", "_", name).strip("_") or "x"
        while plain in out or plain in RESERVED or keyword.iskeyword(plain):
            plain += "_"
        out.append(plain)
    return out
