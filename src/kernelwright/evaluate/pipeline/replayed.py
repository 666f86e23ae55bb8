"""A tier-two candidate's time on a GPU, bounded from outside: its calls as one graph, replayed on the grader's clock.

The device's events that time a call lie in the candidate's process, and it can record them anew. What it cannot do is return
right results of inputs that come into being after the capture sooner than its work takes. So as many calls as there are places
for become one CUDA graph, which leaves no host work between them; their inputs are written anew; the graph is replayed, and
the grader's clock over that question, less an empty one, is an upper bound of what a call takes with warm caches. Events that
tell of less than that have not timed the call.

Not all calls can be captured: host code may wait for the device, and what is launched on the legacy stream, as `<<<...>>>` is,
runs while the graph is made and is no part of it, so that its replay is wrong. The bound is that of a loop of them then, which
its host code is part of: there is no verdict that it does not bear out. Where that is too much, they are queued behind a gate
before their inputs are written, so that no host code is left either; one that waits for the device ends its process there.

Where parameters are copied to a module, that is part of every bounded call: work on them could not be told from copying
otherwise. What copying takes eager, as the reference's process says, is subtracted.

The last questions to a candidate: a capture that fails may leave its process in any state.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelwright.evaluate.backends.backend import Clock
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.pipeline.timed_output_check import (
    TimedOutputCheck,
    TimedOutputWrongError,
    TimedResults,
    UnfitInputsError,
)
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess
from kernelwright.evaluate.sandbox.messages.calls import Again
from kernelwright.evaluate.sandbox.process import ChildRaisedError, DeviceFullError, ReferenceRaisedError, TamperedError
from kernelwright.evaluate.session.loaded import LoadedCandidate, Replayable
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.evaluate.timing.clock import Arm, Calls
from kernelwright.evaluate.timing.input_synthesis import FreshInputs
from kernelwright.records.evaluation import Evaluation, Measured, Suspect

ROUNDS, MORE_ROUNDS = 3, 24
"""Replays whose quickest counts; and of one that disagrees with the events, since another program may have the device."""
SHARE, EACH_US, QUESTION_US = 0.1, 5.0, 60.0
"""Of its time, and microseconds of a call and of a question, by which the clock outside may exceed the events: a graph's
launch, its nodes' gaps, and a question that takes longer than an empty one."""
EMPTY_NS = 1_000_000
"""The most that an empty question takes: the candidate's process answers it, and gains by answering late."""
COPYING = 1.25
"""What copying parameters may take, of what it takes eager."""
QUEUEING_S = 5.0
"""How long calls may take to be queued: host code that waits for the device would wait for ever."""
NOT_CAPTURED = (
    OutcomeReached, ChildRaisedError, ChildGoneError, ChildSlowError, DeviceFullError, ReferenceRaisedError, TamperedError,
    TimedOutputWrongError, UnfitInputsError,
)  # fmt: skip
"""What a capture may come to: host code that waits, decides by values or keeps a graph of its own is no cheat's yet."""


@dataclass(frozen=True)
class Bound:
    """Microseconds of a call, at most, and how that is known."""

    us: float
    calls: int
    how: Again


def bounded(
    trial: Trial, clock: Clock, loaded: LoadedCandidate, outcome: Evaluation, fresh: Callable[[], FreshInputs]
) -> Evaluation:
    """The outcome of a measured tier-two candidate on a GPU, if the clock outside bears it out; any other as it is."""
    if loaded.replayable is None or not isinstance(outcome, Measured) or not trial.policy.defences.outside_clock:
        return outcome
    try:
        return check_bound(outcome, _bound(loaded, loaded.replayable, fresh(), outcome.timing.latency_us))
    except NOT_CAPTURED as error:
        told = f"bound from outside: none could be taken ({type(error).__name__})"
        return mark_inconclusive(outcome, told, float("inf"))
    finally:
        trial.session.forget_parameters()


def check_bound(outcome: Measured, bound: Bound) -> Evaluation:
    """The outcome beside a bound: suspect where captured calls take longer than events say, unsettled where a loop does."""
    latency_us = outcome.timing.latency_us
    if bound.us <= allowed_us(latency_us, bound.calls):
        return outcome
    if bound.how != "replay":
        host = ", host work included" if bound.how == "loop" else ""
        return mark_inconclusive(outcome, f"bound from outside: {bound.us:.1f} us a call{host}", bound.us)
    evidence = (
        f"its events say {latency_us:.1f} us a call; {bound.calls} calls as one graph, on inputs that came after it, take "
        f"{bound.us:.1f} us each by the clock outside"
    )
    return Suspect(because="clock_disagrees", evidence=evidence)


