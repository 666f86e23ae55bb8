"""The measure stage: hold the benchmark, check every timed result, place the time against floor and ceiling."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp, log
from statistics import median

import torch

from kernelwright.errors import MachineError, RefereeError, TaskError
from kernelwright.evaluate.backends.backend import Clock
from kernelwright.evaluate.pipeline import baselines
from kernelwright.evaluate.pipeline.process_spread import (
    CLOSE_ON_DEVICE,
    LARGE,
    LARGE_ON_DEVICE,
    LONGEST_S,
    is_small,
    process_spread,
    spread_in_turn,
)
from kernelwright.evaluate.pipeline.timed_output_check import (
    TimedOutputCheck,
    TimedOutputWrongError,
    TimedResults,
    UnfitInputsError,
)
from kernelwright.evaluate.pipeline.timing_sanity import doubted, placed
from kernelwright.evaluate.sandbox.compute_process import MOST_CALLS, ComputeProcess
from kernelwright.evaluate.sandbox.process import DeviceFullError, ReferenceRaisedError
from kernelwright.evaluate.session.cases import Fit, traps
from kernelwright.evaluate.session.loaded import LoadedCandidate, Respawn
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import FAILURES, Trial
from kernelwright.evaluate.session.verification import wrong
from kernelwright.evaluate.timing.clock import Arm, Calls, PairedBenchmark, Samples
from kernelwright.evaluate.timing.conditions import Watch
from kernelwright.evaluate.timing.input_synthesis import FreshInputs
from kernelwright.evaluate.timing.statistics import Stopping
from kernelwright.evaluate.verify.distributions import AS_GIVEN, HUGE, REPLACED, SCALES, InputDistribution
from kernelwright.records.comparator import Statistical
from kernelwright.records.evaluation import Evaluation, Measured, Suspect
from kernelwright.records.measure import BaselineName, Load, Side, Timing, Versus
from kernelwright.records.policy import Policy

AGAIN = 2
"""Further benchmarks that a suspicion must survive."""
UNHELD = (TimedOutputWrongError, UnfitInputsError, ReferenceRaisedError, DeviceFullError, torch.OutOfMemoryError)
"""Why a contest comes to nothing that is no fault of a candidate's."""
DECOYS = 3
"""Inputs that lie there for each call of those that are handed over one by one: it cannot be told which is next."""


@dataclass(frozen=True)
class Benchmarked:
    """A benchmark that is over, with the rule that ended it."""

    samples: Samples
    rule: Stopping
    watch: Watch
    names: list[BaselineName]
    """Baselines that are compared with, timed in this benchmark or known from another."""
    missing: tuple[str, ...]
    load: Load | None
    waiting_us: dict[str, float]
    overhead_us: float
    """What starting a kernel takes: in the quickest process where all can be trusted, else in eager's."""


def time_candidate(trial: Trial, clock: Clock, loaded: LoadedCandidate) -> Evaluation:
    """Measured, or why the time cannot be believed.

    Raises:
        as `ComputeProcess.run`.
    """
    try:
        try:
            result = _run_what_fits(trial, clock, loaded.process)
        except (UnfitInputsError, ReferenceRaisedError):
            # What the reference cannot bear is no fault of the candidate's: from now on the task draws its inputs itself.
            trial.session.fit = Fit(drawn=True, challenge=False)
            result = _run_what_fits(trial, clock, loaded.process)
        loaded.process.must_have_stood_still()
        result = _beyond_processes(trial, clock, loaded, result)
    except TimedOutputWrongError as error:
        return wrong(trial, "timed_output", "timed call", str(error))
    except UnfitInputsError as error:
        raise TaskError(
            f"{trial.task.name!r} cannot be timed: {error}, on inputs that it drew itself. Have get_inputs return inputs on "
            "which every result is finite",
            "not_finite",
        ) from None
    timing = _timing(trial, clock, result)
    roofline = placed(trial, clock, loaded.process, result.samples, timing)
    if isinstance(roofline, Suspect):
        return _beside_what(roofline, result.load)
    return Measured(build=loaded.facts, accuracy=trial.accuracy, timing=timing, roofline=roofline)


