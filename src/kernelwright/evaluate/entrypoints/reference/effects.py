"""What one call of a forward gives and what it writes to: results, new values of buffers and inputs.

A tensor has been written to where torch's version counter says so, or where its bits add up to something else, as after a
kernel of the task's own. The module is as before when the call has been looked at; inputs are not.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from pydantic import JsonValue

from kernelwright.calltree import parts, real
from kernelwright.evaluate.float8 import wide
from kernelwright.evaluate.triton.model import flatten

PIECE = 1 << 26
"""Words that are summed at a time."""
COMPARED = 1 << 25
"""Elements that are compared at a time: their copies in double precision are several times as large."""
SAMPLED = 1 << 16
"""Elements of which a median is taken."""
_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Effects:
    """What one call shows."""

    results: list[torch.Tensor]
    tree: JsonValue
    """What stands around the results, as `Workload.result`."""
    inputs: tuple[int, ...]
    """Leaves of the call that it wrote to."""
    untold: tuple[int, ...]
    """Those of them that no result is."""
    state: tuple[str, ...]
    """Entries of the state_dict that it wrote to."""
    after: list[torch.Tensor]
    """New values of `state`, then of `untold`."""
    grown: bool
    """The state_dict has other entries than before."""

    @property
    def infinite(self) -> tuple[int, ...]:
        """Results that are infinite somewhere."""
        return tuple(i for i, t in enumerate(self.results) if any(bool(p.isinf().any()) for p in _floats(t)))

    @property
    def broken(self) -> str:
        """The first result that is NaN somewhere, with the element; empty where none is."""
        for i, result in enumerate(self.results):
            start = 0
            for piece in _floats(result):
                if len(found := piece.isnan().nonzero()):
                    at = torch.unravel_index(found[0] + start, real(result).shape)
                    return f"output {i} is NaN at {[int(n) for n in at]}"
                start += len(piece)
        return ""


def observe(model: torch.nn.Module, called: Callable[[], object], leaves: Sequence[object]) -> Effects:
    """Call once, look, and put the module's state back."""
    tensors = {i: v for i, v in enumerate(leaves) if isinstance(v, torch.Tensor)}
    state = _state(model)
    saved = {name: t.clone() for name, t in state.items()}
    marks = {key: _mark(t) for key, t in (*tensors.items(), *state.items())}
    with torch.no_grad():
        result = called()
    raw, tree = flatten(result), parts(result)[1]
    now = _state(model)
    inputs = tuple(i for i, t in tensors.items() if _mark(t) != marks[i])
    changed = tuple(name for name, t in now.items() if name in marks and _mark(t) != marks[name])
    untold = tuple(i for i in inputs if not any(_is(r, tensors[i]) for r in raw))
    held = {t.untyped_storage().data_ptr() for t in (*tensors.values(), *now.values())}
    effects = Effects(
        results=[_own(t, held) for t in raw],
        tree=tree,
        inputs=inputs,
        untold=untold,
        state=changed,
        after=[*(real(now[name]).clone() for name in changed), *(tensors[i] for i in untold)],
        grown=now.keys() != state.keys(),
    )
    with torch.no_grad():
        for name in changed:
            now[name].copy_(saved[name])
    return effects


def differences(some: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> list[float]:
    """How far two runs are apart, tensor by tensor, relative; infinite where shapes or whole numbers differ."""
    if len(some) != len(others):
        return [float("inf")] * max(len(some), len(others))
    return [_difference(a, b) for a, b in zip(some, others, strict=True)]


def _difference(some: torch.Tensor, other: torch.Tensor) -> float:
    if some.shape != other.shape or some.dtype != other.dtype:
        return float("inf")
    if _sum_of_bits(some) == _sum_of_bits(other) and torch.equal(_words(some), _words(other)):
        return 0.0
    if not (some.is_floating_point() or some.is_complex()):
        return float("inf")
    return apart(some, other)


def _state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: t.detach() for name, t in model.state_dict().items()}


def _mark(tensor: torch.Tensor) -> tuple[int, int, torch.Size]:
    return tensor._version, _sum_of_bits(tensor), tensor.shape


def _sum_of_bits(tensor: torch.Tensor) -> int:
    words = _words(tensor)
    # Eight bytes at a time where they are whole: torch converts shorter words one by one, which takes ten times as long.
    step = 8 // words.element_size()
    if step and len(words) % step == 0 and words.storage_offset() % step == 0:
        words = words.view(torch.int64)
    return sum(int(piece.sum(dtype=torch.int64)) for piece in words.split(PIECE)) if len(words) else 0


def _words(tensor: torch.Tensor) -> torch.Tensor:
    plain = real(tensor).contiguous().reshape(-1)
    return plain.view(_WORDS[plain.element_size()])


def _is(result: torch.Tensor, leaf: torch.Tensor) -> bool:
    same: bool = (
        result.data_ptr() == leaf.data_ptr() and result.shape == leaf.shape and result.stride() == leaf.stride()
    )
    return same


def _own(tensor: torch.Tensor, held: set[int]) -> torch.Tensor:
    """The tensor, or a copy where a later call could change it."""
    tensor = tensor.detach()
    return tensor.clone() if tensor.untyped_storage().data_ptr() in held else tensor


def _floats(values: torch.Tensor) -> Iterator[torch.Tensor]:
    """What may be NaN or infinite of a result, piece by piece."""
    plain = real(values)
    yield from map(wide, plain.reshape(-1).split(COMPARED)) if plain.is_floating_point() and plain.numel() else ()


def apart(some: torch.Tensor, other: torch.Tensor) -> float:
    """The largest difference of two tensors of one shape, relative to an element and the median magnitude without zeros."""
    one, two = (real(t).reshape(-1) for t in (some, other))
    if not len(one):
        return 0.0
    sample = two[:: max(1, len(two) // SAMPLED)].double().abs()
    middle = float(sample[sample != 0].median().nan_to_num(0.0))
    scale = max(middle, float(sample.square().mean().sqrt()) * 1e-3, 1e-30)
    pairs = zip(one.split(COMPARED), two.split(COMPARED), strict=True)
    return max(float(_errors(a.double(), b.double(), scale).max()) for a, b in pairs)


def _errors(some: torch.Tensor, other: torch.Tensor, scale: float) -> torch.Tensor:
    return ((some - other).abs() / (other.abs() + scale)).nan_to_num_(nan=float("inf"))
