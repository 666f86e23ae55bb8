"""The reference in double precision where the task's own code names narrower types.

A model that is made double computes in double, but for what it casts itself: `x.half() @ w.half()`, or `x.float()` in a norm,
rounds there in every variant. What is held to be exact would then be what eager is, error and all, and every other kernel
wrong. So casts between floating types of 16 bits and more are left out of it: PyTorch's own result errs by its roundings, and
kernels may err by a multiple of that. Casts to eight bits and to integers are what such a task is about, and stay.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.evaluate.sandbox.messages.calls import LIBRARY_FULL
from kernelwright.records.graph import OpGraph

NAMES = ("float32", "float16", "bfloat16")
NARROWER = frozenset(getattr(torch, name) for name in NAMES)
CASTS = frozenset({"to", "_to_copy", "type_as"})


class Unrounded(TorchDispatchMode):  # type: ignore[misc]
    """Within it, what is asked of doubles in a narrower floating type is done in double."""

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
        if named.get("dtype") in NARROWER and any(_is_double(value) for value in args):
            named["dtype"] = torch.float64
        return func(*args, **named)


def casts(graph: OpGraph) -> bool:
    """Whether the task's code names a floating type that is narrower than double."""
    return any(
        node.op.split(".")[1] in CASTS and node.result[0].dtype in NAMES
        for node in graph.nodes
        if "." in node.op and node.result
    )


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
