"""How the arguments of a call are put together, as data: what stands around tensors and numbers.

Tensors and numbers are the leaves, numbered from left to right: a task's inputs. What stands around them is the tree, so
that a reference and a candidate are called as the task's author calls them, while kernels take the leaves alone. It has
lists, tuples, dicts, None and words; a dataclass or a named tuple stands in it by its name and fields, and who has no class
of that name gets one that only holds them. A complex tensor is a leaf of real pairs, along a last dimension more: what is
drawn, changed and compared is real everywhere, and whoever calls sees the pairs as complex numbers.
"""

import dataclasses
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import torch
from pydantic import JsonValue

Leaf = tuple[str, object]
"""A name, and a tensor or a number."""


def real(values: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of real ones, along a last dimension more, in the same memory; anything else as it is."""
    return torch.view_as_real(values.resolve_conj()) if values.is_complex() else values


def flatten(drawn: object, names: Sequence[str]) -> tuple[list[Leaf], JsonValue]:
    """The leaves of what `get_inputs` returned, named after the parameters of forward, and the tree; None: there is none.

    A mapping holds keyword arguments.

    Raises:
        TypeError: it is neither a sequence nor a mapping.
    """
    if not isinstance(drawn, Mapping | list | tuple):
        raise TypeError(f"get_inputs returned a {type(drawn).__name__}; return the list of forward's arguments")
    leaves: list[Leaf] = []
    if isinstance(drawn, Mapping):
        return leaves, {"args": [], "kwargs": {k: _taken(str(k), v, leaves) for k, v in drawn.items()}}
    named = [*names[: len(drawn)], *(f"input{i}" for i in range(len(names), len(drawn)))]
    args = [_taken(name, value, leaves) for name, value in zip(named, drawn, strict=True)]
    flat = args == list(range(len(leaves)))
    return leaves, None if flat else {"args": args, "kwargs": {}}


def arguments(
    tree: JsonValue, leaves: Sequence[object], classes: Mapping[str, object] = MappingProxyType({})
) -> tuple[list[object], dict[str, object]]:
    """What to call with: positional and keyword arguments, with these leaves in their places.

    `classes` has the caller's own dataclasses and named tuples, by name.
    """
    if tree is None:
        return list(leaves), {}
    assert isinstance(tree, dict)
    args, kwargs = tree["args"], tree["kwargs"]
    assert isinstance(args, list)
    assert isinstance(kwargs, dict)
    return [_built(a, leaves, classes) for a in args], {k: _built(v, leaves, classes) for k, v in kwargs.items()}


def _taken(name: str, value: object, leaves: list[Leaf]) -> JsonValue:
    if value is None:
        return None
    if isinstance(value, torch.Tensor) and value.is_complex():
        leaves.append((name, real(value)))
        return {"complex": len(leaves) - 1}
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, Mapping):
        return {"dict": {str(k): _taken(f"{name}_{k}", v, leaves) for k, v in value.items()}}
    if (fields := _fields(value)) is not None:
        kind = "namedtuple" if isinstance(value, tuple) else "dataclass"
        return {kind: type(value).__name__, "fields": {k: _taken(f"{name}_{k}", v, leaves) for k, v in fields.items()}}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_taken(f"{name}_{i}", v, leaves) for i, v in enumerate(value)]}
    leaves.append((name, value))
    return len(leaves) - 1


def _fields(value: object) -> dict[str, object] | None:
    """What a dataclass or a named tuple holds; None of anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)}
    return (
        dict(zip(value._fields, value, strict=True)) if isinstance(value, tuple) and hasattr(value, "_fields") else None
    )


def _built(node: JsonValue, leaves: Sequence[object], classes: Mapping[str, object]) -> object:
    match node:
        case {"complex": int(number)}:
            return _complex(leaves[number])
        case {"fields": dict(fields), **kind}:
            return _held(kind, {k: _built(v, leaves, classes) for k, v in fields.items()}, classes)
        case {"text": text}:
            return text
        case {"dict": dict(values)}:
            return {k: _built(v, leaves, classes) for k, v in values.items()}
        case {"tuple": list(values)}:
            return tuple(_built(v, leaves, classes) for v in values)
        case {"list": list(values)}:
            return [_built(v, leaves, classes) for v in values]
        case int(number):
            return leaves[number]
    return None


def _complex(pairs: object) -> torch.Tensor:
    assert isinstance(pairs, torch.Tensor)
    return torch.view_as_complex(pairs)


def _held(kind: Mapping[object, object], fields: Mapping[str, object], classes: Mapping[str, object]) -> object:
    """An instance of the caller's class of that name, or of a plain one; no dataclass's constructor runs: it may check."""
    ((form, called),) = kind.items()
    name, own = str(called), classes.get(str(called))
    if form == "namedtuple":
        make: Callable[..., object] = own if isinstance(own, type) else namedtuple(name, list(fields))
        return make(*fields.values())
    known = own if isinstance(own, type) and dataclasses.is_dataclass(own) else None
    made: object = object.__new__(known or dataclasses.make_dataclass(name, list(fields)))
    for key, value in fields.items():
        object.__setattr__(made, key, value)
    return made
