"""A call and its result as leaves and a tree: what stands around tensors and numbers, as data.

Tensors and numbers are the leaves, numbered from left to right: a task's inputs, or its results. What stands around them is
the tree, so that a reference and a candidate are called as the task's author calls them, while kernels take the leaves
alone. It holds lists, tuples, dicts, None, words and other constants of the call; a dataclass, a named tuple, a mapping of a
class of its own (transformers' `ModelOutput`) and any object whose parts are attributes (a cache) stand in it by their class
and fields. Who has no class of a name that the task's own file defines gets one that only holds the fields.
An array of numpy is taken as a tensor. Numbers within an object are constants: they say what state it is in.
A complex tensor is a leaf of real pairs, along a last dimension more: what is drawn, changed and compared is real everywhere,
and whoever calls sees the pairs as complex numbers.

It lies this low because live modules and children both read calls with it. It imports torch.
"""

import dataclasses
import enum
import importlib
import types
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import JsonValue

Leaf = tuple[str, object]
"""A name, and a tensor or a number."""
SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
"""What numbers are while a call is traced."""
OWN = "task"
"""What the module of a task's own file is called."""
MADE: Mapping[str, Callable[..., object]] = {
    "slice": slice, "range": range, "complex": complex, "set": lambda *of: set(of), "frozenset": lambda *of: frozenset(of),
    "device": torch.device, "size": lambda *of: torch.Size(of), "bytes": bytes.fromhex,
}  # fmt: skip
"""Constants that are made of others."""
PARTS_OF: Mapping[type, Callable[[Any], Sequence[object]]] = {
    slice: lambda v: (v.start, v.stop, v.step), range: lambda v: (v.start, v.stop, v.step),
    complex: lambda v: (v.real, v.imag), set: tuple, frozenset: tuple, torch.device: lambda v: (str(v),), torch.Size: tuple,
    bytes: lambda v: (v.hex(),),
}  # fmt: skip
"""What they are made of."""


