"""The Referee: the Evaluator whose numbers cannot be talked up. The engine's side of the workers.

It turns calls into jobs and answers into records, and sees that all figures come from one kind of device; torch and
every foreign line of code stay on the other side.
"""

import json
from collections.abc import Sequence

from kernelwright import errors
from kernelwright.evaluate.backends.table import needs_gpu
from kernelwright.execution.executor import Executor, Note, Place, Work, unheard
from kernelwright.execution.table import make_executor
from kernelwright.records.admission import Fitness
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import EVALUATION, Evaluation
from kernelwright.records.measure import BuildFacts
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
        self._kin = ""
        self._devices: dict[str, str] = {}

    async def admit(self, source: TaskSource, target: Target) -> Task:
        """See `Evaluator.admit`."""
        self._target, self._kin = target, _kin(source, target)
        job = self._job(do="admit", source=source.model_dump_json(), target=target.model_dump_json())
        return Task.model_validate_json(await self._ask(target, self._kin, job))

    async def examine(self, source: TaskSource, target: Target) -> Fitness:
        """See `Evaluator.examine`."""
        self._target, self._kin = target, _kin(source, target)
        job = self._job(do="examine", source=source.model_dump_json(), target=target.model_dump_json())
        return Fitness.model_validate_json(await self._ask(target, self._kin, job))

    async def evaluate(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation:
        """See `Evaluator.evaluate`."""
        job = self._job(do="judge", task=task.model_dump_json(), candidate=candidate.model_dump_json(), effort=effort)
        found = EVALUATION.validate_json(await self._ask(task.target, _kin(task.source, task.target), job))
        self._same_device(task.target, found.device)
        return found

    async def build(self, task: Task, candidate: Candidate) -> Evaluation:
        """See `Evaluator.build`."""
        job = self._job(do="build", task=task.model_dump_json(), candidate=candidate.model_dump_json())
        return EVALUATION.validate_json(await self._ask(task.target, _kin(task.source, task.target), job))

    async def profile(self, task: Task, candidate: Candidate, build: BuildFacts | None = None) -> Profile:
        """See `Evaluator.profile`."""
        facts = build.model_dump_json() if build is not None else ""
        job = self._job(do="profile", task=task.model_dump_json(), candidate=candidate.model_dump_json(), build=facts)
        return Profile.model_validate_json(await self._ask(task.target, _kin(task.source, task.target), job))

    async def replay(self, task: Task, candidate: Candidate, seeds: Sequence[int]) -> Evaluation:
        """See `Evaluator.replay`."""
        known = json.dumps(list(seeds))
        job = self._job(do="replay", task=task.model_dump_json(), candidate=candidate.model_dump_json(), seeds=known)
        found = EVALUATION.validate_json(await self._ask(task.target, _kin(task.source, task.target), job))
        self._same_device(task.target, found.device)
        return found

    async def environment(self, target: Target | None = None) -> Environment:
        """See `Evaluator.environment`."""
        where = target or self._target
        job = self._job(do="environment", target=where.model_dump_json())
        found = Environment.model_validate_json(await self._ask(where, self._kin, job))
        self._same_device(where, found.device.name)
        return found

    async def close(self) -> None:
        """End the workers."""
        for executor in self._executors.values():
            await executor.close()

    async def _ask(self, target: Target, kin: str, job: bytes) -> str:
        answer = json.loads(await self._executor(target).submit(job, self._on_note, kin))
        if answer.get("error") == "TaskError":
            raise errors.TaskError(answer["message"], answer.get("reason", "unfit"))
        if "error" in answer:
            raise getattr(errors, answer["error"], errors.RefereeError)(answer["message"])
        return str(answer["result"])

    def _same_device(self, target: Target, device: str) -> None:
        """Figures of two devices are never put side by side, whatever the executor does."""
        first = self._devices.setdefault(target.name, device) if device else device
        if device != first:
            raise errors.RefereeError(
                f"judged on {device!r}, and what it would be compared with on {first!r}: keep to nodes of one kind"
            )

    def _job(self, **job: str) -> bytes:
        return json.dumps({**job, "policy": self.policy.model_dump_json()}).encode()

    def _executor(self, target: Target) -> Executor:
        # On this machine one worker does both.
        gpu = needs_gpu(target) and self._place.name != "local"
        if gpu not in self._executors:
            greeting = self._job(do="identity", target=target.model_dump_json())
            self._executors[gpu] = make_executor(self._place, Work(ARGUMENTS, QUIET, gpu, greeting))
        return self._executors[gpu]


def _kin(source: TaskSource, target: Target) -> str:
    """Jobs of one task share inputs, references and baselines, which a worker keeps."""
    return identity("kin", {"source": source.model_dump(mode="json"), "target": target.name})
