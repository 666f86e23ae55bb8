"""The clock for candidates on this machine's cores: the grader's own, outside their process; and the limits of the cores.

Ceilings are read bandwidths by cache level. The floor asks what the compulsory bytes cost: what the caches may hold, since the
grader has just written it, at a rate that no core's loads exceed, and the rest at 1.5 times the bandwidth measured on main
memory; faster than that, a kernel did not read its inputs. A bandwidth of a cache is not asked: measured on a busy machine it
would refuse honest kernels.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.cpu.process import LibraryProcess, Loading
from kernelwright.evaluate.backends.host import Host, hash_block
from kernelwright.evaluate.languages.builder import Library, Order
from kernelwright.evaluate.languages.cpp import build as cpp
from kernelwright.evaluate.sandbox.arena import Arena
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.timing.clock import OUTSIDE
from kernelwright.evaluate.timing.conditions import Watch
from kernelwright.evaluate.timing.load import LoadMeter
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.measure import BaselineName
from kernelwright.records.tensor import TensorSpec

MARGIN = 1.5
FLOPS_PER_CYCLE = 64
HERTZ = 5.5e9
"""Generous for any core sold so far: two 16-lane fused multiply-adds a cycle."""
LOADED_PER_CYCLE = 128
"""Bytes that a core loads from its nearest cache, at most: two full lines a cycle."""
SHARED_PER_CYCLE = 32
"""Bytes that a core gets from the cache that it shares with others, at most: half a line a cycle, as cores are built today."""

PROBE = """\
#include <cstddef>
// Sums a buffer PASSES times with every core; the sum is stored so that no pass can be left out.
extern "C" void probe(const float* x, float* out) {
    float total = 0.0f;
#pragma omp parallel reduction(+ : total)
    for (int pass = 0; pass < PASSES; ++pass) {
        float sum = 0.0f;
#pragma omp for nowait
        for (std::ptrdiff_t block = 0; block < COUNT / 1024; ++block) {
            const float* p = x + block * 1024;
            float part = 0.0f;
#pragma omp simd reduction(+ : part)
            for (int i = 0; i < 1024; ++i) part += p[i];
            sum += part;
        }
        total += sum;
        asm volatile("" ::: "memory");
    }
    *out = total;
}
"""


@dataclass(frozen=True)
class Level:
    """One level of memory: how much it holds (all cores together) and a size to measure it with."""

    name: str
    holds: int
    probe_bytes: int


@cache
def levels() -> tuple[Level, ...]:
    """Cache levels from the kernel's own description, and main memory last."""
    totals: dict[int, int] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        seen = set()
        for index in Path(f"/sys/devices/system/cpu/cpu{cpu}/cache").glob("index*"):
            level, kind = int((index / "level").read_text()), (index / "type").read_text().strip()
            if kind == "Instruction" or level in seen:
                continue
            seen.add(level)
            shared = (index / "shared_cpu_list").read_text().strip()
            size = int((index / "size").read_text().strip().rstrip("K")) * 1024
            first = int(shared.replace("-", ",").split(",")[0])
            totals[level] = totals.get(level, 0) + (size if first == cpu or level not in totals else 0)
    caches = [Level(f"L{n}", size, max(size // 2, 32768)) for n, size in sorted(totals.items())]
    last = caches[-1].holds if caches else 32 << 20
    return (*caches, Level("memory", 1 << 62, max(4 * last, 128 << 20)))


def level_for(size: int) -> Level:
    """The smallest level that holds `size` bytes."""
    return next(level for level in levels() if size <= level.holds)


def probe(level: Level) -> Candidate:
    """The yardstick kernel for one level."""
    passes = max(1, (64 << 20) // level.probe_bytes)
    defines = (Define(name="COUNT", value=level.probe_bytes // 4), Define(name="PASSES", value=passes))
    return Candidate(language="cpp", source=PROBE, entry="probe", flags=("-fassociative-math", "-fno-signed-zeros",
                     "-fno-trapping-math"), defines=defines)  # fmt: skip


def floor_us(size: int, flops: int, gbps: float, cores: int, cached: int = 0, near: int = 0) -> float:
    """Microseconds that no honest kernel can undercut.

    `gbps` is main memory's; `cached` is what all caches hold, and `near` of it those that a core has for itself.
    """
    beyond = max(0, size - cached)
    shared = max(0, size - beyond - near)
    loads = shared / SHARED_PER_CYCLE + (size - beyond - shared) / LOADED_PER_CYCLE
    memory = beyond / (MARGIN * gbps * 1e3) + loads / (cores * HERTZ) * 1e6
    arithmetic = flops / (cores * HERTZ * FLOPS_PER_CYCLE) * 1e6
    return max(memory, arithmetic)


class CpuClock:
    """Implements `Clock`."""

    on_device, cpu_time_tells, keeps_baselines = False, True, False
    pace = OUTSIDE
    launch_us = 2.0
    """A dispatch of PyTorch's."""
    least_us: Mapping[int, float] = {}
    baselines: tuple[BaselineName, ...] = ("eager", "compile", "freeze")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._bandwidth: dict[str, float] = {}

    def busy(self) -> Sequence[Callable[[], None]]:
        """See `Clock.busy`."""
        return [hash_block] * self._host.device.cores

    def ceiling_gbps(self, size: int, again: bool = False) -> float:
        """See `Clock.ceiling_gbps`: of the smallest level of cache that holds them."""
        level = level_for(size)
        if again or level.name not in self._bandwidth:
            self._bandwidth[level.name] = max(self._measure(level), self._bandwidth.get(level.name, 0.0))
        return self._bandwidth[level.name]

    def floor_us(self, size: int, flops: int) -> float:
        """See `Clock.floor_us`."""
        near, cached = (0, 0, *(level.holds for level in levels()[:-1]))[-2:]
        return floor_us(size, flops, self.ceiling_gbps(size), self._host.device.cores, cached, near)

    def watch(self) -> Watch:
        """A CPU has no clocks that could be read for sure; what else it does is looked at."""
        return Watch(meter=LoadMeter())

    def _measure(self, level: Level) -> float:
        candidate = probe(level)
        library = cpp.build(Order(self._host.warm, candidate, 60.0))
        if not isinstance(library, Library):
            raise RefereeError(f"the bandwidth yardstick did not build: {library}")
        arena = Arena([level.probe_bytes])
        torch.frombuffer(arena.memory(0), dtype=torch.float32).fill_(1.0)
        output = TensorSpec(name="out", shape=(), dtype="float32")
        process = LibraryProcess(self._host.warm.spawn("cpp", Jail(directory="/")), 30.0, [output])
        try:
            how = Loading(candidate.entry, self._host.device.cores)
            process.load((arena.layout(), [arena.descriptor]), library.descriptor, how)
            fastest = min(process.run([(0,)], checked=False).outside_ns for _ in range(25))
        finally:
            process.close()
            library.close()
            arena.close()
        passes = next(d.value for d in candidate.defines if d.name == "PASSES")
        return level.probe_bytes * passes / fastest
