"""Whether a time can be believed: the floor below it, what it cost in all, and what the clock outside says."""

import os
from statistics import median

from kernelwright.evaluate.backends.backend import Clock
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess
from kernelwright.evaluate.session.trial import Trial
from kernelwright.evaluate.timing.clock import Samples
from kernelwright.evaluate.timing.load import taken_since
from kernelwright.records.evaluation import Suspect
from kernelwright.records.measure import Roofline, Timing

HIDDEN_SHARE = 0.25
"""Share of a sample that the candidate's own clock may miss beyond what eager's misses (waking, answering)."""
BLUR_NS = 250_000
"""On a device, nanoseconds of each call that the clock outside cannot tell from preparing it: flush, spin, waiting. A time
under four times this much may be up to this much longer than the device's events say."""
AMORTISED, FREE_CPU_S = 3.0, 2.0
"""A candidate may cost this many times what its samples tell, and this much more: its start, a busy machine."""
MORE_SHARE, MORE_US = 0.15, 50.0
"""Share of a call, and microseconds at least, by which handing calls over one by one may cost the candidate more: where the
kernel wakes a process, and what is in a cache then, differs by up to two thirds of that between honest processes."""


def _roofline(trial: Trial, clock: Clock, latency_us: float, again: bool = False) -> Roofline:
    task = trial.session.task
    size = task.workload.compulsory_bytes
    ceiling_gbps = clock.ceiling_gbps(size, again)
    return Roofline(
        bytes=size,
        flops=task.graph.flops,
        achieved_gbps=size / latency_us / 1e3,
        ceiling_gbps=ceiling_gbps,
        floor_us=clock.floor_us(size, task.graph.flops),
    )


def placed(trial: Trial, clock: Clock, process: ComputeProcess, samples: Samples, timing: Timing) -> Roofline | Suspect:
    """Where it stands between floor and ceiling, or why its time cannot be believed."""
    defences = trial.policy.defences
    roofline = _roofline(trial, clock, timing.latency_us)
    for _ in range(2):
        if timing.latency_us < roofline.floor_us:
            roofline = _roofline(trial, clock, timing.latency_us, again=True)
    found = _below_floor(roofline, timing.latency_us) if defences.floor else None
    if clock.cpu_time_tells and defences.whole_cost:
        found = found or _hidden_work(trial, process, samples)
    return found or doubted(trial, samples) or roofline


def doubted(trial: Trial, samples: Samples) -> Suspect | None:
    """Whether one clock says something else than another of the same benchmark."""
    # The launcher's clock is the referee's own.
    if trial.found.tier == 1 or not trial.policy.defences.outside_clock:
        return batched(samples)
    return batched(samples) or clock_disagrees(samples, copies=BUILDERS[trial.candidate.language].MODULE)


def _below_floor(roofline: Roofline, latency_us: float) -> Suspect | None:
    if latency_us >= roofline.floor_us:
        return None
    evidence = (
        f"{latency_us:.2f} us for {roofline.bytes} compulsory bytes; the physical floor is {roofline.floor_us:.2f} us"
    )
    return Suspect(because="below_floor", evidence=evidence)


def _hidden_work(trial: Trial, process: ComputeProcess, samples: Samples) -> Suspect | None:
    spent, told = process.computing_ns / 1e9, samples.cpu_us["candidate"] * process.calls / 1e6
    if spent <= AMORTISED * told + FREE_CPU_S + _spun(trial):
        return None
    evidence = (
        f"it used {spent:.2f} s of processor time since its start, and its samples tell of {told:.2f} s for all of its "
        "calls: work was done outside the calls that count"
    )
    return Suspect(because="hidden_work", evidence=evidence)


def _spun(trial: Trial) -> float:
    """Seconds that its threads may have spun at most, each while it waited for one whose core others had: no work at all."""
    return (len(os.sched_getaffinity(0)) - 1) * taken_since(trial.began)


def clock_disagrees(samples: Samples, copies: bool = False) -> Suspect | None:
    """Whether the candidate's own clock misses more of the time outside than eager's does.

    `copies` says that parameters are copied to it before each call, as they are to eager.
    """
    ours, eagers = samples.quietest["candidate"], samples.quietest["eager"]
    missed, theirs = ours.hidden_ns, eagers.hidden_ns - (0 if copies else eagers.beside_ns)
    if ours.exported_ns:
        # What is computed only when the result is fetched was not timed.
        missed, theirs = missed + ours.exported_ns, theirs + eagers.exported_ns
    hidden, allowed = missed - theirs, HIDDEN_SHARE * ours.outside_ns
    if ours.each_ns:
        # Most of what passes outside is preparation, the same for every side: what is hidden must be seen beside the call.
        allowed = max(BLUR_NS * samples.calls, HIDDEN_SHARE * (ours.inside_ns + hidden))
        # Memory for its results is poisoned first, which takes no longer than copying eager's does.
        allowed += eagers.exported_ns
    if hidden <= allowed:
        return None
    evidence = (
        f"its own clock misses {missed / 1e3:.0f} us of its fastest sample, which took "
        f"{ours.outside_ns / 1e3:.0f} us; eager's misses {theirs / 1e3:.0f} us"
    )
    return Suspect(because="clock_disagrees", evidence=evidence)


def batched(samples: Samples) -> Suspect | None:
    """Whether the candidate is much slower where it learns of a sample's calls one by one: then it computes them together.

    What handing over alone takes is no reason: as much as eager loses by it, or nothing done takes, whichever is less. It
    must be so of the median of blocks, each compared with itself, and of the quietest: a busy machine lengthens now one and
    now the other.
    """
    if not samples.in_turn_us:
        return None
    more = _lost_one_by_one(samples)
    at_once = min(samples.at_once_us["candidate"])
    if more <= max(MORE_SHARE * at_once, MORE_US):
        return None
    evidence = (
        f"a call takes {at_once:.1f} us where all {samples.calls} of a sample are known from the start, and "
        f"{more:.1f} us more where each is told only when the one before is done: they are computed together"
    )
    return Suspect(because="batched", evidence=evidence)


def _lost_one_by_one(samples: Samples) -> float:
    """Microseconds that the candidate loses a call so, beside what handing over takes: usual or quietest, the less."""
    idle = samples.in_turn_us["idle"]
    alone = (median(idle), min(idle))
    arms = zip(_lost(samples, "candidate"), _lost(samples, "eager"), alone, strict=True)
    return min(lost - min(eagers, nothings) for lost, eagers, nothings in arms)


def _lost(samples: Samples, name: str) -> tuple[float, float]:
    """Microseconds that a side loses a call, handing over included: the median of blocks, and by the quietest of each."""
    blocks = list(zip(samples.in_turn_us[name], samples.at_once_us[name], strict=True))
    in_turn, at_once = zip(*blocks, strict=True)
    return median(one - other for one, other in blocks), min(in_turn) - min(at_once)
