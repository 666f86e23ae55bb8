"""What a timed result should be: compared with eager's of the same round by each output's comparator.

The witness keeps what will be compared of both sides, read while its side stands still, before the next one runs. Both sides
may be off the truth by what each is allowed; where they differ by more, the truth is asked for. A random output cannot be
compared call by call: its features are kept, and the whole benchmark is one paired test.
"""

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from kernelwright.evaluate import float8, pieces
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess, TimedRun
from kernelwright.evaluate.sandbox.messages.calls import Found
from kernelwright.evaluate.session import expectations, input_sensitivity, open_ties
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.evaluate.session.verification import check_form, wrong
from kernelwright.evaluate.timing.clock import Arm, Calls
from kernelwright.evaluate.verify import compare, exact, finer, places
from kernelwright.evaluate.verify.compare import Wrong
from kernelwright.evaluate.verify.distributions import AS_GIVEN, SCALES
from kernelwright.evaluate.verify.finer import Finer
from kernelwright.evaluate.verify.places import Parts, Sample
from kernelwright.evaluate.verify.statistical import Pairs
from kernelwright.records.comparator import Calibrated, Exact, Statistical, Ties

Truth = compare.Expected | exact.Stepped | exact.Unordered
EAGERS_NEIGHBOUR = 1 / 16
"""Ulps of a coarse average, root mean square, within which it is eager's to the last bit in all but a few elements."""


class UnfitInputsError(Exception):
    """Eager is not finite on inputs that the referee made: they say nothing of a candidate."""


