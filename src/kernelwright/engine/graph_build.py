"""Growing a graph of techniques: from the library's cards, from trajectories in files, and from stored runs.

Every step is judged by the referee before it may enter. What was judged is noted line by line beside the graph
(`GRAPH.judged.jsonl`), so that a build which is cut goes on where it was, and judges nothing twice. A trajectory that cannot
be read, relabelled or judged is dropped with the reason; the others stay.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from pydantic import JsonValue, ValidationError

from kernelwright.devices import kinds
from kernelwright.engine.events import Listener, Phase, silent
from kernelwright.engine.gateway.models import ModelRouter
from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, StoreError, TaskError, UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.knowledge.graph.file import graph_text, read_graph
from kernelwright.knowledge.graph.merge import (
    apply_labels,
    labels_of,
    merged,
    name_of,
    read_labels,
    read_steps,
    with_example,
)
from kernelwright.knowledge.graph.switched import read_switched, trajectories
from kernelwright.knowledge.library import technique_names, techniques_with_examples
from kernelwright.languages import language_of, names_for
from kernelwright.models.config import ModelConfig
from kernelwright.models.table import ChatModel, make_model
from kernelwright.propose.llm.graph import Ask, reason, relabel
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record, complaint
from kernelwright.records.evaluation import Evaluation, Measured, is_right, speedup_over_eager
from kernelwright.records.measure import Timing
from kernelwright.records.task import TaskSource
from kernelwright.records.technique import (
    START,
    Edge,
    Example,
    Judged,
    Step,
    StepExample,
    Technique,
    TechniqueGraph,
    Trajectory,
    code_id,
)
from kernelwright.search.reading import failure_of, is_kernel
from kernelwright.store.database import FILE
from kernelwright.store.files import open_lines, write_whole
from kernelwright.store.run import RunStore
from kernelwright.tasks.kernel_file import parse_text
from kernelwright.tasks.table import read_task

SAVE_EVERY = 10
"""Trajectories between two writings of the graph, as in ReGraphT."""
CONFIDENCE = 0.99
"""Of the interval of a kernel's time."""


@dataclass(frozen=True)
class BuildRequest:
    """What to build a graph from."""

    sources: Sequence[Path]
    """Run folders, `.json` files of trajectories, sources with switches (their task lies in the folder above), and, where a
    model reasons, tasks."""
    out: Path
    target: str | None = None
    relabel: bool = True
    """Whether a method that no technique is called by becomes a new one; else its trajectory is dropped."""
    models: Mapping[str, ModelConfig] = field(default_factory=dict)
    """Who reasons about tasks and names the steps; none: every source is a trajectory already."""


class Noted(Record):
    """One code, judged, as it is noted beside a graph that is being built."""

    code: str
    task: str
    """The task's id: the same code means something else in another."""
    judged: Judged


class BuildReport(Record):
    """What became of a build."""

    merged: int
    known: int
    """Trajectories that were in the graph already."""
    dropped: tuple[str, ...]
    """Why, a sentence each."""


@dataclass(frozen=True)
class Source:
    """One trajectory, and the task that it is judged in; None: a run has judged it already."""

    trajectory: Trajectory
    task: TaskSource | None
    judged: dict[str, Judged]


