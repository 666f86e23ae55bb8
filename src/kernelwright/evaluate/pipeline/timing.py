"""The measure stage: hold the contest, check every timed result, place the time against floor and ceiling."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import torch

from kernelwright.evaluate.pipeline import baselines
from kernelwright.evaluate.pipeline.plausible import placed
from kernelwright.evaluate.pipeline.session import Session
from kernelwright.evaluate.pipeline.timed_results import TimedResults
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial, check_form, wrong
from kernelwright.evaluate.profile.clock import DEVICE, OUTSIDE, Calls, Contest, Entrant, Samples
from kernelwright.evaluate.profile.conditions import Watch
from kernelwright.evaluate.profile.inputs import FreshInputs
from kernelwright.evaluate.profile.stopping import Stopping
from kernelwright.evaluate.sandbox.contestant import Contestant, Ran
from kernelwright.evaluate.verify.regimes import HUGE
from kernelwright.records.evaluation import Evaluation, Measured, Suspect
from kernelwright.records.measure import BaselineName, BuildFacts, Side, Timing
from kernelwright.records.policy import Effort, Policy

LEAST_US = 0.25
"""Eight ticks of the device's events; processes of one and the same kernel were seen to differ by almost as much."""
OVERHEAD_CALLS = 15
DECOYS = 3
"""Inputs that lie there for each call of those that are handed over one by one: it cannot be told which is next."""


class TimedOutputWrongError(Exception):
    """A result that was timed is not right; str is the evidence."""


@dataclass
class Witness:
    """Looks at every timed result: eager's of the same round says what it should be."""

    trial: Trial
    reference: Contestant
    results: TimedResults
    places: Calls = field(default_factory=list)
    """Where the inputs of the round lie."""
    parts: list[list[tuple[int, int]]] = field(default_factory=list)
    wanted: list[list[torch.Tensor]] = field(default_factory=list)
    got: list[list[torch.Tensor]] = field(default_factory=list)

    def look(self, entrant: Entrant, ran: Ran) -> None:
        """Keep the parts of a side's results that will be compared.

        Raises:
            OutcomeReached: the candidate's are not of the form that was asked for.
            TamperedError: two of its results share memory, or there is no such memory.
        """
        if "timed_outputs" in self.trial.policy.disabled or entrant.name not in ("eager", "candidate"):
            return
        if entrant.name == "candidate":
            for results in ran.results:
                check_form(self.trial, "timed call", results)
            if "honest_reply" not in self.trial.policy.disabled:
                ran.must_be_disjoint()
            self._must_be_guarded(entrant.contestant, ran)
        if not self.parts:
            outputs = self.trial.session.task.workload.outputs
            self.parts = [[self.results.part(o) for o in range(len(outputs))] for _ in ran.results]
        values = [
            [entrant.contestant.read(f, *p) for f, p in zip(call, part, strict=True)]
            for call, part in zip(ran.results, self.parts, strict=True)
        ]
        if entrant.name == "eager":
            self.wanted = values
        else:
            self.got = values

    def _must_be_guarded(self, contestant: Contestant, ran: Ran) -> None:
        if "guard" in self.trial.policy.disabled or self.trial.session.device == "cuda":
            return
        for i, found in ((i, found) for call in ran.results for i, found in enumerate(call)):
            if not contestant.guards_intact(found):
                evidence = f"wrote before or behind output {i} of {found.numel} elements"
                raise OutcomeReached(wrong(self.trial, "guard", "timed call", evidence))

    def compare(self) -> None:
        """Compare what was kept of one round.

        Raises:
            TimedOutputWrongError: a timed result is not right.
        """
        if self.got and self.results.surely_right(self.got, self.wanted):
            self.got = []
        for got, wanted, offsets in zip(self.got, self.wanted, self.places, strict=False):
            for i, (g, w) in enumerate(zip(got, wanted, strict=True)):
                found = self.results.wrong(i, g, w, offsets)
                if found is not None:
                    raise TimedOutputWrongError(f"output {i} of a timed call: {found.evidence}")
        self.parts, self.wanted, self.got = [], [], []

    def finish(self) -> None:
        """Compare what only the whole contest tells.

        Raises:
            TimedOutputWrongError: the timed results are not right together.
        """
        found = self.results.finish()
        if found is not None:
            raise TimedOutputWrongError(found.evidence)


@dataclass(frozen=True)
class Held:
    """A contest that is over, with the rule that ended it."""

    samples: Samples
    rule: Stopping
    watch: Watch
    names: list[BaselineName]
    """Baselines that are compared with, timed in this contest or known from another."""
    missing: tuple[str, ...]
    waiting_us: dict[str, float]


