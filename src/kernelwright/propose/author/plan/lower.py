"""From the OpGraph to the plan: read every operation, then find the two axes that all tensors share.

An operation that the author cannot write is named in the error.
"""

import keyword
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Axes, Builder, Result, Rule, Value, as_float
from kernelwright.propose.author.plan.expr import COL, ROW, At, Call, Count, Expr, Load, Reduce, transform, walk
from kernelwright.propose.author.plan.operations import LOSSES, POINTWISE, REDUCTIONS
from kernelwright.propose.author.plan.plan import Output, Plan, Tensor
from kernelwright.records.graph import OpGraph, OpNode, Ref
from kernelwright.records.graph import Value as Literal
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec


def _same(b: Builder, a: Arguments) -> Value:
    name = "self" if a.raw("self") is not None else "input"
    return a.tensor(name)


def _dropout(b: Builder, a: Arguments) -> Value:
    if a.flag("train", default=True) and a.number("p", 0.5):
        raise ProposeError("dropout in training mode, which is random")
    return a.tensor("input")


def _cast(b: Builder, a: Arguments) -> Value:
    """Intermediate roundings to half precision are left out: they only lose accuracy."""
    x = a.tensor("self")
    wanted = a.raw("dtype")
    if wanted in (None, "float32", "float16", "bfloat16"):
        return x if wanted is None else Value(as_float(x.expr), x.shape)
    if wanted in ("int64", "int32", "bool") and x.expr.kind in ("int", "bool"):
        return x
    raise ProposeError(f"a cast from {x.expr.kind} to {wanted}")


