"""The worker: the grader's own process, started as `python -m kernelwright.evaluate.worker FD`.

It reads jobs, runs the pipeline, and answers with records as JSON. It keeps the sessions of the tasks that it has met,
so that inputs, references and baselines are computed once. PyTorch is imported at the first job, while the parent of the
processes that the job will need imports it too.
"""

import os
import socket
import sys
import threading
import traceback
from collections import OrderedDict
from importlib import import_module
from typing import TYPE_CHECKING, cast

from kernelwright import errors
from kernelwright.evaluate.backends.table import begin_parent, close_parents, name_of
from kernelwright.evaluate.jobs import (
    Admit,
    Answered,
    Build,
    DescribeEnvironment,
    Evaluate,
    Examine,
    Failed,
    Identify,
    Likeness,
    Lower,
    Replay,
    Request,
    TakeProfile,
    TakeYardstick,
    UnknownTask,
    read_request,
)
from kernelwright.execution import job as current
from kernelwright.execution.channel import Channel
from kernelwright.execution.folder import remove_given
from kernelwright.execution.job import JobServer
from kernelwright.records.base import Record
from kernelwright.records.task import Target, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelwright.evaluate.pipeline.service import EvaluationService

SERVICE = "kernelwright.evaluate.pipeline.service"
MOST_TASKS = 256
"""Bodies that a worker keeps; the engine sends one again where it is missing."""


class KnownTasks:
    """The bodies of the tasks that this worker has met, by id, for jobs in several threads."""

    def __init__(self) -> None:
        self._bodies: OrderedDict[str, Task] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, task: Task) -> Task:
        """Remember a task; the one that was not asked for longest is forgotten."""
        with self._lock:
            self._bodies[task.id] = task
            self._bodies.move_to_end(task.id)
            while len(self._bodies) > MOST_TASKS:
                self._bodies.popitem(last=False)
        return task

    def of(self, request: Request, name: str) -> Task | None:
        """The task of a request, by its body or its id.

        Raises:
            RefereeError: the body is of another task.
        """
        if request.body is not None:
            if request.body.id != name:
                raise errors.RefereeError(
                    f"the job is of task {name}, and the body that came with it of {request.body.id}"
                )
            return self.keep(request.body)
        with self._lock:
            if name in self._bodies:
                self._bodies.move_to_end(name)
            return self._bodies.get(name)


class LateService:
    """The service, for jobs in several threads; it is there from the first job on."""

    def __init__(self) -> None:
        self._service: EvaluationService | None = None
        self._lock = threading.Lock()

    def of(self, request: Request) -> "EvaluationService":
        """The service, made now if this is the first job."""
        with self._lock:
            if self._service is None:
                target = getattr(request.job, "target", None)
                if isinstance(target, Target):
                    begin_parent(name_of(target))
                made = import_module(SERVICE).EvaluationService(note=current.note)
                self._service = cast("EvaluationService", made)
            return self._service

    def close(self) -> None:
        """End every child and the warm parents."""
        if self._service is not None:
            self._service.close()
        close_parents()


def main() -> None:
    """Answer jobs until the executor is gone."""
    with socket.socket(fileno=int(sys.argv[1])) as end:
        service, tasks = LateService(), KnownTasks()
        try:
            JobServer(Channel(end), lambda payload: _answer(service.of, tasks, payload).encode()).serve()
        finally:
            service.close()


def _answer(service_of: "Callable[[Request], EvaluationService]", tasks: KnownTasks, payload: bytes) -> str:
    try:
        request = read_request(payload)
        done = _do(service_of(request), tasks, request)
        return (done if isinstance(done, UnknownTask) else Answered(result=done)).model_dump_json()
    except current.JobCancelledError:
        raise
    except errors.TaskError as error:
        return Failed(error="TaskError", message=str(error), reason=error.reason).model_dump_json()
    except errors.KernelwrightError as error:
        return Failed(error=type(error).__name__, message=str(error)).model_dump_json()
    except OSError as error:
        return Failed(error="MachineError", message=f"the machine failed the referee: {error}").model_dump_json()
    except Exception as error:  # noqa: BLE001 (the referee's own fault: told as such, never charged to a candidate)
        detail = "".join(traceback.format_exception(error))[-4000:]
        return Failed(error="RefereeError", message=f"the referee broke: {error!r}\n{detail}").model_dump_json()


def _do(service: "EvaluationService", tasks: KnownTasks, request: Request) -> Record:
    match request.job:
        case Admit(source=source, target=target):
            return tasks.keep(service.admit(source, target, request.policy))
        case Examine(source=source, target=target):
            return service.examine(source, target, request.policy)
        case Lower(source=source, target=target, options=options):
            return service.lower(source, target, request.policy, options)
        case DescribeEnvironment(target=target):
            return service.environment(target)
        case Identify(target=target):
            return _likeness(service, target)
        case of_task:
            task = tasks.of(request, of_task.task)
            return UnknownTask() if task is None else _of_task(service, task, request)


def _of_task(service: "EvaluationService", task: Task, request: Request) -> Record:
    policy = request.policy
    match request.job:
        case Build(candidate=candidate):
            return service.build(task, candidate, policy)
        case TakeProfile(candidate=candidate, build=build):
            return service.profile(task, candidate, policy, build)
        case TakeYardstick(baselines=names):
            return service.yardstick(task, policy, names)
        case Replay(candidate=candidate, seeds=seeds):
            return service.replay(task, candidate, policy, seeds)
        case Evaluate(candidate=candidate, effort=effort):
            return service.evaluate(task, candidate, policy, effort)
        case other:
            raise errors.RefereeError(f"no worker does the job {other.kind!r}")


def _likeness(service: "EvaluationService", target: Target) -> Likeness:
    device = service.backend(target).host.device
    return Likeness(device=device.name, cores=device.cores, versions=dict(sorted(service.versions(target).items())))


if __name__ == "__main__":
    status = 1
    try:
        main()
        status = 0
    except BaseException:  # noqa: BLE001 (told, and then this process ends)
        traceback.print_exc()
    finally:
        remove_given()
        # A thread may still be at a job that nobody waits for; leaving in the usual way would wait for it.
        sys.stderr.flush()
        os._exit(status)