def allowed_us(latency_us: float, calls: int) -> float:
    """Microseconds that a call may take by the clock outside, of so many calls that events say take `latency_us` each."""
    return (1 + SHARE) * latency_us + EACH_US + QUESTION_US / calls


def mark_inconclusive(outcome: Measured, told: str, bound_us: float) -> Measured:
    """No baseline is beaten that would not be if a call took as long as the bound."""
    timing = outcome.timing
    ratio = bound_us / timing.latency_us
    versus = tuple(
        v.model_copy(update={"verdict": "inconclusive"}) if v.verdict == "faster" and v.speedup.low < ratio else v
        for v in timing.versus
    )
    missing = (*timing.missing, told)
    return outcome.model_copy(update={"timing": timing.model_copy(update={"versus": versus, "missing": missing})})


@dataclass(frozen=True)
class Question:
    """The calls that are bounded: in full, and as the candidate is asked."""

    process: ComputeProcess
    replayable: Replayable
    """The same."""
    fresh: FreshInputs
    places: Calls
    own: bool
    """Whether each has parameters of its own."""
    calls: Calls
    copying_ns: Mapping[Again, int]
    """What copying the parameters of all of them takes eager, where they are copied to the candidate too."""


def _bound(loaded: LoadedCandidate, process: Replayable, fresh: FreshInputs, latency_us: float) -> Bound:
    trial, session = loaded.trial, loaded.trial.session
    question = _question(loaded, process, fresh)
    enough_us = allowed_us(latency_us, len(question.places))

    def measured(how: Again) -> Bound:
        check = TimedOutputCheck(trial, session.reference, TimedResults(session), places=question.places)
        return Bound(_quickest_us(check, question, enough_us, how), len(question.places), how)

    try:
        process.capture(question.calls)
        return measured("replay")
    except (ChildRaisedError, TimedOutputWrongError):
        looped = measured("loop")
    return looped if looped.us <= enough_us else _quicker_behind_gate(looped, measured)


def _question(loaded: LoadedCandidate, replayable: Replayable, fresh: FreshInputs) -> Question:
    trial, session, process = loaded.trial, loaded.trial.session, loaded.process
    own = bool(session.parameters) and not fresh.parameters_stay
    places = fresh.windows(max(1, min(session.most_calls(), session.layout.spare)))
    process.take_parameters(session.timed_parameters())
    session.load_parameters(session.timed_parameters())
    calls = places if own else [offsets[: len(session.inputs)] for offsets in places]
    packs = trial.found.binding is not None and trial.found.binding.by_method
    copied = own and not packs and BUILDERS[trial.candidate.language].MODULE
    copying_ns = session.reference.copying_ns(places) if copied else {}
    return Question(process, replayable, fresh, places, own, calls, copying_ns)


def _quicker_behind_gate(looped: Bound, measured: Callable[[Again], Bound]) -> Bound:
    """The bound of the same calls without the host's work, where they can be queued ahead and that is less."""
    try:
        return min(looped, measured("release"), key=lambda bound: bound.us)
    except NOT_CAPTURED:
        return looped


def _quickest_us(check: TimedOutputCheck, question: Question, enough_us: float, how: Again) -> float:
    """Microseconds of one call at the quickest of some rounds, each on inputs of its own and with results that are right."""
    process, calls = question.replayable, question.calls
    session, empty, least = check.trial.session, [EMPTY_NS], float("inf")
    found: list[int] = []
    while len(found) < ROUNDS or (least > enough_us and len(found) < MORE_ROUNDS):
        if how == "release":
            process.enqueue_behind_gate(calls, QUEUEING_S)
        else:
            # What the calls leave as it was must not be right; holding them does the same.
            process.overwrite()
        question.fresh.refill(question.places)
        # Calls that are timed one by one take parameters of their own.
        eagers = session.reference.run(calls, checked=not question.own, variant="eager")
        check.look(Arm("eager", session.reference), eagers)
        # Just before, so that the device need not turn to this process within the time that counts.
        empty.append(process.replay([], how).outside_ns)
        ran = process.replay(calls, how)
        check.look(Arm("candidate", question.process), ran)
        check.compare()
        # What is computed only when results are fetched was not in the question that replays.
        found.append(ran.outside_ns + max(0, ran.exported_ns - eagers.exported_ns))
        beside = min(empty) + COPYING * question.copying_ns.get(how, 0)
        least = max(0.0, min(found) - beside) / len(calls) / 1000
    return least
