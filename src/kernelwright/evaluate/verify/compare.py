"""The calibrated comparison: a candidate may err k times as much as the reference itself does, and a few ulps.

Errors are relative to |reference| plus the tensor's own scale (the median magnitude of what is not zero, or a thousandth of
the root mean square if that is more), element by element, and the largest counts. The floor of a few ulps grows with the
logarithm of the reduction length, and with the root of a scan's: an honest two-stage sum must pass where the scalar
reference was exact by luck. The other comparisons are in modules of their own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log2, prod, sqrt
from typing import Protocol

import torch

from kernelwright.evaluate import float8, pieces
from kernelwright.evaluate.sandbox.compute_process import POISON_BYTE
from kernelwright.evaluate.verify import finer, pattern
from kernelwright.evaluate.verify.finer import ALONG, ANY, LINE, Finer, Lines
from kernelwright.records.graph import OpGraph, OpNode, Ref
from kernelwright.records.task import Task
from kernelwright.records.tensor import EPSILON, TensorSpec

SAMPLED = 65536
"""Elements that a median is taken of, at least."""
FEW = 1024
"""Elements of such a sample that are not zero, below which it says too little of an output that is nearly all zeros."""
LEAST_SCALE = 1e-30
MANY = 64
"""The same for a stripe of an output."""
ROW_WISE = ("softmax", "norm", "logsumexp", "cross_entropy", "var", "std", "cumsum")
"""Operations that reduce rows inside and give back as many elements as they got."""
EXPONENTIALS = ("softmax", "logsumexp", "cross_entropy", "dot_product_attention", "aten.exp.", "aten.exp2.")
"""Operations that add up exponentials, or make terms for such a sum."""
SCANS = ("cumsum", "cumprod", "logcumsumexp")
"""Operations of which every partial result is a result."""
SERIAL = 4.0
"""Ulps for the root of a scan's length (`floor` says why)."""
ONE_BY_ONE = 2048
"""Elements of a sum that one accumulator may take one after the other, before partial sums meet."""
LONGEST_WALK = 1 << 14
"""Exponentials that one accumulator takes, at most."""
LANES, LONGEST_LANE = 32, 1 << 15
"""Accumulators of a dot product as libraries and compilers write it (four vectors of eight at least), and elements of one of
them beyond which its partial sums should have met."""
LONGEST_SCAN = 1 << 20
"""Elements of a scan beyond which its floor grows no more: there it is half precision's rounding."""


@dataclass(frozen=True)
class Wrong:
    """Why an output is refused."""

    because: str
    evidence: str
    error: float


class Expectation(Protocol):
    """One output of one case: what it should be, in whatever sense its comparator has."""

    @property
    def value(self) -> torch.Tensor:
        """A right answer, at full size."""
        ...

    @property
    def draws(self) -> int:
        """Results that the comparison needs, on the same input."""
        ...

    @property
    def reference_error(self) -> float:
        """What the reference itself shows, in the comparator's unit."""
        ...

    @property
    def allowed(self) -> float:
        """The largest error that passes."""
        ...

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """The error of `draws` results, and the evidence if it is too large."""
        ...


@dataclass(frozen=True)
class Expected:
    """The fp64 reference, and how far from it a candidate may be."""

    value: torch.Tensor
    scale: float
    reference_error: float
    allowed: float
    draws: int = 1
    finer: Finer = ANY
    """What is allowed of stretches, lines and averages."""
    lines: Lines = ALONG
    """How it is cut into lines."""

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """See `judge` of this module."""
        return judge(got[0], self)


@dataclass(frozen=True)
class Recomputed:
    """As `Expected`, with a value that is computed each time: there is no memory to keep those of all cases."""

    compute: Callable[[], torch.Tensor]
    """To be called while the inputs of its case are in place."""
    scale: float
    reference_error: float
    allowed: float
    draws: int = 1
    finer: Finer = ANY
    lines: Lines = ALONG

    @classmethod
    def like(cls, known: Expected, compute: Callable[[], torch.Tensor]) -> "Recomputed":
        """The same without its value."""
        return cls(compute, known.scale, known.reference_error, known.allowed, finer=known.finer, lines=known.lines)

    @property
    def value(self) -> torch.Tensor:
        """A right answer, at full size."""
        return self.compute()

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """See `judge` of this module."""
        expected = Expected(
            self.value, self.scale, self.reference_error, self.allowed, finer=self.finer, lines=self.lines
        )
        return judge(got[0], expected)