def _beyond_processes(trial: Trial, clock: Clock, loaded: LoadedCandidate, result: Benchmarked) -> Benchmarked:
    """The benchmark, of which small differences are told only beyond what processes of one program differ by."""
    eager, close = "eager" in loaded.respawns, CLOSE_ON_DEVICE if clock.on_device else LARGE
    if eager and not clock.on_device and _is_told(result, LARGE):
        result = _beyond(result, process_spread(trial.session, lambda: loaded.respawn("eager")))
    if "again" in loaded.respawns and (trial.found.tier == 2 or trial.effort == "final") and _is_told(result, close):
        result = _beyond(result, _between_its_own(trial, clock, loaded, result))
    # Where several find no room beside each other.
    if eager and clock.on_device and _is_told(result, LARGE_ON_DEVICE):
        result = _beyond(result, spread_in_turn(trial.session, lambda: _contest(clock, loaded, "eager")))
    return result


def _is_told(result: Benchmarked, large: float) -> bool:
    """Whether the benchmark tells a difference that is not large."""
    if result.watch.disturbed:
        return False
    names = [name for name in result.names if name in result.samples.us]
    told = [result.rule.versus(result.samples.us, name, result.watch.effect_times) for name in names]
    return any(v.verdict != "inconclusive" and is_small(v.speedup, large) for v in told)


def _beyond(result: Benchmarked, spread: float) -> Benchmarked:
    """The benchmark, which tells nothing smaller than that."""
    return replace(result, rule=replace(result.rule, least_effect=max(result.rule.least_effect, spread)))


def _between_its_own(trial: Trial, clock: Clock, loaded: LoadedCandidate, result: Benchmarked) -> float:
    """The smallest difference that is told beyond what two processes of the candidate differ by, each against eager.

    An interval of 99 % errs once in a hundred times, and a process may be fast or slow for as long as it lives. What a second
    one shows as well is neither.
    """
    us = result.samples.us
    if trial.session.eager_s > LONGEST_S or "eager" not in us:
        return 0.0
    again = _contest(clock, loaded, "again")
    if again is None:
        return 0.0
    apart = abs(median(again) - median(_logs(us)))
    return (1 + result.rule.minimum_effect) * exp(apart) - 1


def _contest(clock: Clock, loaded: LoadedCandidate, kind: Respawn) -> list[float] | None:
    """One more process against eager: logs of its time over eager's, by block; None: it comes to nothing."""
    try:
        with loaded.respawn(kind) as other, other.timed():
            us = _run_benchmark(other.trial, clock, other.process).samples.us
    except (*FAILURES, *UNHELD, MachineError, RefereeError):
        # What runs as a reference need not run as a candidate, nor find room or a process beside one.
        return None
    return _logs(us)


def _logs(us: Mapping[str, Sequence[float]]) -> list[float]:
    """The candidate's time over eager's, by block."""
    return [log(mine / theirs) for mine, theirs in zip(us["candidate"], us["eager"], strict=True)]


def _beside_what(found: Suspect, load: Load | None) -> Suspect:
    """The finding, with what else the machine did: clocks that disagree on a busy one may agree on a quiet one."""
    if load is None or not load.busy:
        return found
    told = f"{found.evidence}. This machine was busy, which may be why: {load.words}. Judge it again on a quiet one"
    return found.model_copy(update={"evidence": told, "load": load})


def _run_what_fits(trial: Trial, clock: Clock, process: ComputeProcess) -> Benchmarked:
    """The benchmark; a baseline for which the device has no memory is left out, and named as missing."""
    while True:
        try:
            return _run_benchmark(trial, clock, process)
        except DeviceFullError as error:
            name = error.part.rpartition(" ")[2]
            if trial.session.prepared.get(name, "it is no baseline"):
                raise
            baselines.leave_out(trial.session, name, error)


def _run_benchmark(trial: Trial, clock: Clock, process: ComputeProcess) -> Benchmarked:
    session, policy, effort = trial.session, trial.policy, trial.effort
    fresh = fresh_inputs(session, policy)
    session.load_parameters(session.timed_parameters())
    asked = baselines.asked(policy, effort, clock, constant=session.weights != "fresh")
    here = baselines.to_time(session, asked, effort, clock)
    timed, missing = baselines.made(session, here)
    names = [n for n in asked if n in timed or n not in here]
    rule = _rule(trial, clock, timed)
    output_check = TimedOutputCheck(trial, session.reference, TimedResults(session))
    benchmark = _benchmark(output_check, clock, process, fresh, rule)
    try:
        samples = _repeat_if_clocks_disagree(
            trial, clock, benchmark, rule.most, policy.final_seconds if effort == "final" else policy.search_seconds
        )
        # Before anything else is started: what this does from here on is no part of the benchmark.
        load = benchmark.watch.load()
        waiting = _waiting_us(benchmark, fresh, samples.calls, output_check) if clock.on_device else {}
        # On a slow machine there are fewer calls, and what is random is told by their number.
        until = time.monotonic() + 2 * (policy.final_seconds if effort == "final" else policy.search_seconds)
        while not output_check.results.enough and time.monotonic() < until:
            benchmark.once_more(samples.calls)
        output_check.finish()
    finally:
        session.forget_parameters()
    baselines.remember(session, samples.us, rule)
    overhead_us = min(benchmark.overhead_us.values(), default=0.0) or session.reference.overhead_us(
        output_check.places[0]
    )
    return Benchmarked(samples, rule, benchmark.watch, names, missing, load, waiting, overhead_us)