def time_candidate(trial: Trial, contestant: Contestant, build: BuildFacts, effort: Effort) -> Evaluation:
    """Measured, or why the time cannot be believed.

    Raises:
        as `Contestant.run`.
    """
    try:
        held = _hold(trial, contestant, effort)
        contestant.rest()
    except TimedOutputWrongError as error:
        return wrong(trial, "timed_output", "timed call", str(error))
    timing = _timing(trial, held, effort)
    roofline = placed(trial, contestant, held.samples, timing)
    if isinstance(roofline, Suspect):
        return roofline
    return Measured(build=build, accuracy=trial.accuracy, timing=timing, roofline=roofline)


def _hold(trial: Trial, contestant: Contestant, effort: Effort) -> Held:
    session, policy = trial.session, trial.policy
    fresh = FreshInputs(session.inputs, session.draws, session.kept, session.view, session.timed_parameters())
    fresh.enabled = "fresh_inputs" not in policy.disabled
    fresh.bears_huge = any(case.regime == HUGE.name for case in session.cases)
    session.load_parameters(session.timed_parameters())
    names, missing = baselines.made(trial.machine, session, baselines.asked(policy, effort, session.task.target))
    timed = baselines.to_time(session, names, effort)
    rule, on_device = _rule(policy, effort, timed, session.device), session.task.target.kind == "cuda"
    witness = Witness(trial, session.reference, TimedResults(session))
    contest = _contest(witness, contestant, fresh, rule)
    try:
        samples = contest.hold(rule.most, policy.final_seconds if effort == "final" else policy.search_seconds)
        waiting = contest.waiting_us(samples.calls) if on_device else {}
        witness.finish()
    finally:
        fresh.undo()
    baselines.remember(session, samples.us, rule)
    return Held(samples, rule, contest.watch, names, missing, waiting)


def _rule(policy: Policy, effort: Effort, timed: Sequence[BaselineName], device: str) -> Stopping:
    final = effort == "final"
    return Stopping(
        baselines=timed,
        most=policy.final_blocks if final else policy.search_blocks,
        confidence=policy.confidence,
        minimum_effect=policy.minimum_effect,
        precision=policy.final_precision if final else policy.search_precision,
        least_us=LEAST_US if device == "cuda" else 0.0,
        clear="goes on" if final else "stops",
    )


def _contest(witness: Witness, contestant: Contestant, fresh: FreshInputs, rule: Stopping) -> Contest:
    trial, session = witness.trial, witness.trial.session
    on_device = session.task.target.kind == "cuda"

    def windows(calls: int) -> Calls:
        contestant.ready(calls)
        witness.places = fresh.windows(calls)
        return witness.places

    def among(calls: int) -> Calls:
        contestant.ready(calls)
        witness.places = secrets.SystemRandom().sample(fresh.windows(DECOYS * calls), calls)
        return witness.places

    def round_over() -> None:
        try:
            # While the inputs still lie there: some comparators look at them.
            witness.compare()
        finally:
            fresh.undo()

    return Contest(
        entrants=[
            *(Entrant(name, session.reference, name) for name in rule.baselines),
            Entrant("candidate", contestant),
        ],
        fresh=windows,
        among=None if on_device or "one_by_one" in trial.policy.disabled else among,
        after=witness.look,
        round_over=round_over,
        most_calls=session.most_calls(),
        inside=on_device or "outside_clock" in trial.policy.disabled,
        pace=DEVICE if on_device else OUTSIDE,
        settled=rule.enough,
        watch=trial.machine.watch(),
    )


def _timing(trial: Trial, held: Held, effort: Effort) -> Timing:
    session, samples, rule = trial.session, held.samples, held.rule
    on_device = session.task.target.kind == "cuda"
    sides = [
        Side.model_validate({"name": n, "samples_us": tuple(v), "call_us": held.waiting_us.get(n)})
        for n, v in samples.us.items()
    ]
    versus = [
        rule.versus(samples.us, name, held.watch.effect_times)
        if name in samples.us
        else baselines.through_eager(session.known[name], name, samples.us, rule, held.watch.effect_times)
        for name in held.names
    ]
    return Timing(
        latency_us=float(torch.tensor(samples.us["candidate"], dtype=torch.float64).median()),
        sides=tuple(sides),
        versus=tuple(versus),
        calls_per_sample=samples.calls,
        clock="device" if on_device else "outside",
        call_us=held.waiting_us.get("candidate"),
        launch_overhead_us=_overhead_us(session) if on_device else None,
        conditions=held.watch.conditions() if on_device else None,
        precision=str(session.reference.ask({"do": "flags"})["precision"]),
        missing=held.missing,
        final=effort == "final",
    )


def _overhead_us(session: Session) -> float:
    offsets = session.cases[0].offsets[: len(session.inputs)]
    ran = session.reference.run([offsets] * OVERHEAD_CALLS, checked=False, variant="nothing")
    return median(ran.each_ns) / 1000
