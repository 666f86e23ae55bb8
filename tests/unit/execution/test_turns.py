"""Turns of several processes: in order, shared ones side by side, none lost, none held by the dead."""

import os
import threading

import pytest

from kernelwright.execution import turns
from kernelwright.execution.job import Job, JobCancelledError
from kernelwright.execution.turns import SHARED, Turns, place_of, queues, tickets


def waits(turn, how):
    """Whether a turn has to be waited for; what waits is cancelled."""
    job = Job(1)
    job.cancel()
    try:
        with job.current():
            turn.take(how)
    except JobCancelledError:
        turn.take(None)
        return True
    turn.take(None)
    return False


@pytest.mark.parametrize(
    ("ahead", "how", "expected"),
    [
        ([], "alone", False),
        (["shared"], "shared", False),
        (["shared"], "alone", True),
        (["alone"], "shared", True),
        (["alone"], "alone", True),
    ],
)
def test_who_is_in_whose_way(tmp_path, ahead, how, expected):
    held = [Turns(tmp_path) for _ in ahead]
    for turn, kind in zip(held, ahead, strict=True):
        turn.take(kind)
    assert waits(Turns(tmp_path), how) is expected
    assert [each.how for each in tickets(tmp_path)] == ahead


def test_turns_are_had_in_the_order_in_which_they_were_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LOOK_S", 0.001)
    first, had, threads = Turns(tmp_path), [], []
    first.take("alone")

    def take(number, how):
        mine = Turns(tmp_path)
        mine.take(how)
        had.append((number, how))
        mine.take(None)

    for number, how in enumerate(("alone", "shared", "alone", "shared", "shared")):
        threads.append(threading.Thread(target=take, args=(number, how)))
        threads[-1].start()
        while len(tickets(tmp_path)) < number + 2:
            pass
    first.take(None)
    for thread in threads:
        thread.join(10)
    assert had[:3] == [(0, "alone"), (1, "shared"), (2, "alone")]
    assert sorted(had[3:]) == [(3, "shared"), (4, "shared")]
    assert tickets(tmp_path) == []


def test_a_job_that_waits_says_so_once_and_can_be_cancelled(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LOOK_S", 0.001)
    told = []

    def note(text):
        told.append(text)
        threading.Timer(0.02, job.cancel).start()

    job = Job(1, note)
    Turns(tmp_path).take("alone")
    with job.current(), pytest.raises(JobCancelledError):
        Turns(tmp_path).take("shared")
    assert len(told) == 1
    assert "1 before it" in told[0]


def test_a_ticket_of_the_dead_is_in_nobodys_way_and_is_removed(tmp_path):
    dead = tmp_path / "7-alone-123"
    dead.touch()
    assert tickets(tmp_path) == []
    Turns(tmp_path).take("alone")
    assert not dead.exists()


def test_the_queue_is_there_to_be_seen(tmp_path, monkeypatch):
    monkeypatch.setenv(SHARED, str(tmp_path))
    held = Turns(place_of("cpu"))
    assert list(queues()) == [("cpu", [])]
    held.take("alone")
    ((device, (ticket,)),) = queues()
    assert (device, ticket.how, ticket.pid) == ("cpu", "alone", os.getpid())


def test_nobody_takes_turns_where_none_are_wanted_or_nothing_can_be_written(tmp_path, monkeypatch):
    monkeypatch.setenv(SHARED, "")
    assert place_of("cpu") is None
    (tmp_path / "file").touch()
    monkeypatch.setenv(SHARED, str(tmp_path / "file"))
    assert place_of("cpu") is None