def real(values: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of real ones, along a last dimension more, in the same memory; anything else as it is."""
    return torch.view_as_real(values.resolve_conj()) if values.is_complex() else values


def flatten(
    drawn: object, names: Sequence[str], kwargs: Mapping[str, object] | None = None
) -> tuple[list[Leaf], JsonValue]:
    """The leaves of what `get_inputs` returned, named after the parameters of forward, and the tree; None: there is none.

    A mapping holds keyword arguments; so does `kwargs`, beside positional ones.

    Raises:
        TypeError: it is neither a sequence nor a mapping, or holds what cannot be written down.
    """
    if not isinstance(drawn, Mapping | list | tuple):
        raise TypeError(f"get_inputs returned a {type(drawn).__name__}; return the list of forward's arguments")
    positional, named = ((), drawn) if isinstance(drawn, Mapping) else (drawn, kwargs or {})
    taken = _Taken([])
    names = [*names[: len(positional)], *(f"input{i}" for i in range(len(names), len(positional)))]
    args = [taken.part(name, value) for name, value in zip(names, positional, strict=True)]
    by_name: dict[str, JsonValue] = {k: taken.part(str(k), v) for k, v in named.items()}
    flat = not isinstance(drawn, Mapping) and not by_name and args == list(range(len(taken.leaves)))
    return taken.leaves, None if flat else {"args": args, "kwargs": by_name}


def parts(result: object) -> tuple[list[Leaf], JsonValue]:
    """The leaves of a result, and its tree; None: it is a tensor, or a tuple of several.

    Raises:
        TypeError: it holds what cannot be written down.
    """
    taken = _Taken([], result=True)
    tree = taken.part("output", result)
    flat = tree == 0 or tree == {"tuple": [0, 1, *range(2, len(taken.leaves))]}
    return taken.leaves, None if flat else tree


def tensors(result: object) -> tuple[torch.Tensor, ...]:
    """The tensors of a result, in order: complex ones as pairs, numbers without dimension, nothing for constants.

    Raises:
        TypeError: it holds what cannot be written down.
    """
    return tuple(value if isinstance(value, torch.Tensor) else _number(value) for _, value in parts(result)[0])


def tells_sizes(tree: JsonValue) -> bool:
    """Whether a result holds numbers that no tensor gave: they may be sizes of the call that it came from."""
    match tree:
        case {"value": bool() | str() | None, **rest} if not rest:
            return False
        case {"value": _}:
            return True
        case dict():
            return any(map(tells_sizes, tree.values()))
        case list():
            return any(map(tells_sizes, tree))
    return False


def _number(value: object) -> torch.Tensor:
    """A number that came out of a tensor is no more precise than that was."""
    return torch.tensor(value, dtype=torch.float32 if isinstance(value, float | torch.SymFloat) else None)


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
    return [built(a, leaves, classes) for a in args], {k: built(v, leaves, classes) for k, v in kwargs.items()}


class _Taken(NamedTuple):
    """Takes a value apart."""

    leaves: list[Leaf]
    result: bool = False
    """Whoever called wants numbers back as numbers."""

    def part(self, name: str, value: object, constant: bool = False) -> JsonValue:
        """The tree of one value; `constant`: numbers in it are no leaves."""
        if isinstance(value, np.ndarray | np.generic):
            value = torch.from_numpy(value) if isinstance(value, np.ndarray) else value.item()
        if value is None or isinstance(value, (torch.Tensor, *SYMBOLS)) or type(value) in (bool, int, float):
            return None if value is None else self._leaf(name, value, constant)
        if (told := _constant(value)) is not None:
            return told
        if (held := self._held(name, value, constant)) is not None:
            return held
        if isinstance(value, list | tuple):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {kind: [self.part(f"{name}_{i}", v, constant) for i, v in enumerate(value)]}
        if not hasattr(value, "__dict__") or isinstance(value, torch.nn.Module | types.ModuleType):
            raise TypeError(
                f"{name} is or holds a {type(value).__name__}; tensors, numbers, constants, and lists, tuples, dicts, "
                "dataclasses and objects of them can be judged"
            )
        try:
            fields = {k: self.part(f"{name}_{k}", v, constant=True) for k, v in vars(value).items()}
        except RecursionError:
            raise TypeError(f"{name} is a {type(value).__name__} that holds itself") from None
        return {"object": type(value).__qualname__, "module": type(value).__module__, "fields": fields}

    def _leaf(self, name: str, value: object, constant: bool) -> JsonValue:
        if constant and isinstance(value, bool | int | float):
            return {"value": value}
        is_complex = isinstance(value, torch.Tensor) and value.is_complex()
        self.leaves.append((name, real(value) if isinstance(value, torch.Tensor) else value))
        number = len(self.leaves) - 1
        if self.result and not isinstance(value, torch.Tensor):
            return {"number": number}
        return {"complex": number} if is_complex else number

    def _held(self, name: str, value: object, constant: bool) -> JsonValue:
        """What has named parts; None of anything else."""
        kind = type(value)
        here: dict[str, JsonValue] = {} if kind.__module__ == OWN else {"module": kind.__module__}
        if isinstance(value, Mapping):
            pairs = {k: self.part(f"{name}_{k}", v, constant) for k, v in value.items()}
            by: dict[str, JsonValue] = {"by": "name"} if dataclasses.is_dataclass(kind) else {}
            own: dict[str, JsonValue] = {} if kind is dict else {"mapping": kind.__qualname__, **here, **by}
            if all(isinstance(k, str) for k in pairs):
                return {"dict": pairs, **own}
            return {"pairs": [[self.part(name, k, constant=True), v] for k, v in pairs.items()], **own}
        if (fields := _fields(value)) is None:
            return None
        form = "namedtuple" if isinstance(value, tuple) else "dataclass"
        form = "structure" if hasattr(value, "n_sequence_fields") else form  # of torch.return_types
        parts = {k: self.part(f"{name}_{k}", v, constant) for k, v in fields.items()}
        return {form: kind.__name__, **here, "fields": parts}


def _constant(value: object) -> JsonValue:
    """A constant of the call; None of anything else."""
    match value:
        case str() if type(value) is str:
            return {"text": value}
        case enum.Enum():
            return {"named": f"{type(value).__qualname__}.{value.name}", "module": type(value).__module__}
        case torch.dtype() | torch.layout() | torch.memory_format():
            return {"named": str(value).removeprefix("torch."), "module": "torch"}
        case type() | types.FunctionType() | types.BuiltinFunctionType():
            return _place(value)
    made = next((of(value) for kind, of in PARTS_OF.items() if type(value) is kind), None)
    if made is None:
        return None
    return {"made": type(value).__name__.lower(), "of": [_Taken([]).part("part", p, constant=True) for p in made]}


def _place(value: type | types.FunctionType | types.BuiltinFunctionType) -> JsonValue:
    """Where a class or function can be found."""
    if value.__module__ == OWN:
        return {"named": value.__qualname__, "module": OWN}
    for name, module in ((value.__qualname__, value.__module__), (value.__name__, "torch")):
        if module and _named(name, module, {}) is value:
            return {"named": name, "module": module}
    raise TypeError(f"{value.__qualname__} cannot be found by its name: give it one in a module")


def _fields(value: object) -> dict[str, object] | None:
    """What a dataclass or a named tuple holds; None of anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)}
    if isinstance(value, tuple) and hasattr(value, "n_sequence_fields"):
        return {f"at{i}": part for i, part in enumerate(value)}
    return (
        dict(zip(value._fields, value, strict=True)) if isinstance(value, tuple) and hasattr(value, "_fields") else None
    )


