"""Who dies with a cancelled job: what works for it alone, and not what other jobs use as well."""

import pytest

from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess
from kernelwright.evaluate.sandbox.child import ChildGoneError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tasks import LoadTask
from kernelwright.evaluate.sandbox.messages.tools import Execute
from kernelwright.evaluate.sandbox.spawn import PrewarmedPool
from kernelwright.execution import job
from kernelwright.execution.job import Job, JobCancelledError

NOTHING = LoadTask(source="x = 1", threads=1)


def test_a_child_dies_with_the_job_that_it_works_for(spawn):
    at, other = Job(1), Job(2)
    with at.current():
        mine = CandidateProcess(spawn(), 20.0)
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
            CandidateProcess(mine, 20.0).ask(Execute(argv=("true",), texts={}))
        mine.close()
        with at.current(), pytest.raises(JobCancelledError):
            prewarmed.take()
    finally:
        prewarmed.close()
