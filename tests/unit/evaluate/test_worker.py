"""The worker's answers: records as JSON, and every error under the name of whose fault it was."""

import errno
import json
import socket
import threading
from types import SimpleNamespace

import pytest

from kernelwright import errors
from kernelwright.evaluate import worker
from kernelwright.evaluate.backends.turn import Turn
from kernelwright.execution.channel import Channel
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


class Loop:
    """The worker's loop in a thread, and the executor's end of its channel."""

    def __init__(self, monkeypatch, court):
        self.end, theirs = socket.socketpair()
        self.channel, self.court = Channel(self.end), court

        def opened(note):
            court.note = note
            return court

        monkeypatch.setattr(worker, "Court", opened)
        monkeypatch.setattr("sys.argv", ["worker", str(theirs.detach())])
        self.thread = threading.Thread(target=worker.main)
        self.thread.start()

    def ask(self, number, do):
        self.channel.write(b"J", number, json.dumps({"do": do, "policy": POLICY, **JOBS.get(do, {})}).encode())

    def end_it(self):
        self.end.close()
        self.thread.join(10)
        return not self.thread.is_alive()


@pytest.fixture
def loop(monkeypatch):
    """Starts a worker's loop over a court."""
    made = []

    def start(court):
        made.append(Loop(monkeypatch, court))
        return made[-1]

    yield start
    for one in made:
        one.end_it()


def test_the_loop_answers_until_the_executor_is_gone_and_closes_the_court(loop):
    at = loop(ScriptedCourt())
    for number, do in enumerate(("dance", "environment")):
        at.ask(number, do)
        kind, job, payload = at.channel.read()
        assert (kind, job) == (b"R", number)
        assert ("error" in json.loads(payload)) == (do == "dance")
    assert at.end_it()
    assert at.court.closed


class SlowCourt(ScriptedCourt):
    """Notes that it is at work, and goes on when it is let."""

    def __init__(self):
        super().__init__()
        self.go, self.inside, self.most = threading.Semaphore(0), 0, 0

    def environment(self, target):
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.note("at work")
        self.go.acquire()
        self.inside -= 1
        return super().environment(target)


def test_the_court_hears_jobs_at_once_and_notes_belong_to_their_job(loop):
    at = loop(SlowCourt())
    for number in (1, 2):
        at.ask(number, "environment")
        assert at.channel.read() == (b"N", number, b"at work")
    at.court.go.release(2)
    frames = [at.channel.read() for _ in range(2)]
    assert {(frame.kind, frame.job) for frame in frames} == {(b"R", 1), (b"R", 2)}
    assert at.court.most == 2


class PatientCourt(SlowCourt):
    """One job at a time, as with a machine's turn."""

    def __init__(self):
        super().__init__()
        self.turn = Turn()

    def environment(self, target):
        with self.turn:
            return super().environment(target)


def test_a_cancelled_job_that_waits_for_its_turn_is_given_up_while_the_other_goes_on(loop):
    at = loop(PatientCourt())
    at.ask(1, "environment")
    assert at.channel.read() == (b"N", 1, b"at work")
    at.ask(2, "environment")
    at.channel.write(b"C", 2)
    assert at.channel.read() == (b"R", 2, b"")
    assert len(at.court.asked) == 0
    at.court.go.release()
    assert at.channel.read()[:2] == (b"R", 1)


def test_workers_are_alike_when_device_and_versions_are():
    class Machines(ScriptedCourt):
        def backend(self, target):
            device = sample_environment().device.model_copy(update={"memory_gbps": 7.0})
            return SimpleNamespace(host=SimpleNamespace(device=device))

        def versions(self, target):
            return {"torch": "1"}

    told = json.loads(answer(Machines(), "identity", target=JOBS["environment"]["target"])["result"])
    device = sample_environment().device
    assert told == {"device": device.name, "cores": device.cores, "torch": "1"}