def built(node: JsonValue, leaves: Sequence[object], classes: Mapping[str, object] = MappingProxyType({})) -> object:
    """The value of a tree, with these leaves in their places; its classes are imported where the tree says from where."""

    def of(part: JsonValue) -> object:
        return built(part, leaves, classes)

    match node:
        case int(number):
            return leaves[number]
        case {"fields": dict(fields), **kind}:
            return _held(kind, {k: of(v) for k, v in fields.items()}, classes)
        case {"dict": dict(values), **kind}:
            return _mapping(kind, {k: of(v) for k, v in values.items()}, classes)
        case {"pairs": list(pairs), **kind}:
            made: list[Any] = [of({"tuple": pair}) for pair in pairs]
            return _mapping(kind, dict(made), classes)
        case {"tuple": list(values)}:
            return tuple(map(of, values))
        case {"list": list(values)}:
            return list(map(of, values))
    return _single(node, leaves, classes)


def _single(node: JsonValue, leaves: Sequence[object], classes: Mapping[str, object]) -> object:
    match node:
        case {"number": int(number)}:
            return _tensor(leaves[number]).item()
        case {"complex": int(number)}:
            return torch.view_as_complex(_tensor(leaves[number]))
        case {"value": constant} | {"text": constant}:
            return constant
        case {"named": name, "module": module}:
            return _named(str(name), module, classes)
        case {"made": name, "of": list(values)}:
            return MADE[str(name)](*(built(v, (), classes) for v in values))
    return None


def _tensor(leaf: object) -> torch.Tensor:
    assert isinstance(leaf, torch.Tensor)
    return leaf


def _named(name: str, module: object, classes: Mapping[str, object]) -> object:
    """What a module calls so: the caller's own, or that of a module that can be imported; else None."""
    first, *rest = name.split(".")
    try:
        found = classes[first] if module in (None, OWN) else getattr(importlib.import_module(str(module)), first)
        return reduce(getattr, rest, found)
    except (KeyError, ImportError, AttributeError):
        return None


def _mapping(kind: Mapping[object, object], values: Mapping[Any, object], classes: Mapping[str, object]) -> object:
    """A mapping of the class that the tree names, made of these items; a plain dict where it cannot be."""
    made = _named(str(kind["mapping"]), kind.get("module"), classes) if "mapping" in kind else None
    if not isinstance(made, type):
        return values
    try:
        return made(**values) if "by" in kind else made(values)
    except TypeError:
        return values


def _held(kind: Mapping[object, object], fields: Mapping[str, object], classes: Mapping[str, object]) -> object:
    """An instance of the class that the tree names, or of a plain one; no constructor runs: it may check."""
    form = next(form for form in ("namedtuple", "structure", "dataclass", "object") if form in kind)
    name = str(kind[form])
    own = _named(name, kind.get("module"), classes)
    if form in ("namedtuple", "structure"):
        make: Callable[..., object] = own if isinstance(own, type) else namedtuple(name, list(fields))
        return make(fields.values()) if form == "structure" and isinstance(own, type) else make(*fields.values())
    known = own if isinstance(own, type) and (form == "object" or dataclasses.is_dataclass(own)) else None
    made: object = object.__new__(known or dataclasses.make_dataclass(name.split(".")[-1], list(fields)))
    for key, value in fields.items():
        object.__setattr__(made, key, value)
    return made
