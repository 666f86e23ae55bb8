"""An Evaluator over a task's workloads: each is a task of its own to the referee, and what they come to is put together here.

A kernel must be right on every workload and at sizes that are drawn between and beyond them; the smallest come first, since
what is wrong is wrong there soonest. Then each workload with a weight is timed. What a search judges by is drawn once for the
task, what a final judges by anew each time. The whole is an `Evaluation` like any other: that of the workload on which it
failed, or `Measured` with the weighted geometric mean of the speedups; where it is slower on a protected workload, that one's
speedup is the whole's, so that nothing that ranks, keeps or publishes kernels takes it for faster.

A task with one workload goes straight through.
"""

import asyncio
import random
import re
from collections.abc import Coroutine, Sequence
from itertools import chain
from math import exp, log
from typing import TypeVar

from kernelwright.errors import TaskError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.export.axes import leaves, macros, workspace
from kernelwright.languages import language
from kernelwright.records.across import against, mean, slower_protected, timed
from kernelwright.records.admission import Checked, Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Compiled, Evaluation, Measured, Verified, WorkloadResult
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.measure import Accuracy, BaselineName, BuildFacts, Timing, Versus, Yardstick
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.records.workloads import Part, WorkloadPoint, WorkloadSet
from kernelwright.tasks.drawn_sizes import KINDS, drawn_points
from kernelwright.tasks.workloads import at_point

DRAWN, MOST_AXES = 4, 2
"""Sizes that are drawn for a search; a final meets one of each kind, for so many axes."""
AT_ONCE = 3
"""Workloads of one task that are admitted, or judged without time, side by side: one is compiled while another is verified."""
SIZES_OF_MODULES, SIZES_OF_OTHERS = re.compile(r"\.(?:shape|size|numel|stride)\b"), re.compile(r"\bAXIS_")
"""How a kernel's text asks for the sizes of a call: of its tensors, or by macros."""
T = TypeVar("T")


