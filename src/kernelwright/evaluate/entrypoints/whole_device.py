"""Two kernels that take every thread of the device: one keeps it, the other waits until it is free.

Foreign host code may work on streams that nobody else knows. A kernel of as many blocks as the device holds at once shows
that: where each block stays until all have begun, it cannot end while another kernel has a thread. The device's own events
tell how long that took, to a microsecond; the host's clock over a wait for the device errs by tens of them, whenever anything
else wants a processor core. Runs inside children.
"""

import time
from collections.abc import Callable

import torch

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
    """All threads of the current device."""

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
