"""What a candidate costs in all, beside what its samples tell: what spinning threads cost on a busy machine is no work."""

import os
from types import SimpleNamespace

import pytest

from kernelwright.evaluate.pipeline import timing, timing_sanity
from kernelwright.evaluate.timing.load import Times
from kernelwright.records.evaluation import Suspect
from kernelwright.records.measure import Load

CORES = 4


@pytest.fixture
def hidden(monkeypatch):
    """The finding for this many seconds of processor time, while others took so many seconds of the machine's cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(CORES)))

    def of(spent_s, others_s=0.0, stolen_s=0.0):
        monkeypatch.setattr(
            "kernelwright.evaluate.timing.load.read_times", lambda: Times(20.0, 110 + others_s, stolen_s, 60.0)
        )
        trial = SimpleNamespace(began=Times(10.0, 100.0, 0.0, 50.0))
        process = SimpleNamespace(computing_ns=spent_s * 1e9, calls=1000)
        samples = SimpleNamespace(cpu_us={"candidate": 1000.0})
        return timing_sanity._hidden_work(trial, process, samples)

    return of


def test_on_a_quiet_machine_three_times_what_the_samples_tell_and_two_seconds_more(hidden):
    assert hidden(4.9) is None
    assert hidden(5.1).because == "hidden_work"


@pytest.mark.parametrize("taken", [{"others_s": 2.0}, {"stolen_s": 2.0}])
def test_every_second_that_others_took_a_core_may_be_one_of_spinning_for_each_thread_that_is_left(hidden, taken):
    assert hidden(10.9, **taken) is None
    assert hidden(11.1, **taken) is not None


def test_where_the_kernel_tells_nothing_nothing_is_allowed(hidden, monkeypatch):
    assert hidden(5.1, others_s=-3.0) is not None


@pytest.mark.parametrize(("during", "told"), [(1.5, True), (0.0, False), (None, False)])
def test_a_finding_on_a_busy_machine_says_so(during, told):
    load = None if during is None else Load(cores=2, during=during)
    found = timing._beside_what(Suspect(because="batched", evidence="they are computed together"), load)
    assert found.evidence.startswith("they are computed together")
    assert ("kept 1.5 of 2 cores busy" in found.evidence) == told
