"""One call at a time on the device: how it is prepared, timed and undone. The same for every side, whatever it launches.

A call is `enqueue(i)`: it puts the work of call i on the current stream and returns what it computed. Around each one:

1. The device is idle, and persisting L2 lines are made ordinary ones. That call acts when it is made, not in the order of
   the stream, so that calls which are all queued at once could not be kept apart by it.
2. Twice the L2's size is written and then read: nothing that an earlier call left is still there, and the lines that are
   have been written back, so that the timed call does not pay for the flush.
3. The device spins as long as the grader says, the same for every side: host work hides behind it.
4. An event, the call, an event. Where host code is foreign (`watched`), the spin takes every thread that the device has, so
   that no other stream can work behind it; the second event is waited for, then the whole device: what other streams still do
   is part of the call.

Knows torch and the CUDA driver, neither tensors of a task nor who is asking.
"""

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch
from cuda.bindings import driver

from kernelwright.evaluate.sandbox.messages.calls import Clocked

Enqueue = Callable[[int], object]

CYCLES_PER_NS = 1.98
"""Of torch's spin kernel at the highest clock of Hopper; where the clock is lower, it spins longer."""
SLACK_NS = 10_000
"""Beside twice what asking an idle device takes: less than this of another stream's work is not seen."""
SPIN = """
extern "C" __global__ void spin(int cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
}
"""
SPIN_THREADS = 512
"""Of a block that spins; every multiprocessor holds a multiple of it."""
UNSUPPORTED = driver.CUresult.CUDA_ERROR_NOT_SUPPORTED
"""A device without persisting lines has none to reset."""


class DeviceClock:
    """State of this process: the memory that the L2 is flushed with."""

    off: Sequence[str] = ()
    """Defences that a test switched off: `watched`, `cold_cache`."""

    def __init__(self, watched: bool) -> None:
        self._watched = watched
        size = 2 * int(torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size)
        self._flush = torch.zeros(size // 4, dtype=torch.int32, device="cuda")
        self._asking_ns = 0
        self._spin: Callable[[int], None] = _everywhere() if watched else torch.cuda._sleep

    def each(
        self, enqueue: Enqueue, calls: int, busy_ns: int, prepare: Sequence[Callable[[], None]] = ()
    ) -> tuple[list[object], Clocked]:
        """What the calls computed, and nanoseconds: on the device of each, of the host's longest queueing, of `prepare`."""
        cycles = round(busy_ns * CYCLES_PER_NS)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        results, times, queued, beside = [], [], 0, 0
        watched = self._watched and "watched" not in self.off
        if watched:
            # Anew for every sample: what asking takes follows what else uses the device.
            self._asking_ns = 0
            self._asking_ns = SLACK_NS + 2 * int(median(self._left_ns() for _ in range(5)))
        for i in range(calls):
            if prepare:
                begin = time.perf_counter_ns()
                prepare[i]()
                torch.cuda.synchronize()
                beside += time.perf_counter_ns() - begin
            self._forget()
            self._spin(cycles)
            host = time.perf_counter_ns()
            start.record()
            results.append(enqueue(i))
            end.record()
            queued = max(queued, time.perf_counter_ns() - host)
            end.synchronize()
            left = self._left_ns() if watched else 0
            times.append(round(start.elapsed_time(end) * 1e6) + left)
        return results, Clocked(ns=sum(times), each_ns=times, queued_ns=queued, beside_ns=beside)

    def _left_ns(self) -> int:
        """How long the device goes on, where that is more than asking an idle one takes."""
        begin = time.perf_counter_ns()
        torch.cuda.synchronize()
        left = time.perf_counter_ns() - begin
        return left if left > self._asking_ns else 0

    def _forget(self) -> None:
        torch.cuda.synchronize()
        if "cold_cache" in self.off:
            return
        code = driver.cuCtxResetPersistingL2Cache()[0]
        if int(code) and code != UNSUPPORTED:
            raise RuntimeError(f"persisting L2 lines could not be reset: {code!r}")
        self._flush.fill_(1)
        self._flush.max()


def _everywhere() -> Callable[[int], None]:
    """A spin that leaves no thread of the device free."""
    device = torch.cuda.get_device_properties(torch.cuda.current_device())
    blocks = device.multi_processor_count * (device.max_threads_per_multi_processor // SPIN_THREADS)
    kernel = torch.cuda._compile_kernel(SPIN, "spin")

    def spin(cycles: int) -> None:
        kernel(grid=(blocks, 1, 1), block=(SPIN_THREADS, 1, 1), args=[cycles])

    return spin


def together(enqueue: Enqueue, calls: int) -> tuple[list[object], Clocked]:
    """What the calls computed, one after the other without preparation; for verifying, which needs no time."""
    begin = time.perf_counter_ns()
    results = [enqueue(i) for i in range(calls)]
    torch.cuda.synchronize()
    return results, Clocked(ns=time.perf_counter_ns() - begin)


def waiting(enqueue: Enqueue, calls: int) -> tuple[list[object], Clocked]:
    """As a program calls that needs each result: the device is waited for after every call."""
    begin = time.perf_counter_ns()
    results = []
    for i in range(calls):
        results.append(enqueue(i))
        torch.cuda.synchronize()
    return results, Clocked(ns=time.perf_counter_ns() - begin)


def nothing(index: int) -> None:
    """A call that launches one kernel which does nothing: what the events themselves cost."""
    torch.cuda._sleep(0)