def fresh_inputs(session: Session, policy: Policy) -> FreshInputs:
    """Inputs and parameters of one benchmark, of kinds that suit the task."""
    fresh = FreshInputs(session.stocks(), session.view, session.draw_at)
    fresh.enabled = policy.defences.fresh_inputs
    fresh.parameters_stay = not policy.defences.random_parameters or session.weights != "fresh"
    fresh.bears_huge = any(one.name == HUGE.name and one.only is None for one in session.borne)
    if not any(isinstance(rule, Statistical) for rule in session.task.comparators):
        # Of random results all calls are compared together, and the large ones would count alone.
        fresh.scales = tuple(SCALES[one.name] for one in session.borne if one.name in SCALES and one.only is None)
    fresh.meant = [partial(_meant, session, one) for one in session.borne if one.of_meaning]
    session.fit = session.fit or fit_of(session, fresh)
    fresh.drawn, fresh.bears_challenge = session.fit.drawn, session.fit.challenge
    return fresh


def _meant(session: Session, distribution: InputDistribution, index: int, child: torch.Tensor) -> None:
    session.change(distribution, index, child.clone(), child)


def _repeat_if_clocks_disagree(
    trial: Trial, clock: Clock, benchmark: PairedBenchmark, blocks: int, limit_s: float
) -> Samples:
    """The benchmark.

    Held anew, twice at most, while its clocks are at odds: on a busy machine those of an honest kernel are.
    """
    samples = benchmark.hold(blocks, limit_s)
    for _ in range(AGAIN):
        if doubted(trial, samples) is None:
            break
        # What was seen of the device belongs to the benchmark that is dropped.
        benchmark.watch, benchmark.doubted = clock.watch(), True
        samples = benchmark.hold(blocks, limit_s)
    return samples


def _waiting_us(
    benchmark: PairedBenchmark, fresh: FreshInputs, calls: int, output_check: TimedOutputCheck
) -> dict[str, float]:
    """As `PairedBenchmark.waiting_us`, with the same parameters in all calls: there is no giving others between two."""
    session, parameters = output_check.trial.session, output_check.trial.session.timed_parameters()
    fresh.parameters_stay = True
    for arm in benchmark.arms:
        arm.process.take_parameters(parameters)
    session.forget_parameters()
    return benchmark.waiting_us(calls)


def _rule(trial: Trial, clock: Clock, timed: Sequence[BaselineName]) -> Stopping:
    policy, final = trial.policy, trial.effort == "final"
    return Stopping(
        baselines=timed,
        most=policy.final_blocks if final else policy.search_blocks,
        confidence=policy.confidence,
        minimum_effect=policy.minimum_effect,
        precision=policy.final_precision if final else policy.search_precision,
        least_us=clock.least_us.get(trial.found.tier, 0.0),
        clear="goes on" if final else "stops",
    )


