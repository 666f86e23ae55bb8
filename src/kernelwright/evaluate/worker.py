"""The worker: the grader's own process, started as `python -m kernelwright.evaluate.worker FD`.

Reads jobs, runs the pipeline, answers with records as JSON. Decides nothing about kernels; keeps the sessions of the
tasks that it has met, so that inputs, references and baselines are computed once.
"""

import json
import socket
import sys
import traceback

from kernelwright import errors
from kernelwright.evaluate.pipeline.court import Court
from kernelwright.execution import channel
from kernelwright.records.candidate import Candidate
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task, TaskSource


def main() -> None:
    """Answer jobs until the executor is gone."""
    with socket.socket(fileno=int(sys.argv[1])) as end:
        court = Court(note=lambda text: channel.write(end, b"N", text.encode()))
        try:
            while (frame := channel.read(end)) is not None:
                channel.write(end, b"R", _answer(court, json.loads(frame[1])).encode())
        finally:
            court.close()


def _answer(court: Court, job: dict[str, str]) -> str:
    try:
        return json.dumps({"result": _do(court, job)})
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
        case "admit":
            source, target = TaskSource.model_validate_json(job["source"]), Target.model_validate_json(job["target"])
            return court.admit(source, target, policy).model_dump_json()
        case "examine":
            source, target = TaskSource.model_validate_json(job["source"]), Target.model_validate_json(job["target"])
            return court.examine(source, target, policy).model_dump_json()
        case "judge":
            task, candidate = Task.model_validate_json(job["task"]), Candidate.model_validate_json(job["candidate"])
            return court.judge(
                task, candidate, policy, "final" if job["effort"] == "final" else "search"
            ).model_dump_json()
        case "profile":
            task, candidate = Task.model_validate_json(job["task"]), Candidate.model_validate_json(job["candidate"])
            build = BuildFacts.model_validate_json(job["build"]) if job["build"] else None
            return court.profile(task, candidate, policy, build).model_dump_json()
        case "replay":
            task, candidate = Task.model_validate_json(job["task"]), Candidate.model_validate_json(job["candidate"])
            return court.replay(task, candidate, policy, json.loads(job["seeds"])).model_dump_json()
        case "environment":
            return court.environment(Target.model_validate_json(job["target"])).model_dump_json()
        case other:
            raise errors.RefereeError(f"no job is called {other!r}")


if __name__ == "__main__":
    main()
