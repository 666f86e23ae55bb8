"""The worker's answers: records as JSON, and every error under the name of whose fault it was."""

import errno
import json
import re
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from kernelwright import errors
from kernelwright.evaluate import worker
from kernelwright.evaluate.backends.host import DeviceLock
from kernelwright.evaluate.jobs import (
    Admit,
    Build,
    DescribeEnvironment,
    Evaluate,
    Examine,
    Identify,
    Likeness,
    Replay,
    Request,
    TakeProfile,
    TakeYardstick,
    UnknownTask,
    read_answer,
)
from kernelwright.evaluate.worker import KnownTasks
from kernelwright.execution.channel import Channel
from kernelwright.records.admission import Checked, Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Refused
from kernelwright.records.measure import Yardstick
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.testing.samples import BUILD, sample_environment, sample_profile, sample_task

TASK = sample_task()
FITNESS = Fitness(checks=(Checked(name="duration", status="passed", figure="1 us"),))
POLICY = Policy(seeds=3)
CPP = {"task": TASK.id, "candidate": Candidate(language="cpp", source="x")}
JOBS = {
    "admit": Admit(source=TASK.source, target=TASK.target),
    "examine": Examine(source=TASK.source, target=TASK.target),
    "replay": Replay(**CPP, seeds=(1, 2)),
    "evaluate": Evaluate(**CPP, effort="final"),
    "build": Build(**CPP),
    "profile": TakeProfile(**CPP, build=BUILD),
    "yardstick": TakeYardstick(task=TASK.id, baselines=("eager",)),
    "environment": DescribeEnvironment(target=TASK.target),
}
YARDSTICK = Yardstick(times_us={"eager": 12.5}, floor_us=1.0)
RESULTS = {
    "admit": TASK,
    "examine": FITNESS,
    "replay": Refused(reason="scripted"),
    "evaluate": Refused(reason="scripted"),
    "build": Refused(reason="scripted"),
    "profile": sample_profile(),
    "yardstick": YARDSTICK,
    "environment": sample_environment(),
}
KNOWN = KnownTasks()
KNOWN.keep(TASK)


class ScriptedService:
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

    def build(self, task, candidate, policy):
        return self._said(Refused(reason="scripted"), task, candidate, policy)

    def evaluate(self, task, candidate, policy, effort):
        return self._said(Refused(reason="scripted"), task, candidate, policy, effort)

    def profile(self, task, candidate, policy, build):
        return self._said(sample_profile(), task, candidate, policy, build)

    def yardstick(self, task, policy, names):
        return self._said(YARDSTICK, task, policy, names)

    def environment(self, target):
        return self._said(sample_environment(), target)

    def close(self):
        self.closed = True


def request(kind, **more):
    return Request(job=JOBS[kind], policy=POLICY, **more).model_dump_json().encode()


def answer(service, kind, tasks=KNOWN, **more):
    return read_answer(worker._answer(lambda _: service, tasks, request(kind, **more)).encode(), JOBS[kind])


@pytest.mark.parametrize("kind", JOBS)
def test_each_job_is_answered_with_its_record(kind):
    assert answer(ScriptedService(), kind).result == RESULTS[kind]


def test_the_court_is_asked_for_what_the_job_says():
    service = ScriptedService()
    for kind in JOBS:
        answer(service, kind)
    admitted, examined, replayed, judged, built, profiled, held_against, asked = service.asked
    assert admitted == examined == (TASK.source, TASK.target, POLICY)
    assert {each[0].id for each in (replayed, judged, built, profiled, held_against)} == {TASK.id}
    assert replayed[2:] == (POLICY, (1, 2))
    assert judged[2:] == (POLICY, "final")
    assert built[1:] == (CPP["candidate"], POLICY)
    assert profiled[2:] == (POLICY, BUILD)
    assert asked == (Target(kind="cpu", arch="native", present=True),)


