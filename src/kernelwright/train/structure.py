"""Structure and family of a module, and the split that goes by the family.

Two modules have the same structure if they compute the same operations in the same wiring, whatever their shapes,
numbers and names. They are of one family if they use the same operations, in whatever order, number and wiring. The split
hashes the family: no combination of operations that is held out was ever seen in training, not even rearranged.
"""

from typing import Literal

from kernelwright.records.base import identity
from kernelwright.records.graph import Leaf, OpGraph, Ref, Value

Split = Literal["train", "heldout"]
HELD_OUT = 8
"""One family in so many is held out."""
_TEXT = (str, bool, type(None))


def structure(graph: OpGraph) -> str:
    """Hash of the graph without shapes, numbers and names."""
    places = {name: f"in{i}" for i, name in enumerate((*graph.inputs, *graph.parameters))}
    rows: list[list[object]] = []
    for number, node in enumerate(graph.nodes):
        given = [[a.name, _shape_free(a.value, places)] for a in node.arguments]
        rows.append([node.op, given])
        places[node.name] = f"n{number}"
    rows.append(["return", [places.get(name, "") for name in graph.outputs]])
    return identity("structure", {"rows": rows})  # type: ignore[dict-item]  # lists of texts, as JSON


def family(graph: OpGraph) -> str:
    """Hash of the set of operations."""
    return identity("family", {"operations": " ".join(sorted({node.op for node in graph.nodes}))})


def split_of(digest: str) -> Split:
    """Which part of the data a family belongs to; the same for ever."""
    return "heldout" if int(digest, 16) % HELD_OUT == 0 else "train"


def _shape_free(value: Value, places: dict[str, str]) -> object:
    if isinstance(value, tuple):
        return [_leaf(one, places) for one in value]
    return _leaf(value, places)


def _leaf(value: Leaf, places: dict[str, str]) -> object:
    if isinstance(value, Ref):
        return places.get(value.ref, "")
    return value if isinstance(value, _TEXT) else "number"
