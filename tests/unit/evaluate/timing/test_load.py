"""What else the machine does: read from a kernel's counters that are made up, and from this one's."""

import os
import subprocess
import sys

import pytest

from kernelwright.evaluate.timing import load
from kernelwright.evaluate.timing.conditions import FIRST_PAUSE_S, Watch
from kernelwright.evaluate.timing.load import AGAIN, LoadMeter, Times, descendants, runnable
from kernelwright.records.measure import Load


@pytest.fixture
def clock(monkeypatch):
    """A kernel whose counters the test turns: seconds at, busy, stolen, own."""
    now = [Times(0.0, 0.0, 0.0, 0.0)]
    monkeypatch.setattr(load, "read_times", lambda: now[0])
    monkeypatch.setattr(load, "runnable", lambda: 3)
    monkeypatch.setattr(load, "_stolen_until_now", lambda: (now[0].at, now[0].stolen))

    def turn(seconds, busy, stolen=0.0, own=0.0):
        then = now[0]
        now[0] = Times(then.at + seconds, then.busy + busy, then.stolen + stolen, then.own + own)

    return turn


def test_what_the_benchmark_itself_does_is_taken_off(clock):
    meter = LoadMeter(cores=2)
    clock(2.0, busy=3.0, own=2.0)
    meter.begin()
    clock(4.0, busy=7.0, stolen=0.8, own=3.0)
    meter.look()
    found = meter.load()
    assert (found.before, found.during, found.waiting) == (0.5, 1.0, 3)
    assert found.stolen == pytest.approx(0.1)
    assert found.busy


def test_a_window_without_ticks_tells_nothing(clock):
    meter = LoadMeter(cores=2)
    meter.begin()
    clock(0.01, busy=0.02)
    found = meter.load()
    assert (found.before, found.during, found.busy) == (None, None, False)


def test_where_the_kernel_tells_nothing_there_is_no_load(monkeypatch, tmp_path):
    monkeypatch.setattr(load, "PROC", tmp_path)
    meter = LoadMeter()
    meter.begin()
    meter.look()
    assert meter.load() is None


def test_neighbours_on_the_gpu_are_those_that_are_not_of_the_benchmark(clock):
    meter = LoadMeter(cores=2, on_device=True, neighbours=lambda: [os.getpid(), 1, 2**22 + 1])
    meter.begin()
    clock(1.0, busy=2.0)
    found = meter.load()
    assert (found.neighbours, found.busy) == (1, True)
    assert found.words.startswith("1 other process on the GPU; other work kept 2.0 of 2 cores busy")


def test_the_counters_of_this_kernel_are_read():
    child = subprocess.Popen([sys.executable, "-c", "sum(range(10**7)); print(flush=True); input()"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    try:
        child.stdout.readline()
        own = descendants()
        assert {os.getpid(), child.pid} <= own.keys()
        assert own[child.pid] > 0
        assert 1 not in own
    finally:
        child.communicate(b"\n")
    times = load.read_times()
    assert times.busy > times.own > 0
    assert runnable() >= 0


@pytest.mark.parametrize(
    ("found", "busy"),
    [
        (Load(cores=2, during=0.05), False),
        (Load(cores=2, during=0.2), True),
        (Load(cores=64, during=0.2), False),
        (Load(cores=2, stolen=0.01), False),
        (Load(cores=2, stolen=0.1), True),
        (Load(cores=2, during=2.0, on_device=True), False),
        (Load(cores=2, neighbours=1, on_device=True), True),
        (Load(cores=2, set_aside=5, disturbed=True), True),
    ],
)
def test_a_machine_is_busy_where_figures_are_doubtful(found, busy):
    assert found.busy is busy
    assert bool(found.words) is (busy or (found.during or 0.0) > 1)


def test_a_watch_looks_after_every_turn(clock):
    watch = Watch(meter=LoadMeter(cores=2))
    clock(1.0, busy=0.0)
    watch.begin()
    clock(1.0, busy=1.0)
    watch.turn_over()
    assert watch.spoiled() is False
    assert (watch.load().during, watch.load().waiting) == (1.0, 3)
    assert Watch().load() is None


SLEEPS = (2, 1, 0)
"""Threads in the run queue at one look, each time that it is looked at."""


@pytest.mark.parametrize(
    ("cores", "seen", "stolen", "noisy"),
    [
        (2, [0, 0, 0, 0, 0, 1], 0.0, False),  # a daemon woke up
        (2, [SLEEPS] * 6, 0.0, False),  # one of our own was about to sleep
        (2, [0, 1, 0, 1, 0, 0], 0.0, True),
        (2, [1, 1, 0, 1, 1, 0], 0.0, True),
        (64, [3] * 6, 0.0, False),  # few for so many cores
        (2, [0] * 6, 0.1, True),
        (64, [0] * 6, 0.1, False),
        (2, [], 0.0, False),  # nobody can tell
    ],
)
def test_a_block_is_noisy_where_others_worked_in_it(clock, monkeypatch, cores, seen, stolen, noisy):
    looks = iter([9] * (1 + AGAIN))
    monkeypatch.setattr(load, "runnable", lambda: next(looks))
    meter = LoadMeter(cores=cores, pause=lambda _: None)
    meter.look()  # while it warmed up
    meter.begin()
    for waiting in seen:
        looks = iter(waiting if waiting == SLEEPS else [waiting] * (1 + AGAIN))
        meter.look()
    clock(1.0, busy=1.0, stolen=stolen)
    assert meter.noisy() is noisy
    assert meter.noisy() is False, "what was before this block is told of none"


def test_whoever_disturbs_gets_ever_more_time_to_end(clock):
    pauses = []
    watch = Watch(meter=LoadMeter(cores=2), pause=pauses.append)
    watch.begin()
    for turns in (1, 1, 0, 1):
        for _ in range(turns):
            watch.turn_over()
        assert watch.noisy() is bool(turns)
    assert pauses == [FIRST_PAUSE_S, 2 * FIRST_PAUSE_S, FIRST_PAUSE_S]
    assert watch.set_aside == 3
