"""How much of a call's time is a library's: PyTorch's own operators, as its profiler sees them.

The candidate's process says it of itself, so it may convict and never acquit: where library calls are forbidden, a large share
refuses the candidate; elsewhere it is told beside the verdict and decides nothing. What `torch.compile` generated, or an
extension of the candidate's own computes, is no operator of PyTorch's.
"""

import time
from collections.abc import Callable
from statistics import median

import torch
from torch.autograd import DeviceType
from torch.autograd.profiler_util import FunctionEventAvg
from torch.profiler import ProfilerActivity, profile

from kernelwright.evaluate.sandbox.messages.candidates import LibraryShare

LIBRARY = "aten::"
CALLS, ENOUGH_S = 5, 1.0
"""Calls on a CPU, where one that lost its core for a while says nothing; fewer where they take long."""


def library_share(call: Callable[[], object], device: str) -> LibraryShare:
    """The median of some calls more, under the profiler; nothing is told where the profiler does not work."""
    call()
    shares: list[float] = []
    end = time.monotonic() + ENOUGH_S
    try:
        while not shares or (len(shares) < CALLS and device == "cpu" and time.monotonic() < end):
            share = _of_one_call(call, device == "cuda")
            if share is None:
                return LibraryShare()
            shares.append(share)
    except RuntimeError:
        return LibraryShare()
    return LibraryShare(share=median(shares))


def _of_one_call(call: Callable[[], object], on_device: bool) -> float | None:
    """None: the profiler saw nothing."""
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_device else [])]
    # There is one cycle, so nothing gathers; torch 2.11 warns of lost events where it is not told to keep them.
    with profile(activities=activities, acc_events=True) as seen:
        begin = time.perf_counter_ns()
        call()
        if on_device:
            torch.cuda.synchronize()
        wall_us = (time.perf_counter_ns() - begin) / 1000
    events = seen.key_averages()
    ours = sum(_spent_us(e, on_device) for e in events if e.key.startswith(LIBRARY))
    # A kernel's time stands beside the operator that launched it and once more as the kernel's own.
    kernels = sum(_spent_us(e, on_device) for e in events if e.device_type != DeviceType.CPU)
    total = kernels if on_device else wall_us
    return min(1.0, ours / total) if total > 0 else None


def _spent_us(event: FunctionEventAvg, on_device: bool) -> float:
    return float(event.self_device_time_total if on_device else event.self_cpu_time_total)
