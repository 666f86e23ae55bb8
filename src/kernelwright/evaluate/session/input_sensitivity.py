"""How far a result moves where its inputs move by rounding: room that is computed and not a constant.

A kernel is backward stable if its result is the exact one of inputs that differ by a few ulps from those it was given
(Higham, Accuracy and Stability of Numerical Algorithms, 1.5). Where terms cancel, or a value lies on the edge of a step, that
is far more than a few ulps of the result, for the best of kernels. So the reference is asked what it gives there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import sqrt
from typing import NamedTuple, Protocol

import torch

from kernelwright.evaluate import pieces
from kernelwright.evaluate.sandbox.messages.calls import CUT, ROUNDED, SINGLE
from kernelwright.evaluate.verify import compare
from kernelwright.evaluate.verify.compare import Expectation, Expected, Recomputed, Wrong
from kernelwright.evaluate.verify.exact import Stepped
from kernelwright.records.task import Task
from kernelwright.records.tensor import EPSILON, TensorSpec

Offsets = tuple[int, ...]
Pick = Callable[[torch.Tensor], torch.Tensor]
"""Some elements of an output."""
ROOM = 4.0
"""Times what inputs that move by an ulp change in a result: so much may be lost where terms cancel."""
SERIAL = 0.2
"""The same for the root of the elements that one accumulator takes one after the other."""
FEW = 1024
"""Elements of an output whose terms may cancel so that all of it is small."""
MANY, HARDLY = 1 << 22, 4.0
"""Elements of an output of which one may be off by chance, and times what is allowed that this may be: of a million sums of
both signs one accumulator errs by more than the logarithm of their length in a few."""
ASKED_AGAIN = 1 << 27
"""Most elements of an output for which the reference tells what rounding may lose: that takes some fp64 copies."""
ON_DEVICE = 1 << 30
"""Bytes of a tensor beyond which what it was is kept on the host: its task may have filled the device."""
TRIES, TRIES_OF_MANY = 8, 32
"""Moves that room is taken from: two products that cancel move by the same amount in three cases of eight. Of many elements
some would move little in all of eight."""


class Nudgeable(Protocol):
    """What is needed of a session."""

    task: Task

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """Inputs and parameters."""
        ...

    def view(self, index: int, offset: int) -> torch.Tensor:
        """The window of a tensor."""
        ...

    def reduction(self, output: int) -> int:
        """Elements that meet in one element of this output, at most."""
        ...

    def results(self, variant: str, offsets: Offsets) -> list[torch.Tensor]:
        """What a variant of the reference computes."""
        ...

    def forget_parameters(self) -> None:
        """The reference must be given its parameters again."""
        ...

    def settle(self) -> None:
        """Wait until what was written is there for another process."""
        ...


def whole(values: torch.Tensor) -> torch.Tensor:
    """All elements of an output."""
    return values


class Elements(NamedTuple):
    """Elements of an output, on the inputs that lie at some offsets."""

    output: int
    offsets: Offsets
    pick: Pick = whole


def explains(error: float, allowed: float, count: int, tf32: bool = False) -> bool:
    """Whether rounding may be why the largest error of `count` elements is more than what is allowed: where terms cancel.

    With `tf32` also where eager was right in a product that it did not round, however many elements there are.
    """
    return count <= FEW or (count <= (ASKED_AGAIN if tf32 else MANY) and error <= HARDLY * allowed)


def settled(session: Nudgeable, elements: Elements, got: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """A result of steps, made right wherever it is what single precision may come to; the inputs are in place."""
    rest = got.clone()
    for _ in range(TRIES_OF_MANY):
        there = elements.pick(session.results(SINGLE, elements.offsets)[elements.output]).to(got)
        rest = torch.where(got == there.view(got.shape), value.to(got).view(got.shape), rest)
    return rest


def room(session: Nudgeable, elements: Elements, value: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Absolute error that cancellation explains, element by element; in fp64 they are `value`.

    `epsilon` is that of the precision in which terms are kept. Terms t that move by an ulp at random move their sum by
    eps |t|, and an accumulator that takes n of them in turn errs by 0.2 eps sqrt(n) |t| (`compare.floor` says why).
    """
    in_turn = min(session.reduction(elements.output), compare.ONE_BY_ONE)
    return ROOM * max(1.0, SERIAL * sqrt(in_turn)) * _moves(session, elements, value, epsilon)


def _moves(session: Nudgeable, elements: Elements, value: torch.Tensor, epsilon: float) -> torch.Tensor:
    """The most by which each element moves in some tries, in which inputs and parameters do."""
    found, offsets = torch.zeros_like(value), elements.offsets
    with _kept(session, offsets) as kept:
        for _ in range(TRIES if value.numel() <= FEW else TRIES_OF_MANY):
            _nudge(session, offsets, kept, epsilon)
            there = elements.pick(session.results("fp64", offsets)[elements.output])
            found = torch.maximum(found, (there.double() - value).abs())
    return found


