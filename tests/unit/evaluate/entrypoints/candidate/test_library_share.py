"""The share of a library's kernels, of events as the profiler of a GPU tells them."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch
from torch.autograd import DeviceType

from kernelwright.evaluate.entrypoints.candidate import library_share

OPERATOR = HOST = DeviceType.CPU
KERNEL = DeviceType.CUDA


def event(key, device, us):
    return SimpleNamespace(key=key, device_type=device, self_device_time_total=us, self_cpu_time_total=0)


@pytest.mark.parametrize(
    ("events", "share"),
    [
        # An operator's time is that of the kernels that it launched, which stand there once more.
        ([event("aten::add", OPERATOR, 6.0), event("add_kernel", KERNEL, 6.0)], 1.0),
        ([event("aten::add", OPERATOR, 6.0), event("add_kernel", KERNEL, 6.0), event("own", KERNEL, 18.0)], 0.25),
        ([event("cudaLaunchKernel", HOST, 0.0), event("own", KERNEL, 18.0)], 0.0),
        ([event("cudaLaunchKernel", HOST, 0.0)], None),
    ],
)
def test_each_kernel_counts_once(monkeypatch, events, share):
    @contextmanager
    def profile(activities, acc_events):
        yield SimpleNamespace(key_averages=lambda: events)

    monkeypatch.setattr(library_share, "profile", profile)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    assert library_share.library_share(lambda: None, "cuda").share == share
