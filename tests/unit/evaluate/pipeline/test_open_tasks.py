"""How many tasks stay open at once, and that their references can all have their threads."""

import os
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from kernelwright.errors import RefereeError, TaskError
from kernelwright.evaluate.backends.host import DeviceLock
from kernelwright.evaluate.pipeline import admit, service
from kernelwright.evaluate.pipeline.evaluate import evaluate_candidate
from kernelwright.evaluate.sandbox import jail
from kernelwright.evaluate.sandbox.process import DeviceFullError
from kernelwright.evaluate.session.trial import Findings, OutcomeReached, Trial
from kernelwright.evaluate.session.verification import wrong
from kernelwright.records.candidate import Candidate
from kernelwright.records.measure import CaseError
from kernelwright.records.numerics import Numerics
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskLimits, TaskSource
from kernelwright.testing.samples import sample_task

CPU = Target(kind="cpu", arch="native", present=True)
THREADS_A_REFERENCE = 20
"""Beside one for each core: the driver's, torch's and the interpreter's, on a machine with a GPU."""


class OpenTask:
    """As much of a session as the service knows."""

    def __init__(self, name, task):
        self.closed = False
        self.original = type("Original", (), {"task": task})()
        self.task, self.known = task, {}

    def close(self):
        self.closed = True


@pytest.fixture
def made(monkeypatch):
    """A service whose backend and admission are not there, and the sessions that it opened."""
    opened = []

    class Backend:
        clock = None
        host = SimpleNamespace(device_lock=DeviceLock(), in_use=None, device=SimpleNamespace(name="this one"))

    def open_session(backend, source, target, policy, close_oldest):
        task = SimpleNamespace(id=source.name, name=source.name, target=target, source=source)
        opened.append(OpenTask(source.name, task))
        return opened[-1]

    monkeypatch.setattr(admit, "open_session", open_session)
    monkeypatch.setattr(service.machine, "is_short", lambda _: False)  # whatever else this machine is at
    one = service.EvaluationService(note=lambda _: None)
    backend = Backend()
    monkeypatch.setattr(one, "backend", lambda target: backend)
    return one, opened


def test_the_task_that_waited_longest_gives_way(made):
    one, opened = made
    for number in range(service.MOST_OPEN + 3):
        one.admit(TaskSource(name=f"task{number}", format="kernelbench", source="pass"), CPU, Policy())
    assert [session.closed for session in opened] == [True] * 3 + [False] * service.MOST_OPEN


@pytest.fixture
def answering(made, monkeypatch):
    """A function that has the service's evaluations answer in turn; an exception is raised."""
    one, _ = made

    def trial(task, open_session, candidate, policy, effort="search", replayed=()):
        return SimpleNamespace(
            task=task, session=open_session(), reopen=open_session, policy=policy, effort=effort,
            replayed=replayed, weights="fresh", found=Findings(Numerics(mode="as-is")),
        )  # fmt: skip

    monkeypatch.setattr(service, "Trial", trial)
    monkeypatch.setattr(service, "_untaken", lambda *_: None)

    def answer(*given, loaded=("measure", 2)):
        answers = iter(given)

        def evaluate(trial, backend):
            answer = next(answers)
            trial.reopen()
            trial.found.stage, trial.found.tier = loaded
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(service, "evaluate_candidate", evaluate)
        return one.admit(TaskSource(name="task", format="kernelbench", source="pass"), CPU, Policy())

    return answer


def test_a_task_whose_reference_broke_is_admitted_anew_for_the_next_question(made, answering):
    one, opened = made
    task = answering(RefereeError("the reference died"), "measured")
    with pytest.raises(RefereeError, match="died"):
        one.evaluate(task, None, Policy(), "search")
    assert one.evaluate(task, None, Policy(), "search") == "measured"
    assert [session.closed for session in opened] == [True, False]


def test_where_memory_is_full_a_kernel_is_asked_once_more_with_nothing_else_open(made, answering):
    one, opened = made
    task = answering(DeviceFullError("run_on_device", "out of memory"), "measured")
    assert one.evaluate(task, None, Policy(), "search") == "measured"
    assert opened[0].closed


