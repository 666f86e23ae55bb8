"""The referee for programs: kernels in, evaluations out, without a search around them. What a trainer scores with."""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from kernelwright import api
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Task, TaskSource


class Referee:
    """Judges kernels in sandboxed workers, which start with the first task and end with the `async with` block.

    Safe to use concurrently: what must run alone on the device waits.

    ```python
    import asyncio

    async def rewards(task, kernels):
        reward = kw.find_reward("log_speedup")
        async with kw.Referee(target="cpu") as referee:
            evaluations = await asyncio.gather(*(referee.score(task, text) for text in kernels))
        return [reward(evaluation, None, None) for evaluation in evaluations]

    print(asyncio.run(rewards(task, [RELU])))
    ```
    """

    def __init__(
        self, target: str | None = None, policy: Policy | None = None, suppliers: api.Suppliers | None = None
    ) -> None:
        """Choose the device and the rules.

        Args:
            target: `cpu`, `cuda` or an architecture such as `sm_90`; None: the GPU if there is one.
            policy: Limits, isolation and effort of the judging; None: the defaults.
            suppliers: Other parts, such as a scripted evaluator; None: the workers of this machine.
        """
        self._target_name = target
        self._evaluator = (suppliers or api.Suppliers()).open_evaluator(policy or Policy())
        self._admitted: dict[str, asyncio.Task[Task]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._evaluator.close()

    async def admit(self, task: str | Path | TaskSource) -> Task:
        """Run the reference once per task, and find its shapes, its domains and whether it can be judged.

        Raises:
            TaskError: it cannot, with the reason and what to do.
            MachineError: the target is not here.
        """
        source = task if isinstance(task, TaskSource) else api.read_task(Path(task))
        key = source.model_dump_json()
        if key not in self._admitted:
            self._admitted[key] = asyncio.create_task(self._admit(source))
        return await self._admitted[key]

    async def score(
        self, task: str | Path | TaskSource | Task, kernel: str | Candidate, effort: Effort = "search"
    ) -> Evaluation:
        """Judge one kernel. A bad one is an evaluation too, and raises nothing.

        Args:
            task: A task file's path, a task's source, or a task as `admit` returned it.
            kernel: Its source as text, or a candidate. Tunables are taken at their defaults.
            effort: `search`, or `final` for fresh inputs, longer timing and the audit of a new best.

        Raises:
            TaskError: the task cannot be judged.
            RefereeError: the referee broke; nothing is known of the kernel.
        """
        admitted = task if isinstance(task, Task) else await self.admit(task)
        candidate = kernel if isinstance(kernel, Candidate) else api.parse_text(kernel, admitted.target.kind)
        return await self._evaluator.evaluate(admitted, next(candidate.points()), effort)

    async def _admit(self, source: TaskSource) -> Task:
        wanted = self._target_name or source.limits.arch or None
        target = await asyncio.to_thread(api.resolve_target, wanted)
        return await self._evaluator.admit(source, target)
