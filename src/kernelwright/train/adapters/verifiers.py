"""A taskset for the `verifiers` library (0.4, `verifiers.v1`): its id is `kernelwright.train.adapters.verifiers`.

The library owns prompts' transport, sampling and traces; each task brings the product's prompt, and its reward asks the
referee. Where the referee broke, the reward raises, which the library records as a trace without a reward.
"""

from collections.abc import Iterator
from pathlib import Path

from verifiers.v1 import Task, TaskData, Taskset, TasksetConfig, Trace, reward

from kernelwright.errors import RefereeError
from kernelwright.records.policy import Effort
from kernelwright.train.environment import Environment, Settings
from kernelwright.train.session import open_environment
from kernelwright.train.structure import Split


class KernelConfig(TasksetConfig):  # type: ignore[misc]
    """Under `--env.taskset.*`."""

    data: Path = Path("sets/author")
    """The data set's folder."""
    split: Split = "train"
    reward: str = "verified_speedup"
    effort: Effort = "search"
    workers: int = 1


class KernelData(TaskData):  # type: ignore[misc]
    """Where the task stands in its split."""

    split: Split = "train"
    place: int = 0


class KernelTask(Task[KernelData]):  # type: ignore[misc]
    """One task; all tasks of a taskset share an environment, and through it the referee's workers."""

    environment: Environment

    @reward  # type: ignore[untyped-decorator]
    async def kernel(self, trace: Trace) -> float:
        """The reward of the kernel in the last reply.

        Raises:
            RefereeError: nothing is known of it.
        """
        assignment = self.environment.find(self.data.split, self.data.place)
        step = await self.environment.begin(assignment).step(trace.last_reply)
        if step.reward is None:
            raise RefereeError("the referee reached no verdict")
        return step.reward


class KernelTaskset(Taskset[KernelTask, KernelConfig]):  # type: ignore[misc]
    """The tasks of one split of a data set."""

    def load(self) -> Iterator[KernelTask]:
        """Each task with its opening prompt.

        Raises:
            UsageError: the data set holds none.
        """
        config = self.config
        settings = Settings(reward=config.reward, effort=config.effort)
        environment = open_environment(config.data, settings, config.workers)
        for place in range(environment.count(config.split)):
            assignment = environment.find(config.split, place)
            system, user = environment.opening(assignment)
            data = KernelData(
                name=assignment.task.name, id=assignment.task.id, prompt=user.text, system_prompt=system.text,
                split=config.split, place=place,
            )  # fmt: skip
            made = KernelTask(data, config.task)
            made.environment = environment
            yield made


__all__ = ["KernelTaskset"]