def test_a_replay_has_the_same_room_and_the_same_new_reference(made, answering):
    one, opened = made
    task = answering(FULL, "verified", RefereeError("the reference died"), "verified")
    assert one.replay(task, None, Policy(), (1,)) == "verified"
    with pytest.raises(RefereeError, match="died"):
        one.replay(task, None, Policy(), (1,))
    assert one.replay(task, None, Policy(), (1,)) == "verified"
    assert [session.closed for session in opened] == [True, True, False]


@pytest.mark.parametrize("ask", ["evaluate", "replay", "build"])
def test_what_the_task_forbids_holds_for_every_question(made, answering, monkeypatch, ask):
    one, _ = made
    task = answering("verified")
    task.source = task.source.model_copy(update={"limits": TaskLimits(library_calls="forbid")})
    seen = []
    monkeypatch.setattr(service, "evaluate_candidate", lambda trial, _: seen.append(trial.policy.library_calls))
    monkeypatch.setattr(service, "build_candidate", lambda trial, _: seen.append(trial.policy.library_calls))
    more = {"evaluate": ("search",), "replay": ((1,),), "build": ()}[ask]
    getattr(one, ask)(task, None, Policy(), *more)
    assert seen == ["forbid"]


FULL = DeviceFullError("run_on_device", "CUDA out of memory. Tried to allocate 2 GiB.")


@pytest.mark.parametrize("loaded", [("compile", 2), ("measure", 1)], ids=["nothing is loaded", "it allocates nothing"])
def test_where_memory_is_full_without_a_kernel_s_doing_the_task_is_too_large(made, answering, loaded):
    one, opened = made
    task = answering(FULL, FULL, loaded=loaded)
    with pytest.raises(TaskError, match="Make its inputs smaller"):
        one.evaluate(task, None, Policy(), "search")
    assert [session.closed for session in opened] == [True, True]


def test_where_memory_is_full_beside_several_kernels_in_a_row_the_task_is_too_large(made, answering):
    one, _ = made
    task = answering(*[FULL] * 4, "measured", *[FULL] * 2 * service.MOST_FULL)
    for _ in range(2):
        assert one.evaluate(task, None, Policy(), "search").outcome == "crashed"
    assert one.evaluate(task, None, Policy(), "search") == "measured"
    for _ in range(service.MOST_FULL - 1):
        assert one.evaluate(task, None, Policy(), "search").outcome == "crashed"
    with pytest.raises(TaskError, match="Make its inputs smaller"):
        one.evaluate(task, None, Policy(), "search")


def test_a_kernel_that_takes_all_memory_ends_no_run(made, answering):
    one, opened = made
    task = answering(FULL, FULL, "measured")
    found = one.evaluate(task, None, Policy(), "search")
    assert (found.outcome, found.stage) == ("crashed", "measure")
    assert "no memory left beside this kernel" in found.reason
    assert "2 GiB" in found.log
    assert all(session.closed for session in opened)
    assert one.evaluate(task, None, Policy(), "search") == "measured"


def test_a_second_try_tells_of_each_case_once():
    error = CaseError(distribution="as given", error=0.0, reference_error=0.0, allowed=1.0)

    class Backend:
        host = SimpleNamespace(device=SimpleNamespace(name="this one"))
        tries = 0

        @contextmanager
        def prepared(self, trial):
            self.tries += 1
            trial.found.cases.append(error)
            if self.tries == 1:
                raise DeviceFullError("run_on_device", "out of memory")
            raise OutcomeReached(wrong(trial, "value", "as given", "output 0"))
            yield

    session = SimpleNamespace(dropped=[], without_graph=())
    trial = Trial(sample_task(), lambda: session, Candidate(language="cpp", source="//", entry="kernel"), Policy())
    backend = Backend()
    with pytest.raises(DeviceFullError):
        evaluate_candidate(trial, backend)
    assert evaluate_candidate(trial, backend).accuracy.cases == (error,)


def test_a_task_for_which_there_is_no_memory_cannot_be_judged(made, monkeypatch):
    def full(*_):
        raise DeviceFullError("map_device_arena", "out of memory")

    monkeypatch.setattr(admit, "open_session", full)
    with pytest.raises(TaskError, match=r"no memory to judge 'task'.*Make its inputs smaller"):
        made[0].admit(TaskSource(name="task", format="kernelbench", source="pass"), CPU, Policy())


def test_all_open_references_together_keep_the_limit_on_threads():
    assert service.MOST_OPEN * ((os.cpu_count() or 1) + THREADS_A_REFERENCE) <= jail.MOST_THREADS
