"""The referee's side of the worker: answers become records, errors become typed exceptions."""

import asyncio
import json
from pathlib import Path

import pytest

from kernelwright import errors
from kernelwright.evaluate import referee
from kernelwright.evaluate.jobs import Answered, UnknownTask, read_request
from kernelwright.evaluate.referee import Referee
from kernelwright.execution.executor import Place
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Refused
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.testing.samples import BUILD, sample_environment, sample_profile, sample_task

WORKER = Path(__file__).with_name("scripted_worker.py")
TASK = sample_task()
CANDIDATE = Candidate(language="cpp", source="x")


def answered(record):
    return {"kind": "answered", "result": record.model_dump(mode="json")}


def failed(name, message):
    return {"kind": "failed", "error": name, "message": message}


RIGHT = {
    "admit": answered(TASK),
    "evaluate": answered(Refused(reason="scripted")),
    "profile": answered(sample_profile()),
    "environment": answered(sample_environment()),
}
BODY = (False, True)
"""Of the two requests of a job whose task the worker does not know: whether the task's body comes along."""


@pytest.fixture
def play(monkeypatch):
    """Ask a referee whose worker has these answers."""

    def run(scene, answers, **more):
        monkeypatch.setattr(referee, "ARGUMENTS", (str(WORKER),))
        monkeypatch.setenv("ANSWERS", json.dumps(answers))

        async def whole():
            judge = Referee(**more)
            try:
                return await scene(judge)
            finally:
                await judge.close()

        return asyncio.run(whole())

    return run


def judged(judge):
    return judge.evaluate(TASK, CANDIDATE)


def test_answers_become_records_and_notes_are_passed_on(play):
    notes = []

    async def scene(judge):
        task = await judge.admit(TASK.source, TASK.target)
        return task, await judge.evaluate(task, CANDIDATE, "final"), await judge.environment()

    task, found, environment = play(scene, RIGHT, on_note=notes.append)
    assert task.id == TASK.id
    assert found == Refused(reason="scripted")
    assert environment == sample_environment()
    assert [json.loads(note) for note in notes[1:3]] == [["candidate", "effort", "kind", "task", has] for has in BODY]


@pytest.mark.parametrize("build", [None, BUILD])
def test_a_profile_is_asked_for_with_or_without_a_build(play, build):
    notes = []
    assert play(lambda judge: judge.profile(TASK, CANDIDATE, build), RIGHT, on_note=notes.append) == sample_profile()
    assert [json.loads(note) for note in notes] == [["build", "candidate", "kind", "task", has] for has in BODY]


@pytest.mark.parametrize("name", ["TaskError", "MachineError", "RefereeError", "UsageError"])
def test_an_error_is_raised_as_what_it_is(play, name):
    answers = {"evaluate": failed(name, "the cure")}
    with pytest.raises(getattr(errors, name), match="the cure") as raised:
        play(judged, answers)
    assert type(raised.value).__name__ == name


def test_an_error_that_nobody_knows_is_the_referee_s(play):
    with pytest.raises(errors.RefereeError, match="odd"):
        play(judged, {"evaluate": failed("Nonsense", "odd")})


def test_a_worker_that_dies_is_the_referee_s_trouble_and_the_next_question_is_answered(play):
    async def scene(judge):
        with pytest.raises(errors.RefereeError, match="ended before it answered"):
            await judge.evaluate(TASK, CANDIDATE)
        return await judge.environment()

    assert play(scene, {**RIGHT, "evaluate": None}) == sample_environment()


def test_without_a_word_the_referee_judges_on_this_cpu_with_the_default_policy():
    judge = Referee()
    assert judge.policy == Policy()
    assert judge._target == Target(kind="cpu", arch="native", present=True)


def test_the_worker_is_started_as_a_module_of_ours():
    assert referee.ARGUMENTS == ("-m", "kernelwright.evaluate.worker")


def test_jobs_of_one_task_are_kin_and_say_whether_they_need_a_gpu(monkeypatch):
    made, asked = [], []

    class Scripted:
        async def submit(self, job, on_note, affinity):
            request = json.loads(job)
            asked.append((request["job"]["kind"], affinity))
            return json.dumps(RIGHT[request["job"]["kind"]]).encode()

        async def close(self):
            made.append("closed")

    def make(place, work):
        made.append((place.name, work.gpu, json.loads(work.greeting)["job"]["kind"]))
        return Scripted()

    monkeypatch.setattr(referee, "make_executor", make)

    async def scene(place, target):
        judge = Referee(place=place)
        task = TASK.model_copy(update={"target": target})
        await judge.admit(task.source, target)
        await judge.evaluate(task, CANDIDATE)
        await judge.environment()
        await judge.close()

    gpu = Target(kind="cuda", arch="sm_90", present=True)
    asyncio.run(scene(Place("ray"), gpu))
    assert made == [("ray", True, "identify"), "closed"]
    assert [do for do, _ in asked] == ["admit", "evaluate", "environment"]
    assert len({affinity for _, affinity in asked}) == 1
    asyncio.run(scene(Place("ray"), gpu.model_copy(update={"present": False})))
    asyncio.run(scene(Place(), gpu))
    assert [used for used in made if used != "closed"][1:] == [("ray", False, "identify"), ("local", False, "identify")]
    assert len({affinity for _, affinity in asked}) == 2


def test_figures_of_two_devices_are_not_put_side_by_side(play):
    judged_there = Refused(reason="scripted", device="another")

    async def scene(judge):
        environment = await judge.environment()
        with pytest.raises(errors.RefereeError, match=r"judged on 'another'.*one kind"):
            await judge.evaluate(TASK, CANDIDATE)
        return environment

    answers = {**RIGHT, "evaluate": answered(judged_there)}
    assert play(scene, answers) == sample_environment()


def test_a_body_is_sent_to_the_worker_that_asks_for_it_and_to_no_other(monkeypatch):
    knows, bodies = [], []

    class Scripted:
        async def submit(self, job, on_note, affinity):
            request = read_request(job)
            bodies.append(request.body)
            if request.body is not None:
                knows.append(request.body.id)
            found = Answered(result=Refused(reason="scripted")) if request.job.task in knows else UnknownTask()
            return found.model_dump_json().encode()

    monkeypatch.setattr(referee, "make_executor", lambda place, work: Scripted())
    other = TASK.model_copy(update={"source": TASK.source.model_copy(update={"source": "other"})})

    async def scene():
        judge = Referee()
        for task in (TASK, TASK, other, TASK):
            assert await judge.evaluate(task, CANDIDATE) == Refused(reason="scripted")
        knows.clear()  # as a worker that was started anew
        await judge.evaluate(TASK, CANDIDATE)

    asyncio.run(scene())
    assert bodies == [None, TASK, None, None, other, None, None, TASK]


def test_a_worker_that_asks_for_a_body_again_and_again_is_broken(play):
    with pytest.raises(errors.RefereeError, match="does not know the task whose body"):
        play(judged, {"evaluate": {"kind": "unknown_task"}})


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ({}, "kind"),
        ({"kind": "dance"}, "kind"),
        ([], "object"),
        ({"kind": "answered", "result": {"outcome": "refused"}}, r"answered\.result\.refused\.reason"),
        ({"kind": "answered", "result": TASK.model_dump(mode="json")}, r"answered\.result"),
        ({"kind": "failed", "error": "TaskError"}, r"failed\.message"),
    ],
)
def test_a_malformed_answer_is_told_with_its_job_and_field(play, answer, field):
    with pytest.raises(errors.RefereeError, match=f"answer to the job Evaluate.*{field}"):
        play(judged, {"evaluate": answer})
