"""How a live module is called, and a kernel's module that is called, saved and moved as the live one is.

A kernel takes leaves and gives tensors, under the names of a trace. What people hold is a module with their call, their
results and their state: `Call.around` makes one of the other.
"""

import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from kernelwright import calltree

if TYPE_CHECKING:
    from pydantic import JsonValue

HELD = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training")
"""Where a module has what it holds, and its mode."""


class Call:
    """How a live module is called: its leaves in their tree, and after the export the tree of what it gives back."""

    def __init__(self, what: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        self._what = what
        self.result: JsonValue = None
        self.listed: JsonValue = None
        """What `result` is of a list of tensors."""
        self.leaves, self.tree = self.flatten(args, kwargs)

    def flatten(self, args: Sequence[object], kwargs: Mapping[str, object]) -> "tuple[list[calltree.Leaf], JsonValue]":
        """The leaves and the tree of a call, the same however its arguments are handed over.

        Raises:
            TypeError: they are not what it takes, or cannot be written down.
        """
        forward = self._what.forward if isinstance(self._what, nn.Module) else self._what
        names: list[str] = []
        if has_signature(forward):
            bound = inspect.signature(forward).bind(*args, **kwargs)
            for name, value in list(bound.arguments.items()):
                if value is None and bound.signature.parameters[name].default is None:
                    del bound.arguments[name]
            args, kwargs, names = bound.args, bound.kwargs, list(bound.signature.parameters)
        return calltree.flatten(list(args), names, kwargs)

    def __call__(self, leaves: Sequence[object]) -> object:
        """Call it, and take note of what stands around its results."""
        args, kwargs = calltree.arguments(self.tree, leaves)
        found = self._what(*args, **kwargs)
        leaves, self.result = calltree.parts(found)
        self.listed = {"list": [*range(len(leaves))]}
        return found

    def around(self, kernel: nn.Module) -> nn.Module:
        """The kernel, which takes leaves and gives tensors, as a module that is called and saved as the live one is."""
        if isinstance(self._what, nn.Module):
            _save_as(kernel, self._what)
        numbers = any(not isinstance(value, torch.Tensor) for value in self.values)
        plain = self.tree is None and self.result in (None, self.listed, {"tuple": [0]}) and not numbers
        return kernel if plain else Adapted(kernel, self)

    def plain(self, kernel: nn.Module, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """What the live module itself gives, in eval mode and with the tensors that the kernel's module has."""
        if not isinstance(self._what, nn.Module):
            return self._what(*args, **kwargs)
        held = {**dict(kernel.named_parameters()), **dict(kernel.named_buffers())}
        own = {**dict(self._what.named_parameters()), **dict(self._what.named_buffers())}
        tensors = {name: value for name, value in held.items() if name in own}
        with in_eval_mode(self._what):
            return torch.func.functional_call(self._what, tensors, tuple(args), dict(kwargs))

    def is_like(self, values: Sequence[object], tree: "JsonValue", *, resized: bool = False) -> bool:
        """Whether a call is put together as this one, of the same numbers, and of tensors of the same shapes.

        `resized`: or of others with as many dimensions, where the result tells none of them.
        """
        pairs = zip(values, self.values, strict=False)
        free = resized and not calltree.tells_sizes(self.result)
        alike = (_is_alike(a, b, free) for a, b in pairs)
        return tree == self.tree and len(values) == len(self.leaves) and all(alike)

    def answering(self, trace: Callable[..., Any]) -> Callable[..., Any]:
        """The trace as a `forward`, for calls that it is of; others, whose sizes it does not know, the live module answers."""

        @functools.wraps(trace)
        def forward(kernel: nn.Module, *leaves: object) -> object:
            if self.is_like(leaves, self.tree):
                return trace(kernel, *leaves)
            args, kwargs = calltree.arguments(self.tree, leaves)
            found = calltree.tensors(self.plain(kernel, args, kwargs))
            if self.result == self.listed:
                return list(found)
            return found if len(found) > 1 or self.result == {"tuple": [0]} else found[0]

        return forward

    @property
    def values(self) -> list[object]:
        """The leaves without their names."""
        return [value for _, value in self.leaves]


def _is_alike(value: object, other: object, free: bool) -> bool:
    if isinstance(value, torch.Tensor) and isinstance(other, torch.Tensor):
        return bool(value.shape == other.shape or (free and value.dim() == other.dim()))
    return type(value) is type(other) and bool(value == other)


class Adapted(nn.Module):  # type: ignore[misc]
    """A kernel's module behind the call of the live module that it stands for.

    What the kernel's module holds is this one's own, under the same names: it is no part of it.
    """

    def __init__(self, kernel: nn.Module, call: Call) -> None:
        super().__init__()
        self.__dict__ |= {name: vars(kernel)[name] for name in HELD} | {"kernel": kernel, "call": call}

    def train(self, mode: bool = True) -> "Adapted":
        """Both at once."""
        self.kernel.train(mode)
        found: Adapted = super().train(mode)
        return found

    def stats(self) -> object:
        """How often the kernel answered, and how often its reference did, by reason."""
        return self.kernel.stats()

    def check_new_sizes(self, wanted: bool) -> None:
        """Whether the live module answers the first call at new sizes, and the kernel is compared with it."""
        self.kernel.check_new_sizes(wanted)

    def extra_repr(self) -> str:
        """What served its calls, where the kernel counts that."""
        return str(self.kernel.extra_repr())

    def forward(self, *args: object, **kwargs: object) -> object:
        """As the live module; the kernel answers where the call is put together as the one that it was made for."""
        leaves, tree = self.call.flatten(args, kwargs)
        values = [value for _, value in leaves]
        if not self.call.is_like(values, tree, resized=True):
            return self.call.plain(self.kernel, args, kwargs)
        found = calltree.tensors(self.kernel(*values))
        if self.call.result is None:
            return found if len(found) > 1 else found[0]
        return calltree.built(self.call.result, found)


def _save_as(kernel: nn.Module, live: nn.Module) -> None:
    """Let a kernel's module have the live one's state: what that does not save is not saved, what it ties is here.

    A module that calls its parameters otherwise is left as it is.
    """
    own, held = live.state_dict(keep_vars=True), kernel.state_dict(keep_vars=True)
    if not {name for name, _ in kernel.named_parameters()} <= own.keys():
        return
    for name in held.keys() - own.keys():
        path, _, leaf = name.rpartition(".")  # a buffer, or a constant of forward
        kernel.get_submodule(path)._non_persistent_buffers_set.add(leaf)
    first: dict[int, str] = {}
    for name, tensor in own.items():
        twin = first.setdefault(id(tensor), name)
        if name in held and twin == name:
            continue
        held[name] = held[twin] if twin in held else copy.deepcopy(tensor)
        *path, leaf = name.split(".")
        owner = functools.reduce(_child, path, kernel)
        (owner.register_parameter if isinstance(tensor, nn.Parameter) else owner.register_buffer)(leaf, held[name])


def _child(module: nn.Module, name: str) -> nn.Module:
    if name not in module._modules:
        module.add_module(name, nn.Module())
    return module._modules[name]


def has_signature(what: Callable[..., Any]) -> bool:
    """Functions that are written in C, such as `torch.relu`, have none."""
    try:
        inspect.signature(what)
    except ValueError:
        return False
    return True


@contextmanager
def in_eval_mode(module: nn.Module) -> Iterator[None]:
    """The module in eval mode for a while; then each part is as it was."""
    training = [one for one in module.modules() if one.training]
    module.eval()
    try:
        yield
    finally:
        for one in training:
            one.training = True