def _benchmark(
    output_check: TimedOutputCheck, clock: Clock, process: ComputeProcess, fresh: FreshInputs, rule: Stopping
) -> PairedBenchmark:
    trial, session, on_device = output_check.trial, output_check.trial.session, clock.on_device

    def put(calls: int, there: int, challenge: bool = False) -> Calls:
        """Fresh inputs for these calls, among as many as will lie there."""
        process.ready(calls)
        output_check.places = secrets.SystemRandom().sample(fresh.windows(there, challenge, process.take_ahead), calls)
        meant = [one for one in session.borne if one.of_meaning]
        output_check.results.made = AS_GIVEN if not challenge else REPLACED if fresh.by is None else meant[fresh.by]
        # Each timed call of the reference takes its own parameters.
        session.forget_parameters()
        return output_check.places

    def among(calls: int) -> Calls:
        # No more than there are places for.
        return put(calls, min(DECOYS * calls, session.layout.spare))

    drawn_in_time = affordable(session) if fresh.draws else MOST_CALLS
    on_host = _on_host(trial, clock)
    return PairedBenchmark(
        arms=[
            *(Arm(n, session.reference, n, trusted=on_device, on_host=on_host) for n in rule.baselines),
            Arm("candidate", process, trusted=trial.found.tier == 1),
        ],
        fresh=lambda calls: put(calls, calls),
        challenge=(lambda calls: put(calls, calls, challenge=True)) if fresh.enabled else None,
        among=among if trial.policy.defences.one_by_one and not on_device else None,
        after=output_check.look,
        # While the inputs still lie there: some comparators look at them.
        round_over=output_check.compare,
        most_calls=min(session.most_calls(), session.layout.spare, process.calls_at_once or MOST_CALLS, drawn_in_time),
        inside=on_device or not trial.policy.defences.outside_clock,
        pace=clock.pace,
        settled=rule.enough,
        watch=clock.watch(),
    )


def _on_host(trial: Trial, clock: Clock) -> bool:
    """Whether eager is serial code, beside a device's clock."""
    return clock.on_device and bool(trial.session.task.source.serial)


def _versus(trial: Trial, clock: Clock, result: Benchmarked, name: BaselineName) -> Versus:
    found = _compared(trial, clock, result, name)
    return found.model_copy(update={"verdict": "disturbed"}) if result.watch.disturbed else found


def _compared(trial: Trial, clock: Clock, result: Benchmarked, name: BaselineName) -> Versus:
    us, rule, effect_times = result.samples.us, result.rule, result.watch.effect_times
    if name == "eager" and _on_host(trial, clock):
        return baselines.over_serial(trial.session, trial.effort, us, rule, effect_times)
    if name in us:
        return rule.versus(us, name, effect_times)
    return baselines.through_eager(trial.session.known[name], name, us, rule, effect_times)


def _timing(trial: Trial, clock: Clock, result: Benchmarked) -> Timing:
    samples, on_device = result.samples, clock.on_device
    arms = [
        Side.model_validate({"name": n, "samples_us": tuple(v), "call_us": result.waiting_us.get(n)})
        for n, v in samples.us.items()
    ]
    versus = [_versus(trial, clock, result, name) for name in result.names]
    return Timing(
        latency_us=float(torch.tensor(samples.us["candidate"], dtype=torch.float64).median()),
        arms=tuple(arms),
        versus=tuple(versus),
        calls_per_sample=samples.calls,
        clock="device" if on_device else "outside",
        call_us=result.waiting_us.get("candidate"),
        launch_overhead_us=result.overhead_us if on_device else None,
        conditions=result.watch.conditions() if on_device else None,
        load=result.load,
        process_spread=result.rule.least_effect,
        missing=result.missing,
        final=trial.effort == "final",
    )


TRIES = 2
ROUND_S = 0.1
"""How long the draws of one round may take: a sample has fewer calls then."""


def fit_of(session: Session, fresh: FreshInputs) -> Fit:
    """What fresh inputs leave every result of the reference finite: mixed ones, else drawn ones; challenges or none.

    What traps a GPU beyond what was drawn is not tried: no process that trapped can be asked again.
    """
    if not fresh.enabled or not session.layout.spare:
        return Fit(drawn=False, challenge=False)
    if session.led_astray or traps(session.task):
        return Fit(drawn=True, challenge=False)
    fresh.drawn = not _finite(session, fresh, challenge=False)
    return Fit(drawn=fresh.drawn, challenge=_finite(session, fresh, challenge=True))


def affordable(session: Session) -> int:
    """Calls whose inputs the task draws in the time of a round."""
    begin = time.perf_counter()
    session.draw_at(tuple(session.layout.place(spec, 0) for spec in session.inputs))
    return max(1, int(ROUND_S / (time.perf_counter() - begin)))


def _finite(session: Session, fresh: FreshInputs, challenge: bool) -> bool:
    for _ in range(TRIES):
        (offsets,) = fresh.windows(1, challenge)
        session.forget_parameters()
        try:
            found = session.results("eager", offsets)
        except ReferenceRaisedError:
            return False
        finally:
            session.forget_parameters()
        if session.broken(found):
            return False
    return True
