"""What every output of a case should be, made by its comparator from what the reference computes.

There are two steps, because what is allowed follows from the errors of all draws: `observe` a case while its inputs are
in place, `expect` once all are known. Some comparators need more than the fp64 and the eager result: inner values for
positions, several draws for random outputs. Expected results never leave the grader.
"""

import random
from dataclasses import dataclass, replace
from functools import partial
from math import log2, sqrt
from typing import Protocol

import torch

from kernelwright.evaluate.sandbox.compute_process import ComputeProcess
from kernelwright.evaluate.sandbox.messages.calls import SINGLE, Prepare
from kernelwright.evaluate.session import open_edges
from kernelwright.evaluate.session.seeds import Seeds
from kernelwright.evaluate.verify import compare, exact, finer, places, statistical
from kernelwright.evaluate.verify.compare import Expectation, Expected
from kernelwright.evaluate.verify.distributions import HUGE, InputDistribution
from kernelwright.evaluate.verify.exact import Picked
from kernelwright.evaluate.verify.finer import Finer, Lines
from kernelwright.evaluate.verify.places import Parts
from kernelwright.records.comparator import Calibrated, Exact, Statistical, Ties
from kernelwright.records.task import Task
from kernelwright.records.tensor import EPSILON, TensorSpec

Offsets = tuple[int, ...]
AMPLIFIED = 4.0
"""Times what eager errs on drawn inputs that it must err where values lie far from zero, for rounding to be the reason."""
ACCUMULATORS = 4
"""Among which eager shares out a sum that another kernel adds up in one; those of a library's product are few."""
LOOSE = 0.05
"""What values may err where nothing is calibrated."""
UNTRIED = 1e-4
"""Share of an integer output that is taken to lie on an edge where there is no memory to try it."""
TRIED = 2
"""Times that arithmetic errs by chance, to see which share lies on an edge."""
PRECISE, PLAIN = "watch fp64", "watch"
"""Variants of the reference that give back inner values."""


class CaseContext(Protocol):
    """What is needed of a session: its task, what lies where, and a reference to ask."""

    task: Task
    inputs: tuple[TensorSpec, ...]
    tensors: tuple[TensorSpec, ...]
    base_error: list[float]
    reference: ComputeProcess
    seeds: Seeds
    watching: set[str]
    """Variants of the reference that are ready to give back inner values."""

    @property
    def calibrated(self) -> bool:
        """Whether no more may be off than rounding moves; else nearly anything may."""
        ...

    def allowed(self, output: int, reference_error: float, in_turn: int = 0) -> float:
        """What a candidate may err on an output that rounding decides."""
        ...

    def reduction(self, output: int) -> int:
        """Elements that meet in one element of this output."""
        ...

    def scan(self, output: int) -> int:
        """Elements of the longest scan that this output depends on."""
        ...

    def allowed_finer(self, output: int, eagers: Finer, in_turn: int = 0) -> Finer:
        """The same of stretches, lines and averages."""
        ...

    def lines(self, output: int) -> Lines:
        """How this output is cut into lines."""
        ...

    @property
    def affords_copies(self) -> bool:
        """Whether the referee may hold a copy of all inputs for itself."""
        ...

    def settle(self) -> None:
        """Wait until what was written is there for another process."""
        ...

    def view(self, index: int, offset: int) -> torch.Tensor:
        """The window of a tensor."""
        ...

    def results(self, variant: str, offsets: Offsets) -> list[torch.Tensor]:
        """What a variant of the reference computes."""
        ...

    def load_parameters(self, offsets: Offsets) -> None:
        """Give the reference these parameters."""
        ...

    def forget_parameters(self) -> None:
        """Whatever parameters the reference was given last, it must be given again."""
        ...

    def most_calls(self) -> int:
        """Calls that one sample may hold."""
        ...


