"""What the draws of one input have in common, so that fresh contents are of the same kind.

A permutation, sorted edges, lengths that sum up, a triangular or symmetric matrix, a mask with one True a row: mixing two
draws would make something that no task means, of which eager makes NaN or an exception, or which an honest kernel rightly
does not expect. What is found in every draw is taken for meant. Too much caution costs time alone: such inputs are drawn by
the task itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch

from kernelwright.evaluate import float8, pieces
from kernelwright.records.tensor import Domain, TensorSpec

How = Literal["mixed", "aligned", "varied", "drawn", "kept"]
"""How contents for one call are made: mixed of windows that begin anywhere; of two draws, element by element in their places;
of one draw, each element by a factor of its own; drawn by the task; or always the same."""
FEW = 4096
"""Elements of an input of integers that is drawn in any case."""
LOOKED_AT = 1 << 22
"""Elements of a draw whose rows are looked at, at most."""
CORNER = 2048
"""Rows and columns of a matrix that are compared with its transpose, at most."""
PATTERN = (0.01, 0.99)
"""Share of zeros that makes a pattern, where all draws have it in the same places."""
ONE_ULP = 1e-3


@dataclass(frozen=True)
class Structure:
    """What one input's fresh contents must keep."""

    how: How = "mixed"
    bounded: bool = False
    """No value is larger than one: contents are scaled down only."""
    because: str = ""
    """What all draws have in common, in words."""


NONE = Structure()
"""Nothing but what the domain says."""


def learnt(draws: torch.Tensor, spec: TensorSpec) -> Structure:
    """The structure of an input whose draws are (draws, *shape); of a single draw little is known."""
    draws = float8.wide(draws)
    if len(draws) < 2 or not spec.numel:
        return Structure(bounded=bool(spec.floating and spec.numel and _bounded(draws)))
    if all(pieces.equal(draws[0], other) for other in draws[1:]):
        return _same(draws[0], spec)
    floats = spec.floating and spec.domain is not Domain.MASK
    because = "symmetric" if floats and _symmetric(draws) else _first(_OF_FLOATS if floats else _OF_WHOLE, draws)
    if because:
        return Structure("drawn", because=because)
    if not spec.floating:
        return Structure("drawn" if spec.numel <= FEW else "mixed")
    if _pattern(draws):
        return Structure("aligned", _bounded(draws), "zeros in the same places")
    return Structure("mixed", _bounded(draws))


def _same(draw: torch.Tensor, spec: TensorSpec) -> Structure:
    """Integers and masks that never change belong to the task; floats may only be drawn from a seed of the task's own.

    One factor for all elements would leave a product of two such inputs known from the first call on.
    """
    one, because = draw[None], "the same in every draw"
    plain = spec.floating and spec.domain not in (Domain.MASK, Domain.LABEL) and pieces.all_finite(draw)
    if not plain:
        return Structure("kept", because=because)
    keeps = _symmetric(one) or _first(_OF_FLOATS, one) or not (spec.scalable or spec.domain is Domain.PROBABILITY)
    return Structure("aligned" if keeps else "varied", _bounded(one), because)


def _bounded(draws: torch.Tensor) -> bool:
    low, high = (float(x) for x in draws.aminmax())
    return 0.5 < max(-low, high) <= 1


def _pattern(draws: torch.Tensor) -> bool:
    """Whether zeros lie in the same places, piece by piece: counted at once they would be as many integers of eight bytes."""
    count = 0
    for first, *others in zip(*(pieces.of(d) for d in draws), strict=True):
        zeros = first == 0
        if not all(torch.equal(zeros, other == 0) for other in others):
            return False
        count += int(zeros.count_nonzero())
    return PATTERN[0] < count / int(draws[0].numel()) < PATTERN[1]


Rows: TypeAlias = torch.Tensor
"""(draws, rows, width)."""


def _sorted(rows: Rows) -> bool:
    steps = rows[..., 1:].to(torch.float64) - rows[..., :-1].to(torch.float64)
    return rows.shape[-1] > 2 and (bool((steps >= 0).all()) or bool((steps <= 0).all()))


def _distinct(rows: Rows) -> bool:
    in_order = rows.sort(dim=-1).values
    return bool(rows.shape[-1] > 1 and rows.dtype != torch.bool and (in_order[..., 1:] != in_order[..., :-1]).all())


def _same_sums(rows: Rows) -> bool:
    sums = rows.to(torch.int64).sum(-1)
    return rows.shape[-1] > 1 and bool((sums == sums.flatten()[0]).all())


def _same_ends(rows: Rows) -> bool:
    first, last = rows[..., 0], rows[..., -1]
    return rows.shape[-1] > 2 and bool((first == first.flatten()[0]).all()) and bool((last == last.flatten()[0]).all())


def _never_empty(rows: Rows) -> bool:
    counts = (rows != 0).sum(-1)
    return rows.shape[-1] > 1 and bool((counts > 0).all()) and int(counts.min()) <= 2


def _symmetric(draws: torch.Tensor) -> bool:
    """Whether matrices equal their transposes, as far as their corners tell: of large ones no more fits the memory."""
    side = draws.shape[-1]
    if draws.dim() < 3 or side < 2 or draws.shape[-2] != side:
        return False
    few = draws.reshape(len(draws), -1, side, side)[:, : max(1, LOOKED_AT // side**2), :CORNER, :CORNER]
    return bool(torch.equal(few, few.mT))


def _unit(rows: Rows) -> bool:
    norms = rows.double().square().sum(-1)
    return rows.shape[-1] > 1 and bool(((norms - 1).abs() < ONE_ULP).all())


_OF_WHOLE: dict[str, Callable[[Rows], bool]] = {
    "sorted": _sorted,
    "no value twice in a row": _distinct,
    "the same sum of every row": _same_sums,
    "the same first and last": _same_ends,
    "a value in every row, in some of them one or two": _never_empty,
}
_OF_FLOATS: dict[str, Callable[[Rows], bool]] = {
    "sorted": _sorted,
    "rows of length one": _unit,
}


def _first(properties: dict[str, Callable[[Rows], bool]], draws: torch.Tensor) -> str:
    rows = _rows(draws)
    return next((name for name, holds in properties.items() if holds(rows)), "")


def _rows(draws: torch.Tensor) -> Rows:
    """Rows of every draw: the first ones where there are many."""
    if draws.dim() < 3:
        return draws.reshape(len(draws), 1, -1)
    rows = draws.reshape(len(draws), -1, draws.shape[-1])
    return rows[:, : max(1, LOOKED_AT // max(1, rows.shape[-1]))]


def joined(structures: Sequence[Structure]) -> str:
    """What was found, for people; empty where nothing was."""
    return "; ".join(f"{i}: {s.because}" for i, s in enumerate(structures) if s.because)
