"""One call at a time on the device: how it is prepared, timed and undone. The same for every side, whatever it launches.

A call is `enqueue(i)`: it puts the work of call i on the current stream and returns what it computed. Around each one:

1. The device is idle, and persisting L2 lines are made ordinary ones. That call acts when it is made, not in the order of
   the stream, so that calls which are all queued at once could not be kept apart by it.
2. Twice the L2's size is written and then read: nothing that an earlier call left is still there, and the lines that are
   have been written back, so that the timed call does not pay for the flush.
3. The device spins as long as the grader says, the same for every side: host work hides behind it.
4. An event, the call, an event. Where host code is untrusted (`watched`), the spin takes every thread that the device has, so
   that no other stream can work behind it, and the call is made when it has begun: what came sooner would run beside the
   flush, and the spin would wait for its place. Behind the second event lies a kernel that needs every thread again, and a
   third event: how much longer that takes than behind a call that does nothing is what other streams still did
   (`WholeDevice`). What uses no thread, a copy by the device's own engine, shows in the host's wait, if it is long.

Results go to the outbox after the clock. Runs inside children.
"""

import time
from collections.abc import Callable, Sequence
from functools import cache

import torch
from cuda.bindings import driver

from kernelwright.evaluate.sandbox.cuda_arena import LINE, CudaView
from kernelwright.evaluate.sandbox.messages.calls import Clocked, Clocking, Found
from kernelwright.records.tensor import ITEM_BYTES, TensorSpec

BEGINS_NS = 50_000_000
"""How long a spin is waited for to begin, where others use the device too."""
THREADS = 512
"""Of a block; every multiprocessor holds a multiple of it."""
SPIN = """
extern "C" __global__ void spin(int cycles, volatile int* begun) {
  const long long begin = clock64();
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *begun = 1;
  while (clock64() - begin < cycles) {}
}
"""
GATHER = """
extern "C" __global__ void gather(unsigned* arrived, volatile unsigned* round) {
  if (threadIdx.x == 0) {
    const unsigned mine = *round;
    __threadfence();
    if (atomicAdd(arrived, 1u) == gridDim.x - 1) {
      *arrived = 0;
      __threadfence();
      *round = mine + 1;
    } else {
      while (*round == mine) {}
    }
  }
  __syncthreads();
}
"""


