"""Examination of a task that was admitted: the figure of each check, and what its measurements will be worth.

Admission refuses; this tells by how much a task was not refused, and warns where a kernel could be judged but its
figures would say little: a call too short for the clock, a result that hardly varies, work that nothing needs.
The warnings' limits stand here; nothing is refused.
"""

from collections.abc import Sequence

import torch

from kernelwright.evaluate.backends.clock import Clock
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.pipeline.redundancy import redundancies
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.verify.compare import Expectation
from kernelwright.records.admission import Checked, Fitness

LAUNCHES = 10
"""A call shorter than this many launches is measured with them (KernelBench's critics ask for as much)."""
NARROW_MARGIN = 100.0
"""A trivial answer that errs by less than this many times what is allowed is a warning."""
NARROW_RANGE = 1e-3
"""Spread of an output relative to its largest magnitude below which it hardly varies."""
LOOKED_AT = 2
"""Cases that figures are taken from: admission itself looks at all of them."""
TRIES = 5
IN_A_ROW = 16
"""Calls that are timed together where one is short: the first after a process woke takes several times as long."""
SHORT = 5
"""Times the shortest duration that is worth timing, below which calls are timed in a row."""


def examine(session: Session, clock: Clock | None) -> Fitness:
    """Every figure of one admitted task; no clock: it is not timed."""
    checks = [_runs(session), *_dependence(session), *_trivial(session), _duration(session, clock)]
    return Fitness(checks=(*checks, *_range(session), _redundancy(session)))


def _runs(session: Session) -> Checked:
    dropped = f"; dropped: {'; '.join(session.dropped)}" if session.dropped else ""
    cases = len(session.cases)
    error = max(session.base_error, default=0.0)
    figure = f"{cases} cases, deterministic, finite; the reference itself errs by up to {error:.2g}{dropped}"
    return Checked(name="reference", status="warned" if session.dropped else "passed", figure=figure)


def _dependence(session: Session) -> list[Checked]:
    found = []
    given = session.cases[0]
    for index, spec in enumerate(session.inputs):
        others = [c for c in session.cases if c.offsets[index] != given.offsets[index]]
        if not others or not spec.numel:
            figure = "not compared: there is one draw of it"
        else:
            margins = [_margin_with(session, index, other) for other in others[:LOOKED_AT]]
            figure = f"other values change the result by up to {max(margins):.3g} times what is allowed"
        found.append(Checked(name=f"depends on {spec.name}", status="passed", figure=figure))
    return found


def _margin_with(session: Session, index: int, other: Case) -> float:
    found = admit.results_with(session, index, other)
    return max(_margin(f, e) for f, e in zip(found, session.cases[0].expected, strict=True))


def _margin(got: Sequence[torch.Tensor], expected: Expectation) -> float:
    """How far results are from passing: their error in units of what is allowed."""
    error, wrong = expected.judge(got)
    if wrong is None:
        return error / expected.allowed if expected.allowed else 0.0
    return error / max(expected.allowed, 1e-30)


def _trivial(session: Session) -> list[Checked]:
    found = []
    for probe in admit.PROBES:
        margins = [m for case in session.cases[:LOOKED_AT] if (m := _probe_margin(session, probe, case)) is not None]
        if not margins:
            continue
        nearest = min(margins)
        figure = f"errs by {nearest:.3g} times what is allowed"
        narrow = nearest < NARROW_MARGIN
        if narrow:
            figure += ": a kernel that computes little more than that is nearly right"
        found.append(Checked(name=f"{probe} fails", status="warned" if narrow else "passed", figure=figure))
    return found


def _probe_margin(session: Session, probe: str, case: Case) -> float | None:
    """The worst output's margin of the best guess; None where an output has no such guess."""
    case = session.present(case)
    inputs = [session.view(i, case.offsets[i]) for i, t in enumerate(session.inputs) if t.floating]
    margins = []
    for spec, expected in zip(session.task.workload.outputs, case.expected, strict=True):
        dtype = getattr(torch, spec.dtype)
        tried = [
            _margin([g.to(dtype)] * expected.draws, expected) for g in admit.guesses(probe, expected.value, inputs)
        ]
        if not tried:
            return None
        margins.append(min(tried))
    return max(margins, default=None)


def _duration(session: Session, clock: Clock | None) -> Checked:
    if clock is None:
        return Checked(name="duration", status="passed", figure="not timed: there is no such device here")
    least_us = LAUNCHES * clock.launch_us
    duration_us = _quickest_us(session, 1)
    if duration_us < SHORT * least_us:
        duration_us = _quickest_us(session, min(IN_A_ROW, session.most_calls()))
    figure = f"{duration_us:.1f} us a call of eager"
    if duration_us >= least_us:
        return Checked(name="duration", status="passed", figure=figure)
    figure += f", below {least_us:.0f} us: launches are measured more than work. Make its inputs larger"
    return Checked(name="duration", status="warned", figure=figure)


def _quickest_us(session: Session, calls: int) -> float:
    """Microseconds of one of so many calls in a row, at the quickest try."""
    offsets = session.cases[0].offsets
    session.load_parameters(offsets[len(session.inputs) :])
    windows = [offsets[: len(session.inputs)]] * calls
    runs = [session.reference.run(windows, checked=False, variant="eager") for _ in range(TRIES)]
    return min(run.inside_ns for run in runs) / calls / 1e3


def _range(session: Session) -> list[Checked]:
    found = []
    for number, expected in enumerate(session.cases[0].expected):
        value = expected.value.double()
        largest = float(value.abs().max()) if value.numel() else 0.0
        if value.numel() < 2 or not largest:
            continue
        spread = float(value.max() - value.min()) / largest
        figure = f"spread over {spread:.3g} of the largest magnitude, {largest:.3g}"
        narrow = spread < NARROW_RANGE
        if narrow:
            figure += ": it is nearly a constant"
        found.append(Checked(name=f"range of output {number}", status="warned" if narrow else "passed", figure=figure))
    return found


def _redundancy(session: Session) -> Checked:
    task = session.presented.task
    found = redundancies(task.graph, (*task.workload.tensors, *task.workload.parameters))
    if not found:
        return Checked(name="redundancy", status="passed", figure="none found")
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    figure = f"{'; '.join(found[:3])}{more}: leaving it out is right, and a speedup that says little"
    return Checked(name="redundancy", status="warned", figure=figure)
