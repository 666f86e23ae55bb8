"""How the inputs of a definition are drawn, as expressions of a task's text.

What integers must be is nowhere said in these formats, except where constraints name them (`total == indptr[-1]`,
`total == lengths.sum()`, `ids < num_experts`): else names tell offsets, lengths, choices and positions apart.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from kernelwright.tasks.definitions.schema import Definition, TensorText

WHOLE_NUMBERS = 16
"""Integers of which nothing tells what they mean are drawn below this; bytes are drawn from all that there are."""
_BYTES = {"int8": "-128, 128", "uint8": "0, 256"}
_OFFSETS = ("indptr", "offset", "cu_seq", "cumulative")
_LENGTHS = ("max_seq", "seq", "len", "kv", "ctx")
_CHOICES = ("expert", "topk", "router")
_BELOW = (
    (_CHOICES, ("expert",)), (("page", "block_table", "slot", "kv_indices"), ("page", "block")),
    (("target", "label", "token", "input_id"), ("vocab", "class", "label")),
    (("pos",), ("pos", "seq", "ctx")),
)  # fmt: skip
"""Words in an input's name, and those in the name of the axis that bounds its values."""
_ORDERS, _INDICES = ("perm", "order"), ("idx", "index", "indices", "ids", "pos", "select", "gather")
_SHARES = ("size", "per_", "_per")
"""In the name of an axis that counts something else than what there are in all."""

HELPERS = (Path(__file__).parent / "parts/inputs.py.txt").read_text(encoding="utf-8")


def drawn(definition: Definition, name: str) -> str:
    """The expression that draws an input, from what its name, shape, dtype and the constraints say."""
    tensor = definition.inputs[name]
    whole = tensor.dtype.startswith(("int", "uint"))
    if tensor.shape is None:
        return "True" if tensor.dtype == "bool" else "1" if whole else "1.0"
    shape = f"({''.join(f'{axis}, ' for axis in tensor.shape)})"
    if tensor.dtype == "bool":
        return f"torch.rand({shape}) < 0.5"
    values = _whole_numbers(definition, name, tensor, shape) if whole else f"torch.randn({shape})"
    return f"{values}.to(torch.{tensor.dtype})"


class _Tie(NamedTuple):
    """What a constraint says of an input's values, and the axis."""

    kind: str
    name: str
    axis: str


def _whole_numbers(definition: Definition, name: str, tensor: TensorText, shape: str) -> str:
    ties = {tie.kind: tie.axis for tie in _ties(definition) if tie.name == name}
    dims, word, axes = tensor.shape or (), name.lower(), list(definition.axes)
    offsets = any(each in word for each in _OFFSETS) and _total(axes, word, dims)
    lengths = "len" in word and next((a for w in _LENGTHS for a in _counting(axes, (w,)) if a not in dims), None)
    if len(dims) == 1 and (end := ties.get("end") or offsets):
        return f"_offsets({dims[0]}, {end})"
    if len(dims) == 1 and "sum" in ties:
        return f"_offsets({dims[0]} + 1, {ties['sum']}).diff()"
    if longest := ties.get("upto") or lengths:
        return f"torch.randint(min(1, {longest}), {longest} + 1, {shape})"
    if tensor.dtype in _BYTES and not ties:
        return f"torch.randint({_BYTES[tensor.dtype]}, {shape})"
    return _choices(ties.get("below") or _bound(axes, word), word, axes, shape)


def _choices(bound: str | None, word: str, axes: Sequence[str], shape: str) -> str:
    """Positions in something, or else numbers of which nothing tells what they are."""
    flat = shape.count(",") == 1
    if bound and not flat and any(each in word for each in _CHOICES):
        return f"_distinct({bound}, {shape})"
    if not bound and flat and any(each in word for each in _ORDERS):
        return f"torch.randperm(*{shape})"
    if not bound and any(each in word for each in (*_ORDERS, *_INDICES)):
        bound = f"min({', '.join([str(WHOLE_NUMBERS), *axes])})"
    return f"torch.randint(max(1, {bound or WHOLE_NUMBERS}), {shape})"


def _total(axes: Sequence[str], name: str, dims: Sequence[str]) -> str | None:
    """The axis at which offsets end: of several totals the one that ends as a word of the name begins (`kv`, `q`)."""
    totals = [axis for axis in axes if axis.lower().startswith(("total", "nnz", "num_kv_ind"))]
    alike = [t for t in totals if any(t.lower().rpartition("_")[2][:1] == word[:1] for word in name.split("_"))]
    return next(iter([*alike, *totals, *(axis for axis in axes if axis not in dims)]), None)


def _counting(axes: Sequence[str], words: Sequence[str]) -> list[str]:
    """Axes of these words, those first that count all there are."""
    found = [axis for axis in axes if any(word in axis.lower() for word in words)]
    return sorted(found, key=lambda axis: any(share in axis.lower() for share in _SHARES))


def _bound(axes: Sequence[str], name: str) -> str | None:
    for words, kinds in _BELOW:
        if any(word in name for word in words) and (found := _counting(axes, kinds)):
            return found[0]
    return None


def _ties(definition: Definition) -> Iterator[_Tie]:
    """What constraints say of inputs, on whichever side they stand."""
    for text in definition.constraints or ():
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(tree, ast.Compare):
            sides = pairwise([tree.left, *tree.comparators])
            for (left, right), op in zip(sides, tree.ops, strict=True):
                yield from _tie(definition, left, op, right)
                yield from _tie(definition, right, _MIRRORED.get(type(op), op), left)


_MIRRORED = {ast.Gt: ast.Lt(), ast.GtE: ast.LtE(), ast.Lt: ast.Gt(), ast.LtE: ast.GtE()}


def _tie(definition: Definition, one: ast.expr, op: ast.cmpop, other: ast.expr) -> Iterator[_Tie]:
    said = _said(one)
    if said and said[1] in definition.inputs and isinstance(other, ast.Name) and other.id in definition.axes:
        what, name = said
        if what in ("end", "sum") and isinstance(op, ast.Eq | ast.LtE):
            yield _Tie(what, name, other.id)
        elif what in ("all", "max", "amax") and isinstance(op, ast.Lt | ast.LtE):
            yield _Tie("below" if isinstance(op, ast.Lt) else "upto", name, other.id)


def _said(node: ast.expr) -> tuple[str, str] | None:
    """Of which input an expression speaks, and of what of it: its last value, its sum, or every one."""
    match node:
        case ast.Name(id=name):
            return "all", name
        case ast.Call(func=ast.Attribute(value=inner, attr="item")) | ast.Call(func=ast.Name(id="int"), args=[inner]):
            return _said(inner)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            return "end", name
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=what), args=[ast.Name(id=name)]):
            return what, name
        case ast.Call(func=ast.Name(id=what), args=[ast.Name(id=name)]):
            return what, name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=what), args=[]):
            return what, name
    return None
