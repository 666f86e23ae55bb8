"""A job at a worker: its processes end with it, but for those that it leaves to others."""

import threading

import pytest

from kernelwright.execution import job
from kernelwright.execution.job import Job, JobCancelledError


class Fake:
    def __init__(self, ended=False):
        self.ended, self.killed = ended, 0

    def kill(self):
        self.killed += 1


def test_cancelling_kills_what_was_started_and_has_not_ended():
    at, running, ended, kept = Job(1), Fake(), Fake(ended=True), Fake()
    for process in (running, ended, kept):
        at.started(process)
    at.kept(kept)
    at.cancel()
    assert (running.killed, ended.killed, kept.killed) == (1, 0, 0)


def test_what_a_cancelled_job_starts_is_killed_at_once():
    at, late = Job(1), Fake()
    at.must_go_on()
    at.cancel()
    with pytest.raises(JobCancelledError):
        at.started(late)
    assert late.killed == 1
    with pytest.raises(JobCancelledError):
        at.must_go_on()


def test_notes_and_processes_are_the_current_job_s():
    said, process = [], Fake()
    at = Job(1, said.append)
    with at.current():
        job.note("one")
        job.started(process)
        job.must_go_on()
    job.note("two")
    at.cancel()
    job.must_go_on()
    assert said == ["one"]
    assert process.killed == 1


def test_each_thread_has_a_job_of_its_own():
    said = []
    barrier = threading.Barrier(2)

    def work(number):
        with Job(number, lambda text: said.append((number, text))).current():
            barrier.wait()
            job.note(str(number))

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == [(1, "1"), (2, "2")]


def test_without_a_job_nothing_is_held_or_told():
    process = Fake()
    job.started(process)
    job.kept(process)
    job.note("nobody hears")
    assert process.killed == 0
