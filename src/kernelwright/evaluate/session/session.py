"""One task in front of the referee: its reference process, the shared inputs, the cases with what is expected.

Seeds are secret, and drawn again for every session and for every final. Expected results never leave this process.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Literal

import torch

from kernelwright.evaluate import pieces
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess
from kernelwright.evaluate.sandbox.messages.calls import FUSED, ROUNDED, Prepare, TakeParameters
from kernelwright.evaluate.sandbox.process import ChildRaisedError, DeviceFullError, ReferenceRaisedError
from kernelwright.evaluate.session import expectations
from kernelwright.evaluate.session.cases import NO_ROOM, RAISES, Case, Fit, Observed, OriginalTask, traps, with_bytes
from kernelwright.evaluate.session.expectations import Seen
from kernelwright.evaluate.session.fewer_inputs import of_some
from kernelwright.evaluate.session.later_state import move_on
from kernelwright.evaluate.session.memory import SETS, Memory, Shared
from kernelwright.evaluate.session.seeds import SEED_BITS, Seeds
from kernelwright.evaluate.session.subsample_check import coarse_averages
from kernelwright.evaluate.timing.input_synthesis import Stock
from kernelwright.evaluate.timing.structure import NONE, Structure, learnt, restored
from kernelwright.evaluate.triton.binding import level
from kernelwright.evaluate.verify import compare, distributions, finer
from kernelwright.evaluate.verify.compare import Expectation
from kernelwright.evaluate.verify.distributions import AS_GIVEN, InputDistribution
from kernelwright.evaluate.verify.finer import Finer, Lines
from kernelwright.evaluate.verify.meaning import Given
from kernelwright.execution import job
from kernelwright.records.comparator import Calibrated
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Task
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

if TYPE_CHECKING:
    from kernelwright.records.evaluation import Weights
    from kernelwright.records.measure import BaselineName, Ratio


MOST_PARENTS, PARENT_BYTES = 3, 1 << 30
"""Secret draws that timed inputs are mixed of, and how much they take together; one in any case."""
AGREES = 2.0**-8
"""What eager may err on inputs that follow from what they mean, or sixteen times what it errs on drawn ones: where it errs by
more, nobody knows what is right."""

WEAKER = "positions count as numbers, no bound of its time follows from arithmetic, and nothing is asked to be exact"
"""What the referee cannot do where it does not know what a reference computes."""
TF32_ERROR = 2.0**-14
"""Of a result's size: more than fp32 products err by, and less than those of factors with TF32's eleven bits."""
Drawn = Sequence[torch.Tensor]
Shown = tuple[float, Finer]
"""How far eager is from the truth in one output of one draw."""
Size = Literal["full", "smaller"]
"""Of the task before an interpreter, where that of a session tells nothing of a kernel."""


class Session:
    """Everything about one task that is computed once and used for every candidate."""

    def __init__(
        self, original: OriginalTask, task: Task, reference: ComputeProcess, policy: Policy, memory: Memory
    ) -> None:
        self.task, self.reference, self.policy, self.original = task, reference, policy, original
        self.memory, self.layout, self.closed, self._placed = memory, memory.layout, False, False
        self.inputs, self.parameters = task.workload.tensors, task.workload.parameters
        self.tensors = (*self.inputs, *self.parameters)
        self.distributions = admitted_distributions(task, policy)
        self.cases: list[Case] = []
        self.dropped: list[str] = []
        self.others: Callable[[Size], Session | None] = lambda _: None
        """The same task at another size; None where there is none, or none that can be borne."""
        self.closes: Callable[[], None] = lambda: None  # those that were opened
        self.weights: Weights = policy.weights  # which parameters the cases and the timed calls have
        self._loaded: tuple[int, ...] = ()
        self._recomputed: tuple[tuple[int, ...], str, list[torch.Tensor]] | None = None
        """Where inputs lie, whose they are, and what fp64 says of them: of the case that was looked at last."""
        self.watching: set[str] = set()
        self.eager_s = float("inf")  # the quickest of eager's calls so far
        self.gone: Mapping[str, str] = {}  # baselines that ended the process of a reference of this task, with how
        self.prepared: dict[str, str] = {}  # baselines that were asked for: why each one cannot be made, or nothing
        self.fit: Fit | None = None  # what fresh inputs this task bears, once that was tried
        self.known: dict[BaselineName, Ratio] = {}
        """How many times eager's time each other baseline takes, from the last benchmark in which it was timed."""
        self.process_spread: float | None = None  # of eager's program, once that was looked at
        self.serial_us: dict[Effort, Ratio] = {}
        """What serial code takes on the host of a device, from the first benchmark of each effort."""
        try:
            self.reference.ask(Prepare(variant="fp64", sliced=memory.sliced))
            self.refresh()
        except BaseException:
            # Nobody else knows of it.
            memory.close()
            raise

    def refresh(self, replayed: Sequence[int] = ()) -> None:
        """Draw everything anew from fresh secret seeds, or from a receipt's, and compute what is expected."""
        self.seeds = Seeds(replayed, self.policy.defences.secret_seeds)
        self.memory.forget()
        self._generator = torch.Generator(self.memory.device).manual_seed(self.seeds.new())
        self._place_parameters()
        self.memory.settle()
        self.borne: tuple[InputDistribution, ...] = ()
        """Which input distributions the reference bears, in the form in which it does."""
        self.cases, self.dropped = [], [f"for lack of memory: {told}" for told in self.memory.weaker]
        self._recomputed = None
        # Seeds that there is no memory to keep still calibrate; each is drawn where the first kept draw will be.
        others = [self._shown_by_another_seed() for _ in range(self.policy.seeds - self.layout.kept)]
        drawn = [self._place_draw(i) for i in range(self.layout.kept)]
        if self._slot:
            move_on(self, (*self._given(0)[: len(self.inputs)], *self.timed_parameters()), self._generator)
        columns = zip(self.inputs, zip(*drawn, strict=True), strict=True)
        self.structures = [learnt(_stacked(column, spec), spec) for spec, column in columns]
        """What the draws of each input have in common."""
        given = [self._light(self._observe(AS_GIVEN, self._given(i))) for i in range(self.layout.kept)]
        self.unfit = "" if any(not one.fault for one in given) else given[0].fault
        self._calibrate(others, given)
        self._admit_cases(given)
        for slot, distribution in enumerate(self.distributions):
            job.step(f"the right answers in fp64: inputs {slot + 1} of {len(self.distributions)}, {distribution.name}")
            try:
                found = self._tried(slot, distribution, draw := drawn[slot % self.layout.kept])
                found = self._tried_of_some(slot, distribution, draw) if found.fault else found
                self._admit_cases([self._light(found)])
            except (torch.OutOfMemoryError, DeviceFullError):
                self.memory.trim()
                self.dropped.append(f"{distribution.name}: {NO_ROOM}")
        self.memory.trim()

    def _tried(self, slot: int, distribution: InputDistribution, drawn: Drawn, alone: bool = False) -> Observed:
        """What the reference says of an input distribution, or of a weaker one where it does not bear it, unless `alone`."""
        made = self.memory.place_distribution(self, slot, distribution, drawn)
        found = self._observe(distribution, (*made, *self.timed_parameters()))
        if distribution.of_meaning and not found.fault:
            worst = max((s.error / max(AGREES, 16 * b) for s, b in zip(found.outputs, self.base_error, strict=True)))
            found = replace(found, fault="" if worst <= 1 else "the eager reference itself is far from fp64")
        if found.fault and distribution.weaker:
            return self._tried(slot, distribution.weaker, drawn)
        self.borne += () if found.fault or alone else (distribution,)
        return found

    def _tried_of_some(self, slot: int, distribution: InputDistribution, drawn: Drawn) -> Observed:
        """The same of some inputs alone, where the reference does not bear it of all of them."""
        touched = () if self.task.source.serial else distributions.touched(distribution, self.inputs)
        some = of_some(distribution, touched, lambda one: not self._tried(slot, one, drawn, alone=True).fault)
        return self._tried(slot, some or distribution, drawn)

    @property
    def without_graph(self) -> tuple[str, ...]:
        """What is weaker where nobody knows what the reference computes; nothing where its graph is known."""
        why = self.original.task.graph.untraced
        return (f"judged without a graph ({why}): {WEAKER}",) if why else ()

    @property
    def led_astray(self) -> bool:
        """Whether some numbers lead a serial reference out of its memory: others than drawn ones may, too."""
        return bool(self.task.source.serial) and any(RAISES in told for told in self.dropped)

    def present(self, case: Case) -> Case:
        """The case with its inputs in place."""
        self.memory.present(self, case)
        return case

    def most_calls(self) -> int:
        """Calls that one sample may hold."""
        return self.memory.most_calls()

    @property
    def calibrated(self) -> bool:
        """See `CaseContext.calibrated`."""
        return self.policy.defences.calibrated

    def allowed(self, output: int, reference_error: float, in_turn: int = 0) -> float:
        """What a candidate may err on one output; `in_turn`: terms rounded one way (docs/referee.md)."""
        spec = self.task.workload.outputs[output]
        if not self.calibrated:
            return expectations.LOOSE
        worst = max(self.base_error[output], reference_error)
        comparator = self.task.comparator(output)
        k = comparator.k if isinstance(comparator, Calibrated) else Calibrated().k
        return k * worst + compare.floor(spec, self.reduction(output), self.scan(output), in_turn)

    def allowed_finer(self, output: int, eagers: Finer, in_turn: int = 0) -> Finer:
        """What a candidate's stretches and averages may err (docs/referee.md); anything where they are not looked at."""
        if not self.calibrated:
            return finer.ANY
        spec, comparator = self.task.workload.outputs[output], self.task.comparator(output)
        k = comparator.k if isinstance(comparator, Calibrated) else Calibrated().k
        worst = eagers.or_more(self.base_finer[output])
        if self.scan(output):
            return finer.of_scan(spec, worst, k)
        floor = compare.floor(spec, self.reduction(output), in_turn=in_turn)
        exponentials = compare.adds_exponentials(self.task.graph, output)
        sums = finer.Sums(self.reduction(output), output in self.coarse, in_turn if exponentials else 0)
        return finer.allowed(spec, worst, k, floor, sums)

    def lines(self, output: int) -> Lines:
        """How an output is cut into lines, of which few may be lost (docs/referee.md)."""
        largest, scan = max((t.numel for t in self.tensors), default=1), compare.running_sum(self.task, output)
        return finer.lines_of(self.task.workload.outputs[output], largest)._replace(scan=scan)

    def settle(self) -> None:
        """See `Memory.settle`."""
        self.memory.settle()

    def reduction(self, output: int) -> int:
        """Elements that meet in one element of this output, at most: in the graph's reductions or by size."""
        return compare.reduction(self.task, output)

    def scan(self, output: int) -> int:
        """Elements of the longest scan that this output depends on; zero where there is none."""
        return compare.longest_scan(self.task.graph, output, self.tensors)

    def stocks(self) -> list[Stock]:
        """What fresh inputs are made of, and where they may lie: inputs first, then parameters.

        Parents of inputs are new draws from secret seeds, which no candidate meets.
        """
        self.memory.overwritten()
        homes = [*(0 for _ in self.inputs), *self.timed_parameters()]
        parents = self._secret_draws()
        return [
            self._stock(i, spec, home, parents[i] if i < len(self.inputs) else None)
            for i, (spec, home) in enumerate(zip(self.tensors, homes, strict=True))
        ]

    def draw_at(self, offsets: tuple[int, ...]) -> None:
        """Have the task draw inputs from a new secret seed, at these offsets."""
        self.memory.draw(secrets.randbits(SEED_BITS), offsets)

    @property
    def affords_copies(self) -> bool:
        """Whether the referee may hold a copy of all inputs for itself."""
        return self.memory.holds and sum(t.nbytes for t in self.inputs) <= PARENT_BYTES

    def _secret_draws(self) -> list[torch.Tensor]:
        """Draws of every input, (draws, *shape), in the referee's own memory; the checked ones where that is short."""
        if not self.affords_copies:
            shapes = [s.model_copy(update={"shape": (self.layout.kept, *s.shape)}) for s in self.inputs]
            return [self.memory.window(i, 0, shape) for i, shape in enumerate(shapes)]
        count = max(1, min(MOST_PARENTS, PARENT_BYTES // max(1, sum(t.nbytes for t in self.inputs))))
        drawn = [self.memory.drawn(secrets.randbits(SEED_BITS)) for _ in range(count)]
        return [torch.stack(column) for column in zip(*drawn, strict=True)]

    def timed_parameters(self) -> tuple[int, ...]:
        """Offsets of the randomised parameters, which the clock uses too."""
        return tuple(self.layout.parameter(p, self._slot) for p in self.parameters)

    def load_parameters(self, offsets: Sequence[int]) -> None:
        """Give the reference the parameters at these offsets, if it has others."""
        wanted = tuple(offsets)
        if wanted != self._loaded:
            self.reference.ask(TakeParameters(offsets=wanted))
            self._loaded = wanted

    def share(self) -> Shared:
        """See `Memory.share`."""
        return self.memory.share()

    def view(self, index: int, offset: int) -> torch.Tensor:
        """The window of a tensor at a byte offset, in the grader's own writable mapping."""
        return self.memory.window(index, offset, self.tensors[index])

    def close(self) -> None:
        """End the reference and free the inputs, and what expectations hold that know their session, in a circle.

        Once: a job that is given up and the end of the service may both ask for it.
        """
        if self.closed:
            return
        self.closes()
        self.closed, self.cases, self._recomputed, self.structures = True, [], None, []
        self.reference.close()
        self.memory.close()

    # --- where things lie -----------------------------------------------------------------------------------------

    def _stock(self, index: int, spec: TensorSpec, home: int, parents: torch.Tensor | None) -> Stock:
        numbers, layout = range(self.layout.spare), self.layout
        if parents is not None:
            places = tuple(layout.place(spec, n) for n in numbers)
            return Stock(spec, parents, home, places, structure=learnt(parents, spec))
        drawn = self.memory.window(index, home, spec.model_copy(update={"shape": (1, *spec.shape)}))
        own = tuple(layout.parameter(spec, SETS + n) for n in numbers)
        kept = Structure("kept") if spec.name in self.task.workload.constants else NONE
        return Stock(spec, drawn, home, own, parameter=True, structure=kept, tied=self._tied(index))

    def _tied(self, index: int) -> int | None:
        first = self.original.tied.get(self.tensors[index].name) if index >= len(self.inputs) else None
        names = [p.name for p in self.parameters]
        return len(self.inputs) + names.index(first) if first is not None else None

    def _given(self, draw: int) -> tuple[int, ...]:
        # The first draw meets the parameters as they were initialised, all others meet random ones.
        slot = 0 if draw == 0 and self.weights == "fresh" else self._slot
        inputs = [self.layout.draw(t, draw) for t in self.inputs]
        return (*inputs, *(self.layout.parameter(p, slot) for p in self.parameters))

    @property
    def _slot(self) -> int:
        return int(self.policy.defences.random_parameters)

    # --- filling the arena ----------------------------------------------------------------------------------------

    def _place_draw(self, draw: int) -> list[torch.Tensor]:
        offsets = [self.layout.draw(t, draw) for t in self.inputs]
        self.memory.draw(self.seeds.new(), offsets)
        return [self.view(i, o) for i, o in enumerate(offsets)]

    def _place_parameters(self) -> None:
        if not self.parameters:
            return
        if not self._placed:
            self.memory.initial_parameters()
            self._placed = True
        for i, spec in enumerate(self.parameters):
            index = len(self.inputs) + i
            if (first := self._tied(index)) is not None:
                place = self.layout.parameter(spec, 1)
                self.view(index, place).copy_(self.view(first, self.layout.parameter(self.tensors[first], 1)))
                continue
            initial = self.view(index, 0)
            # As the models were built, but for what would tell nothing of whether it is read (session/binding.py).
            built = self.weights == "construction" and not level(initial)
            stays = built or spec.name in self.task.workload.constants
            changed = initial if stays else distributions.random_parameter(initial, spec, self._generator)
            self.view(index, self.layout.parameter(spec, 1)).copy_(changed)
        self._loaded = ()

    def fill(
        self,
        distribution: InputDistribution,
        starts: Sequence[int],
        drawn: Sequence[torch.Tensor],
        seed: int | None = None,
    ) -> list[int]:
        """See `Fill.fill`; `seed` has it come out the same again."""
        if seed is not None:
            self._generator.manual_seed(seed)
        offsets = []
        for i, spec in enumerate(self.inputs):
            offsets.append(starts[i] + distribution.shift * ITEM_BYTES[spec.dtype])
            self.change(distribution, i, drawn[i], self.view(i, offsets[i]))
        return offsets

    def change(self, distribution: InputDistribution, index: int, drawn: torch.Tensor, into: torch.Tensor) -> None:
        """Write an input as an input distribution makes it, or as it was drawn where that breaks what its draws share."""
        structure, spec = self.structures[index], self.inputs[index]
        kept = distributions.keeps(distribution, structure.how)
        if kept:
            distributions.apply(distribution, drawn, Given(spec, self._generator, index, structure.properties), into)
        if not kept or not restored(structure, into, drawn, spec):
            into.copy_(drawn)

    # --- what is expected -----------------------------------------------------------------------------------------

    def results(self, variant: str, offsets: tuple[int, ...]) -> list[torch.Tensor]:
        """What a variant of the reference computes for the inputs and parameters at these offsets."""
        self.load_parameters(offsets[len(self.inputs) :])
        ran = self.reference.run([offsets[: len(self.inputs)]], checked=False, variant=variant)
        if variant == "eager":
            self.eager_s = min(self.eager_s, ran.inside_ns / 1e9)
        return [self.reference.read(found) for found in ran.results[0]]

    def case_at(self, distribution: InputDistribution, offsets: tuple[int, ...]) -> Case | None:
        """What is expected of what lies at these offsets now; None where the reference is not finite there."""
        observed = self._observe(distribution, offsets)
        return None if observed.fault else self._case(observed, held=True)

    def forget_parameters(self) -> None:
        """The reference must be given its parameters again: they have changed, or a variant of it is new."""
        self._loaded, self._recomputed = (), None

    def wanted(self, offsets: tuple[int, ...], output: int) -> torch.Tensor:
        """What fp64 says of the inputs that lie at these offsets now, computed once for one case after another."""
        known, placed = self._recomputed, self.memory.placed
        if known is None or known[:2] != (offsets, placed):
            # Before the next is computed, its memory is free.
            known = self._recomputed = None
            known = self._recomputed = (offsets, placed, self.results("fp64", offsets))
        return known[2][output]

    def _shown_by_another_seed(self) -> list[Shown]:
        self._place_draw(0)
        return _shown(self._observe(AS_GIVEN, self._given(0)))

    def _calibrate(self, others: Sequence[list[Shown]], given: Sequence[Observed]) -> None:
        """What eager itself errs, at most, over all draws."""
        shown = [s for s in (*others, *map(_shown, given)) if s]
        outputs = range(len(self.task.workload.outputs))
        spread = self.original.spread or (0.0,) * len(outputs)
        self.base_error = [max((s[i][0] for s in shown), default=0.0) + spread[i] for i in outputs]
        self.base_finer = [reduce(Finer.or_more, (s[i][1] for s in shown), finer.NONE) for i in outputs]
        first = next((one for one in given if not one.fault), None)
        self.coarse = coarse_averages(self, first.offsets, first.outputs) if first else frozenset()
        """Outputs whose mean error tells a sample from all terms."""

    def _observe(self, distribution: InputDistribution, offsets: tuple[int, ...]) -> Observed:
        """What fp64 says of these inputs, and how far eager is from it."""
        try:
            wanted = self.results("fp64", offsets)
            broken = self.broken(wanted)
            eager = [] if broken else self.results("eager", offsets)
        except (ChildRaisedError, ReferenceRaisedError) as error:
            if distribution.name == AS_GIVEN.name:
                raise
            return Observed(distribution, offsets, (), f"{RAISES}: {str(error).splitlines()[-1][:200]}")
        if broken:
            return Observed(distribution, offsets, (), f"of the fp64 reference {broken}")
        if broken := self.broken(eager) or self._other_infinities(eager, wanted):
            return Observed(distribution, offsets, (), f"of the eager reference {broken}")
        outputs = [
            replace(expectations.observe(self, i, offsets, *pair), distribution=distribution)
            for i, pair in enumerate(zip(wanted, eager, strict=True))
        ]
        return Observed(distribution, offsets, tuple(self._with_rounding(outputs, offsets, wanted)))

    def _with_rounding(
        self, seen: Sequence[Seen], offsets: tuple[int, ...], wanted: Sequence[torch.Tensor]
    ) -> Sequence[Seen]:
        """The same where products may be rounded otherwise than eager's were, or fused: what that moves may be off, too."""
        if self.task.source.serial:
            pairs = zip(seen, wanted, self.results(FUSED, offsets), strict=True)
            return [expectations.or_fused(self, i, one, *pair) for i, (one, *pair) in enumerate(pairs)]
        if not self.task.numerics.tf32 or all(one.error > TF32_ERROR for one in seen):
            return seen
        rounded = self.results(ROUNDED, offsets)
        if self.broken(rounded):
            return seen
        pairs = zip(seen, wanted, rounded, strict=True)
        return [expectations.or_rounded(self, i, one, *pair) for i, (one, *pair) in enumerate(pairs)]

    def _other_infinities(self, eager: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]) -> str:
        """The first output of which eager and fp64 have other infinities, and where; or nothing."""
        told = ((i, compare.other_infinities(eager[i], wanted[i])) for i in self.original.infinite)
        return next((f"output {i}: {words}" for i, words in told if words), "")

    def broken(self, results: Sequence[torch.Tensor]) -> str:
        """The first of the reference's results that is NaN, or infinite where none is on the task's own inputs; or nothing."""
        return pieces.first_broken(results, self.original.infinite)

    def _admit_cases(self, observed: Sequence[Observed]) -> None:
        for one in observed:
            if one.fault:
                self.dropped.append(f"{one.distribution.name}: {one.fault}")
            else:
                self.cases.append(self._case(one))

    def _light(self, one: Observed) -> Observed:
        """Without the values, where they are computed again."""
        if self.memory.holds:
            return one
        light = (replace(s, value=s.value.new_empty(0)) if self._again(i) else s for i, s in enumerate(one.outputs))
        return replace(one, outputs=tuple(light))

    def _again(self, output: int) -> bool:
        """Whether an output's expected values are computed again for each case: those of the calibrated comparison are."""
        calibrated = isinstance(self.task.comparator(output), Calibrated)
        return calibrated and not self.memory.holds and not expectations.steps(self, output)

    def _expected(self, one: Observed, output: int, exact: bool) -> Expectation:
        found = expectations.expect(self, output, one.outputs[output], exact)
        if not self._again(output) or not isinstance(found, compare.Expected):
            return found
        return compare.Recomputed.like(found, partial(self.wanted, one.offsets, output))

    def _case(self, one: Observed, held: bool = False) -> Case:
        operations = (n.op for n in self.task.graph.nodes)
        exact = one.distribution.name == "small integers" and distributions.EXACT_OPS.issuperset(operations)
        expected = tuple(
            expectations.expect(self, i, seen, exact) if held else self._expected(one, i, exact)
            for i, seen in enumerate(one.outputs)
        )
        return Case(one.distribution.name, one.offsets, expected, exact)


def _stacked(draws: Sequence[torch.Tensor], spec: TensorSpec) -> torch.Tensor:
    """Some draws of one input as one tensor; where they are large, the first one where it lies."""
    affordable = PARENT_BYTES // max(1, spec.nbytes)
    return torch.stack(list(draws[:MOST_PARENTS])) if affordable >= MOST_PARENTS else draws[0][None]


def _shown(one: Observed) -> list[Shown]:
    return [(seen.error, seen.finer) for seen in one.outputs]


def admitted_distributions(task: Task, policy: Policy) -> list[InputDistribution]:
    """The input distributions that every input's domain admits."""
    if not policy.defences.regimes:
        return []
    operations, given = [node.op for node in task.graph.nodes], task.workload
    longest = max((compare.reduction(task, output) for output in range(len(given.outputs))), default=1)
    found = with_bytes(task, distributions.admitted(given.tensors, operations, given.outputs, longest, traps(task)))
    # At a size that was drawn it is the size that matters.
    few = task.source.part is not None and task.source.part.drawn
    return [*found[:1], *found[1:][-1:]] if few else found
