"""The Referee: the Evaluator whose numbers cannot be talked up. The engine's side of the worker.

It turns calls into jobs and answers into records; torch and every foreign line of code stay on the other side.
"""

import json
import sys
from collections.abc import Sequence

from kernelwright import errors
from kernelwright.execution.local import LocalExecutor, Note
from kernelwright.records.admission import Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import EVALUATION, Evaluation
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task, TaskSource

COMMAND = (sys.executable, "-m", "kernelwright.evaluate.worker")
QUIET = {"OMP_WAIT_POLICY": "passive"}
"""The grader compares between two timed samples; its threads must not spin into the next one."""


class Referee:
    """Implements `Evaluator` on this machine."""

    def __init__(self, policy: Policy | None = None, target: Target | None = None, on_note: Note | None = None) -> None:
        self.policy = policy or Policy()
        self._target = target or Target(kind="cpu", arch="native", present=True)
        self._executor = LocalExecutor(COMMAND, QUIET, on_note)

    async def admit(self, source: TaskSource, target: Target) -> Task:
        """See `Evaluator.admit`."""
        self._target = target
        answer = await self._ask(do="admit", source=source.model_dump_json(), target=target.model_dump_json())
        return Task.model_validate_json(answer)

    async def examine(self, source: TaskSource, target: Target) -> Fitness:
        """See `Evaluator.examine`."""
        self._target = target
        answer = await self._ask(do="examine", source=source.model_dump_json(), target=target.model_dump_json())
        return Fitness.model_validate_json(answer)

    async def evaluate(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation:
        """See `Evaluator.evaluate`."""
        answer = await self._ask(
            do="judge", task=task.model_dump_json(), candidate=candidate.model_dump_json(), effort=effort
        )
        return EVALUATION.validate_json(answer)

    async def profile(self, task: Task, candidate: Candidate, build: BuildFacts | None = None) -> Profile:
        """See `Evaluator.profile`."""
        facts = build.model_dump_json() if build is not None else ""
        answer = await self._ask(
            do="profile", task=task.model_dump_json(), candidate=candidate.model_dump_json(), build=facts
        )
        return Profile.model_validate_json(answer)

    async def replay(self, task: Task, candidate: Candidate, seeds: Sequence[int]) -> Evaluation:
        """See `Evaluator.replay`."""
        known = json.dumps(list(seeds))
        answer = await self._ask(
            do="replay", task=task.model_dump_json(), candidate=candidate.model_dump_json(), seeds=known
        )
        return EVALUATION.validate_json(answer)

    async def environment(self, target: Target | None = None) -> Environment:
        """See `Evaluator.environment`."""
        answer = await self._ask(do="environment", target=(target or self._target).model_dump_json())
        return Environment.model_validate_json(answer)

    async def close(self) -> None:
        """End the worker."""
        await self._executor.close()

    async def _ask(self, **job: str) -> str:
        payload = json.dumps({**job, "policy": self.policy.model_dump_json()}).encode()
        answer = json.loads(await self._executor.submit(payload))
        if answer.get("error") == "TaskError":
            raise errors.TaskError(answer["message"], answer.get("reason", "unfit"))
        if "error" in answer:
            raise getattr(errors, answer["error"], errors.RefereeError)(answer["message"])
        return str(answer["result"])
