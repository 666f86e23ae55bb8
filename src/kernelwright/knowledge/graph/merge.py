"""From trajectories to a graph: relabelling, and the walk from the start node that merges one.

A relabelling maps each step's method onto a technique that is known, or declares it new. If its length is another than the
trajectory's, or it names a technique that does not exist, the whole trajectory is dropped (ReGraphT, section 3.1): half a
chain would be an edge between techniques that nobody tried one after the other.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from kernelwright.errors import UsageError
from kernelwright.records.base import Record, first_fault
from kernelwright.records.technique import (
    START,
    Edge,
    Gain,
    Judged,
    Step,
    StepExample,
    TechniqueGraph,
    Trajectory,
    code_id,
)

SMALLEST_EFFECT = 1.015
"""A factor of time below which two kernels are as fast as each other."""
Interval = tuple[float, float, float]
"""Median and ends."""


class Label(Record):
    """What one method is called in the graph."""

    existed: Annotated[
        Literal["yes", "no"],
        BeforeValidator(lambda value: ("yes" if value else "no") if isinstance(value, bool) else value),
    ]
    method: str


_LABELS = TypeAdapter(list[Label])
_STEPS = TypeAdapter(list[Step])
Read = TypeVar("Read", Label, Step)


def read_steps(text: str) -> tuple[Step, ...]:
    """The steps of a reasoning pass: a JSON list of {think, method, detail, code}.

    Raises:
        UsageError: it is no such list, or an empty one.
    """
    found = _read(_STEPS, text, "the trajectory")
    if not found:
        raise UsageError("the trajectory has no steps")
    return found


def read_labels(text: str) -> tuple[Label, ...]:
    """The labels of a relabelling pass: a JSON list of {existed, method}.

    Raises:
        UsageError: it is no such list.
    """
    return _read(_LABELS, text, "the relabelling")


def _read(kind: TypeAdapter[list[Read]], text: str, what: str) -> tuple[Read, ...]:
    try:
        return tuple(kind.validate_json(text))
    except ValidationError as error:
        raise UsageError(f"{what} cannot be read ({': '.join(first_fault(error))})") from None


def apply_labels(trajectory: Trajectory, labels: Sequence[Label], known: Sequence[str]) -> Trajectory:
    """The trajectory with its methods under the graph's names.

    Raises:
        UsageError: there are more or fewer labels than steps, or one says that a technique exists which does not.
    """
    if len(labels) != len(trajectory.steps):
        raise UsageError(f"{len(trajectory.steps)} steps got {len(labels)} labels: the trajectory is dropped")
    for label in labels:
        if label.existed == "yes" and label.method not in known:
            raise UsageError(
                f"{label.method!r} is said to exist, and no technique has that name: the trajectory is dropped"
            )
        if name_of(label.method) in ("", START):
            raise UsageError(f"{label.method!r} cannot name a technique: the trajectory is dropped")
    steps = [
        step.model_copy(update={"method": name_of(label.method)})
        for step, label in zip(trajectory.steps, labels, strict=True)
    ]
    return trajectory.model_copy(update={"steps": tuple(steps)})


def labels_of(trajectory: Trajectory, known: Sequence[str]) -> tuple[Label, ...]:
    """The labels of a trajectory that was written in the graph's own names."""
    names = [name_of(step.method) for step in trajectory.steps]
    return tuple(Label(existed="yes" if name in known else "no", method=name) for name in names)


def name_of(method: str) -> str:
    """A method's words as a technique's name: `Shared memory tiling` becomes `shared-memory-tiling`."""
    return "-".join(re.findall(r"[a-z0-9]+", method.lower()))


def merged(graph: TechniqueGraph, trajectory: Trajectory, judged: Mapping[str, Judged]) -> TechniqueGraph:
    """The graph with the trajectory walked from the start node; `judged` says by hash what became of each code.

    A trajectory that is in it already changes its measurements alone. The walk ends behind the first step that is wrong:
    nothing was built on it.

    Raises:
        UsageError: a step was not judged.
    """
    codes, edges, nodes = dict(graph.codes), dict(graph.by_key), list(graph.nodes)
    at, before = START, trajectory.source
    for number, step in enumerate(trajectory.steps):
        if code_id(step.code) not in judged:
            raise UsageError(f"step {number} of {trajectory.task} ({step.method}) was not judged: judge it first")
        example = _example(trajectory, step, before, judged)
        codes |= {code_id(text): text for text in (before, step.code)}
        nodes += [step.method] if step.method not in nodes else []
        edge = edges.get(f"{at}>{step.method}") or Edge(source=at, target=step.method)
        edges[edge.key] = with_example(edge, example)
        if not judged[code_id(step.code)].right:
            break
        at, before = step.method, step.code
    done = tuple(dict.fromkeys((*graph.merged, trajectory.id)))
    return TechniqueGraph(nodes=tuple(nodes), edges=tuple(edges.values()), codes=codes, merged=done)


