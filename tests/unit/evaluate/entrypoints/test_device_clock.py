"""What is done round each timed call, in which order, without a device."""

import threading
import time
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
    clock._watched = False
    clock._spin = lambda cycles: done.append(f"spin {cycles}")
    monkeypatch.setattr(device_clock, "_clocks", {False: clock, True: clock})
    monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: Event(done))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: done.append("wait"))
    monkeypatch.setattr(device_clock.driver, "cuCtxResetPersistingL2Cache", lambda: done.append("reset") or (0,))
    return done


def test_each_call_meets_an_idle_device_a_flushed_cache_and_a_spin(log):
    results, clocks = device_clock.timed(
        lambda x: log.append(f"call {x}") or -x, [(1,), (2,)], Clocking(clock="each", busy_ns=100)
    )
    assert results == [-1, -2]
    assert clocks.each_ns == (12_500, 12_500)
    assert clocks.ns == 25_000
    around = ["wait", "reset", "write", "read", "spin 198", "event"]
    after = ["event", "wait for it"]
    assert log == ["wait", *around, "call 1", *after, *around, "call 2", *after]


def test_a_call_takes_its_parameters_before_anything_of_it_is_timed(log):
    prepare = [lambda: log.append("take 1"), lambda: log.append("take 2")]
    _, clocks = device_clock.timed(
        lambda x: log.append(f"call {x}"), [(1,), (2,)], Clocking(clock="each", busy_ns=100), prepare
    )
    assert clocks.each_ns == (12_500, 12_500)
    assert clocks.beside_ns > 0
    around = ["wait", "wait", "reset", "write", "read", "spin 198", "event"]
    after = ["event", "wait for it"]
    assert log == ["wait", "take 1", *around, "call 1", *after, "take 2", *around, "call 2", *after]


def test_a_call_that_is_waited_for_is_not_prepared(log):
    device_clock.timed(lambda x: log.append(f"call {x}"), [(1,), (2,)], Clocking(clock="waiting"))
    assert log == ["wait", "call 1", "wait", "call 2", "wait"]


def test_calls_that_are_only_checked_run_together(log):
    device_clock.timed(lambda x: log.append(f"call {x}"), [(1,), (2,)], Clocking())
    assert log == ["wait", "call 1", "call 2", "wait"]


def test_a_device_that_cannot_reset_persisting_lines_is_an_error_unless_it_has_none(log, monkeypatch):
    monkeypatch.setattr(device_clock.driver, "cuCtxResetPersistingL2Cache", lambda: (device_clock.UNSUPPORTED,))
    device_clock.clocked(lambda i: i, 1, Clocking(clock="each"))
    broken = device_clock.driver.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    monkeypatch.setattr(device_clock.driver, "cuCtxResetPersistingL2Cache", lambda: (broken,))
    with pytest.raises(RuntimeError, match="could not be reset"):
        device_clock.clocked(lambda i: i, 1, Clocking(clock="each"))


@pytest.fixture
def waits(log, monkeypatch):
    """How long the device is waited for, in nanoseconds: directly behind an event and otherwise."""
    device_clock.the_clock(watched=True)._watched = True
    taken, now = SimpleNamespace(behind=1000, otherwise=1000), [0]

    def wait():
        now[0] += taken.behind if log[-1:] == ["wait for it"] else taken.otherwise
        log.append("wait")

    monkeypatch.setattr(torch.cuda, "synchronize", wait)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)
    monkeypatch.setattr(device_clock.time, "perf_counter_ns", lambda: now[0])
    return taken


def test_what_another_stream_of_foreign_host_code_still_does_is_part_of_the_call(waits):
    def call(index):
        waits.behind += 400_000

    _, clocks = device_clock.clocked(call, 1, Clocking(clock="each"))
    assert clocks.each_ns == (12_500 + 400_000,)


@pytest.mark.parametrize("otherwise", [1000, 28_000])
def test_waiting_for_an_idle_device_is_no_part_of_the_call(waits, otherwise):
    """Behind a call that takes longer than behind nothing, on some machines."""
    waits.behind, waits.otherwise = 28_000, otherwise
    _, clocks = device_clock.clocked(lambda i: i, 3, Clocking(clock="each"))
    assert clocks.each_ns == (12_500,) * 3


@pytest.fixture
def spin(monkeypatch):
    """A spin of a device that begins it in a thread of its own, 10 ms later; and what was launched."""
    launched, zeros = [], torch.zeros

    def compiled(source, name):
        def kernel(grid, block, args):
            launched.append((grid, block, args[0]))
            threading.Timer(0.01, args[1].fill_, (1,)).start()

        return kernel

    device = SimpleNamespace(multi_processor_count=3, max_threads_per_multi_processor=2048)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: device)
    monkeypatch.setattr(torch.cuda, "_compile_kernel", compiled)
    monkeypatch.setattr(torch, "zeros", lambda *size, dtype, pin_memory: zeros(*size, dtype=dtype))
    return device_clock._everywhere(), launched


def test_foreign_host_code_is_called_when_the_spin_has_every_thread(spin):
    begin, (spinning, launched) = time.perf_counter(), spin
    for _ in range(2):
        spinning(198)
    assert time.perf_counter() - begin >= 0.02
    assert launched == [((12, 1, 1), (512, 1, 1), 198)] * 2


def test_a_spin_that_does_not_begin_is_not_waited_for_for_ever(spin, monkeypatch):
    monkeypatch.setattr(device_clock, "BEGINS_NS", 1000)
    spin[0](198)
    assert len(spin[1]) == 1