def _rounded(session: Nudgeable, elements: Elements, truth: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Between which values each element lies where the factors of its products are rounded to TF32.

    What is cut off everywhere moves a sum of one sign one way alone, and by far more than chance does. Chance moves it by
    the root of all tries' squares at most: of 2^24 elements one errs by five times their deviation, and the tries of some
    others are all small by chance.
    """
    cut = elements.pick(session.results(CUT, elements.offsets)[elements.output]).double()
    cut, squares = torch.where(cut.isfinite(), cut, truth), torch.zeros_like(truth)
    for _ in range(TRIES_OF_MANY):
        there = elements.pick(session.results(ROUNDED, elements.offsets)[elements.output])
        squares += (there.double() - truth).nan_to_num_(0.0, 0.0, 0.0).square_()
    free = squares.sqrt_()
    return torch.minimum(cut, truth) - free, torch.maximum(cut, truth) + free


def beyond(
    session: Nudgeable, elements: Elements, got: torch.Tensor, value: torch.Tensor, tf32: bool = False
) -> torch.Tensor:
    """Elements of a result, whose fp64 truth is `value`, made true wherever rounding explains their error.

    The inputs are in place.

    Terms are kept in single precision at least, and in double precision where that is the result's. With `tf32` the factors
    of any product may have been rounded to TF32, whether eager's were or not: cuDNN chooses, by layouts among others. Where
    terms cancel, which of them is rounded up decides what is left.
    """
    truth, epsilon = value.double(), min(torch.finfo(got.dtype).eps, EPSILON["float32"])
    low, high = _rounded(session, elements, truth) if tf32 else (truth, truth)
    rest = _without(got, truth, low, high)
    if torch.equal(rest, truth):
        return rest
    free = room(session, elements, truth, epsilon)
    return _without(got, truth, torch.minimum(low, truth - free), torch.maximum(high, truth + free))


def _without(got: torch.Tensor, truth: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """The result, made true where it lies between two bounds; a NaN lies nowhere."""
    mine = got.double().to(truth.device)
    return torch.where((low <= mine) & (mine <= high), truth, mine)


@contextmanager
def _kept(session: Nudgeable, offsets: Offsets) -> Iterator[dict[int, torch.Tensor]]:
    """What can be moved, by tensor, as it was: it lies there again afterwards."""
    kept = {
        index: aside(session.view(index, offset))
        for index, (spec, offset) in enumerate(zip(session.tensors, offsets, strict=True))
        if spec.floating and not spec.stepped and spec.numel
    }
    try:
        yield kept
    finally:
        for index, before in kept.items():
            session.view(index, offsets[index]).copy_(before)
        _announce(session)


def _nudge(session: Nudgeable, offsets: Offsets, kept: dict[int, torch.Tensor], epsilon: float | None) -> None:
    """Put everything an ulp beside what it was, up or down by chance: one of `epsilon`, or of each tensor's own dtype."""
    for index, before in kept.items():
        own = epsilon or EPSILON[session.tensors[index].dtype]
        there = session.view(index, offsets[index]).view(-1)
        for piece, known in zip(pieces.of(there), pieces.of(before), strict=True):
            signs = torch.randint(0, 2, piece.shape, device=piece.device, dtype=torch.int8).mul_(2).sub_(1)
            piece.copy_(known)
            piece += piece * signs.to(piece.dtype) * own
    _announce(session)


def aside(values: torch.Tensor) -> torch.Tensor:
    """A copy, on the host where it is large."""
    return torch.empty_like(values, device="cpu" if values.nbytes > ON_DEVICE else None).copy_(values)


def _announce(session: Nudgeable) -> None:
    session.settle()
    session.forget_parameters()


Judged = tuple[float, Wrong | None]
"""The error of a result, and why it is refused."""


def forgive_rounding(
    session: Nudgeable, expected: Expectation, elements: Elements, got: torch.Tensor, judged: Judged
) -> Judged:
    """The same of what rounding leaves unexplained of a result; the inputs of its case are in place."""
    error, found = judged
    if (
        found is not None
        and isinstance(expected, Stepped)
        and got.numel() <= FEW
        and not expected.value.is_floating_point()
    ):
        return expected.judge([settled(session, elements, got, expected.value)])
    if found is None or not _may_explain(expected, error, got, session.task.numerics.tf32):
        return judged
    tf32 = session.task.numerics.tf32 and error <= HARDLY * expected.allowed
    return expected.judge([beyond(session, elements, got, expected.value, tf32).to(got)])


def _may_explain(expected: Expectation, error: float, got: torch.Tensor, tf32: bool) -> bool:
    """Whether rounding may be why a finite result is refused: what is small beside others, or a sum by itself."""
    if not isinstance(expected, Expected | Recomputed) or not expected.allowed or error == float("inf"):
        return False
    if error > expected.allowed:
        return explains(error, expected.allowed, got.numel(), tf32)
    return bool(got.numel() <= ASKED_AGAIN)
