"""How the arguments of a call are put together, as data: lists, tuples, dicts, None and words around tensors and numbers.

Tensors and numbers are the leaves, numbered from left to right: a task's inputs. What stands around them is the tree, so
that a reference and a candidate are called as the task's author calls them, while kernels take the leaves alone.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

Leaf = tuple[str, object]
"""A name, and a tensor or a number."""


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


def arguments(tree: JsonValue, leaves: Sequence[object]) -> tuple[list[object], dict[str, object]]:
    """What to call with: positional and keyword arguments, with these leaves in their places."""
    if tree is None:
        return list(leaves), {}
    assert isinstance(tree, dict)
    args, kwargs = tree["args"], tree["kwargs"]
    assert isinstance(args, list)
    assert isinstance(kwargs, dict)
    return [_built(a, leaves) for a in args], {k: _built(v, leaves) for k, v in kwargs.items()}


def _taken(name: str, value: object, leaves: list[Leaf]) -> JsonValue:
    if value is None:
        return None
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, Mapping):
        return {"dict": {str(k): _taken(f"{name}_{k}", v, leaves) for k, v in value.items()}}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_taken(f"{name}_{i}", v, leaves) for i, v in enumerate(value)]}
    leaves.append((name, value))
    return len(leaves) - 1


def _built(node: JsonValue, leaves: Sequence[object]) -> object:
    match node:
        case {"text": text}:
            return text
        case {"dict": dict(values)}:
            return {k: _built(v, leaves) for k, v in values.items()}
        case {"tuple": list(values)}:
            return tuple(_built(v, leaves) for v in values)
        case {"list": list(values)}:
            return [_built(v, leaves) for v in values]
        case int(number):
            return leaves[number]
    return None
