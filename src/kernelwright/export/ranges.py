"""Between which values the integers of a call may lie: the reference refuses others, and a kernel would read where nothing is.

What an operation says of its positions is taken over, where an input is handed to it as it is, or as a view. A position
that is computed first is not guarded: what the kernel gives for one out of range is undefined.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernelwright.records.graph import OpGraph, OpNode, Ref
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

VIEWS = frozenset(
    ("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "expand", "clone", "contiguous", "alias", "detach", "to",
     "_to_copy", "permute", "transpose", "t", "flatten", "slice", "select")
)  # fmt: skip
"""Operations behind which the values are the same."""
POSITIONS = {
    "embedding": ("indices", "weight"), "index_select": ("index", "self"), "gather": ("index", "self"),
    "scatter": ("index", "self"), "scatter_add": ("index", "self"), "index_add": ("index", "self"),
    "nll_loss_nd": ("target", "self"), "nll_loss": ("target", "self"), "nll_loss_forward": ("target", "self"),
    "cross_entropy_loss": ("target", "self"), "one_hot": ("self", ""), "index": ("indices", "self"),
}  # fmt: skip
"""Operations that take positions, as which argument, and of what they are positions."""
CLASSES, WRAPS = ("nll_loss_nd", "nll_loss", "nll_loss_forward", "cross_entropy_loss"), ("index",)
IGNORED = -100
"""The label that losses leave out unless they are told another."""


class Range(NamedTuple):
    """What may stand in one tensor of a call."""

    place: int
    """Of the tensor among inputs and parameters."""
    wraps: bool
    """Negative ones count from the end."""
    size: int | tuple[int, int]
    """How many positions there are, or of which tensor and dimension."""
    also: int | None
    """One value beyond these."""


def ranges(task: Task) -> list[Range]:
    """What the reference demands of the integers that it is given; nothing of one that nobody traced."""
    graph = task.graph
    specs = [*task.workload.tensors, *task.workload.parameters]
    known = {spec.name: spec for spec in specs} | {n.name: n.result[0] for n in graph.nodes if n.result}
    names = [spec.name for spec in specs]
    found = [one for node in graph.nodes for one in _of(node, graph, known, names)]
    return list(dict.fromkeys(found))


def _of(node: OpNode, graph: OpGraph, known: dict[str, TensorSpec], names: Sequence[str]) -> Iterator[Range]:
    taken, whose = POSITIONS.get(node.packet, ("", ""))
    given = node.argument(taken) if taken else None
    for at, ref in enumerate(given if isinstance(given, tuple) else (given,)):
        source = _source(graph, ref.ref) if isinstance(ref, Ref) else ""
        if source not in names or known[source].floating or known[source].dtype == "bool":
            continue
        size = _size(node, known, whose, at, names)
        if size is not None:
            also = node.argument("ignore_index") if node.packet in CLASSES else None
            also = IGNORED if node.packet in CLASSES and also is None else also
            yield Range(names.index(source), node.packet in WRAPS, size, also if isinstance(also, int) else None)


def _source(graph: OpGraph, name: str) -> str:
    """The input whose values a node hands on, or the node."""
    nodes = {node.name: node for node in graph.nodes}
    while (node := nodes.get(name)) is not None and node.packet in VIEWS and node.reads:
        name = node.reads[0]
    return name


def _size(
    node: OpNode, known: dict[str, TensorSpec], whose: str, at: int, names: Sequence[str]
) -> int | tuple[int, int] | None:
    """How many positions there are; of a tensor of the call, which dimension says so."""
    if not whose:
        count = node.argument("num_classes")
        return count if isinstance(count, int) and count > 0 else None
    of = node.argument(whose)
    if not isinstance(of, Ref) or of.ref not in known or not known[of.ref].shape:
        return None
    shape, given = known[of.ref].shape, node.argument("dim")
    dim = at if node.packet in WRAPS else given if isinstance(given, int) else min(1, len(shape) - 1)
    dim = 0 if node.packet == "embedding" else dim % len(shape)
    return (names.index(of.ref), dim) if of.ref in names else shape[dim]