@dataclass(frozen=True)
class Seen:
    """One output of one case, before it is known what may be allowed."""

    value: torch.Tensor
    """A right answer: fp64's, or where bits count or rounding decides eager's."""
    error: float
    """Eager's against fp64 in the comparator's unit; zero where the comparator has no use for it."""
    scale: float = 1.0
    finer: Finer = finer.NONE
    """What eager shows of stretches, lines and averages."""
    picked: Picked | None = None
    """The values that positions pick from, while the inputs of its case are in place."""
    sample: statistical.Draws | None = None
    distribution: InputDistribution | None = None
    """What was done to the inputs."""


def observe(session: CaseContext, output: int, offsets: Offsets, wanted: torch.Tensor, eager: torch.Tensor) -> Seen:
    """What the reference shows of one output on the inputs that lie at these offsets."""
    match session.task.comparator(output):
        case Exact():
            return Seen(eager, 0.0)
        case Statistical() as rule:
            return Seen(eager, 0.0, sample=_sample(session, output, offsets, rule))
        case Ties(of="", dim=dim):
            ordered = exact.in_order(wanted, dim)
            scale = compare.scale_of(ordered)
            return Seen(wanted, compare.largest_error(exact.in_order(eager, dim), ordered, scale), scale)
        case Ties() as rule:
            picked, error = picked_values(session, rule, offsets)
            again = partial(_picked_again, session, rule, offsets)
            return Seen(wanted, error, picked=(lambda: picked) if session.affords_copies else again)
    if steps(session, output):
        return Seen(eager, max(exact.share_off(eager, wanted), _on_an_edge(session, output, offsets, wanted)))
    scale = compare.scale_of(wanted)
    mine, right = compare.beside_infinities(eager, wanted)
    mine = open_edges.without_leaps(session.task, mine, right, scale)
    error = compare.largest_error(mine, right, scale)
    return Seen(wanted, error, scale, finer.figures(mine, right, scale, session.lines(output)))


def or_rounded(session: CaseContext, output: int, seen: Seen, wanted: torch.Tensor, rounded: torch.Tensor) -> Seen:
    """The same where the reference with factors of products rounded to TF32 is further off than eager."""
    if not isinstance(session.task.comparator(output), Calibrated):
        return seen
    if steps(session, output):
        return replace(seen, error=max(seen.error, exact.share_off(rounded.to(seen.value), wanted)))
    mine, right = compare.beside_infinities(rounded, wanted)
    figures = finer.figures(mine, right, seen.scale, session.lines(output))
    error = max(seen.error, compare.largest_error(mine, right, seen.scale))
    return replace(seen, error=error, finer=seen.finer.or_more(figures))


def or_fused(session: CaseContext, output: int, seen: Seen, wanted: torch.Tensor, fused: torch.Tensor) -> Seen:
    """The same where serial code with products and sums fused is further off than without, by less than half its digits.

    What errs by more is no rounding that a kernel may be a multiple of: nobody knows what is right there.
    """
    spec = session.task.workload.outputs[output]
    if not spec.floating or spec.stepped or not bool(fused.isfinite().all()):
        return seen
    steady = open_edges.without_leaps(session.task, fused, wanted, seen.scale)
    if compare.largest_error(steady, wanted, seen.scale) > sqrt(EPSILON[spec.dtype]):
        return seen
    return or_rounded(session, output, seen, wanted, steady)


def expect(session: CaseContext, output: int, seen: Seen, bitwise: bool) -> Expectation:
    """What a candidate's output must be; `bitwise`: every operation is exact on these inputs."""
    match session.task.comparator(output):
        case Exact():
            return exact.Identical(seen.value)
        case Statistical(draws=draws, false_alarm=false_alarm):
            assert seen.sample is not None
            return statistical.Sampled(seen.value, seen.sample, false_alarm, draws)
        case Ties(of="", dim=dim):
            return exact.Unordered(
                seen.value, dim, seen.error, session.allowed(output, seen.error, _in_turn(session, output, seen))
            )
        case Ties() as rule:
            assert seen.picked is not None
            allowed = _of_picked(session, output, seen) if rule.of not in _names(session) else 0.0
            return exact.Tied(seen.value, seen.picked, rule, seen.error, allowed)
    if steps(session, output):
        return _stepped(session, output, seen)
    spec = session.task.workload.outputs[output]
    equal = (bitwise and seen.error == 0.0) or not spec.floating or spec.stepped
    coarser = _by_one_accumulator(session, output, seen)
    in_turn = _in_turn(session, output, seen)
    allowed = 0.0 if equal else session.allowed(output, coarser.error, in_turn)
    fine = finer.ANY if equal else session.allowed_finer(output, coarser.finer, in_turn)
    return Expected(seen.value, seen.scale, seen.error, allowed, finer=fine, lines=session.lines(output))


