"""How many tasks stay open at once, and that their references can all have their threads."""

import os
from types import SimpleNamespace

import pytest

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.host import DeviceLock
from kernelwright.evaluate.pipeline import admit, service
from kernelwright.evaluate.sandbox import jail
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

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
        clock, host = None, type("Host", (), {"device_lock": DeviceLock(), "in_use": None})()

    def open_session(backend, source, target, policy, close_oldest):
        task = SimpleNamespace(id=source.name, name=source.name, target=target, source=source)
        opened.append(OpenTask(source.name, task))
        return opened[-1]

    monkeypatch.setattr(admit, "open_session", open_session)
    one = service.EvaluationService(note=lambda _: None)
    backend = Backend()
    monkeypatch.setattr(one, "backend", lambda target: backend)
    return one, opened


def test_the_task_that_waited_longest_gives_way(made):
    one, opened = made
    for number in range(service.MOST_OPEN + 3):
        one.admit(TaskSource(name=f"task{number}", format="kernelbench", source="pass"), CPU, Policy())
    assert [session.closed for session in opened] == [True] * 3 + [False] * service.MOST_OPEN


def test_a_task_whose_reference_broke_is_admitted_anew_for_the_next_question(made, monkeypatch):
    one, opened = made
    answers = iter([RefereeError("the reference died"), "measured"])

    def evaluate(trial, backend):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def trial(task, open_session, *_):
        return SimpleNamespace(session=open_session(), policy=Policy(), effort="search")

    monkeypatch.setattr(service, "evaluate_candidate", evaluate)
    monkeypatch.setattr(service, "Trial", trial)
    monkeypatch.setattr(service, "_untaken", lambda *_: None)
    task = one.admit(TaskSource(name="task", format="kernelbench", source="pass"), CPU, Policy())
    with pytest.raises(RefereeError, match="died"):
        one.evaluate(task, None, Policy(), "search")
    assert one.evaluate(task, None, Policy(), "search") == "measured"
    assert [session.closed for session in opened] == [True, False]


def test_all_open_references_together_keep_the_limit_on_threads():
    assert service.MOST_OPEN * ((os.cpu_count() or 1) + THREADS_A_REFERENCE) <= jail.MOST_THREADS
