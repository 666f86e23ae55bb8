"""Who dies with a cancelled job: what works for it alone, and not what other jobs use as well. Who is ready for a job."""

from types import SimpleNamespace

import pytest

from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError, ChildUnreadyError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.base import Raised
from kernelwright.evaluate.sandbox.messages.tasks import LoadTask
from kernelwright.evaluate.sandbox.messages.tools import Execute
from kernelwright.evaluate.sandbox.process import Process
from kernelwright.evaluate.sandbox.spawn import PrewarmedPool
from kernelwright.execution import job
from kernelwright.execution.job import Job, JobCancelledError

NOTHING = LoadTask(source="x = 1", threads=1)


def test_a_child_dies_with_the_job_that_it_works_for(spawn):
    at, other = Job(1), Job(2)
    with at.current():
        mine = Process(spawn(), 20.0)
    with other.current():
        his = spawn()
    at.cancel()
    with pytest.raises(ChildGoneError, match="killed"):
        mine.ask(NOTHING)
    his.ask(NOTHING, 20.0)


def test_a_child_that_was_kept_or_closed_is_left_alone(spawn):
    at = Job(1)
    with at.current():
        kept, closed = spawn(), spawn()
        job.kept(kept)
        closed.close()
    at.cancel()
    assert kept.ask(NOTHING, 20.0).answer.raised


def test_a_cancelled_job_gets_no_more_children(spawn, warm):
    at = Job(1)
    at.cancel()
    with at.current(), pytest.raises(JobCancelledError):
        spawn()
    spawn().ask(NOTHING, 20.0)


def test_a_spare_child_works_for_the_job_that_takes_it(warm):
    at, prewarmed = Job(1), PrewarmedPool(warm, "tool", Jail(directory="/"))
    prewarmed._born = lambda: warm.spawn("tool", Jail(directory="/"))
    try:
        with at.current():
            mine = prewarmed.take()
        at.cancel()
        with pytest.raises(ChildGoneError, match="killed"):
            Process(mine, 20.0).ask(Execute(argv=("true",), texts={}))
        mine.close()
        with at.current(), pytest.raises(JobCancelledError):
            prewarmed.take()
    finally:
        prewarmed.close()


class Opening:
    """A child that answers the question whether it is ready, or does not."""

    ended = False

    def __init__(self, answer):
        self.answer = answer

    def ask(self, command, limit_s, freeze):
        if isinstance(self.answer, Exception):
            raise self.answer
        return SimpleNamespace(answer=SimpleNamespace(raised=self.answer))

    def close(self):
        self.ended = True


@pytest.mark.parametrize(
    "fault",
    [Raised(error="RuntimeError", log="CUDA error: out of memory"), ChildSlowError(60.0), ChildGoneError("killed", "")],
    ids=["it raises", "it is slow", "it dies"],
)
def test_what_could_not_be_made_ready_is_closed_and_does_not_stand_in_the_way(fault):
    answers, born = [fault, fault, None, None], []

    def spawn(side, jail):
        born.append(Opening(answers[len(born)]))
        return born[-1]

    prewarmed = PrewarmedPool(SimpleNamespace(spawn=spawn), "launcher", Jail(directory="/"))
    try:
        with pytest.raises(ChildUnreadyError):
            prewarmed.take()
        assert prewarmed.take() in born[2:]
        assert [child.ended for child in born[:2]] == [True, True]
    finally:
        prewarmed.close()
