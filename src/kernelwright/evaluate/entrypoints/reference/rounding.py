"""The reference in double precision: without the task's own roundings, and with those that tensor cores may make.

A model that is made double computes in double, but for what it casts itself: `x.half() @ w.half()`, or `x.float()` in a norm,
rounds there in every variant. What is held to be exact would then be what eager is, error and all, and every other kernel
wrong. So casts between floating types of 16 bits and more are left out of it: PyTorch's own result errs by its roundings, and
kernels may err by a multiple of that. Casts to eight bits and to integers are what such a task is about, and stay.

Which products cuDNN and cuBLAS round where they may, and how, depends on the algorithm that they choose: PyTorch's own
convolution of three channels is not rounded in one layout of memory and is in another; some round to nearest, others cut
bits off. So there are two such references: one rounds by chance, in each call in another way, and one cuts off. How far
their results move is what a kernel may lose that makes the same products in another way. The factors of every product move,
those too that are results of earlier ones, of which inputs that move say nothing; a bias is no factor and stays.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache, partial
from math import sqrt
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from kernelwright.evaluate.entrypoints import numerics
from kernelwright.evaluate.sandbox.messages.calls import CUT, LIBRARY_FULL, ROUNDED, SINGLE
from kernelwright.records.graph import UNTRACED, OpGraph
from kernelwright.records.numerics import Numerics
from kernelwright.records.tensor import EPSILON

NAMES = ("float32", "float16", "bfloat16")
NARROWER = frozenset(getattr(torch, name) for name in NAMES)
CASTS = frozenset({"to", "_to_copy", "type_as"})
MAKING = frozenset({"zeros", "ones", "full", "empty", "arange", "linspace", "eye", "scalar_tensor", "rand", "randn"})
"""Operations that make a tensor of no other, of a type that the task names or that PyTorch takes by default."""
PIECE = 1 << 22
"""Elements that are rounded at a time: beside them lie as many random numbers."""
DROPPED = (1 << 42) - 1
"""Bits of a double's significand beyond the ten that TF32 keeps."""


FUSES: ContextVar[bool] = ContextVar("fuses", default=False)
"""Whether a serial function is called as built with products and sums fused."""


