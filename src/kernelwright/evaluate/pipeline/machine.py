"""The machine under the referee: its warm parent, its device, and the ceilings measured on it, once each."""

import platform
from pathlib import Path

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.compile import cpp
from kernelwright.evaluate.pipeline.contestant_cpp import CppContestant, Loading
from kernelwright.evaluate.pipeline.session import Session
from kernelwright.evaluate.pipeline.turn import Turn
from kernelwright.evaluate.profile import ceiling
from kernelwright.evaluate.profile.conditions import Watch
from kernelwright.evaluate.sandbox.arena import Arena
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.calls import Prepare
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.records.measure import BaselineName
from kernelwright.records.run import Device
from kernelwright.records.tensor import TensorSpec

COMPILE_LIMIT_S = 600.0


class Machine:
    """What every trial on this machine shares."""

    def __init__(self, warm: Warm, cores: int) -> None:
        self.warm = warm
        self.turn = Turn()
        """Held by whoever uses the device: nothing else may run beside a clock."""
        self._bandwidth: dict[str, float] = {}
        self.device = Device(kind="cpu", name=_cpu_name(), cores=cores, cache_bytes=_last_cache())

    def bandwidth(self, level: ceiling.Level, again: bool = False) -> float:
        """Read bandwidth of one level in 10^9 bytes a second: the best of what was measured so far.

        `again` measures once more: a neighbour's noise can only make a ceiling look low, and a kernel suspect.

        Raises:
            MachineError: there is no compiler.
            RefereeError: the yardstick kernel did not build.
        """
        if again or level.name not in self._bandwidth:
            self._bandwidth[level.name] = max(self._measure(level), self._bandwidth.get(level.name, 0.0))
        return self._bandwidth[level.name]

    def ceiling_gbps(self, size: int, again: bool = False) -> float:
        """Read bandwidth for this many bytes, in 10^9 bytes a second."""
        return self.bandwidth(ceiling.level_for(size), again)

    def floor_us(self, size: int, flops: int) -> float:
        """Microseconds that no honest kernel can undercut."""
        return ceiling.floor_us(size, flops, self.ceiling_gbps(size), self.device.cores)

    def activate(self, session: Session) -> None:
        """It is this task's turn."""

    def settle(self) -> None:
        """Wait until nothing that the referee itself began disturbs the clock."""

    def close(self) -> None:
        """End the warm parent and with it every child."""
        self.warm.close()

    def prepare(self, session: Session, variant: BaselineName) -> str:
        """Make a baseline ready, once for a session: why it cannot be made, or nothing.

        Takes minutes where the compiler's cache is cold.
        """
        if variant not in session.prepared and variant != "eager":
            windows = [session.cases[0].offsets[: len(session.inputs)]]
            prepared = session.reference.ask(Prepare(variant=variant, calls=windows), limit_s=COMPILE_LIMIT_S)
            if variant == "compile":
                session.reference.compute(windows, variant, COMPILE_LIMIT_S)
            session.prepared[variant] = prepared.missing
        return session.prepared.get(variant, "")

    def watch(self) -> Watch:
        """Eyes on the device for one contest; a CPU is not watched."""
        return Watch()

    def _measure(self, level: ceiling.Level) -> float:
        candidate = ceiling.probe(level)
        library = cpp.build(self.warm, candidate, 60.0)
        if not isinstance(library, cpp.Library):
            raise RefereeError(f"the bandwidth yardstick did not build: {library}")
        arena = Arena([level.probe_bytes])
        torch.frombuffer(arena.memory(0), dtype=torch.float32).fill_(1.0)
        output = TensorSpec(name="out", shape=(), dtype="float32")
        contestant = CppContestant(self.warm.spawn("cpp", Jail(directory="/")), 30.0, [output])
        try:
            how = Loading(candidate.entry, self.device.cores)
            contestant.load((arena.layout(), [arena.descriptor]), library.descriptor, how)
            fastest = min(contestant.run([(0,)], checked=False).outside_ns for _ in range(25))
        finally:
            contestant.close()
            library.close()
            arena.close()
        passes = next(d.value for d in candidate.defines if d.name == "PASSES")
        return level.probe_bytes * passes / fastest


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _last_cache() -> int:
    known = [level for level in ceiling.levels() if level.name != "memory"]
    return known[-1].holds if known else 0