def _example(trajectory: Trajectory, step: Step, before: str, judged: Mapping[str, Judged]) -> StepExample:
    found = judged[code_id(step.code)]
    gain = gain_between(judged.get(code_id(before)), found, before == trajectory.source)
    return StepExample(
        name=f"{trajectory.task}: {step.method}",
        think=step.think,
        detail=step.detail,
        task=trajectory.task,
        family=trajectory.family,
        kind=trajectory.kind,
        language=trajectory.language,
        sizes=trajectory.sizes,
        before=code_id(before),
        after=code_id(step.code),
        outcome=found.outcome,
        gains=(gain,) if gain else (),
        evidence=found.evidence,
    )


def gain_between(before: Judged | None, after: Judged, first: bool) -> Gain | None:
    """How much faster a step made it: from both kernels' own times, or else from both speedups over one baseline.

    The first step's is over the baseline itself.
    """
    if after.speedup is None or not after.device:
        return None
    if first:
        return _gain(after.device, after.speedup, (1.0, 1.0, 1.0))
    if before is None or before.speedup is None or before.device != after.device:
        return None
    speeds = _speed(after), _speed(before)
    if speeds[0] is not None and speeds[1] is not None:
        return _gain(after.device, speeds[0], speeds[1])
    return _gain(after.device, after.speedup, before.speedup)


def _speed(judged: Judged) -> Interval | None:
    """Calls in a microsecond; None where only a comparison with the baseline beside it holds."""
    if judged.latency_us is None or judged.within_us is None:
        return None
    return 1 / judged.latency_us, 1 / judged.within_us[1], 1 / judged.within_us[0]


def _gain(device: str, new: Interval, old: Interval) -> Gain:
    """The ratio of two medians, with the widest interval that both allow."""
    return Gain(
        device=device,
        median=_rounded(new[0] / old[0]),
        low=_rounded(new[1] / old[2] / SMALLEST_EFFECT),
        high=_rounded(new[2] / old[1] * SMALLEST_EFFECT),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def with_example(edge: Edge, example: StepExample) -> Edge:
    """The edge with one more example; one that it has already gets the new one's measurements beside its own."""
    known = next((old for old in (*edge.examples, *edge.counter) if old.id == example.id), None)
    if known is not None:
        fresh = {gain.device for gain in example.gains}
        gains = (*(gain for gain in known.gains if gain.device not in fresh), *example.gains)
        example = example.model_copy(update={"gains": gains})
    rest = [tuple(old for old in side if old.id != example.id) for side in (edge.examples, edge.counter)]
    sides = ((*rest[0], example), rest[1]) if holds(example) else (rest[0], (*rest[1], example))
    return edge.model_copy(update={"examples": sides[0], "counter": sides[1]})


RIGHT = frozenset({"measured", "verified", "compiled"})


def holds(example: StepExample) -> bool:
    """Whether it is right, and faster wherever it was timed at least once; what was timed nowhere claims no gain."""
    if example.outcome not in RIGHT:
        return False
    return not example.gains or any(gain.payoff == "faster" for gain in example.gains)


def unite(graphs: Sequence[TechniqueGraph]) -> TechniqueGraph:
    """Several graphs as one: each example once, with what all of them measured."""
    nodes: dict[str, None] = {START: None}
    codes: dict[str, str] = {}
    edges: dict[str, Edge] = {}
    done: dict[str, None] = {}
    for graph in graphs:
        nodes |= dict.fromkeys(graph.nodes)
        codes |= graph.codes
        done |= dict.fromkeys(graph.merged)
        for edge in graph.edges:
            have = edges.get(edge.key) or Edge(source=edge.source, target=edge.target)
            for example in (*edge.examples, *edge.counter):
                have = with_example(have, example)
            edges[edge.key] = have
    return TechniqueGraph(nodes=tuple(nodes), edges=tuple(edges.values()), codes=codes, merged=tuple(done))
