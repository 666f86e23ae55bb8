"""The measure stage: hold the contest, check every timed result, place the time against floor and ceiling."""

from dataclasses import dataclass, field

import torch

from kernelwright.evaluate.pipeline.timed_results import TimedResults
from kernelwright.evaluate.pipeline.trial import Trial, check_form, wrong
from kernelwright.evaluate.profile import statistics
from kernelwright.evaluate.profile.clock import Calls, Contest, Entrant, Samples
from kernelwright.evaluate.profile.inputs import FreshInputs
from kernelwright.evaluate.sandbox.contestant import Contestant, Ran
from kernelwright.evaluate.verify.regimes import HUGE
from kernelwright.records.evaluation import Evaluation, Measured, Suspect
from kernelwright.records.measure import BuildFacts, Roofline, Side, Timing, Versus
from kernelwright.records.policy import Effort

SEARCH_S, FINAL_S = 5.0, 30.0
HIDDEN_SHARE = 0.25
"""Share of a sample that the candidate's own clock may miss beyond what eager's misses (waking, answering)."""

AMORTISED, FREE_CPU_S = 3.0, 2.0
"""A candidate may cost this many times what its samples tell, and this much more: its start, a busy machine."""


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
        if "timed_outputs" in self.trial.policy.disabled or entrant.name == "compile":
            return
        if entrant.name == "candidate":
            for results in ran.results:
                check_form(self.trial, "timed call", results)
            if "honest_reply" not in self.trial.policy.disabled:
                ran.must_be_disjoint()
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

    def compare(self) -> None:
        """Compare what was kept of one round.

        Raises:
            TimedOutputWrongError: a timed result is not right.
        """
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


def time_candidate(trial: Trial, contestant: Contestant, build: BuildFacts, effort: Effort) -> Evaluation:
    """Measured, or why the time cannot be believed.

    Raises:
        as `Contestant.run`.
    """
    try:
        samples = _hold(trial, contestant, effort)
        contestant.rest()
    except TimedOutputWrongError as error:
        return wrong(trial, "timed_output", "timed call", str(error))
    timing = _timing(trial, samples, effort)
    roofline = _placed(trial, contestant, samples, timing)
    if isinstance(roofline, Suspect):
        return roofline
    return Measured(build=build, accuracy=trial.accuracy, timing=timing, roofline=roofline)


def _hold(trial: Trial, contestant: Contestant, effort: Effort) -> Samples:
    session, policy = trial.session, trial.policy
    fresh = FreshInputs(session.inputs, session.draws, session.kept, session.view, session.timed_parameters())
    fresh.enabled = "fresh_inputs" not in policy.disabled
    fresh.bears_huge = any(case.regime == HUGE.name for case in session.cases)
    session.load_parameters(session.timed_parameters())
    reference = session.reference
    if "compile" in policy.baselines:
        trial.machine.prepare_compiled(session)
    witness = Witness(trial, reference, TimedResults(session))

    def windows(calls: int) -> Calls:
        witness.places = fresh.windows(calls)
        return witness.places

    def round_over() -> None:
        try:
            # While the inputs still lie there: some comparators look at them.
            witness.compare()
        finally:
            fresh.undo()

    contest = Contest(
        entrants=[
            *(Entrant(name, reference, name) for name in policy.baselines),
            Entrant("candidate", contestant),
        ],
        fresh=windows,
        after=witness.look,
        round_over=round_over,
        most_calls=session.most_calls(),
        inside="outside_clock" in policy.disabled or session.task.target.kind == "cuda",
    )
    try:
        final = effort == "final"
        blocks, limit_s = (policy.final_blocks, FINAL_S) if final else (policy.search_blocks, SEARCH_S)
        samples = contest.hold(blocks, limit_s)
        witness.finish()
        return samples
    finally:
        fresh.undo()


def _timing(trial: Trial, samples: Samples, effort: Effort) -> Timing:
    policy, us = trial.policy, samples.us
    versus: list[Versus] = [
        statistics.versus(name, us[name], us["candidate"], policy.confidence, policy.minimum_effect)
        for name in policy.baselines
    ]
    on_device = trial.session.task.target.kind == "cuda"
    sides = [Side.model_validate({"name": n, "samples_us": tuple(v)}) for n, v in us.items()]
    return Timing(
        latency_us=float(torch.tensor(us["candidate"], dtype=torch.float64).median()),
        sides=tuple(sides),
        versus=tuple(versus),
        calls_per_sample=samples.calls,
        clock="device" if on_device else "outside",
        call_us=samples.call_us if on_device else None,
        final=effort == "final",
    )


def _roofline(trial: Trial, latency_us: float, again: bool = False) -> Roofline:
    task, machine = trial.session.task, trial.machine
    size = task.workload.compulsory_bytes
    ceiling_gbps = machine.ceiling_gbps(size, again)
    return Roofline(
        bytes=size,
        flops=task.graph.flops,
        achieved_gbps=size / latency_us / 1e3,
        ceiling_gbps=ceiling_gbps,
        floor_us=machine.floor_us(size, task.graph.flops),
    )


def _placed(trial: Trial, contestant: Contestant, samples: Samples, timing: Timing) -> Roofline | Suspect:
    """Where it stands between floor and ceiling, or why its time cannot be believed."""
    disabled = trial.policy.disabled
    roofline = _roofline(trial, timing.latency_us)
    for _ in range(2):
        if timing.latency_us < roofline.floor_us:
            roofline = _roofline(trial, timing.latency_us, again=True)
    found = None if "floor" in disabled else _below_floor(roofline, timing.latency_us)
    # A GPU's candidate compiles in its own process, so its processor time says nothing.
    if trial.session.task.target.kind == "cpu" and "whole_cost" not in disabled:
        found = found or _hidden_work(contestant, samples)
    found = found or (None if "outside_clock" in disabled else _clock_disagrees(samples))
    return found or roofline


def _below_floor(roofline: Roofline, latency_us: float) -> Suspect | None:
    if latency_us >= roofline.floor_us:
        return None
    evidence = (
        f"{latency_us:.2f} us for {roofline.bytes} compulsory bytes; the physical floor is {roofline.floor_us:.2f} us"
    )
    return Suspect(because="below_floor", evidence=evidence)


def _hidden_work(contestant: Contestant, samples: Samples) -> Suspect | None:
    spent, told = contestant.child.cpu_ns / 1e9, samples.cpu_us["candidate"] * contestant.calls / 1e6
    if spent <= AMORTISED * told + FREE_CPU_S:
        return None
    evidence = (
        f"it used {spent:.2f} s of processor time since its start, and its samples tell of {told:.2f} s for all of its "
        "calls: work was done outside the calls that count"
    )
    return Suspect(because="hidden_work", evidence=evidence)


def _clock_disagrees(samples: Samples) -> Suspect | None:
    ours, eagers = samples.quietest["candidate"], samples.quietest["eager"]
    if ours.hidden_ns - eagers.hidden_ns <= HIDDEN_SHARE * ours.outside_ns:
        return None
    evidence = (
        f"its own clock misses {ours.hidden_ns / 1e3:.0f} us of its fastest sample, which took "
        f"{ours.outside_ns / 1e3:.0f} us; eager's misses {eagers.hidden_ns / 1e3:.0f} us"
    )
    return Suspect(because="clock_disagrees", evidence=evidence)
