"""A task's graph as expressions, and the operations among them that work on stored tensors."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Result, Value
from kernelwright.propose.author.plan.losses import LOSSES
from kernelwright.propose.author.plan.operations import POINTWISE, REDUCTIONS
from kernelwright.propose.author.plan.orders import ORDERS
from kernelwright.propose.author.plan.products import PRODUCTS
from kernelwright.propose.author.plan.views import VIEWS
from kernelwright.propose.author.plan.windows import WINDOWS
from kernelwright.records.graph import OpGraph, OpNode, Ref
from kernelwright.records.graph import Value as Literal
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

OPERATIONS: dict[str, Callable[[Builder, Arguments], Result]] = {
    **POINTWISE, **VIEWS, **REDUCTIONS, **LOSSES, **WINDOWS, **PRODUCTS, **ORDERS,
}  # fmt: skip
"""Every operation that is read as an expression, by overload name."""


@dataclass(frozen=True)
class Stored:
    """An operation that reads stored tensors and stores its results."""

    node: OpNode
    inputs: tuple[tuple[str, Value], ...]
    """Tensor arguments by the name that the node knows them under."""
    results: tuple[TensorSpec, ...]
    why: str
    """Why it is no expression."""


@dataclass
class Reading:
    """A graph that was read."""

    builder: Builder
    results: list[Value]
    stored: list[Stored] = field(default_factory=list)


def read(task: Task) -> Reading:
    """Every operation that an output depends on.

    Raises:
        ProposeError: an operation works in place on what others see, its results are not known, or the task changes its
            state or takes arguments in lists or by name.
    """
    if task.workload.changes or task.workload.tree is not None:
        raise ProposeError(
            f"{task.name!r} writes to its state, or takes arguments in lists or by name, which the built-in author cannot "
            "write"
        )
    builder, stored = Builder(), list[Stored]()
    values: dict[str, Result] = {}
    for spec in (*task.workload.tensors, *task.workload.parameters):
        values[spec.name] = builder.tensor(spec)
    for node in live(task.graph):
        values[node.name] = _value(builder, node, values, stored)
    return Reading(builder, [_single(values[name], name) for name in task.graph.outputs], stored)


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


def _value(builder: Builder, node: OpNode, values: dict[str, Result], stored: list[Stored]) -> Result:
    rule = OPERATIONS.get(node.op)
    if rule is None:
        return _kept(builder, node, values, stored, "no family of kernels has it")
    try:
        return rule(builder, Arguments(node, values))
    except ProposeError as error:
        return _kept(builder, node, values, stored, str(error))


FRESH = ("aten.scatter_add_.default",)
"""In-place operations that are taken where they change a tensor that the graph has just made."""


def _kept(builder: Builder, node: OpNode, values: dict[str, Result], stored: list[Stored], why: str) -> Result:
    packet = node.op.split(".")[1] if node.op.count(".") > 1 else node.op
    if packet.endswith("_") and not packet.startswith("_") and node.op not in FRESH:
        raise ProposeError(f"{node.op} ({node.name}) changes a tensor that others may see")
    if not node.result:
        raise ProposeError(f"{node.op} ({node.name}): {why}")
    names = dict.fromkeys(ref.ref for argument in node.arguments for ref in _refs(argument.value))
    inputs = tuple((name, _single(values[name], name)) for name in names)
    many = len(node.result) > 1
    results = tuple(
        spec.model_copy(update={"name": f"{node.name}.{n}" if many else node.name})
        for n, spec in enumerate(node.result)
    )
    stored.append(Stored(node, inputs, results, why))
    found = tuple(builder.tensor(spec) for spec in results)
    return found if many else found[0]


def _single(result: Result, name: str) -> Value:
    if isinstance(result, Value):
        return result
    raise ProposeError(f"{name!r} is several results at once")
