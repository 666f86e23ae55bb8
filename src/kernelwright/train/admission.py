"""Tasks of a training run: shown to the policy at once, admitted when the first of their kernels is to be judged.

To admit a set of thousands would take the referee hours before the first step, and a run of some hundred steps meets a part of
them. So a prompt is made of what the sample knows of its task; whoever wants a verdict waits for the admission too, which goes
on while other replies are judged.
"""

import asyncio
from collections.abc import Iterable

from kernelwright.errors import MachineError, RefereeError, TaskError, UsageError
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.policy import Effort
from kernelwright.records.task import Target, Task
from kernelwright.train.data.kernels import in_form
from kernelwright.train.data.sample import Sample
from kernelwright.train.environment import Assignment
from kernelwright.train.judges import Judges

PATIENCE = 16
"""Tasks without one that is admitted, after which a run ends: the target can judge nothing."""


def assignments_of(
    samples: Iterable[Sample], target: Target, role: str = "frontend", forms: int = 1
) -> list[Assignment]:
    """An assignment for each task, and kernel to start from, as the policy sees them; nothing is admitted yet.

    With several forms, tasks take them in turn, as samples do in supervised fine-tuning.
    """
    made = [
        Assignment(
            task=sample.task.model_copy(update={"target": target}),
            parent=sample.parent if role == "midend" else None,
            split=sample.split,
            known=sample.candidate,
        )
        for sample in (in_form(one, number % forms) for number, one in enumerate(samples))
    ]
    return list({f"{a.task.id} {a.parent.proposal.candidate.id if a.parent else ''}": a for a in made}.values())


async def admitted(samples: Iterable[Sample], target: Target, judges: Judges) -> list[Assignment]:
    """An assignment for each task that the target can judge, all of which are asked for at once: for a measure."""

    async def one(assignment: Assignment) -> Assignment | None:
        try:
            task = await judges.admit(assignment.task.source, target)
        except (TaskError, RefereeError, MachineError):
            return None
        return assignment.model_copy(update={"task": task})

    found = await asyncio.gather(*(one(assignment) for assignment in assignments_of(samples, target)))
    return [made for made in found if made is not None]


class Admitting:
    """Judges that admit a task before the first of its kernels."""

    def __init__(self, judges: Judges, target: Target, tasks: int) -> None:
        """Ask nothing yet; `tasks` is how many there are."""
        self._judges, self._target, self._patience = judges, target, min(PATIENCE, tasks)
        self._asked: dict[str, asyncio.Task[Task | None]] = {}
        self._admitted = 0
        self._refused: list[str] = []

    async def judge(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation | None:
        """The evaluation of a kernel; None: nothing is known of it, be it that its task cannot be judged here.

        Raises:
            UsageError: none of the first tasks can.
        """
        if task.id not in self._asked:
            self._asked[task.id] = asyncio.ensure_future(self._admit(task))
        found = await asyncio.shield(self._asked[task.id])
        if found is not None:
            return await self._judges.judge(found, candidate, effort)
        if not self._admitted and len(self._refused) >= self._patience:
            raise UsageError(
                f"none of {len(self._refused)} tasks can be judged on {self._target.name}; the first was refused since "
                f"{self._refused[0]}"
            )
        return None

    async def _admit(self, task: Task) -> Task | None:
        try:
            found = await self._judges.admit(task.source, self._target)
        except (TaskError, RefereeError, MachineError) as error:
            self._refused.append(str(error))
            return None
        self._admitted += 1
        return found