def steps(session: CaseContext, output: int) -> bool:
    """Whether this is an output of integers, or of floats of eight bits, that rounding decides."""
    spec, graph = session.task.workload.outputs[output], session.task.graph
    if (spec.floating and not spec.stepped) or output >= len(graph.outputs):
        return False
    return exact.rounded(graph, graph.outputs[output], session.tensors)


def picked_values(
    session: CaseContext, rule: Ties, offsets: Offsets, variants: tuple[str, str] = (PRECISE, PLAIN)
) -> tuple[torch.Tensor, float]:
    """The values that positions pick from, and the error that eager shows on them: none where they are an input."""
    if rule.of in _names(session):
        values = _picked_again(session, rule, offsets)
        return values.clone() if session.affords_copies else values, 0.0
    wanted, eager = (_watched(session, rule.of, variant, offsets) for variant in variants)
    return wanted, compare.largest_error(eager, wanted, compare.scale_of(wanted))


def _picked_again(session: CaseContext, rule: Ties, offsets: Offsets) -> torch.Tensor:
    """The values that positions pick from: an input where it lies, anything else computed once more."""
    names = _names(session)
    if rule.of in names:
        index = names.index(rule.of)
        return session.view(index, offsets[index])
    return _watched(session, rule.of, PRECISE, offsets)


def watched(task: Task) -> list[str]:
    """Nodes of the graph whose values positions pick from."""
    rules = [task.comparator(o) for o in range(len(task.workload.outputs))]
    known = {t.name for t in (*task.workload.tensors, *task.workload.parameters)}
    return sorted({r.of for r in rules if isinstance(r, Ties) and r.of} - known)


def watched_bytes(task: Task) -> int:
    """Room that the values of all watched nodes take in double precision."""
    wanted = set(watched(task))
    found = [r for n in task.graph.nodes if n.name in wanted for r in n.result]
    return sum(8 * r.numel + 4096 for r in found)


def _watched(session: CaseContext, node: str, variant: str, offsets: Offsets) -> torch.Tensor:
    nodes = watched(session.task)
    if variant not in session.watching:
        session.reference.ask(Prepare(variant=variant, nodes=nodes))
        session.watching.add(variant)
        session.forget_parameters()
    return session.results(variant, offsets)[nodes.index(node)]


def _by_one_accumulator(session: CaseContext, output: int, seen: Seen) -> Seen:
    """What a kernel with one accumulator may err, where eager has several, or luck.

    Terms in order have partial sums far above what is left of them, and p accumulators err by a p-th of what one does. That is
    what eager errs more than on drawn inputs. A mean of values far from zero may miss what one accumulator loses, beside their
    spread, where eager errs far more than on drawn inputs.
    """
    changed, drawn = seen.distribution, session.base_error[output]
    if changed is None or seen.error <= drawn:
        return seen
    if changed.orders:
        times = (drawn + ACCUMULATORS * (seen.error - drawn)) / seen.error
        more = replace(seen.finer, local=times * seen.finer.local, averaged=times * seen.finer.averaged)
        return replace(seen, error=times * seen.error, finer=more)
    if seen.error <= AMPLIFIED * drawn:
        return seen
    in_turn = _in_turn(session, output, seen)
    floor = compare.floor(session.task.workload.outputs[output], session.reduction(output), in_turn=in_turn)
    lost = changed.spreads * floor / AMPLIFIED
    return replace(seen, error=max(seen.error, lost), finer=seen.finer.or_more(replace(finer.NONE, local=lost)))