class OverWorkloads:
    """Implements `Evaluator` over another one."""

    def __init__(
        self, inner: Evaluator, policy: Policy, generator: random.Random | None = None, drawn: int = DRAWN
    ) -> None:
        self._inner, self._policy, self._count = inner, policy, drawn
        self._random = generator or random.SystemRandom()
        self._drawn: dict[str, list[Task | WorkloadResult]] = {}
        """By task, what a search judges by beside the workloads; a size at which the reference fails says so."""

    async def admit(self, source: TaskSource, target: Target) -> Task:
        """See `Evaluator.admit`: each workload is admitted, and the main one says what the task is."""
        if source.workloads is None:
            return await self._inner.admit(source, target)
        main, *others = parts_of(source)
        first = await self._inner.admit(main, target)
        return whole(source, [first, *await _few_at_once(target, [self._inner.admit(o, target) for o in others])])

    async def examine(self, source: TaskSource, target: Target) -> Fitness:
        """See `Evaluator.examine`: the main workload is looked at closely, the others are admitted."""
        if source.workloads is None:
            return await self._inner.examine(source, target)
        main, *others = parts_of(source)
        found = await self._inner.examine(main, target)
        assert found.task is not None
        admitted = await _few_at_once(target, [self._inner.admit(other, target) for other in others])
        checks = [Checked(name="workload", status="passed", figure=_point(part).words) for part in admitted]
        return Fitness(checks=(*found.checks, *checks), task=whole(source, [found.task, *admitted]))

    async def evaluate(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation:
        """See `Evaluator.evaluate`: over all workloads, and at sizes that are drawn."""
        if not task.parts:
            return await self._inner.evaluate(task, candidate, effort)
        return await self._judged(task, candidate, effort)

    async def replay(self, task: Task, candidate: Candidate, seeds: Sequence[int]) -> Evaluation:
        """See `Evaluator.replay`: seeds are the main workload's; without any, all are judged."""
        if seeds or not task.parts:
            return await self._inner.replay(task.main, at_axes(candidate, task.main), seeds)
        return await self._judged(task, candidate, "replay")

    async def build(self, task: Task, candidate: Candidate) -> Evaluation:
        """See `Evaluator.build`: for the main workload."""
        return await self._inner.build(task.main, at_axes(candidate, task.main))

    async def profile(self, task: Task, candidate: Candidate, build: BuildFacts | None = None) -> Profile:
        """See `Evaluator.profile`: of the main workload."""
        return await self._inner.profile(task.main, at_axes(candidate, task.main), build)

    async def lower(self, task: Task, options: Options) -> Lowering:
        """See `Evaluator.lower`: of the main workload."""
        return await self._inner.lower(task.main, options)

    async def yardstick(self, task: Task, names: Sequence[BaselineName]) -> Yardstick:
        """See `Evaluator.yardstick`: of the main workload."""
        return await self._inner.yardstick(task.main, names)

    async def environment(self, target: Target | None = None) -> Environment:
        """See `Evaluator.environment`."""
        return await self._inner.environment(target)

    async def close(self) -> None:
        """See `Evaluator.close`."""
        await self._inner.close()

    async def _judged(self, task: Task, candidate: Candidate, effort: Effort) -> Evaluation:
        """Right everywhere, without time, the smallest first; then what counts, timed."""
        untimed = [part for part in task.parts if not _point(part).weight]
        counts = [part for part in task.parts if _point(part).weight]
        first = _ascending([*await self._sizes(task, effort), *untimed])
        few = [first[:1], *(first[n : n + AT_ONCE] for n in range(1, len(first), AT_ONCE))]
        rows: list[WorkloadResult] = []
        for parts in [*few, *([part] for part in _ascending(counts))]:
            rows += await _few_at_once(task.target, [self._row(task, part, candidate, effort) for part in parts])
            if wrong := [n for n, row in enumerate(rows) if not _goes_on(row)]:
                rows = rows[: wrong[0] + 1]
                break
        return together(task, tuple(rows), self._policy.minimum_effect)

    async def _row(
        self, task: Task, part: Task | WorkloadResult, candidate: Candidate, effort: Effort
    ) -> WorkloadResult:
        if isinstance(part, WorkloadResult):
            return part
        here = at_axes(candidate, part)
        if effort in ("search", "verify") and not _point(part).weight:
            found = await self._inner.evaluate(part, here, "verify")
        elif effort == "replay" or not _point(part).weight:
            found = await self._inner.replay(part, here, ())
        else:
            found = await self._inner.evaluate(part, here, effort)
        right = isinstance(found, Measured | Verified)
        told = "" if right else _written_for(candidate, task.main, _point(part))
        return WorkloadResult(point=_point(part), drawn=_part(part).drawn, evaluation=found, written_for=told)

    async def _sizes(self, task: Task, effort: Effort) -> list[Task | WorkloadResult]:
        if effort == "final":
            assert task.source.workloads is not None
            axes = min(MOST_AXES, len(task.source.workloads.varying))
            return await self._draw(task, len(KINDS) * axes)
        if task.id not in self._drawn:
            self._drawn[task.id] = await self._draw(task, self._count)
        return self._drawn[task.id]

    async def _draw(self, task: Task, count: int) -> list[Task | WorkloadResult]:
        workloads = task.source.workloads
        assert workloads is not None

        async def admitted(point: WorkloadPoint) -> Task | WorkloadResult:
            try:
                return await self._inner.admit(at_drawn(task.source, point), task.target)
            except TaskError as error:
                return WorkloadResult(point=point, drawn=True, skipped=str(error))

        points = drawn_points(workloads, count, self._random)
        return await _few_at_once(task.target, [admitted(point) for point in points])


async def _few_at_once(target: Target, waiting: Sequence[Coroutine[object, object, T]]) -> list[T]:
    """What they come to, in order. On a GPU one after the other: each may need all of its memory.

    Raises:
        whatever the first that fails raises, when all that were begun are over.
    """
    room = asyncio.Semaphore(AT_ONCE if target.kind == "cpu" else 1)

    async def one(each: Coroutine[object, object, T]) -> T:
        async with room:
            return await each

    found = await asyncio.gather(*(one(each) for each in waiting), return_exceptions=True)
    if failed := [each for each in found if isinstance(each, BaseException)]:
        raise failed[0]
    return [each for each in found if not isinstance(each, BaseException)]


def parts_of(source: TaskSource) -> list[TaskSource]:
    """The task at each of its workloads, the main one first: what cannot be judged there is refused at once."""
    assert source.workloads is not None
    main = source.workloads.main
    points = [main, *(point for point in source.workloads.points if point is not main)]
    return [_one(source, source.workloads, point, main=point is main) for point in points]


def at_drawn(source: TaskSource, point: WorkloadPoint) -> TaskSource:
    """The task at a size that was drawn."""
    assert source.workloads is not None
    return _one(source, source.workloads, point, drawn=True)


def _one(
    source: TaskSource, workloads: WorkloadSet, point: WorkloadPoint, main: bool = False, drawn: bool = False
) -> TaskSource:
    among = sum(1 for each in workloads.points if each.weight) or 1
    part = Part(point=point, sizes=workloads.sizes(point.axes), among=among, main=main, drawn=drawn)
    return at_point(source, part).model_copy(update={"name": f"{source.name} at {point.words}"})


def whole(source: TaskSource, parts: Sequence[Task]) -> Task:
    """The task over its workloads: the main one's with all of them beside it."""
    return parts[0].model_copy(update={"source": source, "parts": tuple(parts)})


def at_axes(candidate: Candidate, part: Task) -> Candidate:
    """The kernel as it is compiled for one workload: a source that is no module has the axes as macros, `AXIS_BATCH`.

    Where it leaves these sizes to PyTorch, PyTorch is judged and timed like any kernel.
    """
    if part.source.part is None:
        return candidate
    sizes = part.source.part.sizes
    if leaves(candidate, sizes):
        return Candidate(language="python", source=f"{part.source.source}\n\nModelNew = Model\n", entry="ModelNew")
    given, room = macros(candidate, sizes), workspace(candidate, sizes)
    if not given and room == candidate.workspace_bytes:
        return candidate
    return candidate.model_copy(update={"defines": (*candidate.defines, *given), "workspace_bytes": room})


def _goes_on(row: WorkloadResult) -> bool:
    """Whether nothing is known against the kernel there."""
    return row.evaluation is None or isinstance(row.evaluation, Measured | Verified | Compiled)


def _written_for(candidate: Candidate, main: Task, point: WorkloadPoint) -> str:
    """The main workload, where a kernel's text has its sizes and never asks for those of a call; empty where it asks."""
    asks = SIZES_OF_MODULES if language(candidate.language).form == "module" else SIZES_OF_OTHERS
    fixed = "def _fits(" in candidate.source and "def _made_at(" not in candidate.source
    if point == _point(main) or (asks.search(candidate.source) and not fixed):
        return ""
    return _point(main).words


def _part(task: Task) -> Part:
    assert task.source.part is not None
    return task.source.part


def _point(task: Task) -> WorkloadPoint:
    return _part(task).point


def _ascending(parts: Sequence[Task | WorkloadResult]) -> list[Task | WorkloadResult]:
    return sorted(parts, key=lambda part: part.workload.compulsory_bytes if isinstance(part, Task) else 0)


def together(task: Task, rows: tuple[WorkloadResult, ...], minimum_effect: float) -> Evaluation:
    """One Evaluation of them all: the last one's, if the kernel failed there, else the main one's with what all come to."""
    judged = [row.evaluation for row in rows if row.evaluation is not None]
    spent = tuple(chain.from_iterable(found.seconds for found in judged))
    told: dict[str, object] = {"workloads": rows, "seconds": spent, "tier": max(found.tier for found in judged)}
    last = judged[-1]
    if not isinstance(last, Measured | Verified | Compiled):
        return last.model_copy(update=told)
    if weaker := next((found for found in judged if found.weights == "construction"), None):
        told |= {"weights": weaker.weights}
    main = next(row.evaluation for row in rows if not row.drawn and row.point == _point(task.main))
    least = next((found for found in judged if isinstance(found, Compiled)), None) or main
    assert least is not None
    if isinstance(least, Verified | Measured):
        told |= {"accuracy": _accuracy(rows, least.accuracy)}
    if isinstance(least, Measured):
        shares = [one.library_share for _, one in timed(rows) if one.library_share is not None]
        told |= {"timing": _timing(rows, least.timing, minimum_effect), "library_share": max(shares, default=None)}
    return least.model_copy(update=told)


def _accuracy(rows: Sequence[WorkloadResult], main: Accuracy) -> Accuracy:
    """The main workload's cases, and the worst of every other."""
    others = []
    for row in rows:
        found = row.evaluation.accuracy if isinstance(row.evaluation, Measured | Verified) else main
        if found is not main and found.worst is not None:
            worst = found.worst
            others.append(worst.model_copy(update={"distribution": f"{worst.distribution} at {row.point.words}"}))
    skipped = [f"{row.point.words}: {row.skipped}" for row in rows if row.skipped]
    return Accuracy(cases=(*main.cases, *others), dropped=(*main.dropped, *skipped))


def _timing(rows: Sequence[WorkloadResult], main: Timing, minimum_effect: float) -> Timing:
    found = [(row.point.weight, one.timing) for row, one in timed(rows)]
    total = sum(weight for weight, _ in found)
    spread = max(timing.process_spread for _, timing in found)
    names = [versus.baseline for versus in main.versus]
    versus = [one for name in names if (one := _versus(rows, name, max(minimum_effect, spread))) is not None]
    missing = dict.fromkeys(chain.from_iterable(timing.missing for _, timing in found))
    loads = [timing.load for _, timing in found if timing.load is not None]
    return main.model_copy(
        update={
            "latency_us": exp(sum(weight * log(timing.latency_us) for weight, timing in found) / total),
            "arms": (),
            "versus": tuple(versus),
            "call_us": None,
            "conditions": None,
            "load": next((load for load in loads if load.busy), main.load),
            "process_spread": spread,
            "missing": tuple(missing),
        }
    )


def _versus(rows: Sequence[WorkloadResult], name: BaselineName, effect: float) -> Versus | None:
    """The mean; where the kernel is slower on a protected workload, the worst of those."""
    if slower := slower_protected(rows, name):
        return slower[0][1]
    speedup, each = mean(rows, name), [versus for _, versus in against(rows, name)]
    if speedup is None:
        return None
    told = Versus.judged(name, speedup, effect, cached=any(one.cached for one in each))
    disturbed = any(one.verdict == "disturbed" for one in each)
    return told.model_copy(update={"verdict": "disturbed"}) if disturbed else told
