"""A turn: one thread at a time, the same one as often as it likes, no cancelled job, and one process where they share."""

import os
import signal
import subprocess
import sys
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


OTHER = """
import sys
from pathlib import Path
from kernelwright.evaluate.backends.host import DeviceLock
with DeviceLock(Path(sys.argv[1])):
    print("its turn", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path):
    """Starts a process that takes a turn and keeps it until it is told, or killed."""
    begun = []

    def begin():
        begun.append(
            subprocess.Popen([sys.executable, "-c", OTHER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        )
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


def within(turn, seconds):
    """Whether another thread gets the turn in that time; it gives it back."""
    taken = threading.Event()

    def take():
        with turn:
            taken.set()

    threading.Thread(target=take, daemon=True).start()
    return taken.wait(seconds)


def test_workers_that_name_one_file_take_turns_and_a_dead_one_has_let_go(tmp_path, other):
    process = other()
    assert process.stdout.readline() == b"its turn\n"
    turn = DeviceLock(tmp_path)
    assert not within(turn, 0.2)
    os.kill(process.pid, signal.SIGKILL)
    with turn:
        assert process.wait(10) == -signal.SIGKILL


def test_a_turn_is_lent_to_other_processes_and_to_no_other_thread(tmp_path, other):
    turn = DeviceLock(tmp_path)
    with turn:
        with turn:
            process = other()
        with turn.aside():
            assert process.stdout.readline() == b"its turn\n"
            assert not within(turn, 0.1)
            process.stdin.write(b"\n")
            process.stdin.flush()
        assert process.wait(10) == 0


def test_shared_turns_go_on_beside_each_other_and_beside_nobodys_own(tmp_path, other):
    turn, second = DeviceLock(tmp_path), DeviceLock(tmp_path)
    with turn.shared():
        with second.shared(), turn.aside():
            pass
        assert not within(second, 0.1)
        process = other()
    assert process.stdout.readline() == b"its turn\n"


def test_who_waits_to_be_alone_is_passed_by_no_further_shared_turn(tmp_path):
    first, waits, late = (DeviceLock(tmp_path) for _ in range(3))
    order, waiting = [], threading.Event()

    def alone():
        waiting.set()
        with waits:
            order.append("alone")

    def shared():
        with late.shared():
            order.append("shared")

    threads = [threading.Thread(target=alone), threading.Thread(target=shared)]
    with first.shared():
        threads[0].start()
        assert waiting.wait(10)
        threads[0].join(0.1)
        threads[1].start()
        threads[1].join(0.1)
        assert order == []
    for thread in threads:
        thread.join(10)
    assert order == ["alone", "shared"]


def test_within_a_shared_turn_one_may_be_alone_and_share_it_again(tmp_path):
    turn, second = DeviceLock(tmp_path), DeviceLock(tmp_path)
    seen = []

    def other():
        with second.shared():
            seen.append("other")

    waiting = threading.Thread(target=other)
    with turn.shared():
        with turn:
            waiting.start()
            with turn.shared():
                waiting.join(0.1)
            seen.append("alone")
        waiting.join(10)
        seen.append("shared")
    assert seen == ["alone", "other", "shared"]


def test_without_a_file_nothing_is_lent(tmp_path):
    turn = DeviceLock()
    with turn, turn.aside():
        assert not within(turn, 0.1)
