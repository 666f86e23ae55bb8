"""Outputs of which several are right: positions of equal values, values in no promised order.

Positions (argmax, topk, sort) are judged by what they pick: gathered from the fp64 values that they point into, it must
be what the reference's own positions pick, within tolerance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from kernelwright.evaluate.verify.compare import Expected, Wrong, judge, scale_of
from kernelwright.records.comparator import Ties


@dataclass(frozen=True)
class Tied:
    """Positions into `picked`, which holds the fp64 values; `value` holds the reference's own positions."""

    value: torch.Tensor
    picked: torch.Tensor
    rule: Ties
    reference_error: float
    allowed: float
    draws: int = 1

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """In range, distinct where that is asked for, and picking the expected values."""
        index = got[0].to(self.picked.device).long()
        if not index.numel():
            return 0.0, None
        wrong = self._out_of_range(index) or self._twice(index)
        if wrong is not None:
            return float("inf"), wrong
        mine, wanted = self._values(index), self._values(self.value.to(index.device).long())
        expected = Expected(wanted, scale_of(wanted), self.reference_error, self.allowed)
        error, found = judge(mine, expected)
        if found is None:
            return error, None
        return error, Wrong("value", f"its positions pick other values: {found.evidence}", error)

    def _size(self) -> int:
        return int(self.picked.numel() if self.rule.dim is None else self.picked.shape[self.rule.dim])

    def _out_of_range(self, index: torch.Tensor) -> Wrong | None:
        outside = (index < 0) | (index >= self._size())
        if not bool(outside.any()):
            return None
        where = int(outside.flatten().to(torch.uint8).argmax())
        evidence = (
            f"{int(outside.sum())} of {index.numel()} positions lie outside 0 to {self._size() - 1}; first at flat index "
            f"{where}: {int(index.flatten()[where])}"
        )
        return Wrong("value", evidence, float("inf"))

    def _twice(self, index: torch.Tensor) -> Wrong | None:
        if not self.rule.distinct:
            return None
        dim = -1 if self.rule.dim is None else self.rule.dim
        sorted_index = index.sort(dim=dim).values
        again = sorted_index.diff(dim=dim) == 0
        if not bool(again.any()):
            return None
        return Wrong("value", f"{int(again.sum())} of {index.numel()} positions come twice", float("inf"))

    def _values(self, index: torch.Tensor) -> torch.Tensor:
        """What positions pick, sorted where no order was promised."""
        dim = self.rule.dim
        if dim is None:
            found = self.picked.flatten()[index]
            return found if self.rule.ordered else found.flatten().sort().values
        if index.dim() < self.picked.dim():
            found = self.picked.gather(dim, index.unsqueeze(dim)).squeeze(dim)
        else:
            found = self.picked.gather(dim, index)
        return found if self.rule.ordered else found.sort(dim=dim).values


@dataclass(frozen=True)
class Unordered:
    """Values along a dimension in any order."""

    value: torch.Tensor
    dim: int | None
    reference_error: float
    allowed: float
    draws: int = 1

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """As the calibrated comparison, of sorted values."""
        wanted = in_order(self.value, self.dim)
        expected = Expected(wanted, scale_of(wanted), self.reference_error, self.allowed)
        return judge(in_order(got[0], self.dim), expected)


def in_order(values: torch.Tensor, dim: int | None) -> torch.Tensor:
    """Sorted along a dimension, or altogether; what is never written sorts last, as NaN."""
    if not values.dim():
        return values
    return values.flatten().sort().values if dim is None else values.sort(dim=dim).values
