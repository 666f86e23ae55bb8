"""Kernels on every thread of a device: how many blocks, and when a spin is said to have begun. Without a device."""

import threading
import time
from types import SimpleNamespace

import pytest
import torch

from kernelwright.evaluate.entrypoints import device_clock
from kernelwright.evaluate.entrypoints.device_clock import WholeDevice


@pytest.fixture
def launched(monkeypatch):
    """What was launched, on a device that begins a spin in a thread of its own, 10 ms later."""
    done, zeros = [], torch.zeros

    def compiled(source, name):
        def kernel(grid, block, args):
            done.append((name, grid, block))
            if name == "spin":
                threading.Timer(0.01, args[1].fill_, (1,)).start()

        return kernel

    device = SimpleNamespace(multi_processor_count=3, max_threads_per_multi_processor=2048)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: device)
    monkeypatch.setattr(torch.cuda, "_compile_kernel", compiled)
    monkeypatch.setattr(torch, "zeros", lambda size, dtype, **where: zeros(size, dtype=dtype))
    return done


def test_foreign_host_code_is_called_when_the_spin_has_every_thread(launched):
    whole, begin = WholeDevice(), time.perf_counter()
    for _ in range(2):
        whole.spin(198)
    assert time.perf_counter() - begin >= 0.02
    assert launched == [("spin", (12, 1, 1), (512, 1, 1))] * 2


def test_a_spin_that_does_not_begin_is_not_waited_for_for_ever(launched, monkeypatch):
    monkeypatch.setattr(device_clock, "BEGINS_NS", 1000)
    WholeDevice().spin(198)
    assert len(launched) == 1


def test_as_many_blocks_gather_as_the_device_holds(launched):
    WholeDevice().gather()
    assert launched == [("gather", (12, 1, 1), (512, 1, 1))]
