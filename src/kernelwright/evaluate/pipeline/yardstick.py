"""What a kernel will be held against, before there is one: the baselines' times, the floor, the strictest tolerance.

The baselines are timed by the clock of every benchmark, in turns, on fresh inputs; a few blocks are enough for a figure that
a prompt shows. No verdict rests on it: each candidate is timed beside its baselines.
"""

from collections.abc import Sequence
from statistics import median, quantiles

from kernelwright.evaluate.backends.backend import Clock
from kernelwright.evaluate.pipeline import baselines
from kernelwright.evaluate.pipeline.timing import affordable, fresh_inputs
from kernelwright.evaluate.sandbox.compute_process import MOST_CALLS
from kernelwright.evaluate.sandbox.process import DeviceFullError, ReferenceRaisedError
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.timing.clock import Arm, Calls, PairedBenchmark
from kernelwright.evaluate.timing.input_synthesis import FreshInputs
from kernelwright.records.measure import BLURRED, BaselineName, CaseError, Yardstick

BLOCKS, LIMIT_S = 9, 3.0
"""Of the benchmark: seconds are a limit for blocks of slow references."""


def yardstick(session: Session, clock: Clock | None, wanted: Sequence[BaselineName]) -> Yardstick:
    """What kernels of an open task are held against; no clock: only the tolerance."""
    if clock is None:
        return Yardstick(strictest=_strictest(session))
    task = session.task
    floor_us = clock.floor_us(task.workload.compulsory_bytes, task.graph.flops)
    return Yardstick(times_us=_times_us(session, clock, wanted), floor_us=floor_us, strictest=_strictest(session))


def _strictest(session: Session) -> CaseError | None:
    """The case that allows the smallest error, with what the reference itself shows there; None: all is compared exactly."""
    found = [
        CaseError(distribution=case.distribution, error=one.reference_error, reference_error=one.reference_error,
                  allowed=one.allowed)
        for case in session.cases
        for one in case.expected
        if one.allowed > 0
    ]  # fmt: skip
    return min(found, key=lambda case: case.allowed, default=None)


def _times_us(session: Session, clock: Clock, wanted: Sequence[BaselineName]) -> dict[BaselineName, float]:
    """The median of each baseline whose blocks agree; nothing where inputs or memory do not suffice."""
    try:
        fresh = fresh_inputs(session, session.policy)
        session.load_parameters(session.timed_parameters())
        asked = baselines.asked(session.policy, "search", clock, constant=session.weights != "fresh")
        names, _ = baselines.made(session, [name for name in asked if name in wanted])
        samples = _benchmark(session, clock, fresh, names).hold(BLOCKS, LIMIT_S).us if names else {}
    except (DeviceFullError, ReferenceRaisedError):
        return {}
    finally:
        session.forget_parameters()
    return {name: median(samples[name]) for name in names if _agree(samples[name])}


def _benchmark(session: Session, clock: Clock, fresh: FreshInputs, names: Sequence[BaselineName]) -> PairedBenchmark:
    def windows(calls: int) -> Calls:
        session.forget_parameters()
        return fresh.windows(calls, challenge=False)

    drawn_in_time = affordable(session) if fresh.draws else MOST_CALLS
    return PairedBenchmark(
        arms=[Arm(name, session.reference, name, trusted=clock.on_device) for name in names],
        fresh=windows,
        after=lambda arm, ran: None,
        round_over=lambda: None,
        most_calls=min(session.most_calls(), session.layout.spare, MOST_CALLS, drawn_in_time),
        inside=clock.on_device,
        pace=clock.pace,
        watch=clock.watch(),
    )


def _agree(samples: Sequence[float]) -> bool:
    """Whether the middle half of the blocks is narrow enough to tell one time."""
    if len(samples) < 2:
        return bool(samples)
    low, _, high = quantiles(samples, n=4, method="inclusive")
    return high <= BLURRED * low
