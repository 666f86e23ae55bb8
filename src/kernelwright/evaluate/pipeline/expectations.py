"""What every output of a case should be, made by its comparator from what the reference computes.

Decides what each comparator needs of the reference beside the fp64 and the eager result: inner values for positions,
several draws for random outputs. Expected results never leave the grader.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from kernelwright.evaluate.verify import compare, exact, statistical, ties
from kernelwright.evaluate.verify.compare import Expectation, Expected
from kernelwright.records.comparator import Calibrated, Exact, Statistical, Ties
from kernelwright.records.task import Task
from kernelwright.records.tensor import EPSILON, TensorSpec


class Sitting(Protocol):
    """What is needed of a session: its task, what lies where, and a reference to ask."""

    task: Task
    tensors: tuple[TensorSpec, ...]
    base_error: list[float]
    watched: list[str]
    """Nodes of the graph whose values positions pick from."""

    def allowed(self, output: int, reference_error: float) -> float:
        """What a candidate may err on an output that rounding decides."""
        ...

    def reduction(self, output: int) -> int:
        """Elements that meet in one element of this output."""
        ...

    def view(self, index: int, offset: int) -> torch.Tensor:
        """The window of a tensor."""
        ...

    def results(self, variant: str, offsets: tuple[int, ...]) -> list[torch.Tensor]:
        """What a variant of the reference computes."""
        ...

    def drawn(self, offsets: tuple[int, ...], output: int, count: int, part: tuple[int, int]) -> torch.Tensor:
        """Stretches of several eager results."""
        ...

    def watch(self, variant: str) -> None:
        """Have the reference ready to say what `watched` nodes compute."""
        ...


@dataclass(frozen=True)
class Shown:
    """What the reference computes on one set of inputs."""

    offsets: tuple[int, ...]
    wanted: list[torch.Tensor]
    eager: list[torch.Tensor]
    bitwise: bool = False
    """Whether every operation is exact on these values, so that equality can be asked for."""


def expectations(session: Sitting, shown: Shown) -> tuple[Expectation, ...]:
    """One for each output."""
    made: list[Expectation] = []
    for i, (want, eager) in enumerate(zip(shown.wanted, shown.eager, strict=True)):
        comparator = session.task.comparator(i)
        match comparator:
            case Exact():
                made.append(exact.Identical(eager))
            case Ties(of=""):
                made.append(_unordered(session, i, want, eager, comparator))
            case Ties():
                made.append(_tied(session, i, shown, comparator))
            case Statistical():
                made.append(_sampled(session, i, shown, comparator))
            case Calibrated():
                made.append(_calibrated(session, i, want, eager, shown.bitwise))
    return tuple(made)


def shown_errors(session: Sitting, wanted: Sequence[torch.Tensor], eager: Sequence[torch.Tensor]) -> list[float]:
    """Error of each eager output against fp64 in its comparator's unit; zero where the comparator has no use for it."""
    return [_shown(session, i, w, e) for i, (w, e) in enumerate(zip(wanted, eager, strict=True))]


def steps(session: Sitting, output: int) -> bool:
    """Whether this is an integer output that rounding decides."""
    spec, graph = session.task.workload.outputs[output], session.task.graph
    if spec.floating or output >= len(graph.outputs):
        return False
    return exact.rounded(graph, graph.outputs[output], session.tensors)


def _shown(session: Sitting, output: int, want: torch.Tensor, eager: torch.Tensor) -> float:
    comparator = session.task.comparator(output)
    if not want.numel() or isinstance(comparator, Exact | Statistical):
        return 0.0
    if isinstance(comparator, Ties):
        if comparator.of:
            return 0.0
        want, eager = ties.in_order(want, comparator.dim), ties.in_order(eager, comparator.dim)
    elif steps(session, output):
        return exact.share_off(eager, want)
    return float(compare.error_of(eager, want, compare.scale_of(want)).max())


def _calibrated(session: Sitting, output: int, want: torch.Tensor, eager: torch.Tensor, bitwise: bool) -> Expectation:
    error = _shown(session, output, want, eager)
    if steps(session, output):
        return exact.Stepped(eager, error, stepped_allowance(session, output, eager, error))
    integers = not session.task.workload.outputs[output].floating
    allowed = 0.0 if (bitwise and error == 0.0) or integers else session.allowed(output, error)
    return Expected(want, compare.scale_of(want), error, allowed)


def stepped_allowance(session: Sitting, output: int, value: torch.Tensor, error: float) -> float:
    """Share of an integer output that rounding may move: k times what eager's moves, or what its precision implies."""
    comparator = session.task.comparator(output)
    k = comparator.k if isinstance(comparator, Calibrated) else 1.0
    epsilons = [EPSILON[t.dtype] for t in session.tensors if t.floating]
    rounding = exact.rounding_share(value, max(epsilons, default=EPSILON["float32"]))
    return k * max(session.base_error[output], error) + rounding


def _unordered(session: Sitting, output: int, want: torch.Tensor, eager: torch.Tensor, rule: Ties) -> ties.Unordered:
    error = _shown(session, output, want, eager)
    return ties.Unordered(want, rule.dim, error, session.allowed(output, error))


def _tied(session: Sitting, output: int, shown: Shown, rule: Ties) -> ties.Tied:
    picked, error = picked_values(session, rule, shown.offsets)
    allowed = 0.0
    if error is not None:
        spec = TensorSpec(name="", shape=(), dtype=_precision(session))
        # Each of two values that are compared errs.
        allowed = 4 * error + compare.floor(spec, session.reduction(output))
    return ties.Tied(shown.wanted[output], picked, rule, error or 0.0, allowed)


def picked_values(
    session: Sitting, rule: Ties, offsets: tuple[int, ...], variants: tuple[str, str] = ("watch fp64", "watch")
) -> tuple[torch.Tensor, float | None]:
    """The values that positions pick from, and the error that eager shows on them; None where they are an input."""
    names = [t.name for t in session.tensors]
    if rule.of in names:
        index = names.index(rule.of)
        return session.view(index, offsets[index]).clone(), None
    wanted, eager = (_watched(session, rule.of, variant, offsets) for variant in variants)
    if not wanted.numel():
        return wanted, 0.0
    return wanted, float(compare.error_of(eager, wanted, compare.scale_of(wanted)).max())


def _watched(session: Sitting, node: str, variant: str, offsets: tuple[int, ...]) -> torch.Tensor:
    session.watch(variant)
    return session.results(variant, offsets)[session.watched.index(node)]


def _precision(session: Sitting) -> str:
    floats = [t.dtype for t in session.tensors if t.floating]
    return max(floats, key=lambda d: EPSILON[d], default="float32")


def _sampled(session: Sitting, output: int, shown: Shown, rule: Statistical) -> statistical.Sampled:
    spec = session.task.workload.outputs[output]
    count = min(spec.numel, statistical.STRETCH)
    start = secrets.randbelow(spec.numel - count + 1)
    drawn = session.drawn(shown.offsets, output, rule.draws + statistical.HELD, (start, count))
    sample = statistical.Draws(
        start=start,
        count=count,
        wanted=drawn[: rule.draws],
        held=drawn[rule.draws :],
        width=spec.shape[-1] if spec.shape else 1,
        tolerance=max(1e-4, 4 * EPSILON.get(spec.dtype, 0.0)),
    )
    return statistical.Sampled(shown.eager[output], sample, rule.false_alarm, rule.draws)
