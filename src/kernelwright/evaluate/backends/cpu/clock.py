"""The clock for candidates on this machine's cores: the grader's own, outside their process; and the ceilings above them."""

from collections.abc import Callable, Mapping, Sequence

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.cpu import ceiling
from kernelwright.evaluate.backends.cpu.process import CppContestant, Loading
from kernelwright.evaluate.backends.host import Host, hash_block
from kernelwright.evaluate.languages.artifact import Library
from kernelwright.evaluate.languages.builder import Order
from kernelwright.evaluate.languages.cpp import build as cpp
from kernelwright.evaluate.profile.clock import OUTSIDE
from kernelwright.evaluate.profile.conditions import Watch
from kernelwright.evaluate.sandbox.arena import Arena
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.records.measure import BaselineName
from kernelwright.records.tensor import TensorSpec


class CpuClock:
    """Implements `Clock`."""

    on_device, cpu_time_tells, keeps_baselines = False, True, False
    pace = OUTSIDE
    launch_us = 2.0
    """A dispatch of PyTorch's."""
    least_us: Mapping[int, float] = {}
    baselines: tuple[BaselineName, ...] = ("eager", "compile")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._bandwidth: dict[str, float] = {}

    def busy(self) -> Sequence[Callable[[], None]]:
        """See `Clock.busy`."""
        return [hash_block] * self._host.device.cores

    def ceiling_gbps(self, size: int, again: bool = False) -> float:
        """See `Clock.ceiling_gbps`: of the smallest level of cache that holds them."""
        level = ceiling.level_for(size)
        if again or level.name not in self._bandwidth:
            self._bandwidth[level.name] = max(self._measure(level), self._bandwidth.get(level.name, 0.0))
        return self._bandwidth[level.name]

    def floor_us(self, size: int, flops: int) -> float:
        """See `Clock.floor_us`."""
        return ceiling.floor_us(size, flops, self.ceiling_gbps(size), self._host.device.cores)

    def watch(self) -> Watch:
        """A CPU is not watched."""
        return Watch()

    def _measure(self, level: ceiling.Level) -> float:
        candidate = ceiling.probe(level)
        library = cpp.build(Order(self._host.warm, candidate, 60.0))
        if not isinstance(library, Library):
            raise RefereeError(f"the bandwidth yardstick did not build: {library}")
        arena = Arena([level.probe_bytes])
        torch.frombuffer(arena.memory(0), dtype=torch.float32).fill_(1.0)
        output = TensorSpec(name="out", shape=(), dtype="float32")
        process = CppContestant(self._host.warm.spawn("cpp", Jail(directory="/")), 30.0, [output])
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
