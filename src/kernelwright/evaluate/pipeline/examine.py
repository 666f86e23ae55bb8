"""Examination of a task that was admitted: the figure of each check, and what its measurements will be worth.

Admission refuses. Examination tells by how much a task was not refused, and warns where a kernel could be judged but
its figures would say little: a call too short for the clock, a result that hardly varies, work that nothing needs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import torch

from kernelwright.evaluate import float8
from kernelwright.evaluate.backends.backend import Clock
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.verify.compare import Expectation
from kernelwright.records.admission import Checked, Fitness
from kernelwright.records.graph import ALIASES, OpGraph, OpNode
from kernelwright.records.tensor import TensorSpec

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
    return Fitness(checks=(*checks, _cases(session), *_range(session), _redundancy(session)))


def _cases(session: Session) -> Checked:
    """What candidates are asked, and what inputs are taken for."""
    names = Counter(case.distribution for case in session.cases)
    told = ", ".join(f"{name} ({count} draws)" if count > 1 else name for name, count in names.items())
    pairs = zip(session.inputs, session.structures, strict=True)
    meant = (f"{t.name}: {', '.join(filter(None, (t.domain, s.because)))}" for t, s in pairs)
    return Checked(name="cases", status="passed", figure="; ".join((told, *meant)))


def _runs(session: Session) -> Checked:
    dropped = f"; dropped: {'; '.join(session.dropped)}" if session.dropped else ""
    cases = len(session.cases)
    error = max(session.base_error, default=0.0)
    figure = f"{cases} cases, deterministic, finite; the reference itself errs by up to {error:.2g}{dropped}"
    return Checked(name="reference", status="warned" if session.dropped else "passed", figure=figure)


def _dependence(session: Session) -> list[Checked]:
    found = []
    for index, spec in enumerate(session.inputs):
        pairs = admit.exchanges(session, index) if spec.numel else []
        margins = [_margin_with(session, index, *pair) for pair in (*pairs[:LOOKED_AT], *pairs[LOOKED_AT:][-1:])]
        figure = f"other values change the result by up to {max(margins, default=0.0):.3g} times what is allowed"
        weak = bool(margins) and max(margins) <= 1 and all(_margin_with(session, index, *pair) <= 1 for pair in pairs)
        figure += ": a kernel that does not read it is right" if weak else ""
        figure = figure if pairs else "not compared: there is one draw of it"
        found.append(Checked(name=f"depends on {spec.name}", status="warned" if weak else "passed", figure=figure))
    return found


def _margin_with(session: Session, index: int, given: Case, other: Case) -> float:
    found = admit.results_with(session, index, given, other)
    return max(_margin(f, e) for f, e in zip(found, given.expected, strict=True))


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
            _margin([g.to(dtype)] * expected.draws, expected)
            for g in admit.guesses(probe, expected.value, inputs, dtype)
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
        value = expected.value
        value = value.to(torch.uint8) if value.dtype == torch.bool else float8.wide(value)
        value = value[value.isfinite()] if session.original.infinite else value
        low, high = (float(v) for v in value.aminmax()) if value.numel() else (0.0, 0.0)
        largest = max(abs(low), abs(high))
        if value.numel() < 2 or not largest:
            continue
        spread = (high - low) / largest
        figure = f"spread over {spread:.3g} of the largest magnitude, {largest:.3g}"
        narrow = spread < NARROW_RANGE
        if narrow:
            figure += ": it is nearly a constant"
        found.append(Checked(name=f"range of output {number}", status="warned" if narrow else "passed", figure=figure))
    return found


def _redundancy(session: Session) -> Checked:
    task = session.original.task
    if session.without_graph:
        return Checked(name="graph", status="warned", figure=session.without_graph[0])
    found = redundancies(task.graph, (*task.workload.tensors, *task.workload.parameters))
    if not found:
        return Checked(name="redundancy", status="passed", figure="none found")
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    figure = f"{'; '.join(found[:3])}{more}: leaving it out is right, and a speedup that says little"
    return Checked(name="redundancy", status="warned", figure=figure)


IDEMPOTENT = ("relu.", "abs.", "sign.", "round.", "floor.", "ceil.", "contiguous.")
REDUCING = ("sum.", "mean.", "amax.", "amin.", "max.", "min.", "softmax", "logsumexp", "prod.", "cumsum")


def redundancies(graph: OpGraph, arguments: tuple[TensorSpec, ...]) -> list[str]:
    """One sentence for each, with the operation's full name; empty for a lean reference."""
    return [*_unneeded(graph), *_repeated(graph), *_idempotent(graph), *_over_one(graph, arguments), *_unread(graph)]


def _unneeded(graph: OpGraph) -> Iterator[str]:
    memory = graph.owners(views=True)
    needed = {memory.get(name, name) for name in (*graph.outputs, *graph.parameters)}
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(memory.get(name, name) for name in (node.name, *node.writes)):
            needed.update(memory.get(name, name) for name in node.reads)
    for node in graph.nodes:
        if memory.get(node.name, node.name) not in needed:
            yield f"no output needs {node.op} ({node.name})"


def _repeated(graph: OpGraph) -> Iterator[str]:
    seen: dict[str, str] = {}
    for node in graph.nodes:
        if not node.reads or node.packet in ALIASES:
            continue
        question = repr((node.op, node.arguments))
        if question in seen:
            yield f"{node.op} is computed twice on the same arguments ({seen[question]}, {node.name})"
        seen.setdefault(question, node.name)


def _idempotent(graph: OpGraph) -> Iterator[str]:
    by_name = {node.name: node for node in graph.nodes}
    for node in graph.nodes:
        if not _bare(node).startswith(IDEMPOTENT):
            continue
        read = [by_name[name] for name in node.reads if name in by_name]
        if read and read[0].op == node.op:
            yield f"{node.op} is applied to its own result ({node.name})"


def _over_one(graph: OpGraph, arguments: tuple[TensorSpec, ...]) -> Iterator[str]:
    shapes = {spec.name: spec for spec in arguments} | {n.name: n.result[0] for n in graph.nodes if n.result}
    for node in graph.nodes:
        read = [shapes[name] for name in node.reads if name in shapes]
        if not node.result or not read or not any(name in _bare(node) for name in REDUCING):
            continue
        axes = _axes(node)
        if axes and all(read[0].shape[axis] == 1 for axis in axes if -len(read[0].shape) <= axis < len(read[0].shape)):
            yield f"{node.op} reduces over an axis of one element ({node.name})"


def _axes(node: OpNode) -> tuple[int, ...]:
    found = node.argument("dim")
    listed = found if isinstance(found, tuple) else (found,)
    return tuple(axis for axis in listed if isinstance(axis, int) and not isinstance(axis, bool))


def _unread(graph: OpGraph) -> Iterator[str]:
    read = {name for node in graph.nodes for name in node.reads} | set(graph.outputs)
    for name in graph.parameters:
        if name not in read:
            yield f"nothing reads the parameter {name}"


def _bare(node: OpNode) -> str:
    return node.op.removeprefix("aten.").removeprefix("_")
