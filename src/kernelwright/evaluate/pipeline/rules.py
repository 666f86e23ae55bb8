"""Which comparator each output has: as declared, or inferred from the OpGraph where that is safe.

Positions chosen by argmax, topk, sort and their like are compared by what they pick, and values of an unsorted topk
come in any order; everything else is calibrated. Of randomness, only dropout is recognised: anything else must be declared.
"""

from collections.abc import Collection

from kernelwright.errors import TaskError
from kernelwright.records.comparator import Calibrated, Comparator, Statistical, Ties
from kernelwright.records.graph import OpGraph, OpNode, Ref
from kernelwright.records.task import TaskSource, Workload
from kernelwright.records.tensor import TensorSpec

PICKING = {
    "argmax": (0, False), "argmin": (0, False), "max": (1, False), "min": (1, False), "topk": (1, True), "sort": (1, True),
    "argsort": (0, True), "kthvalue": (1, False), "median": (1, False), "mode": (1, False), "cummax": (1, False),
    "cummin": (1, False),
}  # fmt: skip
"""Operations that choose positions: which of their results these are, and whether no position comes twice."""
SAME_PLACES = ("to", "_to_copy", "clone", "contiguous", "alias", "detach", "squeeze", "unsqueeze", "view", "reshape")
"""Operations behind which positions still mean the same, if shapes allow."""
FLATTENING = ("argmax", "argmin")
"""Without `dim`, their positions count in the flattened tensor; that of all others is the last."""

DROPPING = ("dropout", "rrelu", "dot_product_attention")
"""Operations that drop elements by chance: no author of a module that has them means anything else."""


def comparators(
    source: TaskSource, workload: Workload, graph: OpGraph, random: Collection[int] = ()
) -> tuple[Comparator, ...]:
    """One comparator an output; `random` outputs differ between two calls on the same inputs.

    Raises:
        TaskError: one is declared for an output that is not there, or picks from what is no input; or an output is random,
            and neither dropout nor the task's author says so.
    """
    declared = {d.position: d.comparator for d in source.comparators}
    known = {t.name for t in (*workload.tensors, *workload.parameters)}
    for position, comparator in declared.items():
        if not 0 <= position < len(workload.outputs):
            raise TaskError(
                f"COMPARATORS of {source.name!r} names output {position}; there are {len(workload.outputs)}, from 0 on"
            )
        if isinstance(comparator, Ties) and comparator.of and comparator.of not in known:
            names = ", ".join(sorted(known))
            raise TaskError(
                f'COMPARATORS of {source.name!r}: "of": {comparator.of!r} is no input or parameter; there are {names}'
            )
    untold = {i for i in random if not isinstance(declared.get(i), Statistical)}
    if undropped := {i for i in untold if not _dropped(graph, i)}:
        which = ", ".join(f'{i}: "statistical"' for i in sorted(undropped))
        raise TaskError(
            f"the reference of {source.name!r} is not deterministic: two calls on the same inputs differ by more than an "
            "order of adding up. Remove the randomness (of dropout: call self.eval() in __init__), or declare it, with "
            f"COMPARATORS = {{{which}}} in the task's file: the output's draws are then compared as a distribution.",
            "random",
        )
    return tuple(
        Statistical() if i in untold else declared.get(i) or _of_output(graph, i, spec)
        for i, spec in enumerate(workload.outputs)
    )


def _of_output(graph: OpGraph, output: int, spec: TensorSpec) -> Comparator:
    """What is inferred; new values of a task's state are no output of its graph."""
    return inferred(graph, graph.outputs[output], spec) if output < len(graph.outputs) else Calibrated()


def _dropped(graph: OpGraph, output: int) -> bool:
    """Whether dropout lies behind an output: in training mode it is random on purpose."""
    nodes = graph.behind(graph.outputs[output]) if output < len(graph.outputs) else graph.nodes
    return any(word in node.op for node in nodes for word in DROPPING)


def inferred(graph: OpGraph, output: str, spec: TensorSpec) -> Comparator:
    """The comparator of one output, from what computes it."""
    node, result = _behind(graph, output)
    if node is None:
        return Calibrated()
    name = _name(node)
    place, distinct = PICKING.get(name, (-1, False))
    many = len(node.result) > 1
    if not spec.floating and place == result and (many or name in ("argmax", "argmin", "argsort")):
        return _ties(graph, node, spec, distinct)
    if name == "topk" and result == 0 and node.argument("sorted") is False:
        return Ties(dim=_dim(node), ordered=False)
    return Calibrated()


def _ties(graph: OpGraph, node: OpNode, spec: TensorSpec, distinct: bool) -> Comparator:
    picked = node.argument("self")
    if not isinstance(picked, Ref):
        return Calibrated()
    dim = _dim(node)
    if dim is None and spec.numel != 1:
        return Calibrated()
    ordered = node.argument("sorted") is not False
    return Ties(of=_source(graph, picked.ref), dim=dim, distinct=distinct, ordered=ordered)


def _dim(node: OpNode) -> int | None:
    given = node.argument("dim")
    if isinstance(given, int):
        return given
    return None if _name(node) in FLATTENING else -1


def _name(node: OpNode) -> str:
    return node.op.removeprefix("aten.").split(".")[0]


def _behind(graph: OpGraph, output: str) -> tuple[OpNode | None, int]:
    """The operation that made an output and which of its results that is, through what moves nothing."""
    nodes = {n.name: n for n in graph.nodes}
    node, result = nodes.get(output), 0
    while node is not None:
        if node.op == "getitem":
            source, place = node.argument("arg0"), node.argument("arg1")
            if not isinstance(source, Ref) or not isinstance(place, int):
                return None, 0
            node, result = nodes.get(source.ref), place
        elif _name(node) in SAME_PLACES and isinstance(source := node.argument("self"), Ref):
            node = nodes.get(source.ref)
        else:
            return node, result
    return None, 0


def _source(graph: OpGraph, name: str) -> str:
    """The input that a node only hands on, or the node."""
    nodes = {n.name: n for n in graph.nodes}
    node = nodes.get(name)
    while node is not None and _name(node) in ("clone", "contiguous", "alias", "detach"):
        source = node.argument("self")
        if not isinstance(source, Ref):
            break
        name, node = source.ref, nodes.get(source.ref)
    return name