class WholeDevice:
    """Two kernels that take every thread of the device: one keeps it, the other waits until it is free.

    Foreign host code may work on streams that nobody else knows. A kernel of as many blocks as the device holds at once shows
    that: where each block stays until all have begun, it cannot end while another kernel has a thread. The device's own
    events tell how long that took, to a microsecond; the host's clock over a wait for the device errs by tens of them,
    whenever anything else wants a processor core.
    """

    def __init__(self) -> None:
        device = torch.cuda.get_device_properties(torch.cuda.current_device())
        self._blocks = device.multi_processor_count * (device.max_threads_per_multi_processor // THREADS)
        self._spin = torch.cuda._compile_kernel(SPIN, "spin")
        self._gather = torch.cuda._compile_kernel(GATHER, "gather")
        self._begun = torch.zeros(1, dtype=torch.int32, pin_memory=True)
        self._seen = self._begun.numpy()
        self._arrived = torch.zeros(2, dtype=torch.int32, device="cuda")

    def spin(self, cycles: int) -> None:
        """Keep it for so long. It has begun in every thread when this returns."""
        self._seen[0] = 0
        self._launch(self._spin, [cycles, self._begun])
        last = time.perf_counter_ns() + BEGINS_NS
        while not self._seen[0] and time.perf_counter_ns() < last:
            pass

    def gather(self) -> None:
        """Queue a kernel that ends when every block of it has begun, which is when no other kernel has a thread any more."""
        self._launch(self._gather, [self._arrived[:1], self._arrived[1:]])

    def _launch(self, kernel: Callable[..., None], arguments: list[object]) -> None:
        kernel(grid=(self._blocks, 1, 1), block=(THREADS, 1, 1), args=arguments)


Enqueue = Callable[[int], object]

CYCLES_PER_NS = 1.98
"""Of torch's spin kernel at the highest clock of Hopper; where the clock is lower, it spins longer."""
SLACK_NS = 5_000
"""Of another stream's work on the device, less than this is not seen; nor is it by the bound from outside."""
HOST_SLACK_NS = 50_000
"""What the host may take to see that the device is idle: more of it is work."""
IDLE_CALLS, IDLE_BUSY_NS = 5, 200_000
"""Calls that do nothing, of which it is learnt what the device takes to be free, and how long it spins before each."""
UNSUPPORTED = driver.CUresult.CUDA_ERROR_NOT_SUPPORTED
"""A device without persisting lines has none to reset."""


class Events:
    """Before a call, behind it, and when the device is free."""

    def __init__(self) -> None:
        self.start, self.end, self.free = (torch.cuda.Event(enable_timing=True) for _ in range(3))

    @property
    def call_ns(self) -> int:
        """What the call took on its stream."""
        return int(self.start.elapsed_time(self.end) * 1e6 + 0.5)

    @property
    def free_ns(self) -> int:
        """What the device took to be free behind it."""
        return int(self.end.elapsed_time(self.free) * 1e6 + 0.5)


class DeviceClock:
    """State of this process: the memory that the L2 is flushed with."""

    cold_cache = True
    """Whether the L2 is emptied before each call; only a test of the defence leaves that out."""

    def __init__(self, watched: bool) -> None:
        self._watched, self._flush = watched, flush_memory()
        self._whole = WholeDevice() if watched else None
        self._spin: Callable[[int], None] = self._whole.spin if self._whole else torch.cuda._sleep

    def each(
        self, enqueue: Enqueue, calls: int, busy_ns: int, prepare: Sequence[Callable[[], None]] = ()
    ) -> tuple[list[object], Clocked]:
        """What the calls computed, and nanoseconds: on the device of each, of the host's longest queueing, of `prepare`."""
        events = Events()
        results, times, queued, beside = [], [], 0, 0
        # Anew for every sample: it follows what else uses the device.
        idle_ns = self._idle_ns(events) if self._watched else 0
        for i in range(calls):
            if prepare:
                begin = time.perf_counter_ns()
                prepare[i]()
                torch.cuda.synchronize()
                beside += time.perf_counter_ns() - begin
            result, host_ns = self._between(events, enqueue, i, busy_ns)
            results.append(result)
            queued = max(queued, host_ns)
            times.append(events.call_ns + (_left_ns(events, idle_ns) if self._watched else 0))
        return results, Clocked(ns=sum(times), each_ns=times, queued_ns=queued, beside_ns=beside)

    def _between(self, events: Events, enqueue: Enqueue, index: int, busy_ns: int) -> tuple[object, int]:
        """What a call between two events computed, behind a spin; and nanoseconds that the host took to queue it."""
        self._forget()
        self._spin(round(busy_ns * CYCLES_PER_NS))
        host = time.perf_counter_ns()
        events.start.record()
        result = enqueue(index)
        events.end.record()
        if self._whole:
            self._whole.gather()
        events.free.record()
        queued = time.perf_counter_ns() - host
        events.free.synchronize()
        return result, queued

    def _idle_ns(self, events: Events) -> int:
        """What the device takes to be free behind a call that does nothing, where the host does not queue too late."""
        found = []
        for _ in range(IDLE_CALLS):
            self._between(events, nothing, 0, IDLE_BUSY_NS)
            found.append(events.free_ns)
        return min(found)

    def occupy(self, busy_ns: int) -> None:
        """Keep the device busy for so long: all of it, where host code is untrusted."""
        self._spin(round(busy_ns * CYCLES_PER_NS))

    def _forget(self) -> None:
        torch.cuda.synchronize()
        if not self.cold_cache:
            return
        code = driver.cuCtxResetPersistingL2Cache()[0]
        if int(code) and code != UNSUPPORTED:
            raise RuntimeError(f"persisting L2 lines could not be reset: {code!r}")
        self._flush.fill_(1)
        self._flush.max()


def _left_ns(events: Events, idle_ns: int) -> int:
    """How long the device went on behind a call: as its own clock says, and beyond that as the host's does."""
    begin = time.perf_counter_ns()
    torch.cuda.synchronize()
    waited_ns, busy_ns = time.perf_counter_ns() - begin, events.free_ns - idle_ns
    return (busy_ns if busy_ns > SLACK_NS else 0) + (waited_ns if waited_ns > HOST_SLACK_NS else 0)


@cache
def flush_memory() -> torch.Tensor:
    """Twice the L2's size, of this process for as long as it lives.

    To be taken before anything large: cut out of a large block that is free, it would leave one that is of no use any more.
    """
    size = 2 * int(torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size)
    return torch.zeros(size // 4, dtype=torch.int32, device="cuda")


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


class Left:
    """What calls leave behind beside their results: looked at before the next call changes it, and outside the clock."""

    def __init__(self, look: Callable[[int], list[torch.Tensor]]) -> None:
        self._look = look
        self._seen: dict[int, list[torch.Tensor]] = {}

    def around(
        self, enqueue: Enqueue, ready: Sequence[Callable[[], None]], how: Clocking, stateful: bool
    ) -> tuple[Enqueue, Sequence[Callable[[], None]]]:
        """The calls, and what is done before each: where they are not timed one by one, a stateful one does it itself."""
        if not stateful:
            return enqueue, ready

        def before(index: int) -> None:
            if index:
                self._seen[index - 1] = self._look(index - 1)
            ready[index]()

        if how.clock == "each":
            return enqueue, [lambda i=i: before(i) for i in range(len(ready))]

        def whole(index: int) -> object:
            before(index)
            return enqueue(index)

        return whole, ()

    def all(self, calls: int) -> list[list[torch.Tensor]]:
        """What every call left."""
        return [self._seen[i] if i in self._seen else self._look(i) for i in range(calls)]


_clocks: dict[bool, DeviceClock] = {}


def clocked(
    enqueue: Enqueue, calls: int, how: Clocking, prepare: Sequence[Callable[[], None]] = ()
) -> tuple[list[object], Clocked]:
    """Results, and times as `how` says.

    Where each call is timed by itself, `prepare` has what is done before it, outside its time: its parameters are taken.
    """
    torch.cuda.synchronize()
    if how.clock in ("each", "overhead"):
        device = the_clock(how.watched)
        device.cold_cache = how.cold_cache
        if how.clock == "overhead":
            enqueue, prepare = nothing, ()
        return device.each(enqueue, calls, how.busy_ns, prepare)
    return waiting(enqueue, calls) if how.clock == "waiting" else together(enqueue, calls)


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
