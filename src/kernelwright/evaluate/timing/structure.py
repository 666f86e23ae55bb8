"""What the draws of one input have in common, so that fresh contents are of the same kind.

A permutation, sorted edges, lengths that sum up, a triangular or symmetric matrix, a mask with one True a row: mixing two
draws would make something that no task means, of which eager makes NaN or an exception, or which an honest kernel rightly
does not expect. What is found in every draw is taken for meant. Too much caution costs time alone: such inputs are drawn by
the task itself.
"""

from collections.abc import Callable
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
MOST_SORTED = 1 << 25
"""Elements that are sorted again, at most."""
CORNER = 2048
"""Rows and columns of a matrix that are compared with its transpose, at most."""
PATTERN = (0.01, 0.99)
"""Share of zeros that makes a pattern, where all draws have it in the same places."""
ONE_ULP = 1e-3
PLACES, STRETCH = 16, 4096
"""Rows of a challenge in which something moves, and neighbours that move together, at most."""


@dataclass(frozen=True)
class Structure:
    """What one input's fresh contents must keep."""

    how: How = "mixed"
    bounded: bool = False
    """No value is larger than one: contents are scaled down only."""
    properties: tuple[str, ...] = ()
    """What all draws have in common, in words."""

    @property
    def because(self) -> str:
        """The properties together."""
        return ", ".join(self.properties)


NONE = Structure()
"""Nothing but what the domain says."""


def learnt(draws: torch.Tensor, spec: TensorSpec) -> Structure:
    """The structure of an input whose draws are (draws, *shape); of a single draw little is known."""
    draws = float8.wide(draws)
    if len(draws) < 2 or not spec.numel:
        return Structure(bounded=bool(spec.floating and spec.numel and _bounded(draws)))
    if all(pieces.equal(draws[0], other) for other in draws[1:]):
        return _same(draws[0], spec)
    if properties := _properties(draws, spec):
        return Structure("drawn", properties=properties)
    if not spec.floating:
        return Structure("drawn" if spec.numel <= FEW else "mixed")
    if _pattern(draws):
        return Structure("aligned", _bounded(draws), ("zeros in the same places",))
    return Structure("mixed", _bounded(draws))


def _same(draw: torch.Tensor, spec: TensorSpec) -> Structure:
    """Integers and masks that never change belong to the task; floats may only be drawn from a seed of the task's own.

    One factor for all elements would leave a product of two such inputs known from the first call on.
    """
    one, always = draw[None], "the same in every draw"
    plain = spec.floating and spec.domain not in (Domain.MASK, Domain.LABEL) and pieces.all_finite(draw)
    if not plain:
        told = [name for name in ("sorted", "no value twice in a row") if _OF_WHOLE[name](_rows(one))]
        return Structure("kept", properties=(always, *told))
    keeps = _properties(one, spec) or not (spec.scalable or spec.domain is Domain.PROBABILITY)
    return Structure("aligned" if keeps else "varied", _bounded(one), (always,))


def restored(structure: Structure, changed: torch.Tensor, drawn: torch.Tensor, spec: TensorSpec) -> bool:
    """Give changed contents of an input what all draws of it have in common; False where that cannot be done."""
    if structure.how != "drawn" or not structure.properties:
        return True
    if spec.numel > LOOKED_AT:
        # Sorting is what can be afforded, and looking whether all of it is right is not.
        if structure.properties != ("sorted",) or spec.numel > MOST_SORTED:
            return False
        _restore(structure, changed, drawn)
        return True
    float8.change(changed, lambda values: _restore(structure, values, float8.wide(drawn)))
    both = float8.wide(torch.stack([drawn, changed]))
    return set(structure.properties) <= set(_properties(both, spec))


def challenge(structure: Structure, child: torch.Tensor, generator: torch.Generator) -> None:
    """Change some elements within what all draws have in common: what no candidate may take for known.

    Of what is sorted a stretch takes its first value, and the largest numbers grow; two elements of a row change places, or
    of what is symmetric two pairs.
    """
    rows = child.view(-1, child.shape[-1]) if child.dim() > 1 else child.view(1, -1)
    width = rows.shape[-1]
    for row in torch.randint(len(rows), (PLACES,), generator=generator).tolist():
        first, second = sorted(torch.randint(width, (2,), generator=generator).tolist())
        if "symmetric" in structure.properties:
            square = rows[row // width * width : row // width * width + width]
            square[first, second] = square[second, first] = square[first, first].clone()
        elif "sorted" in structure.properties:
            _move(rows[row], first, min(second, first + STRETCH), structure)
        elif "the same first and last" not in structure.properties or first:
            rows[row, [first, second]] = rows[row, [second, first]]


def _move(row: torch.Tensor, first: int, second: int, structure: Structure) -> None:
    if "no value twice in a row" not in structure.properties or row.is_floating_point():
        row[first:second] = row[first].clone()
    if row.is_floating_point():
        by = (row[-1] - row[0]).clone()
        # Those at the upper end, so that the order stays.
        end = row[: second - first] if by < 0 else row[len(row) - (second - first) :]
        end += by.abs()


def _restore(structure: Structure, values: torch.Tensor, drawn: torch.Tensor) -> None:
    if "symmetric" in structure.properties:
        values.copy_(values.triu() + values.triu(1).mT)
    if "sorted" in structure.properties:
        descending = bool((_rows(drawn[None])[..., 0] > _rows(drawn[None])[..., -1]).any())
        values.copy_(values.sort(dim=-1, descending=descending).values)
    if "rows of length one" in structure.properties:
        values /= values.norm(dim=-1, keepdim=True)
    if "the same first and last" in structure.properties:
        values[..., 0], values[..., -1] = drawn[..., 0], drawn[..., -1]


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


def _properties(draws: torch.Tensor, spec: TensorSpec) -> tuple[str, ...]:
    """All that hold of draws of an input."""
    floats, rows = spec.floating and spec.domain is not Domain.MASK, _rows(draws)
    found = [name for name, holds in (_OF_FLOATS if floats else _OF_WHOLE).items() if holds(rows)]
    return tuple(["symmetric", *found] if floats and _symmetric(draws) else found)


def _rows(draws: torch.Tensor) -> Rows:
    """Rows of every draw: the first ones where there are many."""
    if draws.dim() < 3:
        return draws.reshape(len(draws), 1, -1)
    rows = draws.reshape(len(draws), -1, draws.shape[-1])
    return rows[:, : max(1, LOOKED_AT // max(1, rows.shape[-1]))]
