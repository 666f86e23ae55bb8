"""Calls on the device as the grader asks for them, and results in the outbox. Runs inside children, for all sides alike."""

from collections.abc import Callable, Sequence

import torch

from kernelwright.evaluate.sandbox.cuda_arena import LINE, CudaView
from kernelwright.evaluate.sandbox.messages.calls import Clocked, Clocking, Found
from kernelwright.evaluate.sides import device_clock
from kernelwright.evaluate.sides.device_clock import DeviceClock, Enqueue
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

_clocks: dict[bool, DeviceClock] = {}


def timed(
    function: Callable[..., object],
    calls: Sequence[Sequence[object]],
    how: Clocking,
    prepare: Sequence[Callable[[], None]] = (),
) -> tuple[list[object], Clocked]:
    """Results of `function` on each call's arguments, with the times that the grader's question asks for."""
    return clocked(lambda i: function(*calls[i]), len(calls), how, prepare)


def clocked(
    enqueue: Enqueue, calls: int, how: Clocking, prepare: Sequence[Callable[[], None]] = ()
) -> tuple[list[object], Clocked]:
    """Results, and times as `how` says.

    Where each call is timed by itself, `prepare` has what is done before it, outside its time: its parameters are taken.
    """
    torch.cuda.synchronize()
    if how.clock in ("each", "overhead"):
        device = the_clock(how.watched)
        device.off = how.off
        if how.clock == "overhead":
            enqueue, prepare = device_clock.nothing, ()
        return device.each(enqueue, calls, how.busy_ns, prepare)
    return device_clock.waiting(enqueue, calls) if how.clock == "waiting" else device_clock.together(enqueue, calls)


def the_clock(watched: bool) -> DeviceClock:
    """This process's clock, made when it is first needed: a child that is only verified needs no flush memory."""
    if watched not in _clocks:
        _clocks[watched] = DeviceClock(watched)
    return _clocks[watched]


def publish(outbox: CudaView, results: Sequence[Sequence[torch.Tensor]], capacity: int) -> list[list[Found]]:
    """Copy results into the outbox; each is described by its offset there, -1 where it did not fit."""
    described: list[list[Found]] = []
    offset = 0
    for call in results:
        described.append([])
        for tensor in call:
            dtype, size = str(tensor.dtype).removeprefix("torch."), tensor.numel() * tensor.element_size()
            fits = dtype in ITEM_BYTES and offset + size <= capacity
            if fits and tensor.numel():
                spec = TensorSpec.model_validate({"name": "", "shape": tuple(tensor.shape), "dtype": dtype})
                outbox.tensor(0, offset, spec).copy_(tensor)
            address = offset if fits else -1
            described[-1].append(Found(address=address, dtype=dtype, shape=tuple(tensor.shape)))
            offset += -(-size // LINE) * LINE
    torch.cuda.synchronize()
    return described
