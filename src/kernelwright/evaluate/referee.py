"""The Referee: the Evaluator whose numbers cannot be talked up. The engine's side of the workers.

It turns calls into jobs and answers into records, and sees that all figures come from one kind of device; torch and
every untrusted line of code stay on the other side.
"""

from collections.abc import Sequence

from kernelwright import errors
from kernelwright.evaluate.backends.table import needs_gpu
from kernelwright.evaluate.jobs import (
    A,
    Admit,
    Answered,
    Build,
    DescribeEnvironment,
    Evaluate,
    Examine,
    Failed,
    Identify,
    Job,
    JobOfTask,
    Lower,
    Replay,
    Request,
    TakeProfile,
    TakeYardstick,
    UnknownTask,
    read_answer,
)
from kernelwright.execution.executor import Executor, Note, Place, Work, unheard
from kernelwright.execution.table import make_executor
from kernelwright.records.admission import Fitness
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.measure import BaselineName, BuildFacts, Yardstick
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task, TaskSource

ARGUMENTS = ("-m", "kernelwright.evaluate.worker")
QUIET = {"OMP_WAIT_POLICY": "passive"}
"""The grader compares between two timed samples; its threads must not spin into the next one."""


class Referee:
    """Implements `Evaluator` with workers on this machine or on a cluster."""

    def __init__(
        self,
        policy: Policy | None = None,
        target: Target | None = None,
        on_note: Note | None = None,
        place: Place | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self._target = target or Target(kind="cpu", arch="native", present=True)
        self._on_note, self._place = on_note or unheard, place or Place()
        self._executors: dict[bool, Executor] = {}
        self._affinity = ""
        self._devices: dict[str, str] = {}

    async def admit(self, source: TaskSource, target: Target) -> Task:
        """See `Evaluator.admit`."""
        self._target, self._affinity = target, _affinity(source, target)
        return await self._ask(target, self._affinity, Admit(source=source, target=target))

    async def examine(self, source: TaskSource, target: Target) -> Fitness:
        """See `Evaluator.examine`."""
        self._target, self._affinity = target, _affinity(source, target)
        return await self._ask(target, self._affinity, Examine(source=source, target=target))

    async def evaluate(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation:
        """See `Evaluator.evaluate`."""
        how = "search" if effort == "replay" else effort
        found = await self._of_task(task, Evaluate(task=task.id, candidate=candidate, effort=how))
        self._same_device(task.target, found.device)
        return found

    async def build(self, task: Task, candidate: Candidate) -> Evaluation:
        """See `Evaluator.build`."""
        return await self._of_task(task, Build(task=task.id, candidate=candidate))

    async def profile(self, task: Task, candidate: Candidate, build: BuildFacts | None = None) -> Profile:
        """See `Evaluator.profile`."""
        return await self._of_task(task, TakeProfile(task=task.id, candidate=candidate, build=build))

    async def replay(self, task: Task, candidate: Candidate, seeds: Sequence[int]) -> Evaluation:
        """See `Evaluator.replay`."""
        found = await self._of_task(task, Replay(task=task.id, candidate=candidate, seeds=seeds))
        self._same_device(task.target, found.device)
        return found

    async def lower(self, task: Task, options: Options) -> Lowering:
        """See `Evaluator.lower`."""
        job = Lower(source=task.source, target=task.target, options=options)
        return await self._ask(task.target, _affinity(task.source, task.target), job)

    async def yardstick(self, task: Task, names: Sequence[BaselineName]) -> Yardstick:
        """See `Evaluator.yardstick`."""
        return await self._of_task(task, TakeYardstick(task=task.id, baselines=tuple(names)))

    async def environment(self, target: Target | None = None) -> Environment:
        """See `Evaluator.environment`."""
        where = target or self._target
        found = await self._ask(where, self._affinity, DescribeEnvironment(target=where))
        self._same_device(where, found.device.name)
        return found

    async def close(self) -> None:
        """End the workers."""
        for executor in self._executors.values():
            await executor.close()

    async def _of_task(self, task: Task, job: JobOfTask[A]) -> A:
        return await self._ask(task.target, _affinity(task.source, task.target), job, task)

    async def _ask(self, target: Target, affinity: str, job: Job[A], task: Task | None = None) -> A:
        answer = await self._put(target, affinity, job)
        if isinstance(answer, UnknownTask):
            answer = await self._put(target, affinity, job, task)
        if isinstance(answer, Failed):
            raise answer.exception()
        if isinstance(answer, UnknownTask):
            raise errors.RefereeError("the worker does not know the task whose body it has been sent")
        return answer.result

    async def _put(
        self, target: Target, affinity: str, job: Job[A], body: Task | None = None
    ) -> Answered[A] | Failed | UnknownTask:
        request = self._request(job, body)
        return read_answer(await self._executor(target).submit(request, self._on_note, affinity), job)

    def _request(self, job: Job[A], body: Task | None = None) -> bytes:
        return Request(job=job, policy=self.policy, body=body).model_dump_json().encode()

    def _same_device(self, target: Target, device: str) -> None:
        """Figures of two devices are never put side by side, whatever the executor does."""
        first = self._devices.setdefault(target.name, device) if device else device
        if device != first:
            raise errors.RefereeError(
                f"judged on {device!r}, and what it would be compared with on {first!r}: keep to nodes of one kind"
            )

    def _executor(self, target: Target) -> Executor:
        # On this machine one worker does both.
        gpu = needs_gpu(target) and self._place.name != "local"
        if gpu not in self._executors:
            greeting = self._request(Identify(target=target))
            self._executors[gpu] = make_executor(self._place, Work(ARGUMENTS, QUIET, gpu, greeting))
        return self._executors[gpu]


def _affinity(source: TaskSource, target: Target) -> str:
    """Jobs of one task share inputs, references and baselines, which a worker keeps; the name is for people."""
    return f"{source.name} {identity('kin', {'source': source.model_dump(mode='json'), 'target': target.name})}"
