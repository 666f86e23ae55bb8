"""Timed calls on the device and results in the outbox. Runs inside children, for the reference and candidates alike.

A sample is one stretch of the device's own time: the stream is first kept busy, so that every call is queued before the
first one starts and host work does not show in the device's time.
"""

import time
from collections.abc import Callable, Sequence

import torch

from kernelwright.evaluate.sandbox.cuda_arena import CudaView
from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

LINE = 512
"""Alignment of results in the outbox, in bytes."""


def timed(
    function: Callable[..., object], calls: Sequence[Sequence[object]], busy_cycles: int
) -> tuple[list[object], Message]:
    """Results, with nanoseconds on the device and, without the busy stretch, on the host."""
    begin, start, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
    torch.cuda.synchronize()
    begin.record()
    if busy_cycles:
        torch.cuda._sleep(busy_cycles)
    host = time.perf_counter_ns()
    start.record()
    results = [function(*arguments) for arguments in calls]
    end.record()
    queued = time.perf_counter_ns() - host
    torch.cuda.synchronize()
    device = int(start.elapsed_time(end) * 1e6)
    return results, {"ns": device, "busy_ns": int(begin.elapsed_time(start) * 1e6), "queued_ns": queued}


def publish(outbox: CudaView, results: Sequence[Sequence[torch.Tensor]], capacity: int) -> list[list[list[object]]]:
    """Copy results into the outbox; each is described by its offset there, -1 where it did not fit."""
    described: list[list[list[object]]] = []
    offset = 0
    for call in results:
        described.append([])
        for tensor in call:
            dtype, size = str(tensor.dtype).removeprefix("torch."), tensor.numel() * tensor.element_size()
            fits = dtype in ITEM_BYTES and offset + size <= capacity
            if fits and tensor.numel():
                spec = TensorSpec.model_validate({"name": "", "shape": tuple(tensor.shape), "dtype": dtype})
                outbox.tensor(0, offset, spec).copy_(tensor)
            described[-1].append([offset if fits else -1, dtype, list(tensor.shape)])
            offset += -(-size // LINE) * LINE
    torch.cuda.synchronize()
    return described