def test_a_task_that_is_not_known_is_asked_for_once():
    service, tasks = ScriptedService(), KnownTasks()
    assert answer(service, "evaluate", tasks) == UnknownTask()
    assert answer(service, "evaluate", tasks, body=TASK).result == RESULTS["evaluate"]
    assert answer(service, "replay", tasks).result == RESULTS["replay"]
    assert len(service.asked) == 2


def test_a_task_that_was_admitted_here_is_known():
    tasks = KnownTasks()
    answer(ScriptedService(), "admit", tasks)
    assert answer(ScriptedService(), "profile", tasks).result == RESULTS["profile"]


def test_the_tasks_that_were_not_asked_for_longest_are_forgotten(monkeypatch):
    monkeypatch.setattr(worker, "MOST_TASKS", 2)
    tasks, service = KnownTasks(), ScriptedService()
    others = [TASK.model_copy(update={"source": TASK.source.model_copy(update={"source": str(n)})}) for n in range(2)]
    for task in (TASK, others[0]):
        tasks.keep(task)
    answer(service, "evaluate", tasks)
    tasks.keep(others[1])
    assert answer(service, "evaluate", tasks).result == RESULTS["evaluate"]
    assert list(tasks._bodies) == [others[1].id, TASK.id]


def test_a_body_of_another_task_is_the_referee_s_trouble():
    other = TASK.model_copy(update={"source": TASK.source.model_copy(update={"source": "other"})})
    told = answer(ScriptedService(), "evaluate", KnownTasks(), body=other)
    assert told.error == "RefereeError"
    assert other.id in told.message


@pytest.mark.parametrize("kind", [errors.TaskError, errors.MachineError, errors.RefereeError, errors.UsageError])
@pytest.mark.parametrize("job", JOBS)
def test_errors_of_ours_keep_their_name_and_message(job, kind):
    told = answer(ScriptedService(kind("what, and the cure")), job)
    assert (type(told.exception()), str(told.exception())) == (kind, "what, and the cure")


def test_a_task_s_class_of_refusal_crosses_over():
    assert answer(ScriptedService(errors.TaskError("random", "random")), "examine").exception().reason == "random"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENOMEM])
def test_what_the_machine_denies_is_the_machine_s(number):
    told = answer(ScriptedService(OSError(number, "no more of it")), "evaluate")
    assert told.error == "MachineError"
    assert "no more of it" in told.message


@pytest.mark.parametrize("error", [RuntimeError("broken"), ZeroDivisionError("broken"), KeyError("broken")])
def test_anything_else_is_the_referee_s_and_never_the_candidate_s(error):
    told = answer(ScriptedService(error), "evaluate")
    assert told.error == "RefereeError"
    assert "broken" in told.message
    assert "test_worker.py" in told.message, "the place is told"


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        (b"", "EOF"),
        (b"[]", "object"),
        (b"{}", "job"),
        (b'{"job": {"kind": "dance"}, "policy": {}}', "job: .*dance"),
        (b'{"job": {"kind": "evaluate", "task": "", "effort": "quick"}, "policy": {}}', r"job\.evaluate\.candidate"),
        (b'{"job": {"kind": "identify", "target": {}}, "policy": {}}', r"job\.identify\.target\.kind"),
        (request("evaluate").replace(b'"seeds":3', b'"seeds":0'), r"policy\.seeds"),
        (request("evaluate").replace(b'"final"', b'"quick"'), r"job\.evaluate\.effort"),
    ],
)
def test_what_is_no_job_is_told_with_its_field(payload, field):
    told = read_answer(worker._answer(lambda _: ScriptedService(), KNOWN, payload).encode(), JOBS["evaluate"])
    assert told.error == "RefereeError"
    assert re.search(f"^job: .*{field}", told.message), told.message


def test_an_error_s_text_crosses_over_whatever_it_is_made_of():
    assert answer(ScriptedService(errors.RefereeError("half a pair: \ud800")), "evaluate").message == "half a pair: ?"