async def build(
    request: BuildRequest,
    evaluator: Evaluator | None,
    listener: Listener = silent,
    make: Callable[[ModelConfig], ChatModel] = make_model,
) -> BuildReport:
    """Merge all trajectories into the graph at `request.out`, which is begun if it is not there.

    Raises:
        UsageError: the graph cannot be read, or a source is nothing that a graph grows from.
        StoreError: the graph cannot be written, or another build is writing to it.
        RefereeError: the referee broke; what was judged before is kept.
    """
    graph = read_graph(request.out) if request.out.exists() else TechniqueGraph()
    done = known = 0
    dropped: list[str] = []
    notes = request.out.with_name(f"{request.out.name}.judged.jsonl")
    with open_lines(Noted, notes) as lines:
        judge = _Judge(evaluator, request.target, {(n.task, n.code): n.judged for n in lines.read()}, lines.append)
        for source in await _collect(request, evaluator, dropped, make):
            if source.trajectory.id in graph.merged:
                known += 1
                continue
            listener(Phase(text=f"{source.trajectory.task}: {len(source.trajectory.steps)} steps"))
            try:
                trajectory = _relabel(source.trajectory, graph, request.relabel)
                graph = _merge_trajectory(
                    graph, trajectory, source.trajectory.id, await judge.judged(source, trajectory)
                )
            except UsageError as error:
                dropped.append(f"{source.trajectory.task}: {error}")
                continue
            done += 1
            if done % SAVE_EVERY == 0:
                write_whole(request.out, graph_text(graph))
        write_whole(request.out, graph_text(graph))
    return BuildReport(merged=done, known=known, dropped=tuple(dropped))


def _merge_trajectory(
    graph: TechniqueGraph, trajectory: Trajectory, given: str, judged: dict[str, Judged]
) -> TechniqueGraph:
    """The graph with the trajectory, which is remembered as it was given: relabelled it has another hash."""
    found = merged(graph, trajectory, judged)
    return found.model_copy(update={"merged": tuple(dict.fromkeys((*found.merged, given)))})


def _relabel(trajectory: Trajectory, graph: TechniqueGraph, may_be_new: bool) -> Trajectory:
    known = (*graph.nodes, *sorted(technique_names()))
    unknown = [step.method for step in trajectory.steps if name_of(step.method) not in known]
    if unknown and not may_be_new:
        raise UsageError(f"{unknown[0]!r} is no technique of the graph or the library")
    return apply_labels(trajectory, labels_of(trajectory, known), known)


class _Judge:
    """Has the referee judge each code once."""

    def __init__(
        self,
        evaluator: Evaluator | None,
        target: str | None,
        known: dict[tuple[str, str], Judged],
        note: Callable[[Noted], None],
    ) -> None:
        self._evaluator, self._target, self._known, self._note = evaluator, target, known, note

    async def judged(self, source: Source, trajectory: Trajectory) -> dict[str, Judged]:
        """Every step of the trajectory up to the first wrong one."""
        if source.task is None:
            return source.judged
        if self._evaluator is None:
            raise UsageError("there is no referee to judge its steps")
        target = resolve_target(self._target or (None if kinds()[trajectory.kind].gpu else trajectory.kind))
        if target.kind != trajectory.kind:
            raise UsageError(f"it is for {trajectory.kind}, and the target is {target.name}")
        try:
            task = await self._evaluator.admit(source.task, target)
        except TaskError as error:
            raise UsageError(f"its task is not admitted: {error}") from None
        found: dict[str, Judged] = {}
        for step in trajectory.steps:
            key = (task.id, code_id(step.code))
            if key not in self._known:
                candidate = next(parse_text(step.code, trajectory.kind, trajectory.language).points())
                self._known[key] = judged_of(await self._evaluator.evaluate(task, candidate))
                self._note(Noted(task=task.id, code=key[1], judged=self._known[key]))
            found[key[1]] = self._known[key]
            if not found[key[1]].right:
                return found | {
                    code_id(s.code): found[key[1]] for s in trajectory.steps if code_id(s.code) not in found
                }
        return found


def judged_of(found: Evaluation) -> Judged:
    """What a graph keeps of a verdict."""
    ratio, timed = speedup_over_eager(found), isinstance(found, Measured)
    return Judged(
        outcome=found.outcome,
        right=is_right(found) or found.outcome == "compiled",
        device=found.device if timed else "",
        latency_us=found.timing.latency_us if isinstance(found, Measured) else None,
        within_us=_median_interval(found.timing)
        if isinstance(found, Measured) and found.timing.clock == "device"
        else None,
        speedup=(ratio.median, ratio.low, ratio.high) if ratio else None,
        evidence=failure_of(found),
    )


