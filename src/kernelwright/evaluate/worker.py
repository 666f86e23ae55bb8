"""The worker: the grader's own process, started as `python -m kernelwright.evaluate.worker FD`.

Reads jobs, runs the pipeline, answers with records as JSON. Decides nothing about kernels; keeps the sessions of the
tasks that it has met, so that inputs, references and baselines are computed once.
"""

import json
import os
import socket
import sys
import traceback

from kernelwright import errors
from kernelwright.evaluate.pipeline.court import Court
from kernelwright.execution import job as current
from kernelwright.execution.channel import Channel
from kernelwright.execution.desk import Desk
from kernelwright.records.candidate import Candidate
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Target, Task, TaskSource


def main() -> None:
    """Answer jobs until the executor is gone."""
    with socket.socket(fileno=int(sys.argv[1])) as end:
        court = Court(note=current.note)
        try:
            Desk(Channel(end), lambda payload: _answer(court, json.loads(payload)).encode()).serve()
        finally:
            court.close()


def _answer(court: Court, job: dict[str, str]) -> str:
    try:
        return json.dumps({"result": _do(court, job)})
    except current.JobCancelledError:
        raise
    except errors.TaskError as error:
        return json.dumps({"error": "TaskError", "message": str(error), "reason": error.reason})
    except errors.KernelwrightError as error:
        return json.dumps({"error": type(error).__name__, "message": str(error)})
    except OSError as error:
        return json.dumps({"error": "MachineError", "message": f"the machine failed the referee: {error}"})
    except Exception as error:  # noqa: BLE001 (the referee's own fault: told as such, never charged to a candidate)
        detail = "".join(traceback.format_exception(error))[-4000:]
        return json.dumps({"error": "RefereeError", "message": f"the referee broke: {error!r}\n{detail}"})


def _do(court: Court, job: dict[str, str]) -> str:
    policy = Policy.model_validate_json(job["policy"])
    match job["do"]:
        case "admit" | "examine":
            source, target = TaskSource.model_validate_json(job["source"]), Target.model_validate_json(job["target"])
            done = court.admit if job["do"] == "admit" else court.examine
            return done(source, target, policy).model_dump_json()
        case "environment":
            return court.environment(Target.model_validate_json(job["target"])).model_dump_json()
        case "identity":
            return _identity(court, Target.model_validate_json(job["target"]))
        case _:
            return _of_candidate(court, job, policy)


def _of_candidate(court: Court, job: dict[str, str], policy: Policy) -> str:
    do = job["do"]
    if do not in ("judge", "build", "profile", "replay"):
        raise errors.RefereeError(f"no job is called {do!r}")
    task, candidate = Task.model_validate_json(job["task"]), Candidate.model_validate_json(job["candidate"])
    if do == "build":
        return court.build(task, candidate, policy).model_dump_json()
    if do == "profile":
        facts = BuildFacts.model_validate_json(job["build"]) if job["build"] else None
        return court.profile(task, candidate, policy, facts).model_dump_json()
    if do == "replay":
        return court.replay(task, candidate, policy, json.loads(job["seeds"])).model_dump_json()
    effort: Effort = "final" if job["effort"] == "final" else "search"
    return court.judge(task, candidate, policy, effort).model_dump_json()


def _identity(court: Court, target: Target) -> str:
    """What two workers must have in common for their figures to be compared."""
    device = court.backend(target).host.device
    return json.dumps({"device": device.name, "cores": device.cores, **court.versions(target)}, sort_keys=True)


if __name__ == "__main__":
    status = 1
    try:
        main()
        status = 0
    except BaseException:  # noqa: BLE001 (told, and then this process ends)
        traceback.print_exc()
    finally:
        # A thread may still be at a job that nobody waits for; leaving in the usual way would wait for it.
        sys.stderr.flush()
        os._exit(status)