class TimedResults:
    """Compares the timed results of one candidate with eager's."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pairs: dict[int, Pairs] = {}
        self._samples: dict[int, Sample] = {}
        self._known: tuple[tuple[int, ...], Case] | None = None
        self.made = AS_GIVEN
        """What was done to the inputs of this round."""
        # A secret seed; numbers from the system one by one would take a tenth of a verdict's time.
        self._chance = random.Random(secrets.randbits(256))

    def parts(self, output: int) -> Parts:
        """Elements of one result that are looked at: secret stripes, or all where elements are no use alone.

        Chosen anew for every round, after the candidate has been frozen.
        """
        spec, rule = self._session.task.workload.outputs[output], self._session.task.comparator(output)
        if isinstance(rule, Ties):
            return ((0, spec.numel),)
        stripes = places.stripes(spec.numel, self._chance)
        # What two calls have in common shows in the same places only.
        return (*stripes, *self._sample(output).parts) if isinstance(rule, Statistical) else stripes

    def wrong(
        self, output: int, got: torch.Tensor, wanted: torch.Tensor, where: tuple[Parts, Sequence[int]]
    ) -> Wrong | None:
        """Why a result is refused; `where` says which parts of it these are, and on which inputs, which still lie there."""
        session = self._session
        rule = session.task.comparator(output)
        if not got.numel() or not session.policy.defences.compares(rule.kind):
            return None
        match rule:
            case Statistical():
                pairs = self._pairs.setdefault(output, Pairs(rule.false_alarm, self._sample(output)))
                return pairs.add(got, wanted)
            case Exact():
                return exact.Identical(wanted).judge([got])[1]
            case Ties():
                return self._unlike(output, rule, (got, wanted), tuple(where[1]))
        if torch.equal(float8.bits(got), float8.bits(wanted)):
            return None
        if self._like_eagers(output, got, wanted):
            return None
        return self._unlike_truth(output, got, *where)

    def _like_eagers(self, output: int, got: torch.Tensor, wanted: torch.Tensor) -> bool:
        """Whether it is so near to eager's that it is right, whatever eager's own error is; False says nothing.

        Raises:
            UnfitInputsError: eager's is not finite, or NaN where it may be infinite.
        """
        session, spec = self._session, self._session.task.workload.outputs[output]
        if wanted.is_floating_point() and not pieces.all_finite(wanted):
            if output not in session.original.infinite or bool(wanted.isnan().any()):
                raise UnfitInputsError(f"output {output}: eager is not finite")
            return False
        if not spec.floating or spec.stepped or got.shape != wanted.shape:
            return False
        allowed, fine = session.allowed(output, 0.0), session.allowed_finer(output, finer.NONE)
        near = compare.Expected(wanted, compare.scale_of(wanted), 0.0, allowed - session.base_error[output])
        if compare.judge(got, near)[1] is not None:
            return False
        if output in session.coarse and not _like_neighbours(got, wanted):
            return False
        eagers, averaged = session.base_finer[output], fine.averaged < float("inf")
        found = finer.figures(got, wanted, near.scale, session.lines(output), averaged)
        mean = output in session.coarse or found.averaged <= fine.averaged - eagers.averaged
        stepped = found.steps <= fine.steps - eagers.steps
        return mean and stepped and found.local <= fine.local - eagers.local and found.lost <= _spared(fine)

    def _unlike_truth(self, output: int, got: torch.Tensor, parts: Parts, offsets: Sequence[int]) -> Wrong | None:
        """What the reference says of a result unlike eager's, which is held to what a checked one is held to.

        Raises:
            UnfitInputsError: the reference is not finite on these inputs.
        """
        whole, pick = self._truth(tuple(offsets)).expected[output], partial(_picked, parts=parts, shape=got.shape)
        assert isinstance(whole, Truth)
        truth, count = replace(whole, value=pick(whole.value)), whole.value.numel()
        elements = input_sensitivity.Elements(output, tuple(offsets), pick)
        found = self._unexplained(truth, got, elements, count)
        if not found or isinstance(truth, exact.Unordered):
            return found
        rest = open_ties.settled(self._session, truth, elements, got)
        return found if rest is None else self._unexplained(truth, rest, elements, count)

    def _unexplained(
        self, truth: Truth, got: torch.Tensor, elements: input_sensitivity.Elements, count: int
    ) -> Wrong | None:
        """Why some elements of `count` are refused, whatever rounding explains."""
        error, found = truth.judge([got])
        tf32 = self._session.task.numerics.tf32
        if found and isinstance(truth, exact.Stepped) and count <= input_sensitivity.FEW:
            return truth.judge([input_sensitivity.settled(self._session, elements, got, truth.value)])[1]
        if not found or not isinstance(truth, compare.Expected) or not truth.allowed:
            return found
        if not input_sensitivity.explains(found.error, truth.allowed, count, tf32):
            return found
        tf32 = tf32 and error <= input_sensitivity.HARDLY * truth.allowed
        rest = input_sensitivity.beyond(self._session, elements, got, truth.value, tf32)
        # Few neighbours that cancel have no magnitude of their own; an average of too few terms is still one.
        fine = replace(truth.finer, local=float("inf")) if count <= input_sensitivity.FEW else truth.finer
        return compare.judge(rest, replace(truth, finer=fine))[1]

    def _truth(self, offsets: tuple[int, ...]) -> Case:
        """What is expected on these inputs, asked once for all outputs of a call."""
        if self._known is None or self._known[0] != offsets:
            case = self._session.case_at(self.made, offsets)
            if case is None:
                raise UnfitInputsError("the reference is not finite on timed inputs")
            self._known = (offsets, case)
        return self._known[1]

    def forget(self) -> None:
        """Other inputs lie there from now on."""
        self._known = None

    def surely_right(self, got: Sequence[Sequence[torch.Tensor]], wanted: Sequence[Sequence[torch.Tensor]]) -> bool:
        """Whether all calls of a round are plainly right, in one go; False says nothing.

        Asked call by call, the answers' way back from the device costs more than the comparison.
        """
        if not self._session.memory.queued:
            return False
        calls = zip(*got, strict=True), zip(*wanted, strict=True)
        return all(self._plainly(i, g, w) for i, (g, w) in enumerate(zip(*calls, strict=True)))

    def _plainly(self, output: int, got: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]) -> bool:
        session, spec = self._session, self._session.task.workload.outputs[output]
        plain = isinstance(session.task.comparator(output), Calibrated) and not expectations.steps(session, output)
        alike = all(g.shape == w.shape and g.is_floating_point() for g, w in zip(got, wanted, strict=True))
        if not (plain and spec.floating and not spec.stepped and spec.numel and alike):
            return False
        fine = session.allowed_finer(output, finer.NONE)
        if output in session.coarse or session.lines(output).scan[0]:
            return False
        # What is this near to eager's is right, whatever eager's own error is.
        allowed = session.allowed(output, 0.0) - session.base_error[output]
        eagers = session.base_finer[output]
        near = Finer(fine.local - eagers.local, fine.averaged - eagers.averaged, _spared(fine))
        # Calls as rows: a result may be a single number.
        rows = [torch.stack([values.reshape(-1) for values in calls]) for calls in (got, wanted)]
        return compare.all_within(rows[0], rows[1], allowed, near, session.lines(output).length)

    @property
    def enough(self) -> bool:
        """Whether as many random outputs were seen as a verdict on them needs."""
        return all(pairs.enough for pairs in self._pairs.values())

    def finish(self) -> Wrong | None:
        """Why the random outputs of the whole benchmark are refused."""
        found = (pairs.wrong() for pairs in self._pairs.values())
        return next((wrong for wrong in found if wrong is not None), None)

    def _sample(self, output: int) -> Sample:
        """Where all calls of a benchmark are looked at."""
        if output not in self._samples:
            self._samples[output] = places.sample(self._session.task.workload.outputs[output].shape, self._chance)
        return self._samples[output]

    def _unlike(
        self, output: int, rule: Ties, both: tuple[torch.Tensor, torch.Tensor], offsets: tuple[int, ...]
    ) -> Wrong | None:
        got, wanted = both
        session = self._session
        if torch.equal(float8.bits(got), float8.bits(wanted)):
            return None
        if not rule.of:
            return exact.Unordered(wanted, rule.dim, 0.0, self._allowed(output) + session.base_error[output]).judge(
                [got]
            )[1]
        picked, _ = expectations.picked_values(self._session, rule, offsets, (expectations.PLAIN,) * 2)
        allowed = self._allowed(output) + session.base_error[output]
        return exact.Tied(wanted, lambda: picked, rule, 0.0, allowed).judge([got])[1]

    def _allowed(self, output: int) -> float:
        alike = (AS_GIVEN.name, *SCALES, self.made.name)
        allowed = (case.expected[output].allowed for case in self._session.cases if case.distribution in alike)
        return max(allowed, default=0.0)


class TimedOutputWrongError(Exception):
    """A result that was timed is not right; str is the evidence."""


@dataclass
class TimedOutputCheck:
    """Looks at every timed result: eager's of the same round says what it should be."""

    trial: Trial
    reference: ComputeProcess
    results: TimedResults
    places: Calls = field(default_factory=list)
    """Where the inputs of the round lie."""
    parts: list[list[Parts]] = field(default_factory=list)
    """What is looked at of every call's outputs: the same of both sides."""
    wanted: list[list[torch.Tensor]] = field(default_factory=list)
    got: list[list[torch.Tensor]] = field(default_factory=list)

    def look(self, arm: Arm, ran: TimedRun) -> None:
        """Keep the parts of a side's results that will be compared.

        Raises:
            OutcomeReached: the candidate's are not of the form that was asked for.
            TamperedError: two of its results share memory, or there is no such memory.
        """
        if not self.trial.policy.defences.timed_outputs or arm.name not in ("eager", "candidate"):
            return
        if arm.name == "candidate":
            for results in ran.results:
                check_form(self.trial, "timed call", results)
            if self.trial.policy.defences.honest_reply:
                ran.must_be_disjoint()
            self._must_be_guarded(arm.process, ran)
        if not self.parts:
            outputs = self.trial.session.task.workload.outputs
            # The same of all calls: none of them knew, and each set of places has its price.
            self.parts = [[self.results.parts(o) for o in range(len(outputs))]] * len(ran.results)
        values = [
            [_looked_at(arm.process, f, p) for f, p in zip(call, parts, strict=True)]
            for call, parts in zip(ran.results, self.parts, strict=True)
        ]
        if arm.name == "eager":
            self.wanted = values
        else:
            self.got = values

    def _must_be_guarded(self, process: ComputeProcess, ran: TimedRun) -> None:
        if not self.trial.policy.defences.guard or not process.guarded_in_time:
            return
        for i, found in ((i, found) for call in ran.results for i, found in enumerate(call)):
            if not process.guards_intact(found):
                evidence = f"wrote before or behind output {i} of {found.numel} elements"
                raise OutcomeReached(wrong(self.trial, "guard", "timed call", evidence))

    def compare(self) -> None:
        """Compare what was kept of one round.

        Raises:
            TimedOutputWrongError: a timed result is not right.
        """
        if self.got and self.results.surely_right(self.got, self.wanted):
            self.got = []
        self.results.forget()
        rows = zip(self.got, self.wanted, self.parts, self.places, strict=False)
        for got, wanted, parts, offsets in rows:
            for i, (g, w) in enumerate(zip(got, wanted, strict=True)):
                found = self.results.wrong(i, g, w, (parts[i], offsets))
                if found is not None:
                    raise TimedOutputWrongError(f"output {i} of a timed call: {found.evidence}")
        self.parts, self.wanted, self.got = [], [], []

    def finish(self) -> None:
        """Compare what only the whole benchmark tells.

        Raises:
            TimedOutputWrongError: the timed results are not right together.
        """
        found = self.results.finish()
        if found is not None:
            raise TimedOutputWrongError(found.evidence)


def _picked(values: torch.Tensor, parts: Parts, shape: torch.Size) -> torch.Tensor:
    """These parts of a result, in the shape in which they are looked at."""
    flat = values.reshape(-1)
    return torch.cat([flat[first : first + count] for first, count in parts]).view(shape)


def _spared(allowed: Finer) -> float:
    """Share of lines that may be unlike eager's: what eager itself loses of the truth is no measure of that."""
    return min(allowed.lost, finer.SPARED) if allowed.lost < float("inf") else allowed.lost


def _like_neighbours(got: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether two coarse averages are equal in nearly every bit."""
    scale = compare.scale_of(wanted)
    error = compare.error_of(got, wanted, scale)
    return bool(error.square().mean().sqrt() <= EAGERS_NEIGHBOUR * torch.finfo(got.dtype).eps)


def _looked_at(process: ComputeProcess, found: Found, parts: Parts) -> torch.Tensor:
    """Some elements of a result, flat; or all of them, in their shape."""
    values = process.read_parts(found, parts)
    return values.view(found.shape) if parts == ((0, found.numel),) else values