def _view(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    sizes = a.dims("size") or a.dims("shape") or ()
    return b.reshaped(x, b.axes.view(x.shape, sizes))


def _flatten(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    rank = len(x.shape)
    start, end = int(a.number("start_dim", 0)) % rank, int(a.number("end_dim", -1)) % rank
    merged = tuple(axis for dim in x.shape[start : end + 1] for axis in dim)
    return b.reshaped(x, (*x.shape[:start], merged, *x.shape[end + 1 :]))


def _unsqueeze(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    at = int(a.number("dim", 0)) % (len(x.shape) + 1)
    return b.reshaped(x, (*x.shape[:at], (), *x.shape[at:]))


def _squeeze(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    dims = a.dims("dim")
    chosen = range(len(x.shape)) if dims is None else [d % len(x.shape) for d in dims]
    return b.reshaped(x, [dim for d, dim in enumerate(x.shape) if dim or d not in chosen])


def _expand(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    sizes = a.dims("size") or ()
    shape = ((),) * (len(sizes) - len(x.shape)) + x.shape
    wide = [dim or b.axes.fresh([1 if n < 0 else n])[0] for dim, n in zip(shape, sizes, strict=True)]
    return b.reshaped(x, wide)


def _broadcast(b: Builder, a: Arguments) -> Result:
    values = a.tensors("tensors")
    shape = b.axes.broadcast(*(v.shape for v in values))
    return tuple(Value(v.expr, shape) for v in values)


def _item(b: Builder, a: Arguments) -> Value:
    """`results[position]`, the one operation that takes a tuple."""
    results: Result = a.results()
    at = next(v.value for v in a.node.arguments if isinstance(v.value, int))
    found = results[at] if isinstance(results, tuple) else results
    if found is None:
        raise ProposeError(f"result {at} of an operation with several")
    return found


VIEWS: dict[str, Rule] = {
    **{f"aten.{n}.default": _same for n in ("alias", "clone", "contiguous", "detach", "lift_fresh_copy")},
    "aten.dropout.default": _dropout,
    "aten._to_copy.default": _cast, "aten.to.dtype": _cast, "aten.to.dtype_layout": _cast,
    "aten.view.default": _view, "aten.reshape.default": _view, "aten._unsafe_view.default": _view,
    "aten.flatten.using_ints": _flatten, "aten.unsqueeze.default": _unsqueeze,
    "aten.squeeze.default": _squeeze, "aten.squeeze.dim": _squeeze, "aten.squeeze.dims": _squeeze,
    "aten.expand.default": _expand, "aten.broadcast_tensors.default": _broadcast,
    **dict.fromkeys(("getitem", "operator.getitem", "_operator.getitem", "builtins.getitem"), _item),
}  # fmt: skip


OPERATIONS: dict[str, Callable[[Builder, Arguments], Result]] = {**POINTWISE, **VIEWS, **REDUCTIONS, **LOSSES}
"""Every operation that the author reads, by overload name."""


def lower(task: Task) -> Plan:
    """The task's reference as a fused loop nest.

    Raises:
        ProposeError: an operation, a dtype or a pattern of axes that the author does not write.
    """
    nodes = live(task.graph)
    unknown = sorted({n.op for n in nodes} - OPERATIONS.keys())
    if unknown:
        raise ProposeError(
            f"{task.name!r}: the built-in author cannot write {', '.join(unknown)}; it writes pointwise"
            " chains, full reductions and reductions over the last axis. Use a language model for this task."
        )
    if task.workload.changes or task.workload.tree is not None:
        raise ProposeError(
            f"{task.name!r} writes to its state, or takes arguments in lists or by name, which the built-in author cannot "
            "write. Use a language model for this task."
        )
    builder = Builder()
    specs = (*task.workload.tensors, *task.workload.parameters)
    values: dict[str, Result] = {spec.name: builder.tensor(spec) for spec in specs}
    for node in nodes:
        values[node.name] = _apply(builder, node, values)
    results = [_single(values[name], name) for name in task.graph.outputs]
    _check_outputs(builder.axes, results, task.workload.outputs)
    try:
        return _Finish(task, builder.axes, results).plan()
    except ProposeError as error:
        names = ", ".join(dict.fromkeys(n.op for n in nodes))
        raise ProposeError(f"{task.name!r} ({names}): {error}, which the built-in author cannot write") from error


def live(graph: OpGraph) -> list[OpNode]:
    """The operations that an output depends on, in order."""
    wanted = set(graph.outputs)
    kept: list[OpNode] = []
    for node in reversed(graph.nodes):
        if node.name in wanted:
            kept.append(node)
            wanted |= {ref.ref for argument in node.arguments for ref in _refs(argument.value)}
    return kept[::-1]


def _refs(value: Literal) -> list[Ref]:
    items = value if isinstance(value, tuple) else (value,)
    return [item for item in items if isinstance(item, Ref)]


def _apply(builder: Builder, node: OpNode, values: dict[str, Result]) -> Result:
    try:
        return OPERATIONS[node.op](builder, Arguments(node, values))
    except ProposeError as error:
        raise ProposeError(f"{node.op} ({node.name}): {error}") from error


def _single(result: Result, name: str) -> Value:
    if isinstance(result, Value):
        return result
    raise ProposeError(f"output {name!r} is several results at once")


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

    def __post_init__(self) -> None:
        self.roots = [v.expr for v in self.results]
        self.loads = {n.name: n for n in walk(*self.roots) if isinstance(n, Load)}

    def plan(self) -> Plan:
        base = self._base()
        split = self._split(base)
        flat = split is None
        rows, cols = ((), base) if split is None else (base[:split], base[split:])
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
        for split in range(len(base) - 1, 0, -1):
            parts = [frozenset(base), frozenset(base[:split]), frozenset(base[split:]), frozenset()]
            if tuples | overs <= set(parts):
                return split
        raise ProposeError("broadcasts or reductions over other than the trailing axes")

    def _renamed(self, root: Expr, name: dict[int, int], flat: bool) -> Expr:
        def axes(old: tuple[int, ...]) -> tuple[int, ...]:
            new = tuple(sorted({name[a] for a in self.axes.resolve(old)}))
            return (ROW, COL) if flat and new else new

        def change(node: Expr) -> Expr:
            match node:
                case Load():
                    return replace(node, along=axes(node.along))
                case Count():
                    return Count(axes(node.over))
                case Reduce():
                    return _nested(Reduce(node.op, node.arg, axes(node.over)))
                case At() if axes((node.axis,)) == (COL,):
                    return _indexed(node.arg, node.index)
                case At():
                    raise ProposeError("a gather along other than the last axis")
            return node

        return transform(root, change)

    def _arguments(self, name: dict[int, int], flat: bool) -> Iterator[Tensor]:
        specs = (*self.task.workload.tensors, *self.task.workload.parameters)
        for spec, identifier in zip(specs, identifiers([s.name for s in specs]), strict=True):
            load = self.loads.get(spec.name)
            old = self.axes.resolve(load.along) if load else ()
            along = tuple(sorted({name[a] for a in old}))
            along = (ROW, COL) if flat and along else along
            yield Tensor(spec.name, identifier, spec.shape, spec.dtype, along, spec.domain)

    def _outputs(self, exprs: list[Expr], name: dict[int, int], flat: bool) -> Iterator[Output]:
        specs = self.task.workload.outputs
        for at, (value, spec, expr) in enumerate(zip(self.results, specs, exprs, strict=True)):
            old = self.axes.resolve(tuple(a for dim in value.shape for a in dim))
            along = tuple(sorted({name[a] for a in old}))
            along = (ROW, COL) if flat and along else along
            identifier = "out" if len(specs) == 1 else f"out{at}"
            yield Output(Tensor(spec.name, identifier, spec.shape, spec.dtype, along), expr)


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


def _check(plan: Plan) -> None:
    """Refuse what needs a second sweep over all rows, or a reduction across rows of each column."""
    for node in plan.nodes:
        if isinstance(node, Reduce) and node.over == (ROW,) and COL in node.axes:
            raise ProposeError("a reduction over leading axes that keeps the last one")
        inner = any(isinstance(n, Reduce) and n.over == (ROW,) for n in walk(*node.children))
        if inner and (node.axes or isinstance(node, Reduce)):
            raise ProposeError("an element that needs a reduction over all rows first")
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
