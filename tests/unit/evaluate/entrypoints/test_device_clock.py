"""What is done round each timed call, in which order, without a device."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.evaluate.entrypoints import device_clock
from kernelwright.evaluate.entrypoints.device_clock import DeviceClock
from kernelwright.evaluate.sandbox.messages.calls import Clocking


class Event:
    """An event that writes itself down; a pair is always 12.5 us apart."""

    def __init__(self, log):
        self.log = log

    def record(self):
        self.log.append("event")

    def synchronize(self):
        self.log.append("wait for it")

    def elapsed_time(self, other):
        return 0.0125


@pytest.fixture
def log(monkeypatch):
    """Everything that is asked of the device."""
    done = []

    class Flush:
        def fill_(self, value):
            done.append("write")

        def max(self):
            done.append("read")

    clock = DeviceClock.__new__(DeviceClock)
    clock._flush = Flush()
    clock._watched, clock._whole = False, None
    clock._spin = lambda cycles: done.append(f"spin {cycles}")
    monkeypatch.setattr(device_clock, "_clocks", {False: clock, True: clock})
    monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: Event(done))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: done.append("wait"))
    monkeypatch.setattr(device_clock.driver, "cuCtxResetPersistingL2Cache", lambda: done.append("reset") or (0,))
    return done


def test_each_call_meets_an_idle_device_a_flushed_cache_and_a_spin(log):
    results, clocks = device_clock.clocked(
        lambda i: log.append(f"call {i + 1}") or -1 - i, 2, Clocking(clock="each", busy_ns=100)
    )
    assert results == [-1, -2]
    assert clocks.each_ns == (12_500, 12_500)
    assert clocks.ns == 25_000
    around = ["wait", "reset", "write", "read", "spin 198", "event"]
    after = ["event", "event", "wait for it"]
    assert log == ["wait", *around, "call 1", *after, *around, "call 2", *after]


def test_a_call_takes_its_parameters_before_anything_of_it_is_timed(log):
    prepare = [lambda: log.append("take 1"), lambda: log.append("take 2")]
    how = Clocking(clock="each", busy_ns=100)
    _, clocks = device_clock.clocked(lambda i: log.append(f"call {i + 1}"), 2, how, prepare)
    assert clocks.each_ns == (12_500, 12_500)
    assert clocks.beside_ns > 0
    around = ["wait", "wait", "reset", "write", "read", "spin 198", "event"]
    after = ["event", "event", "wait for it"]
    assert log == ["wait", "take 1", *around, "call 1", *after, "take 2", *around, "call 2", *after]


def test_a_call_that_is_waited_for_is_not_prepared(log):
    device_clock.clocked(lambda i: log.append(f"call {i + 1}"), 2, Clocking(clock="waiting"))
    assert log == ["wait", "call 1", "wait", "call 2", "wait"]


def test_calls_that_are_only_checked_run_together(log):
    device_clock.clocked(lambda i: log.append(f"call {i + 1}"), 2, Clocking())
    assert log == ["wait", "call 1", "call 2", "wait"]


def test_a_device_that_cannot_reset_persisting_lines_is_an_error_unless_it_has_none(log, monkeypatch):
    monkeypatch.setattr(device_clock.driver, "cuCtxResetPersistingL2Cache", lambda: (device_clock.UNSUPPORTED,))
    device_clock.clocked(lambda i: i, 1, Clocking(clock="each"))
    broken = device_clock.driver.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    monkeypatch.setattr(device_clock.driver, "cuCtxResetPersistingL2Cache", lambda: (broken,))
    with pytest.raises(RuntimeError, match="could not be reset"):
        device_clock.clocked(lambda i: i, 1, Clocking(clock="each"))


class Streams:
    """What follows a call, in microseconds: until the device is free, behind nothing too, and until the host sees that."""

    def __init__(self):
        self.device_us, self.idle_us, self.host_us = 4.0, 4.0, 8.0


@pytest.fixture
def behind(log, monkeypatch):
    """A clock of foreign host code. Every wait takes as long as the host's look at the device."""
    clock, found, now = device_clock.the_clock(watched=True), Streams(), [0]
    clock._watched, clock._whole = True, SimpleNamespace(gather=lambda: log.append("gather"))

    def free_ns(events):
        return round(1000 * (found.device_us if "call" in log else found.idle_us))

    def wait():
        now[0] += round(found.host_us * 1000)

    monkeypatch.setattr(device_clock.Events, "free_ns", property(free_ns))
    monkeypatch.setattr(torch.cuda, "synchronize", wait)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)
    monkeypatch.setattr(device_clock.time, "perf_counter_ns", lambda: now[0])
    return found


@pytest.mark.parametrize(
    ("told", "us"),
    [
        ({}, 0),
        ({"device_us": 404}, 400),
        ({"host_us": 300}, 300),
        ({"device_us": 404, "host_us": 300}, 700),
        ({"device_us": 30, "idle_us": 30}, 0),  # a device that takes long to be free
        ({"host_us": 40}, 0),  # a host that looks late
        ({"device_us": 8.9}, 0),
    ],
)
def test_what_other_streams_of_foreign_host_code_still_do_is_part_of_the_call(log, behind, told, us):
    vars(behind).update(told)
    _, clocks = device_clock.clocked(lambda i: log.append("call"), 3, Clocking(clock="each"))
    assert clocks.each_ns == (12_500 + 1000 * us,) * 3
    assert log[-4:] == ["event", "gather", "event", "wait for it"]


def test_other_streams_are_no_part_of_the_call_on_a_clock_that_does_not_watch(log, behind):
    behind.device_us, behind.host_us = 404, 300
    device_clock.the_clock(watched=False)._watched = False
    _, clocks = device_clock.clocked(lambda i: log.append("call"), 1, Clocking(clock="each"))
    assert clocks.each_ns == (12_500,)
