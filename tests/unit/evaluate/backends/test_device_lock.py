"""A turn: one thread at a time, the same one as often as it likes, and no cancelled job."""

import threading

import pytest

from kernelwright.evaluate.backends.host import DeviceLock
from kernelwright.execution.job import Job, JobCancelledError


def test_a_thread_takes_its_turn_again_and_others_wait_until_it_is_over():
    turn, seen = DeviceLock(), []

    def other():
        with turn:
            seen.append("other")

    waiting = threading.Thread(target=other)
    with turn:
        waiting.start()
        with turn:
            waiting.join(0.05)
        waiting.join(0.05)
        seen.append("first")
    waiting.join(10)
    assert seen == ["first", "other"]


def test_a_cancelled_job_gets_no_turn_and_leaves_it_free():
    turn, job, taken = DeviceLock(), Job(1), []
    job.cancel()
    with job.current(), pytest.raises(JobCancelledError), turn:
        taken.append("by the cancelled job")
    other = threading.Thread(target=lambda: taken.append(turn.__enter__()))
    other.start()
    other.join(10)
    assert taken == [None]


def test_a_job_that_is_cancelled_while_it_waits_is_told_so():
    turn, job, told = DeviceLock(), Job(1), threading.Event()

    def wait():
        with job.current(), pytest.raises(JobCancelledError), turn:
            raise AssertionError("it got the turn")
        told.set()

    waiting = threading.Thread(target=wait)
    with turn:
        waiting.start()
        job.cancel()
        assert told.wait(10)
    waiting.join(10)
