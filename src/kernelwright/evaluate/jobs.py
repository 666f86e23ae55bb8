"""What the engine asks of a worker, and what the worker answers: one record a job, with its answer as the parameter.

A job names its task by id. The task's body travels only when a worker has answered that it does not know the task: a new
one after a crash, another one of a cluster, one that has met many tasks since. `execution` moves all of this as bytes.

To add a job: a record with a `kind` here, its row in `AnyJob`, a case in `worker`, a method of `referee`.
"""

from functools import cache
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from kernelwright import errors
from kernelwright.evaluate.sandbox.messages.base import Text, refused
from kernelwright.records.admission import Fitness
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.measure import BaselineName, BuildFacts, Yardstick
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task, TaskSource

A = TypeVar("A")


class Job(Record, Generic[A]):
    """What is to be done; `A` is what it results in."""


class JobOfTask(Job[A], Generic[A]):
    """What is to be done with a task that was admitted."""

    task: str
    """The task's id."""


class JobOfCandidate(JobOfTask[A], Generic[A]):
    """What is to be done with a candidate."""

    candidate: Candidate


class Likeness(Record):
    """What two workers must have in common for their figures to be compared."""

    device: str
    cores: int
    versions: dict[str, str]


class Admit(Job[Task]):
    """Admit a task."""

    kind: Literal["admit"] = "admit"
    source: TaskSource
    target: Target


class Examine(Job[Fitness]):
    """Admit a task and look at it closely."""

    kind: Literal["examine"] = "examine"
    source: TaskSource
    target: Target


class Evaluate(JobOfCandidate[Evaluation]):
    """Evaluate a candidate."""

    kind: Literal["evaluate"] = "evaluate"
    effort: Literal["search", "final", "verify"] = "search"


class Build(JobOfCandidate[Evaluation]):
    """Compile a candidate and run nothing."""

    kind: Literal["build"] = "build"


class Replay(JobOfCandidate[Evaluation]):
    """Judge a candidate on seeds that are known."""

    kind: Literal["replay"] = "replay"
    seeds: tuple[int, ...]


class TakeProfile(JobOfCandidate[Profile]):
    """Profile a candidate."""

    kind: Literal["profile"] = "profile"
    build: BuildFacts | None = None
    """What its compiler said when it was judged."""


class Lower(Job[Lowering]):
    """Have PyTorch's compiler write a task."""

    kind: Literal["lower"] = "lower"
    source: TaskSource
    target: Target
    options: Options


class TakeYardstick(JobOfTask[Yardstick]):
    """Measure what a task's kernels are held against."""

    kind: Literal["yardstick"] = "yardstick"
    baselines: tuple[BaselineName, ...]


class DescribeEnvironment(Job[Environment]):
    """Tell the device, the versions and the sandbox in force."""

    kind: Literal["environment"] = "environment"
    target: Target


class Identify(Job[Likeness]):
    """Tell what makes this worker comparable."""

    kind: Literal["identify"] = "identify"
    target: Target


AnyJob = (
    Admit | Examine | Evaluate | Build | Replay | TakeProfile | TakeYardstick | Lower | DescribeEnvironment | Identify
)


class Request(Record):
    """A job on its way."""

    job: AnyJob = Field(discriminator="kind")
    policy: Policy
    body: Task | None = None
    """The job's task, for a worker that has said that it does not know it."""


class Answered(Record, Generic[A]):
    """The job is done."""

    kind: Literal["answered"] = "answered"
    result: A


class Failed(Record):
    """The job could not be done: an exception of `errors`, by its name."""

    kind: Literal["failed"] = "failed"
    error: Text
    message: Text
    reason: Text = "unfit"
    """Class of refusal, of a TaskError."""

    def exception(self) -> errors.KernelwrightError:
        """What is to be raised; a name that nobody knows is the referee's own fault."""
        known = getattr(errors, self.error, None)
        if known is errors.TaskError:
            return errors.TaskError(self.message, self.reason)
        if isinstance(known, type) and issubclass(known, errors.KernelwrightError):
            return known(self.message)
        return errors.RefereeError(f"{self.error}: {self.message}")


class UnknownTask(Record):
    """The worker needs the body of the job's task."""

    kind: Literal["unknown_task"] = "unknown_task"


def read_request(data: bytes) -> Request:
    """The request, in a worker.

    Raises:
        RefereeError: it is none.
    """
    try:
        return Request.model_validate_json(data)
    except ValidationError as error:
        raise errors.RefereeError(str(refused(error, "job"))) from None


def read_answer(data: bytes, job: Job[A]) -> Answered[A] | Failed | UnknownTask:
    """A worker's answer to a job.

    Raises:
        RefereeError: it is none.
    """
    try:
        return _answers_to(type(job)).validate_json(data)
    except ValidationError as error:
        raise errors.RefereeError(str(refused(error, f"answer to the job {type(job).__name__}"))) from None


@cache
def _answers_to(kind: type[Job[A]]) -> TypeAdapter[Answered[A] | Failed | UnknownTask]:
    (result,) = next(base for base in kind.__bases__ if issubclass(base, Job)).__pydantic_generic_metadata__["args"]
    return TypeAdapter(Annotated[Answered[result] | Failed | UnknownTask, Field(discriminator="kind")])  # type: ignore[valid-type, arg-type]