class Loop:
    """The worker's loop in a thread, and the executor's end of its channel."""

    def __init__(self, monkeypatch, service):
        self.end, theirs = socket.socketpair()
        self.channel, self.service, self.begun = Channel(self.end), service, []

        def opened(note):
            self.begun.append("service")
            service.note = note
            return service

        monkeypatch.setattr(worker, "begin_parent", self.begun.append)
        monkeypatch.setattr(worker, "import_module", lambda _: SimpleNamespace(EvaluationService=opened))
        monkeypatch.setattr("sys.argv", ["worker", str(theirs.detach())])
        self.thread = threading.Thread(target=worker.main)
        self.thread.start()

    def ask(self, number, kind):
        self.channel.write(b"J", number, request(kind) if kind in JOBS else b"no job")

    def end_it(self):
        self.end.close()
        self.thread.join(10)
        return not self.thread.is_alive()


@pytest.fixture
def loop(monkeypatch):
    """Starts a worker's loop over a service."""
    made = []

    def start(service):
        made.append(Loop(monkeypatch, service))
        return made[-1]

    yield start
    for one in made:
        one.end_it()


def test_the_loop_answers_until_the_executor_is_gone_and_closes_the_court(loop):
    at = loop(ScriptedService())
    for number, do in enumerate(("dance", "environment")):
        at.ask(number, do)
        kind, job, payload = at.channel.read()
        assert (kind, job) == (b"R", number)
        assert json.loads(payload)["kind"] == ("failed" if do == "dance" else "answered")
    assert at.end_it()
    assert at.service.closed


def test_the_parent_of_a_job_s_processes_begins_before_pytorch_is_imported_once(loop):
    at = loop(ScriptedService())
    for number in (1, 2):
        at.ask(number, "environment")
        at.channel.read()
    assert at.begun == ["cpu", "service"]


def test_the_worker_s_module_imports_no_pytorch():
    told = "import sys, kernelwright.evaluate.worker; print({'torch', 'numpy'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", told], text=True) == "set()\n"


class SlowService(ScriptedService):
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
    at = loop(SlowService())
    for number in (1, 2):
        at.ask(number, "environment")
        assert at.channel.read() == (b"N", number, b"at work")
    at.service.go.release(2)
    frames = [at.channel.read() for _ in range(2)]
    assert {(frame.kind, frame.job) for frame in frames} == {(b"R", 1), (b"R", 2)}
    assert at.service.most == 2


class PatientService(SlowService):
    """One job at a time, as with a machine's turn."""

    def __init__(self):
        super().__init__()
        self.device_lock = DeviceLock()

    def environment(self, target):
        with self.device_lock:
            return super().environment(target)


def test_a_cancelled_job_that_waits_for_its_turn_is_given_up_while_the_other_goes_on(loop):
    at = loop(PatientService())
    at.ask(1, "environment")
    assert at.channel.read() == (b"N", 1, b"at work")
    at.ask(2, "environment")
    at.channel.write(b"C", 2)
    assert at.channel.read() == (b"R", 2, b"")
    assert len(at.service.asked) == 0
    at.service.go.release()
    assert at.channel.read()[:2] == (b"R", 1)


def test_workers_are_alike_when_device_and_versions_are():
    class Machines(ScriptedService):
        def backend(self, target):
            device = sample_environment().device.model_copy(update={"memory_gbps": 7.0})
            return SimpleNamespace(host=SimpleNamespace(device=device))

        def versions(self, target):
            return {"torch": "1"}

    job, device = Identify(target=TASK.target), sample_environment().device
    payload = Request(job=job, policy=POLICY).model_dump_json().encode()
    said = worker._answer(lambda _: Machines(), KNOWN, payload)
    assert read_answer(said.encode(), job).result == Likeness(
        device=device.name, cores=device.cores, versions={"torch": "1"}
    )
