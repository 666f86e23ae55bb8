"""The fp64 reference where ties are broken otherwise: the first of equal values, the last, or one by chance.

PyTorch promises no order of equal values in `topk`, an unstable `sort`, `kthvalue` and `median`. Which of them is picked
decides what is derived from positions (a mask, a count of tokens, a loss), and a right kernel may pick another. By chance,
values as near as single precision tells are equal, too. `argmax` and `max` promise the first, and a stable sort its order.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.evaluate.entrypoints.reference.rounding import chance, within
from kernelwright.evaluate.sandbox.messages.calls import PICKS
from kernelwright.records.tensor import EPSILON

NEAR = 4 * EPSILON["float32"]
"""Relative distance of values of which single precision may take either for the larger."""


class Otherwise(TorchDispatchMode):  # type: ignore[misc]
    """Within it, of equal values another is picked than PyTorch's own choice."""

    def __init__(self, which: str) -> None:
        super().__init__()
        self._which = which

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: object,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """See `TorchDispatchMode`."""
        name, named = str(func).removeprefix("aten."), {**_named(func, args), **(kwargs or {})}
        pick = PICKING.get(name)
        values = named.get("self")
        if pick is None or named.get("stable") or not isinstance(values, torch.Tensor) or not values.dim():
            return func(*args, **(kwargs or {}))
        dim = named.get("dim", -1)
        falling = named.get("largest", True) if name == "topk.default" else named.get("descending", False)
        return pick(values, dim, self._order(values, dim, falling), named)

    def _order(self, values: torch.Tensor, dim: int, descending: bool) -> torch.Tensor:
        """Positions in the order of their values, equal ones in this mode's."""
        mixed = self._mixed(values, dim)
        near = values.gather(dim, mixed)
        if self._which == "any" and near.is_floating_point():
            near = near * (1 + NEAR * _uniform(near))
        return mixed.gather(dim, near.sort(dim=dim, descending=descending, stable=True).indices)

    def _mixed(self, values: torch.Tensor, dim: int) -> torch.Tensor:
        if self._which == "any":
            return _uniform(values).argsort(dim=dim)
        along = torch.arange(values.shape[dim], device=values.device)
        along = along.flip(0) if self._which == "last" else along
        shape = [1] * values.dim()
        shape[dim] = -1
        return along.view(shape).expand(values.shape)


def _uniform(like: torch.Tensor) -> torch.Tensor:
    return torch.rand(like.shape, dtype=torch.float64, device=like.device, generator=chance(like.device))


def _named(func: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    return dict(zip((a.name for a in func._schema.arguments), args, strict=False))  # type: ignore[attr-defined]


Pair = tuple[torch.Tensor, torch.Tensor]


def _first(values: torch.Tensor, dim: int, order: torch.Tensor, named: Mapping[str, Any]) -> Pair:
    found = order.narrow(dim, 0, named.get("k", values.shape[dim]))
    return values.gather(dim, found), found.contiguous()


def _one(values: torch.Tensor, dim: int, order: torch.Tensor, named: Mapping[str, Any]) -> Pair:
    """The k-th smallest; without a k the lower one in the middle."""
    at = named["k"] - 1 if "k" in named else (values.shape[dim] - 1) // 2
    found = order.narrow(dim, at, 1)
    pair = values.gather(dim, found), found.contiguous()
    return pair if named.get("keepdim") else (pair[0].squeeze(dim), pair[1].squeeze(dim))


PICKING: dict[str, Callable[..., Pair]] = {
    "topk.default": _first, "sort.default": _first, "sort.stable": _first, "kthvalue.default": _one, "median.dim": _one,
}  # fmt: skip


def variants(exact: torch.nn.Module) -> dict[str, Callable[..., Any]]:
    """A model of doubles, by name, in which ties are broken otherwise."""
    return {name: within(partial(Otherwise, name.split()[0]), exact, exact) for name in PICKS}