def fused(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, where what it calls of serial code fuses `a * b + c` wherever the compiler may."""

    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        before = FUSES.set(True)
        try:
            return forward(*args, **kwargs)
        finally:
            FUSES.reset(before)

    return called


class Unrounded(TorchDispatchMode):  # type: ignore[misc]
    """Within it, what is asked of doubles in a narrower floating type is done in double, and what is made is made double."""

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: object,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """See `TorchDispatchMode`: any operation that takes a `dtype`, casts and sums among them."""
        if func is torch.ops.aten.view.dtype and _is_double(args[0]):
            raise TypeError("the bits of a double are not those of what the task has there")
        named = dict(kwargs or {})
        made = not any(isinstance(value, torch.Tensor) for value in args)
        if named.get("dtype") in NARROWER and (made or any(_is_double(value) for value in args)):
            named["dtype"] = torch.float64
        return func(*args, **named)


def casts(graph: OpGraph) -> bool:
    """Whether the task's code names a floating type that is narrower than double, or takes PyTorch's, or nobody knows."""
    return any(
        node.op == UNTRACED or (node.op.split(".")[1] in CASTS | MAKING and node.result[0].dtype in NAMES)
        for node in graph.nodes
        if "." in node.op and node.result
    )


def in_double(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The same function where what has no type of its own is in double precision: `torch.zeros(n)`, `torch.tensor(0.5)`."""

    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return forward(*args, **kwargs)
        finally:
            torch.set_default_dtype(before)

    return called


def unrounded(forward: Callable[..., Any], module: torch.nn.Module) -> Callable[..., Any]:
    """The same function, without its own roundings; with them where it cannot do without, as where it looks at bits."""
    return within(Unrounded, forward, module)


def within(
    mode: Callable[[], TorchDispatchMode], forward: Callable[..., Any], module: torch.nn.Module
) -> Callable[..., Any]:
    """The same function within a mode, a new one for each call; without it where it fails there alone.

    `module` is whose buffers it may change: a second try begins where the first did.
    """
    fails = False

    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        nonlocal fails
        if not fails:
            before = [buffer.clone() for buffer in module.buffers()]
            try:
                with mode():
                    return forward(*args, **kwargs)
            except (RuntimeError, TypeError, ValueError) as error:
                if isinstance(error, torch.OutOfMemoryError) or any(word in str(error) for word in LIBRARY_FULL):
                    raise
            for buffer, value in zip(module.buffers(), before, strict=True):
                buffer.copy_(value)
        found = forward(*args, **kwargs)
        # Only now: what fails without the mode too says nothing about it.
        fails = True
        return found

    return called


def _is_double(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float64


class Products(NamedTuple):
    """Which products may be rounded."""

    convolutions: bool
    matrices: bool


def may_round() -> Products:
    """Which products PyTorch may round to TF32 under the flags that this process has."""
    flags = Numerics(flags=numerics.told())
    return Products(flags.allows_tf32(convolution=True), flags.allows_tf32(convolution=False))


FACTORS = {
    "mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "addbmm": (1, 2), "baddbmm": (1, 2),
    "_addmm_activation": (1, 2), "convolution": (0, 1), "_cudnn_rnn": (0, 1, 4),
}  # fmt: skip
"""Which arguments of an operation are factors of its products."""
RECURRENT, PACKED = "_cudnn_rnn", 3
"""An operation that may have its weights in one piece too, and as which argument; without, it makes that piece of them."""
CONVOLUTIONS = ("convolution", RECURRENT)
"""Operations of cuDNN, whose flag is another than that of matrix products."""


class Rounded(TorchDispatchMode):  # type: ignore[misc]
    """Within it, factors in double precision are rounded to TF32: up or down by chance, or `cut` off."""

    def __init__(self, may: Products, cut: bool = False) -> None:
        super().__init__()
        self._may, self._cut = may, cut

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: object,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """See `TorchDispatchMode`."""
        name = func.__name__.split(".")[0]
        if name in FACTORS and (self._may.convolutions if name in CONVOLUTIONS else self._may.matrices):
            args = [self._tf32(a) if i in FACTORS[name] else a for i, a in enumerate(args)]
            if name == RECURRENT:
                args[PACKED] = None
        return func(*args, **(kwargs or {}))

    def _tf32(self, value: Any) -> Any:  # noqa: ANN401
        """One of the two numbers of TF32 beside each double: the smaller one, or by chance the nearer one the likelier.

        What is a number of TF32 stays itself.
        """
        if isinstance(value, list | tuple):
            return [self._tf32(v) for v in value]
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float64:
            return value
        found = value.clone(memory_format=torch.contiguous_format)
        for part in found.view(torch.int64).view(-1).split(PIECE):
            if not self._cut:
                part += torch.randint(0, DROPPED + 1, part.shape, device=part.device, generator=chance(part.device))
            part.bitwise_and_(~DROPPED)
        return found


CHOOSING = frozenset(
    (
        "clone", "where", "gather", "index", "index_select", "cat", "stack", "sort", "topk", "max", "min", "amax", "amin",
        "argmax", "argmin", "maximum", "minimum", "clamp", "clamp_min", "clamp_max", "relu", "neg", "abs", "sign", "round",
        "floor", "ceil", "trunc", "gt", "lt", "ge", "le", "eq", "ne", "_to_copy", "masked_fill", "flip", "roll", "isnan",
    )
)  # fmt: skip
"""Operations that compare, choose, move or cut: nothing is rounded in them."""


class Single(TorchDispatchMode):  # type: ignore[misc]
    """Within it, arithmetic on doubles errs by chance as single precision does, in what goes in and in what comes out.

    Twice an ulp each; where n elements meet in one, 0.2 sqrt(n) times that (`compare.floor` says why).
    """

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: object,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """See `TorchDispatchMode`."""
        found = func(*args, **(kwargs or {}))
        views = any(r.alias_info is not None for r in func._schema.returns)  # type: ignore[attr-defined]
        if views or func.__name__.split(".")[0] in CHOOSING or not any(map(_is_double, tree_leaves(found))):
            return found
        given, made = (max((v.numel() for v in tree_leaves(x) if _is_double(v)), default=1) for x in (args, found))
        by = 2 * EPSILON["float32"] * max(1.0, 0.2 * sqrt(min(given // max(1, made), 2048)))
        moved = tree_map(partial(_moved, by=by), list(args))
        return tree_map(partial(_moved, by=2 * EPSILON["float32"]), func(*moved, **(kwargs or {})))


def _moved(value: Any, by: float) -> Any:  # noqa: ANN401
    if not _is_double(value):
        return value
    return value * (
        1 + by * (torch.randint(0, 2, value.shape, generator=chance(value.device), device=value.device) * 2 - 1)
    )


@cache
def chance(device: torch.device) -> torch.Generator:
    """Chance of its own: what the reference draws itself stays what it is."""
    made = torch.Generator(device)
    made.manual_seed(secrets.randbits(63))
    return made


def rounded(
    forward: Callable[..., Any], module: torch.nn.Module, may: Products, cut: bool = False
) -> Callable[..., Any]:
    """The same function of doubles with rounded factors; `module` is whose buffers it may change."""
    return within(partial(Rounded, may, cut), forward, module)


def variants(exact: torch.nn.Module, may: Products) -> dict[str, Callable[..., Any]]:
    """A model of doubles, by name: with rounded factors, and with arithmetic that errs."""
    ways = {ROUNDED: False, CUT: True}
    return {name: rounded(exact, exact, may, cut) for name, cut in ways.items()} | {
        SINGLE: within(Single, exact, exact)
    }
