"""The clock for candidates on an NVIDIA GPU: the device's events; and the limits of the device.

A yardstick kernel shows the ceiling. The floor divides compulsory bytes by the *theoretical* bandwidth, which no kernel
reaches; data that fits the L2 may come from there, at several times that.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import torch
from cuda.bindings import driver

from kernelwright.evaluate.backends.cuda.machine import GPU_JAIL
from kernelwright.evaluate.backends.cuda.process import ModelProcess
from kernelwright.evaluate.backends.host import Host, hash_block
from kernelwright.evaluate.sandbox.cuda_arena import CudaArena, check
from kernelwright.evaluate.sandbox.messages.candidates import LoadModel
from kernelwright.evaluate.timing import conditions
from kernelwright.evaluate.timing.clock import DEVICE
from kernelwright.evaluate.timing.conditions import Watch
from kernelwright.records.candidate import Candidate
from kernelwright.records.measure import BaselineName
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

L2_ADVANTAGE = 6.0
"""Most that an L2 is faster than its device memory, generously."""
FLOPS_PER_CYCLE = 8192
"""Operations one multiprocessor can do in a cycle on its fastest pipe that a tolerance could admit, generously."""
YARDSTICK_BYTES = 8 << 30

YARDSTICK = '''\
"""Reads its input once and keeps one sum a program: the most that reading can reach."""

import torch
import triton
import triton.language as tl

BLOCK = 8192
PROGRAMS_PER_SM = 4


@triton.jit
def read(x, out, count, stride, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(program * BLOCK, count, stride):
        total += tl.load(x + start + lanes, eviction_policy="evict_first")
    tl.store(out + program, tl.sum(total))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        programs = torch.cuda.get_device_properties(0).multi_processor_count * PROGRAMS_PER_SM
        out = torch.empty(programs, device=x.device)
        read[(programs,)](x, out, x.numel(), programs * BLOCK, BLOCK, num_warps=8)
        return out
'''


def yardstick() -> Candidate:
    """The kernel that the ceiling is measured with."""
    return Candidate(language="triton", source=YARDSTICK)


def theoretical_gbps() -> float:
    """10^9 bytes a second, from the driver's memory clock and bus width (two transfers a clock)."""
    attribute = driver.CUdevice_attribute
    clock_khz = check(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 0))
    bits = check(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 0))
    return float(2 * clock_khz * 1e3 * bits / 8 / 1e9)


def floor_us(size: int, flops: int) -> float:
    """Microseconds that no honest kernel can undercut."""
    device = torch.cuda.get_device_properties(0)
    gbps = theoretical_gbps() * (L2_ADVANTAGE if size < 2 * device.L2_cache_size else 1.0)
    hertz = 2.2e9
    arithmetic = flops / (device.multi_processor_count * FLOPS_PER_CYCLE * hertz) * 1e6
    return float(max(size / gbps / 1e3, arithmetic))


LEAST_US = {1: 0.2, 2: 0.25}
"""Smallest difference that is told, by tier. Processes of one and the same kernel were seen to differ by up to 0.25 us; most
of that is what starting any kernel takes in them, which is known and evened out where nobody can lie about it."""
WIDTH = 2048
"""Of the matrices that keep the device busy."""
HASHING = 7
"""Most threads that keep the host busy: with 63, each of which waits for the interpreter's lock as often as the grader does,
twenty runs of a kernel of a millisecond took a minute."""


class CudaClock:
    """Implements `Clock`."""

    on_device, cpu_time_tells, keeps_baselines = True, False, True
    pace = DEVICE
    launch_us = 5.0
    """A kernel's launch."""
    least_us: Mapping[int, float] = LEAST_US
    baselines: tuple[BaselineName, ...] = ("eager", "compile", "compile_max", "graph", "freeze")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._read_gbps = 0.0

    def ceiling_gbps(self, size: int, again: bool = False) -> float:
        """See `Clock.ceiling_gbps`; the same for every size, since inputs come from device memory."""
        if again or not self._read_gbps:
            self._read_gbps = max(self._read_bandwidth(), self._read_gbps)
        return self._read_gbps

    def busy(self) -> Sequence[Callable[[], None]]:
        """See `Clock.busy`: one thread feeds the device, beside many that are busy."""
        return [_multiply] + [hash_block] * min(self._host.device.cores - 1, HASHING)

    def floor_us(self, size: int, flops: int) -> float:
        """See `Clock.floor_us`."""
        return floor_us(size, flops)

    def watch(self) -> Watch:
        """Eyes on this GPU, where NVML is there."""
        return conditions.watch(str(torch.cuda.get_device_properties(0).uuid))

    def _read_bandwidth(self) -> float:
        free, _ = torch.cuda.mem_get_info()
        count = min(YARDSTICK_BYTES, free // 4) // 4 >> 20 << 20
        spec = TensorSpec(name="x", shape=(count,), dtype="float32")
        out = TensorSpec(name="out", shape=(self._host.device.cores * 4,), dtype="float32")
        arena = CudaArena([spec.nbytes])
        arena.tensor(0, 0, spec).fill_(1.0)
        torch.cuda.synchronize()
        process = ModelProcess(self._host.warm.spawn("cuda", GPU_JAIL), 60.0)
        try:
            outbox = process.open_outbox(1 << 20)
            workload = Workload(inputs=(spec,), parameters=(), outputs=(out,))
            command = LoadModel(
                sizes=arena.layout(),
                outbox=process.outbox.nbytes,
                candidate=yardstick(),
                workload=workload,
                init="",
                files=(*arena.descriptors, outbox),
            )
            process.ask(command)
            process.run([(0,)], checked=False)
            fastest = min(process.run([(0,)], checked=False).inside_ns for _ in range(9))
        finally:
            process.close()
            arena.close()
        return spec.nbytes / fastest


@cache
def _aside() -> torch.cuda.Stream:
    """One for all: what is allocated for a stream stays with it."""
    return torch.cuda.Stream()


def _multiply() -> None:
    """Some milliseconds of the device, beside what the grader does there."""
    with torch.cuda.stream(_aside()):
        matrix = torch.ones(WIDTH, WIDTH, device="cuda")
        for _ in range(8):
            matrix = matrix @ matrix
            matrix.clamp_(-1, 1)
        torch.cuda.current_stream().synchronize()
