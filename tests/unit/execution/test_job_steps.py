"""How far a job is, is told where nothing else was for a while; a quick one says nothing of it."""

from types import SimpleNamespace

import pytest

from kernelwright.execution import job


@pytest.fixture
def clock(monkeypatch):
    made = SimpleNamespace(now=100.0, monotonic=lambda: made.now)
    monkeypatch.setattr(job, "time", made)
    return made


def test_steps_are_told_after_a_silence_and_notes_at_once(clock):
    heard = []
    with job.Job(1, heard.append).current():
        job.step("case 1")
        clock.now += job.SILENT_S / 2
        job.note("admitting")
        clock.now += job.SILENT_S / 2
        job.step("case 2")
        clock.now += job.SILENT_S / 2
        job.step("case 3")
        job.step("case 4")
    assert heard == ["admitting", "case 3"]


def test_without_a_job_nobody_hears(clock):
    heard = []
    other = job.Job(1, heard.append)
    clock.now += 2 * job.SILENT_S
    job.step("case 1")
    with other.current():
        job.step("case 2")
    assert heard == ["case 2"]