def _in_turn(session: CaseContext, output: int, seen: Seen) -> int:
    """Terms that an accumulator may round the same way, for they are alike or vanish beside one; 0: as often up as down.

    Beside one huge element those of its whole lane vanish, and where terms are in order its partial sums are far larger than
    what is left of them. That is asked of checked calls alone: what a timed call leaves out must show, whatever was put among
    its inputs.
    """
    if seen.distribution is not None and (seen.distribution == HUGE or seen.distribution.of_meaning):
        return compare.lane(session.reduction(output))
    replaced = seen.distribution is not None and seen.distribution.replaces
    if replaced:
        return compare.ONE_BY_ONE
    return compare.walk(session.reduction(output)) if compare.adds_exponentials(session.task.graph, output) else 0


def _stepped(session: CaseContext, output: int, seen: Seen) -> exact.Stepped:
    if not session.calibrated:
        return exact.Stepped(seen.value, 1.0, 1.0, k=1.0)
    k = _times(session, output)
    return exact.Stepped(seen.value, seen.error, k * max(session.base_error[output], seen.error), k=k)


def _of_picked(session: CaseContext, output: int, seen: Seen) -> float:
    if not session.calibrated:
        return LOOSE
    # Each of two values that are compared errs as eager's do, by their own rounding where they are coarse, or as sums do.
    spec = TensorSpec(name="", shape=(), dtype="float32")
    floor = compare.floor(spec, session.reduction(output), session.scan(output), _in_turn(session, output, seen))
    return 2 * max(seen.error, session.base_error[output]) + floor


def _times(session: CaseContext, output: int) -> float:
    comparator = session.task.comparator(output)
    return comparator.k if isinstance(comparator, Calibrated) else Calibrated().k


def _on_an_edge(session: CaseContext, output: int, offsets: Offsets, wanted: torch.Tensor) -> float:
    """Share of a stepped output that lies on an edge: where fp64's changes by what single precision errs.

    A float of eight bits has edges an ulp of its own apart. Its sums are kept in single precision, whose roundings move it
    over one of them in so large a share, whatever its inputs are.
    """
    own = EPSILON.get(session.task.workload.outputs[output].dtype, float("inf"))
    share = 4 * EPSILON["float32"] * log2(2 * session.reduction(output)) / own
    if not session.affords_copies:
        return max(UNTRIED, share)
    tried = [session.results(SINGLE, offsets)[output] for _ in range(TRIED)]
    return max(share, *(exact.share_off(one, wanted) for one in tried))


def _sample(session: CaseContext, output: int, offsets: Offsets, rule: Statistical) -> statistical.Draws:
    spec = session.task.workload.outputs[output]
    sample = places.sample(spec.shape, random.Random(session.seeds.new()))
    drawn = draws_of(session, output, offsets, rule.draws + statistical.HELD, sample.parts)
    return statistical.Draws(
        sample=sample,
        wanted=drawn[: rule.draws],
        held=drawn[rule.draws :],
        width=spec.shape[-1] if spec.shape else 1,
        tolerance=max(1e-4, 4 * EPSILON.get(spec.dtype, 0.0)),
    )


def draws_of(session: CaseContext, output: int, offsets: Offsets, count: int, parts: Parts) -> torch.Tensor:
    """These elements of `count` eager results on the same inputs: (count, elements) in float64, on the CPU."""
    inputs = len(session.inputs)
    session.load_parameters(offsets[inputs:])
    found: list[torch.Tensor] = []
    while len(found) < count:
        calls = [offsets[:inputs]] * min(session.most_calls(), count - len(found))
        ran = session.reference.run(calls, checked=False, variant="eager")
        found += [session.reference.read_parts(call[output], parts).double().cpu().flatten() for call in ran.results]
    return torch.stack(found)


def _names(session: CaseContext) -> list[str]:
    return [t.name for t in session.tensors]