def _median_interval(timing: Timing) -> tuple[float, float] | None:
    """The sign test's interval for the median of the candidate's samples; None: there are too few of them."""
    samples = sorted(next((arm.samples_us for arm in timing.arms if arm.name == "candidate"), ()))
    tails = accumulate(math.comb(len(samples), k) / 2 ** len(samples) for k in range(len(samples) // 2))
    rank = sum(tail <= (1 - CONFIDENCE) / 2 for tail in tails)
    return (samples[rank - 1], samples[-rank]) if rank else None


# --- where trajectories come from ---------------------------------------------------------------------------------------


async def _collect(
    request: BuildRequest, evaluator: Evaluator | None, dropped: list[str], make: Callable[[ModelConfig], ChatModel]
) -> list[Source]:
    """Every trajectory: those that are there, or, where a model reasons, its own about each task."""
    if not request.models or evaluator is None:
        return list(_sources(request.sources, dropped))
    router, found = ModelRouter(request.models, make), []
    try:
        for path in request.sources:
            try:
                found.append(await _reason_about(path, request, evaluator, router.model("coder").reply))
            except (TaskError, UsageError, ValidationError) as error:
                reason = complaint(error.errors()[0]) if isinstance(error, ValidationError) else str(error)
                dropped.append(f"{path}: {reason}")
    finally:
        await router.close()
    return found


async def _reason_about(path: Path, request: BuildRequest, evaluator: Evaluator, ask: Ask) -> Source:
    """A model's trajectory for a task, under the graph's names."""
    source = read_task(path)
    target = resolve_target(request.target)
    task = await evaluator.admit(source, target)
    language = names_for(target.kind)[0]
    steps = read_steps(await reason(ask, task, language))
    known = sorted(technique_names())
    labels = read_labels(await relabel(ask, [step.method for step in steps], known))
    given = Trajectory(
        task=source.name, family=task.graph.family, kind=target.kind, language=language, sizes=source.sizes,
        source=source.origin, steps=steps,
    )  # fmt: skip
    return Source(apply_labels(given, labels, known), source, {})


def _sources(paths: Sequence[Path], dropped: list[str]) -> Iterator[Source]:
    for path in paths:
        if (path / FILE).is_file():
            yield from of_run(path)
        elif path.suffix == ".json":
            yield from _read_file(path, dropped)
        elif path.is_dir():
            yield from _sources(sorted(p for p in path.iterdir() if not p.name.startswith(".")), dropped)
        else:
            yield from of_switched(path)


def of_switched(path: Path) -> Iterator[Source]:
    """The trajectories of a source with switches. Its task is the serial function of that name, in the folder above.

    Raises:
        UsageError: it has no switches, or there is no such task.
    """
    source = read_switched(path)
    task = read_task(path.parent.parent / f"{path.stem}.cpp")
    kind = language_of("", path.suffix).targets[0]
    for way in trajectories(source, task.serial, family_of(task), kind, task.sizes):
        yield Source(way, task, {})


def family_of(task: TaskSource) -> str:
    """The operator family that a serial task's own specification says."""
    line = next((line for line in task.source.splitlines() if line.startswith("SPEC = ")), "")
    return line.partition("'family': '")[2].partition("'")[0]


def _read_file(path: Path, dropped: list[str]) -> Iterator[Source]:
    """Trajectories in JSON: {"task": FILE, "kind", "language", "steps": [{think, method, detail, code}], "labels": [...]}."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        dropped.append(f"{path}: it is no whole JSON ({error})")
        return
    for number, entry in enumerate(given if isinstance(given, list) else [given]):
        try:
            yield _parse_entry(entry, path)
        except (KernelwrightError, ValidationError, KeyError, TypeError) as error:
            reason = complaint(error.errors()[0]) if isinstance(error, ValidationError) else str(error)
            dropped.append(f"{path}, trajectory {number}: {reason}")


def _parse_entry(entry: dict[str, JsonValue], path: Path) -> Source:
    labels = entry.pop("labels", None)
    task = read_task(path.parent / str(entry["task"]))
    given = {"family": family_of(task), "sizes": dict(task.sizes), **entry, "task": task.name, "source": task.origin}
    trajectory = Trajectory.model_validate(given)
    if labels is not None:
        trajectory = apply_labels(trajectory, read_labels(json.dumps(labels)), sorted(technique_names()))
    return Source(trajectory, task, {})


def of_run(folder: Path) -> Iterator[Source]:
    """A run's chains of attempts, from the first kernel to each that none was made of; its writer's turns are the steps.

    Raises:
        StoreError: the run is corrupt.
    """
    with closing(RunStore.open(folder)) as store:
        card, attempts = store.card, [a for a in store.attempts() if is_kernel(a)]
    judged = {code_id(a.proposal.candidate.source): judged_of(a.evaluation) for a in attempts}
    by_number = {a.number: a for a in attempts}
    parents = {parent for a in attempts for parent in a.proposal_request.parents[:1]}
    for last in (a for a in attempts if a.number not in parents):
        chain = _chain(last, by_number)
        steps = tuple(Step(think=a.proposal.note, method=_method(a), code=a.proposal.candidate.source) for a in chain)
        trajectory = Trajectory(
            task=card.task.name,
            family=card.task.graph.family,
            kind=card.task.target.kind,
            language=chain[0].proposal.candidate.language,
            sizes=card.task.source.sizes,
            source=card.task.source.origin,
            steps=steps,
        )
        yield Source(trajectory, None, judged)


def _chain(last: Attempt, attempts: dict[int, Attempt]) -> list[Attempt]:
    """From the first kernel to this one, over first parents; a repair stands for what it repaired."""
    chain = [last]
    while parents := chain[0].proposal_request.parents:
        if parents[0] not in attempts:
            break
        chain.insert(0, attempts[parents[0]])
    return [a for a in chain if judged_of(a.evaluation).right or a is last]


def _method(attempt: Attempt) -> str:
    """What a turn is called: the technique that was asked for, or the author's own words for its turn."""
    request = attempt.proposal_request
    if attempt.proposal.technique or (request.intent == "apply-technique" and request.hint):
        return attempt.proposal.technique or request.hint
    return name_of(attempt.proposal.note.partition(":")[0])[:60].strip("-") or request.intent


# --- the cards ----------------------------------------------------------------------------------------------------------


def from_cards() -> TechniqueGraph:
    """The library's cards as a graph: each example that a card has is a step from the start."""
    shown = techniques_with_examples()
    edges = (with_example(Edge(source=START, target=card.name), _step(card, shows)) for card, shows in shown)
    codes = {code_id(text): text for _, shows in shown for text in (shows.before, shows.after)}
    return TechniqueGraph(nodes=(START, *(card.name for card, _ in shown)), edges=tuple(edges), codes=codes)


def _step(card: Technique, shows: Example) -> StepExample:
    written = shows.language
    kind = next(kind for kind in card.targets if written in names_for(kind))
    return StepExample(
        name=f"{card.name}: its card",
        think=card.when,
        detail=card.effect,
        task=f"the card {card.name}",
        family=card.families[0] if card.families else "",
        kind=kind,
        language=written,
        sizes={size.name: size.value for size in shows.sizes},
        before=code_id(shows.before),
        after=code_id(shows.after),
        outcome="measured" if card.gains else "verified",
        gains=card.gains,
    )


def write_graph(graph: TechniqueGraph, file: Path) -> None:
    """Write a graph whole.

    Raises:
        StoreError: it cannot be written; what was there is still there.
    """
    if not file.absolute().parent.is_dir():
        raise StoreError(f"{file} cannot be written: there is no folder {file.parent}")
    write_whole(file, graph_text(graph))
