"""Redundancy: work in a reference that its result does not need, as its graph shows.

A kernel that leaves such work out is right, and its speedup says little about kernels. Counted are operations that no
output needs, the same operation on the same arguments twice, repeated idempotent operations, reductions over one
element, and parameters that nothing reads. Algebra beyond this is not looked for.
"""

from collections.abc import Iterator

from kernelwright.records.graph import OpGraph, OpNode, Ref, Value
from kernelwright.records.tensor import TensorSpec

IDEMPOTENT = ("relu.", "abs.", "sign.", "round.", "floor.", "ceil.", "contiguous.")
REDUCING = ("sum.", "mean.", "amax.", "amin.", "max.", "min.", "softmax", "logsumexp", "prod.", "cumsum")


def redundancies(graph: OpGraph, arguments: tuple[TensorSpec, ...]) -> list[str]:
    """One sentence for each, with the operation's full name; empty for a lean reference."""
    return [*_unneeded(graph), *_repeated(graph), *_idempotent(graph), *_over_one(graph, arguments), *_unread(graph)]


def _unneeded(graph: OpGraph) -> Iterator[str]:
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(_read_by(node))
    for node in graph.nodes:
        if node.name not in needed:
            yield f"no output needs {node.op} ({node.name})"


def _repeated(graph: OpGraph) -> Iterator[str]:
    seen: dict[str, str] = {}
    for node in graph.nodes:
        if not _read_by(node):
            continue
        question = repr((node.op, node.arguments))
        if question in seen:
            yield f"{node.op} is computed twice on the same arguments ({seen[question]}, {node.name})"
        seen.setdefault(question, node.name)


def _idempotent(graph: OpGraph) -> Iterator[str]:
    by_name = {node.name: node for node in graph.nodes}
    for node in graph.nodes:
        if not _bare(node).startswith(IDEMPOTENT):
            continue
        read = [by_name[name] for name in _read_by(node) if name in by_name]
        if read and read[0].op == node.op:
            yield f"{node.op} is applied to its own result ({node.name})"


def _over_one(graph: OpGraph, arguments: tuple[TensorSpec, ...]) -> Iterator[str]:
    shapes = {spec.name: spec for spec in arguments} | {n.name: n.result[0] for n in graph.nodes if n.result}
    for node in graph.nodes:
        read = [shapes[name] for name in _read_by(node) if name in shapes]
        if not node.result or not read or not any(name in _bare(node) for name in REDUCING):
            continue
        axes = _axes(node)
        if axes and all(read[0].shape[axis] == 1 for axis in axes if -len(read[0].shape) <= axis < len(read[0].shape)):
            yield f"{node.op} reduces over an axis of one element ({node.name})"


def _axes(node: OpNode) -> tuple[int, ...]:
    found = node.argument("dim")
    listed = found if isinstance(found, tuple) else (found,)
    return tuple(axis for axis in listed if isinstance(axis, int) and not isinstance(axis, bool))


def _unread(graph: OpGraph) -> Iterator[str]:
    read = {name for node in graph.nodes for name in _read_by(node)} | set(graph.outputs)
    for name in graph.parameters:
        if name not in read:
            yield f"nothing reads the parameter {name}"


def _bare(node: OpNode) -> str:
    return node.op.removeprefix("aten.").removeprefix("_")


def _read_by(node: OpNode) -> list[str]:
    return [name for argument in node.arguments for name in _names(argument.value)]


def _names(value: Value) -> Iterator[str]:
    for leaf in value if isinstance(value, tuple) else (value,):
        if isinstance(leaf, Ref):
            yield leaf.ref
