"""What was drawn, as evidence of an input's domain; and what a domain is told to be from two draws with different seeds.

A tensor is looked at in pieces: it may fill half of a device, and some of torch's operations take no more than 2^31
elements at once.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch

from kernelwright.evaluate import float8
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

LABELS = 16
"""Most different whole values that floats have which are classes and not numbers."""
PIECE = 1 << 26
"""Elements that are looked at at a time."""
SAMPLED = 1 << 16
"""Elements among which a tensor of few different values shows them all."""


@dataclass(frozen=True)
class Evidence:
    """What one draw of a tensor shows."""

    numel: int
    top: int = 0
    """Of integers: the largest."""
    not_negative: bool = False
    rows_sum_to_one: bool = False
    whole_values: tuple[float, ...] = ()
    """The few whole numbers that it holds; empty where there are others or many."""


def evidence(drawn: torch.Tensor) -> Evidence:
    """Look at one draw."""
    count = drawn.numel()
    if drawn.dtype == torch.bool or drawn.is_complex():
        return Evidence(count)
    if not drawn.is_floating_point():
        return Evidence(count, top=max((int(p.max()) for p in _pieces(drawn)), default=0))
    not_negative = all(bool((p.float() >= 0).all()) for p in _pieces(drawn))
    return Evidence(
        count,
        not_negative=not_negative,
        rows_sum_to_one=not_negative
        and drawn.dim() > 0
        and drawn.dtype not in float8.FLOAT8
        and _rows_sum_to_one(drawn),
        whole_values=_whole_values(drawn),
    )


def with_domain(spec: TensorSpec, seen: Sequence[Evidence]) -> TensorSpec:
    """The spec with the domain that all draws agree on: integers are indices, rows that sum to one probabilities."""
    if spec.dtype == "bool":
        return spec.model_copy(update={"domain": Domain.MASK})
    if not spec.floating:
        return spec.model_copy(update={"domain": Domain.INDEX, "bound": max(e.top for e in seen) + 1})
    return spec.model_copy(update={"domain": _domain_of_floats(seen)})


def seen_of(leaf: object) -> Evidence | None:
    """What one draw shows of a leaf of a call; None of a number."""
    return evidence(leaf) if isinstance(leaf, torch.Tensor) else None


def with_domains(specs: Sequence[TensorSpec | Scalar], *draws: Sequence[Evidence | None]) -> list[TensorSpec | Scalar]:
    """The specs of all leaves with what their draws agree on."""
    seen = zip(*draws, strict=True)
    return [
        with_domain(spec, [e for e in found if e is not None]) if isinstance(spec, TensorSpec) else spec
        for spec, found in zip(specs, seen, strict=True)
    ]


def with_signs(drawn: torch.Tensor, factor: float) -> torch.Tensor:
    """A copy of what was drawn, times a factor, where every second element or so has its sign changed."""
    changed = drawn.clone(memory_format=torch.contiguous_format)
    for piece in changed.view(-1).split(PIECE):
        signs = torch.where(torch.rand(piece.shape, device=piece.device) < 0.5, -factor, factor)
        float8.change(piece, partial(_multiply, signs))
    return changed


def grown(numbers: Sequence[int], bears: Callable[[Sequence[int]], bool]) -> list[int]:
    """As many of them as are borne together, taken in one after another."""
    found: list[int] = []
    for number in numbers:
        if bears((*found, number)):
            found.append(number)
    return found


def grown_signed(parameters: Sequence[torch.Tensor], defined: Callable[[], bool]) -> list[int]:
    """Parameters, by their numbers, that may be below zero together."""

    def bears(some: Sequence[int]) -> bool:
        with _signs_in([parameters[n] for n in some]):
            return defined()

    return grown(range(len(parameters)), bears)


@contextmanager
def _signs_in(parameters: Sequence[torch.Tensor]) -> Iterator[None]:
    """Some elements of these parameters are below zero meanwhile."""
    before = [own.detach().clone() for own in parameters]
    with torch.no_grad():
        for own in parameters:
            own.copy_(with_signs(own.detach(), 1.0))
        yield
        for own, known in zip(parameters, before, strict=True):
            own.copy_(known)


def _multiply(factors: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return values.mul_(factors.to(values.dtype))


def _domain_of_floats(seen: Sequence[Evidence]) -> Domain:
    if all(e.rows_sum_to_one for e in seen):
        return Domain.PROBABILITY
    first = seen[0].whole_values
    often = seen[0].numel >= 4 * len(first)
    if 2 <= len(first) <= LABELS and often and all(e.whole_values == first for e in seen):
        return Domain.LABEL
    return Domain.NON_NEGATIVE if all(e.not_negative for e in seen) else Domain.REAL


def _rows_sum_to_one(drawn: torch.Tensor) -> bool:
    rows = drawn.reshape(-1, drawn.shape[-1]) if drawn.numel() else drawn.new_zeros(0, 1)
    parts = rows.split(max(1, PIECE // max(1, rows.shape[-1])))
    return all(bool(((part.double().sum(-1) - 1).abs() < 1e-3).all()) for part in parts)


def _whole_values(drawn: torch.Tensor) -> tuple[float, ...]:
    flat = drawn.reshape(-1)
    values = flat[:: max(1, len(flat) // SAMPLED)].float().unique()
    if not 0 < len(values) <= LABELS or not bool((values == values.round()).all()):
        return ()
    if not all(bool(torch.isin(piece.float(), values).all()) for piece in _pieces(drawn)):
        return ()
    return tuple(float(v) for v in values)


def _pieces(drawn: torch.Tensor) -> Iterator[torch.Tensor]:
    return iter(drawn.reshape(-1).split(PIECE)) if drawn.numel() else iter(())
