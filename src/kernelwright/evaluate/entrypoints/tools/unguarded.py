"""Methods of tensors that PyTorch's Python binding begins by making a tensor's device current, without that.

Fake tensors of a GPU that is not here have no device to make current, so that `x.contiguous()`, `x.copy_(y)` and `x[1:]`
raise, although the operators behind them would not. Indexing is what the binding's `applySlicing` does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from kernelwright.evaluate.triton.untyped import replaced

aten = torch.ops.aten
Index = Any
"""An int, a slice, None, an ellipsis, a tensor, a sequence of ints, or a tuple of these."""


@contextmanager
def unguarded() -> Iterator[None]:
    """While it lasts, these methods ask for no device."""
    with replaced(torch.Tensor, contiguous=_contiguous, copy_=_copy, __getitem__=_get, __setitem__=_set):
        yield


def _contiguous(self: torch.Tensor, memory_format: torch.memory_format = torch.contiguous_format) -> torch.Tensor:
    made: torch.Tensor = aten.contiguous.default(self, memory_format=memory_format)
    return made


def _copy(self: torch.Tensor, other: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    made: torch.Tensor = aten.copy_.default(self, other, non_blocking)
    return made


def _get(self: torch.Tensor, index: Index) -> torch.Tensor:
    view, places = _sliced(self, index)
    if any(place is not None for place in places):
        gathered: torch.Tensor = aten.index.Tensor(view, places)
        return gathered
    return aten.alias.default(view) if view is self else view


def _set(self: torch.Tensor, index: Index, value: Any) -> None:  # noqa: ANN401  a tensor or a number
    view, places = _sliced(self, index)
    given = value if isinstance(value, torch.Tensor) else torch.full((), value, dtype=self.dtype, device=self.device)
    if any(place is not None for place in places):
        aten.index_put_.default(view, places, given.to(self.dtype))
    else:
        aten.copy_.default(view, given)


def _sliced(tensor: torch.Tensor, index: Index) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """The view that numbers, slices and new axes give, and by its axis, the tensors that are to gather from it."""
    items = _whole(tensor, index if isinstance(index, tuple) else (index,))
    places: list[torch.Tensor | None] = []
    for item in items:
        axis = len(places)
        match item:
            case None:
                tensor, places = aten.unsqueeze.default(tensor, axis), [*places, None]
            case slice():
                if item != slice(None):
                    tensor = aten.slice.Tensor(tensor, axis, item.start, item.stop, item.step or 1)
                places.append(None)
            case bool():
                tensor = aten.unsqueeze.default(tensor, axis)
                places.append(torch.full((1,), item, device=tensor.device))
            case int() | torch.SymInt():
                tensor = aten.select.int(tensor, axis, item)
            case _:
                gathering = item if isinstance(item, torch.Tensor) else torch.tensor(item, device=tensor.device)
                # A mask of several axes takes the place of all of them.
                places += [gathering, *[None] * (_axes(gathering) - 1)]
    return tensor, [place for i, place in enumerate(places) if not _behind_a_mask(places, i)]


def _behind_a_mask(places: list[torch.Tensor | None], at: int) -> bool:
    """Whether an axis belongs to a mask that stands before it, which `aten.index` counts itself."""
    return any(place is not None and i < at < i + _axes(place) for i, place in enumerate(places))


def _axes(item: Index) -> int:
    """Axes of the tensor that an item of an index is for."""
    if isinstance(item, torch.Tensor):
        return item.ndim if item.dtype in (torch.bool, torch.uint8) else 1
    return 0 if item is None or isinstance(item, bool) else 1


def _whole(tensor: torch.Tensor, items: tuple[Index, ...]) -> list[Index]:
    """The items with slices in the place of an ellipsis."""
    at = next((i for i, item in enumerate(items) if item is Ellipsis), None)
    if at is None:
        return list(items)
    rest = [*items[:at], *items[at + 1 :]]
    missing = tensor.ndim - sum(map(_axes, rest))
    return [*items[:at], *[slice(None)] * missing, *items[at + 1 :]]
