"""PyTorch's operations that sort: what they sort, how many places of it are wanted, and in which direction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Value

What = Literal["value", "place"]


@dataclass(frozen=True)
class Sorting:
    """The first places of a sorted dimension."""

    value: Value
    dim: int
    count: int
    descending: bool
    results: tuple[What, ...]


def _sorting(b: Builder, a: Arguments, descending: bool, results: tuple[What, ...], default: int = -1) -> Sorting:
    x = a.tensor("self")
    if not x.shape:
        raise ProposeError("a sort of a single element")
    dim = int(a.number("dim", default)) % len(x.shape)
    size = b.axes.size(x.shape[dim])
    count = int(a.number("k", size))
    if size < 2 or not 0 < count <= size or x.expr.kind == "bool":
        raise ProposeError("a sort of a single element, or of truths")
    return Sorting(b.renamed(x), dim, count, descending, results)


def _sort(b: Builder, a: Arguments) -> Sorting:
    return _sorting(b, a, a.flag("descending"), ("value", "place"))


SORTS: dict[str, Callable[[Builder, Arguments], Sorting]] = {
    "aten.topk.default": lambda b, a: _sorting(b, a, a.flag("largest", default=True), ("value", "place")),
    "aten.sort.default": _sort, "aten.sort.stable": _sort,
    "aten.argsort.default": lambda b, a: _sorting(b, a, a.flag("descending"), ("place",)),
    "aten.argsort.stable": lambda b, a: _sorting(b, a, a.flag("descending"), ("place",)),
    "aten.msort.default": lambda b, a: _sorting(b, a, False, ("value",), 0),
}  # fmt: skip