def scale_of(reference: torch.Tensor) -> float:
    """The magnitude that errors of small elements are measured against."""
    if not reference.numel():
        return 1.0
    flat = reference.reshape(-1)
    sample = flat[:: max(1, flat.numel() // SAMPLED)].double().abs()
    if len(sample) < len(flat) and int((sample != 0).sum()) < FEW:
        there = torch.cat([part[part != 0] for part in pieces.of(flat)])
        sample = there[:: max(1, len(there) // SAMPLED)].double().abs() if len(there) else sample
    squares = sum(float(part.double().square().sum()) for part in pieces.of(flat))
    if squares == float("inf") and bool(flat.isinf().any()):
        return scale_of(beside_infinities(flat, flat)[1])
    return max(float(median_magnitude(sample)), 1e-3 * sqrt(squares / flat.numel()), LEAST_SCALE)


def median_magnitude(magnitudes: torch.Tensor) -> torch.Tensor:
    """The median over the last dimension of what is not zero; zero where all is.

    A ReLU makes half of its outputs zero: the median of all would be one of the least that it leaves, and errors that are
    measured against so little are what chance makes them.
    """
    return torch.where(magnitudes == 0, torch.nan, magnitudes).nanmedian(-1).values.nan_to_num(0.0)


OWN_IN_DOUBLE = 4096
"""Ulps that a result in double precision may be off by: nobody knows it better than the reference, which rounds as often as a
kernel does in another order, or with fused additions. Single precision is off by 2**29 of them."""


def floor(spec: TensorSpec, reduction: int, scan: int = 0, in_turn: int = 0) -> float:
    """Ulps that rounding alone may cost, for a reduction over `reduction` elements; zero for integers.

    A reduction is accumulated in single precision at least: what it costs does not grow with the output's coarseness. Terms
    as they are drawn are rounded up as often as down, so that a tree of partial sums costs the logarithm of its length, and
    one accumulator hardly more; where they cancel, the reference is asked (`session/nudge.py`). Where terms are alike, or
    small beside one as exponentials are, one accumulator rounds all that it takes `in_turn` the same way: each for up to half
    an ulp of the sum (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), a quarter on average.
    A scan over `scan` elements may be done one by one, since each partial result is asked for. Its n roundings, each
    uniform within half an ulp of the running value s, add up like a random walk (Higham and Mary 2019): a deviation of
    0.2 eps sqrt(n) rms(s), five of which are met among many elements; and rms(s) is up to four times what errors are
    measured against, where a walk comes back to zero.
    """
    own = EPSILON.get(spec.dtype, 0.0)
    serial = SERIAL * sqrt(min(scan, LONGEST_SCAN))
    biased = (min(reduction, in_turn) - 1) / 4
    rounded = max(2 * log2(max(reduction, 1)), biased, serial)
    ulps = OWN_IN_DOUBLE if spec.dtype == "float64" else 4
    return own * ulps + min(own, EPSILON["float32"]) * rounded


def walk(reduction: int) -> int:
    """Terms of a sum of exponentials that would cost as much if all were rounded one way: one accumulator errs by chance.

    Serial softmax of 512 to 8192 elements, at five scales and in three orders, 128 rows each, erred by twice their root in
    ulps at most, and by half of it on average.
    """
    return 1 + round(16 * sqrt(min(reduction, LONGEST_WALK)))


def lane(reduction: int) -> int:
    """Elements that one of a dot product's accumulators takes, of so many in all: beside one huge one the others vanish."""
    return min(max(ONE_BY_ONE, reduction // LANES), LONGEST_LANE)


def reduction(task: Task, output: int) -> int:
    """Elements that meet in one element of this output, at most: in the graph's reductions or by size."""
    tensors = (*task.workload.tensors, *task.workload.parameters)
    largest = max((t.numel for t in tensors), default=1)
    by_size = largest // max(1, task.workload.outputs[output].numel)
    return max(1, by_size, longest_reduction(task.graph, tensors))


def longest_reduction(graph: OpGraph, arguments: Sequence[TensorSpec]) -> int:
    """Elements that the longest reduction of the graph adds up: rows of normalisations, inputs over results of others."""
    shapes = {t.name: t for t in arguments} | {r.name: r for n in graph.nodes for r in n.result}
    longest = 1
    for node in graph.nodes:
        read = [shapes[a.value.ref] for a in node.arguments if isinstance(a.value, Ref) and a.value.ref in shapes]
        if not read or not node.result:
            continue
        largest = max(read, key=lambda t: t.numel)
        if any(name in node.op for name in ROW_WISE) and largest.shape:
            longest = max(longest, _normalised(node, largest))
        longest = max(longest, largest.numel // max(1, node.result[0].numel))
    return longest


def _normalised(node: OpNode, given: TensorSpec) -> int:
    """Elements that one mean of a normalisation takes in."""
    shape, groups = given.shape, node.argument("num_groups") or node.argument("group")
    inner = node.argument("normalized_shape")
    if isinstance(inner, list | tuple):
        return prod(shape[-len(inner) :])
    if len(shape) > 1 and "batch_norm" in node.op:
        return given.numel // max(1, shape[1])
    if len(shape) > 1 and any(word in node.op for word in ("group_norm", "instance_norm")):
        return given.numel // max(1, shape[0] * (groups if isinstance(groups, int) else shape[1]))
    return shape[-1]


def longest_scan(graph: OpGraph, output: int, arguments: Sequence[TensorSpec]) -> int:
    """Elements of the longest scan that an output of the graph depends on; zero where there is none."""
    shapes = {t.name: t.shape for t in arguments} | {r.name: r.shape for n in graph.nodes for r in n.result}
    names = graph.outputs[output : output + 1]
    return max((_scanned(node, shapes) for name in names for node in graph.behind(name)), default=0)


def adds_exponentials(graph: OpGraph, output: int) -> bool:
    """Whether an output of the graph depends on a sum of exponentials: of few large terms and many that vanish beside them."""
    names = graph.outputs[output : output + 1]
    return any(word in node.op for name in names for node in graph.behind(name) for word in EXPONENTIALS)


def running_sum(task: Task, output: int) -> tuple[int, int]:
    """Elements of the running sum that an output is, and from one of them to the next in memory; none where it is none."""
    names, shape = task.graph.outputs[output : output + 1], task.workload.outputs[output].shape
    node = next((n for n in task.graph.nodes for r in n.result if r.name in names), None)
    dim = node.argument("dim") if node is not None and "cumsum" in node.op else None
    if not isinstance(dim, int) or not shape:
        return (0, 0)
    return shape[dim], prod(shape[dim:][1:]) if dim != -1 else 1


def _scanned(node: OpNode, shapes: dict[str, tuple[int, ...]]) -> int:
    given, dim = node.argument("self"), node.argument("dim")
    shape = shapes.get(given.ref, ()) if isinstance(given, Ref) else ()
    exact = all(not one.floating for one in node.result)
    if exact or not any(name in node.op for name in SCANS) or not shape:
        return 0
    return shape[dim] if isinstance(dim, int) else max(shape)


def error_of(got: torch.Tensor, reference: torch.Tensor, scale: float) -> torch.Tensor:
    """Relative error of every element; infinite where only one side is finite, never zero where integers differ."""
    wanted = reference.double()
    error = (got.double() - wanted).abs_().div_(wanted.abs() + scale)
    if not (got.is_floating_point() or reference.is_floating_point()):
        # Beyond 2^53 two integers can be the same double.
        error = torch.where(got == reference, error, error.clamp(min=EPSILON["float64"]))
    return error.nan_to_num_(nan=float("inf"))


def largest_error(got: torch.Tensor, reference: torch.Tensor, scale: float) -> float:
    """The largest of all errors; part by part, since their fp64 intermediates are several times as large."""
    if not got.numel():
        return 0.0
    pairs = zip(pieces.of(got), pieces.of(reference), strict=True)
    return float(torch.stack([error_of(g, w, scale).max() for g, w in pairs]).max())


def all_within(got: torch.Tensor, reference: torch.Tensor, allowed: float, fine: Finer = ANY, line: int = LINE) -> bool:
    """Whether every row of `got` is surely within what is allowed of its row of `reference`, each by its own scale.

    `fine` is what is allowed of neighbouring elements and of lines, which have `line` elements.

    One answer for all rows, shape (rows, …): on a device each question costs more than the arithmetic.
    """
    g, w = got.flatten(1).double(), reference.flatten(1).double()
    sample = w[:, :: max(1, w.shape[1] // SAMPLED)].abs()
    scale = torch.maximum(median_magnitude(sample), 1e-3 * w.square().mean(1).sqrt()).clamp(min=LEAST_SCALE)
    # Of few elements that are not zero, another sample would say otherwise.
    enough = ((sample != 0).sum(1) >= MANY).all() | (sample.shape[1] == w.shape[1])
    near = finer.pieces_within(g, w, fine.local, torch.finfo(got.dtype).smallest_normal)
    near = near & finer.lines_within(g, w, fine.lost, got.dtype, line)
    near = near & finer.averages_within(g, w, scale, fine.averaged, got.dtype)
    error = (g - w).abs_().div_(w.abs_().add_(scale[:, None]))
    # A NaN is no more than what is allowed, nor less.
    return bool((error <= allowed).all() & near & enough)


def judge(got: torch.Tensor, expected: Expected) -> tuple[float, Wrong | None]:
    """The largest error of an output, and the evidence if it is too large.

    Where the right answer is infinite, only the same infinity is right; the usual comparison holds for all other elements.
    """
    if not got.numel():
        return 0.0, None
    worst = largest_error(got, expected.value, expected.scale)
    if worst <= expected.allowed:
        return worst, _coarse(got, expected)
    if got.dtype.is_floating_point:
        if not isfinite(worst) and bool(expected.value.isinf().any()):
            return _beside_infinities(got, expected)
        wrong = not_finite(got)
        if wrong:
            return float("inf"), wrong
    return worst, Wrong("value", _off(got, expected, worst), worst)


def _beside_infinities(got: torch.Tensor, expected: Expected) -> tuple[float, Wrong | None]:
    if told := other_infinities(got, expected.value):
        wrong = not_finite(got.masked_fill(float8.wide(got).isinf(), 0)) or Wrong("value", told, float("inf"))
        return float("inf"), wrong
    mine, value = beside_infinities(got, expected.value)
    return judge(mine, replace(expected, value=value))


def beside_infinities(got: torch.Tensor, wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A result and the right answer with zeros where that is infinite; in the result, where it is the same infinity."""
    there = wanted.isinf()
    if not bool(there.any()):
        return got, wanted
    same = there & (float8.wide(got).double() == wanted.double())
    return torch.where(same, torch.zeros((), dtype=got.dtype, device=got.device), got), wanted.masked_fill(there, 0)


def other_infinities(got: torch.Tensor, wanted: torch.Tensor) -> str:
    """Where one of two results is infinite and the other is not, or of another sign; empty where there is no such place."""
    pairs = zip(pieces.of(float8.wide(got)), pieces.of(float8.wide(wanted)), strict=True)
    found = pattern.collected((a.isinf() | b.isinf()) & (a.double() != b.double()) for a, b in pairs)
    if not found.count:
        return ""
    first = int(found.indices[0])
    return (
        f"{found.count} of {got.numel()} elements are not infinite alike{pattern.where(found, got.shape)}; first at "
        f"{pattern.at(first, got.shape)}: expected {wanted.flatten()[first].item()}, got {got.flatten()[first].item()}"
    )


def _coarse(got: torch.Tensor, expected: Expected) -> Wrong | None:
    """Why a result is refused in which no single error is too large."""
    if expected.finer == ANY:
        return None
    averaged = expected.finer.averaged < float("inf")
    found = finer.figures(got, expected.value, expected.scale, expected.lines, averaged)
    why = finer.told(found, expected.finer)
    return Wrong("value", why, max(found.local, found.averaged)) if why else None


def _off(got: torch.Tensor, expected: Expected, error: float) -> str:
    """How many elements are off and where, the worst of them, and a few others."""
    value = expected.value
    worst = _Worst()
    found = pattern.collected(_masks(got, value, expected, worst))
    return (
        f"{found.count} of {got.numel()} elements are off{pattern.where(found, got.shape)}; worst at "
        f"{pattern.at(worst.place, got.shape)}: expected {value.flatten()[worst.place].item():.9g}, got "
        f"{got.flatten()[worst.place].item():.9g} (relative error {error:.3g}, allowed {expected.allowed:.3g})"
        f"{pattern.values(found, got, value, worst.place)}"
    )


@dataclass
class _Worst:
    """The largest error so far, and its flat index."""

    error: float = -1.0
    place: int = 0


def _masks(got: torch.Tensor, value: torch.Tensor, expected: Expected, worst: _Worst) -> Iterator[torch.Tensor]:
    """Which elements are off, part by part; `worst` learns which is the worst."""
    start = 0
    for g, w in zip(pieces.of(got), pieces.of(value), strict=True):
        error = error_of(g, w, expected.scale)
        largest = int(error.argmax())
        if float(error[largest]) > worst.error:
            worst.error, worst.place = float(error[largest]), start + largest
        start += g.numel()
        yield error > expected.allowed


def not_finite(got: torch.Tensor) -> Wrong | None:
    """Why a floating result is refused whatever its values should be: never written, NaN, infinite."""
    parts, infinite = pieces.of(got), float("inf")
    broken = pattern.collected(~torch.isfinite(float8.wide(part)) for part in parts)
    if not broken.count:
        return None
    unwritten = pattern.collected(map(_poisoned, parts))
    if unwritten.count and got.dtype not in float8.FLOAT8:
        told = f"{unwritten.count} of {got.numel()} elements were never written{pattern.where(unwritten, got.shape)}"
        return Wrong("unwritten", told, infinite)
    first = int(broken.indices[0])
    as_before = ", as memory is that was never written" if unwritten.count else ""
    told = f"{broken.count} of {got.numel()} elements are not finite{as_before}{pattern.where(broken, got.shape)}; first at "
    return Wrong("nonfinite", f"{told}{pattern.at(first, got.shape)}: {got.flatten()[first].item()}", infinite)


def _poisoned(part: torch.Tensor) -> torch.Tensor:
    """Which elements still hold the bytes that were there before."""
    raw = part.contiguous().view(torch.uint8).view(-1, part.element_size())
    return (raw == POISON_BYTE).all(dim=1)
