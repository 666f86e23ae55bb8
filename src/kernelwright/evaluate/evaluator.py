"""The Evaluator protocol: a task in, admission; a candidate in, an Evaluation.

The engine sees this and no more. `evaluate.referee` implements it with workers; `testing` has a
scripted one.
"""

from collections.abc import Sequence
from typing import Protocol

from kernelwright.records.admission import Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.measure import BaselineName, BuildFacts, Yardstick
from kernelwright.records.policy import Effort
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task, TaskSource


class Evaluator(Protocol):
    """Compiles, verifies and times. Safe to call concurrently: it queues what must be alone."""

    async def admit(self, source: TaskSource, target: Target) -> Task:
        """Run the reference in a worker and decide whether it can be judged.

        Raises:
            TaskError: it cannot, with the reason and the fix.
        """
        ...

    async def examine(self, source: TaskSource, target: Target) -> Fitness:
        """Admit a task, take the figure of each check, and let go of it.

        Raises:
            TaskError: it cannot be judged, with the reason and the fix.
        """
        ...

    async def evaluate(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation:
        """Judge one candidate with no tunable left open. `final` measures anew with fresh inputs.

        Raises:
            RefereeError: the referee broke; nothing is known of the candidate.
        """
        ...

    async def build(self, task: Task, candidate: Candidate) -> Evaluation:
        """What the compiler says of one candidate: `Compiled` with its facts, or why not. Nothing of it is run.

        Raises:
            RefereeError: the referee broke.
        """
        ...

    async def profile(self, task: Task, candidate: Candidate, build: BuildFacts | None = None) -> Profile:
        """Where a candidate's time goes, as well as this machine can tell; `build` adds what its compiler said.

        Nothing about the candidate or the profiler raises: what cannot be had is None, with the reason in the notes.

        Raises:
            RefereeError: the referee broke.
        """
        ...

    async def replay(self, task: Task, candidate: Candidate, seeds: Sequence[int]) -> Evaluation:
        """Right or wrong on the cases of seeds that were revealed: `Verified`, or why not. No time is taken.

        Without seeds the referee draws secret ones, and nobody else meets them.

        Raises:
            RefereeError: the referee broke; nothing is known of the candidate.
        """
        ...

    async def lower(self, task: Task, options: Options) -> Lowering:
        """What `torch.compile` writes for the task under settings of its own, as text; or why it writes nothing.

        Raises:
            RefereeError: the referee broke.
        """
        ...

    async def yardstick(self, task: Task, names: Sequence[BaselineName]) -> Yardstick:
        """What kernels of an admitted task are held against; of these baselines what the policy has and can be timed here.

        Raises:
            RefereeError: the referee broke.
        """
        ...

    async def environment(self, target: Target | None = None) -> Environment:
        """Device, versions and isolation in force, for the target that was admitted last unless one is named."""
        ...

    async def close(self) -> None:
        """End the workers."""
        ...
