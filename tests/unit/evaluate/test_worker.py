"""The worker's answers: records as JSON, and every error under the name of whose fault it was."""

import errno
import json
import socket
import threading

import pytest

from kernelwright import errors
from kernelwright.evaluate import worker
from kernelwright.execution import channel
from kernelwright.records.admission import Checked, Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import EVALUATION, Refused
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task
from kernelwright.testing.samples import BUILD, sample_environment, sample_profile, sample_task

TASK = sample_task()
FITNESS = Fitness(checks=(Checked(name="duration", status="passed", figure="1 us"),))
POLICY = Policy(seeds=3).model_dump_json()
JOBS = {
    "admit": {"source": TASK.source.model_dump_json(), "target": TASK.target.model_dump_json()},
    "examine": {"source": TASK.source.model_dump_json(), "target": TASK.target.model_dump_json()},
    "replay": {
        "task": TASK.model_dump_json(),
        "candidate": Candidate(language="cpp", source="x").model_dump_json(),
        "seeds": "[1, 2]",
    },
    "judge": {
        "task": TASK.model_dump_json(),
        "candidate": Candidate(language="cpp", source="x").model_dump_json(),
        "effort": "final",
    },
    "profile": {
        "task": TASK.model_dump_json(),
        "candidate": Candidate(language="cpp", source="x").model_dump_json(),
        "build": BUILD.model_dump_json(),
    },
    "environment": {"target": TASK.target.model_dump_json()},
}


class ScriptedCourt:
    """Answers with records, or raises what it was told to."""

    def __init__(self, error=None, note=None):
        self.error, self.note, self.asked, self.closed = error, note, [], False

    def _said(self, answer, *asked):
        self.asked.append(asked)
        if self.error is not None:
            raise self.error
        return answer

    def admit(self, source, target, policy):
        return self._said(TASK, source, target, policy)

    def examine(self, source, target, policy):
        return self._said(FITNESS, source, target, policy)

    def replay(self, task, candidate, policy, seeds):
        return self._said(Refused(reason="scripted"), task, candidate, policy, seeds)

    def judge(self, task, candidate, policy, effort):
        return self._said(Refused(reason="scripted"), task, candidate, policy, effort)

    def profile(self, task, candidate, policy, build):
        return self._said(sample_profile(), task, candidate, policy, build)

    def environment(self, target):
        return self._said(sample_environment(), target)

    def close(self):
        self.closed = True


def answer(court, do, **more):
    return json.loads(worker._answer(court, {"do": do, "policy": POLICY, **JOBS.get(do, {}), **more}))


def test_each_job_is_answered_with_its_record():
    court = ScriptedCourt()
    assert Task.model_validate_json(answer(court, "admit")["result"]).id == TASK.id
    assert EVALUATION.validate_json(answer(court, "judge")["result"]) == Refused(reason="scripted")
    assert Environment.model_validate_json(answer(court, "environment")["result"]) == sample_environment()
    assert Profile.model_validate_json(answer(court, "profile")["result"]) == sample_profile()
    assert Fitness.model_validate_json(answer(court, "examine")["result"]) == FITNESS
    assert EVALUATION.validate_json(answer(court, "replay")["result"]) == Refused(reason="scripted")
    admitted, judged, asked, profiled, examined, replayed = court.asked
    assert examined == admitted
    assert replayed[3] == [1, 2]
    assert admitted == (TASK.source, TASK.target, Policy(seeds=3))
    assert judged[0].id == TASK.id
    assert judged[2:] == (Policy(seeds=3), "final")
    assert asked == (Target(kind="cpu", arch="native", present=True),)
    assert profiled[2:] == (Policy(seeds=3), BUILD)


def test_a_profile_needs_no_build():
    court = ScriptedCourt()
    answer(court, "profile", build="")
    assert court.asked[0][-1] is None


@pytest.mark.parametrize(("said", "meant"), [("final", "final"), ("search", "search"), ("quick", "search")])
def test_only_final_means_final(said, meant):
    court = ScriptedCourt()
    answer(court, "judge", effort=said)
    assert court.asked[0][-1] == meant


@pytest.mark.parametrize("kind", [errors.TaskError, errors.MachineError, errors.RefereeError, errors.UsageError])
@pytest.mark.parametrize("do", JOBS)
def test_errors_of_ours_keep_their_name_and_message(do, kind):
    told = answer(ScriptedCourt(kind("what, and the cure")), do)
    assert (told["error"], told["message"]) == (kind.__name__, "what, and the cure")
    assert told.get("reason") == ("unfit" if kind is errors.TaskError else None)


def test_a_task_s_class_of_refusal_crosses_over():
    assert answer(ScriptedCourt(errors.TaskError("random", "random")), "examine")["reason"] == "random"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENOMEM])
def test_what_the_machine_denies_is_the_machine_s(number):
    told = answer(ScriptedCourt(OSError(number, "no more of it")), "judge")
    assert told["error"] == "MachineError"
    assert "no more of it" in told["message"]


@pytest.mark.parametrize("error", [RuntimeError("broken"), ZeroDivisionError("broken"), KeyError("broken")])
def test_anything_else_is_the_referee_s_and_never_the_candidate_s(error):
    told = answer(ScriptedCourt(error), "judge")
    assert told["error"] == "RefereeError"
    assert "broken" in told["message"]
    assert "test_worker.py" in told["message"], "the place is told"


def test_an_unknown_job_and_one_that_cannot_be_read_are_told():
    assert "no job is called 'dance'" in answer(ScriptedCourt(), "dance")["message"]
    assert answer(ScriptedCourt(), "judge", task="{}")["error"] == "RefereeError"
    assert answer(ScriptedCourt(), "judge", policy="{}", candidate="[]")["error"] == "RefereeError"


def test_the_loop_answers_until_the_executor_is_gone_and_closes_the_court(monkeypatch):
    ours, theirs = socket.socketpair()
    courts = []

    def opened(note):
        courts.append(ScriptedCourt(note=note))
        return courts[-1]

    monkeypatch.setattr(worker, "Court", opened)
    monkeypatch.setattr("sys.argv", ["worker", str(theirs.detach())])
    loop = threading.Thread(target=worker.main)
    loop.start()
    with ours:
        for job in ({"do": "dance", "policy": POLICY}, {"do": "environment", "policy": POLICY, **JOBS["environment"]}):
            channel.write(ours, b"J", json.dumps(job).encode())
            kind, payload = channel.read(ours)
            assert kind == b"R"
            assert ("error" in json.loads(payload)) == (job["do"] == "dance")
        courts[0].note("at work")
        assert channel.read(ours) == (b"N", b"at work")
    loop.join(10)
    assert courts[0].closed
