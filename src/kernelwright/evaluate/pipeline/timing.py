"""The measure stage: hold the contest, check every timed result, place the time against floor and ceiling."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from kernelwright.evaluate.backends.backend import Loaded
from kernelwright.evaluate.backends.clock import Clock
from kernelwright.evaluate.pipeline import baselines
from kernelwright.evaluate.pipeline.plausible import doubted, placed
from kernelwright.evaluate.pipeline.timed_results import TimedOutputWrongError, TimedResults, Witness
from kernelwright.evaluate.profile.clock import Calls, Contest, Entrant, Samples
from kernelwright.evaluate.profile.conditions import Watch
from kernelwright.evaluate.profile.inputs import FreshInputs
from kernelwright.evaluate.profile.stopping import Stopping
from kernelwright.evaluate.sandbox.contestant import Contestant
from kernelwright.evaluate.sandbox.messages.calls import TellPrecision
from kernelwright.evaluate.session.trial import Trial, wrong
from kernelwright.evaluate.verify.regimes import HUGE
from kernelwright.records.evaluation import Evaluation, Measured, Suspect
from kernelwright.records.measure import BaselineName, Side, Timing

AGAIN = 2
"""Further contests that a suspicion must survive."""
DECOYS = 3
"""Inputs that lie there for each call of those that are handed over one by one: it cannot be told which is next."""


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
    overhead_us: float
    """What starting a kernel takes: in the quickest process where all can be trusted, else in eager's."""


def time_candidate(trial: Trial, clock: Clock, loaded: Loaded) -> Evaluation:
    """Measured, or why the time cannot be believed.

    Raises:
        as `Contestant.run`.
    """
    try:
        held = _hold(trial, clock, loaded.process)
        loaded.process.rest()
    except TimedOutputWrongError as error:
        return wrong(trial, "timed_output", "timed call", str(error))
    timing = _timing(trial, clock, held)
    roofline = placed(trial, clock, loaded.process, held.samples, timing)
    if isinstance(roofline, Suspect):
        return roofline
    return Measured(build=loaded.facts, accuracy=trial.accuracy, timing=timing, roofline=roofline)


def _hold(trial: Trial, clock: Clock, contestant: Contestant) -> Held:
    session, policy, effort = trial.session, trial.policy, trial.effort
    fresh = _fresh(trial)
    session.load_parameters(session.timed_parameters())
    asked = baselines.asked(policy, effort, clock)
    here = baselines.to_time(session, asked, effort, clock)
    timed, missing = baselines.made(session, here)
    names = [n for n in asked if n in timed or n not in here]
    rule = _rule(trial, clock, timed)
    witness = Witness(trial, session.reference, TimedResults(session))
    contest = _contest(witness, clock, contestant, fresh, rule)
    try:
        samples = _held(
            trial, clock, contest, rule.most, policy.final_seconds if effort == "final" else policy.search_seconds
        )
        waiting = _waiting_us(contest, fresh, samples.calls, witness) if clock.on_device else {}
        witness.finish()
    finally:
        session.forget_parameters()
    baselines.remember(session, samples.us, rule)
    overhead_us = min(contest.overhead_us.values(), default=0.0) or session.reference.overhead_us(witness.places[0])
    return Held(samples, rule, contest.watch, names, missing, waiting, overhead_us)


def _fresh(trial: Trial) -> FreshInputs:
    session, disabled = trial.session, trial.policy.disabled
    fresh = FreshInputs(session.stocks(), session.view)
    fresh.enabled = "fresh_inputs" not in disabled
    fresh.parameters_stay = "random_parameters" in disabled
    fresh.bears_huge = any(case.regime == HUGE.name for case in session.cases)
    return fresh


def _held(trial: Trial, clock: Clock, contest: Contest, blocks: int, limit_s: float) -> Samples:
    """The contest; held anew, twice at most, while its clocks are at odds: on a busy machine those of an honest kernel are."""
    samples = contest.hold(blocks, limit_s)
    for _ in range(AGAIN):
        if doubted(trial, samples) is None:
            break
        # What was seen of the device belongs to the contest that is dropped.
        contest.watch = clock.watch()
        samples = contest.hold(blocks, limit_s)
    return samples


def _waiting_us(contest: Contest, fresh: FreshInputs, calls: int, witness: Witness) -> dict[str, float]:
    """As `Contest.waiting_us`, with the same parameters in all calls: nobody can be given others between two of them."""
    session, parameters = witness.trial.session, witness.trial.session.timed_parameters()
    fresh.parameters_stay = True
    for entrant in contest.entrants:
        entrant.contestant.take_parameters(parameters)
    session.forget_parameters()
    return contest.waiting_us(calls)


def _rule(trial: Trial, clock: Clock, timed: Sequence[BaselineName]) -> Stopping:
    policy, final = trial.policy, trial.effort == "final"
    return Stopping(
        baselines=timed,
        most=policy.final_blocks if final else policy.search_blocks,
        confidence=policy.confidence,
        minimum_effect=policy.minimum_effect,
        precision=policy.final_precision if final else policy.search_precision,
        least_us=clock.least_us.get(trial.tier, 0.0),
        clear="goes on" if final else "stops",
    )


def _contest(witness: Witness, clock: Clock, contestant: Contestant, fresh: FreshInputs, rule: Stopping) -> Contest:
    trial, session, on_device = witness.trial, witness.trial.session, clock.on_device

    def put(calls: int, there: int) -> Calls:
        """Fresh inputs for these calls, among as many as will lie there."""
        contestant.ready(calls)
        witness.places = secrets.SystemRandom().sample(fresh.windows(there), calls)
        # Each timed call of the reference takes its own parameters.
        session.forget_parameters()
        return witness.places

    def among(calls: int) -> Calls:
        # No more than there are places for.
        return put(calls, min(DECOYS * calls, session.layout.spare))

    return Contest(
        entrants=[
            *(Entrant(name, session.reference, name, trusted=on_device) for name in rule.baselines),
            Entrant("candidate", contestant, trusted=trial.tier == 1),
        ],
        fresh=lambda calls: put(calls, calls),
        among=None if on_device or "one_by_one" in trial.policy.disabled else among,
        after=witness.look,
        # While the inputs still lie there: some comparators look at them.
        round_over=witness.compare,
        most_calls=min(session.most_calls(), session.layout.spare),
        inside=on_device or "outside_clock" in trial.policy.disabled,
        pace=clock.pace,
        settled=rule.enough,
        watch=clock.watch(),
    )


def _timing(trial: Trial, clock: Clock, held: Held) -> Timing:
    session, samples, rule, on_device = trial.session, held.samples, held.rule, clock.on_device
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
        launch_overhead_us=held.overhead_us if on_device else None,
        conditions=held.watch.conditions() if on_device else None,
        precision=session.reference.ask(TellPrecision()).flags,
        missing=held.missing,
        final=trial.effort == "final",
    )
