"""The GPU under the referee: its name, its ceiling measured with a yardstick kernel, its floor."""

import os
from pathlib import Path

import torch

from kernelwright.evaluate import toolkit
from kernelwright.evaluate.pipeline.contestant_cuda import CudaContestant
from kernelwright.evaluate.pipeline.machine import Machine
from kernelwright.evaluate.pipeline.session import Session
from kernelwright.evaluate.pipeline.session_cuda import CudaSession
from kernelwright.evaluate.profile import ceiling_cuda, conditions
from kernelwright.evaluate.profile.conditions import Watch
from kernelwright.evaluate.python_extension.precompiled import precompile
from kernelwright.evaluate.sandbox.cuda_arena import CudaArena
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.calls import LoadModel
from kernelwright.evaluate.sandbox.spares import Spares
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.knowledge.hardware import Hardware, hardware
from kernelwright.records.run import Device
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

LAUNCHER_JAIL = Jail(directory="/", memory_bytes=1 << 40)
"""No program is started there: the code arrives compiled."""
GPU_JAIL = Jail(directory="/", may_execute=True, memory_bytes=1 << 40, tmpfs_bytes=1 << 30)


class CudaMachine(Machine):
    """What every trial on this GPU shares."""

    def __init__(self, warm: Warm, cores: int) -> None:
        super().__init__(warm, cores)
        found = torch.cuda.get_device_properties(0)
        self._spares: dict[str, Spares] = {}
        self._headers: Path | None = None
        self._active: CudaSession | None = None
        self.device = Device(
            kind="cuda", name=found.name, cores=found.multi_processor_count, cache_bytes=found.L2_cache_size
        )

    @property
    def hardware(self) -> Hardware:
        """The architecture's facts, with those of the very device."""
        found = torch.cuda.get_device_properties(0)
        update = {
            "device": found.name,
            "multiprocessors": found.multi_processor_count,
            "cache_bytes": found.L2_cache_size,
        }
        return hardware(f"sm_{found.major}{found.minor}").model_copy(update=update)

    def spares(self, side: str) -> Spares:
        """Children of this kind that wait for work, `launcher` or `cuda`, with what each may do."""
        if side not in self._spares:
            jail = LAUNCHER_JAIL if side == "launcher" else self.host_jail(())
            self._spares[side] = Spares(self.warm, side, jail)
        return self._spares[side]

    def activate(self, session: Session) -> None:
        """It is this task's turn: the reference of the one before keeps no memory for a next call."""
        assert isinstance(session, CudaSession)
        if self._active is not None and self._active is not session and not self._active.closed:
            self._active.rest()
        self._active = session

    def settle(self) -> None:
        """Wait until no child is being born: it would disturb the clock."""
        for waiting in self._spares.values():
            waiting.settle()

    def headers(self) -> Path:
        """Torch's headers, precompiled for candidates that build extensions: once for a machine, most of a minute."""
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelwright" / "headers"
        if self._headers is None:
            self._headers = precompile(root)
        return self._headers

    def extension_jail(self, off: tuple[str, ...]) -> Jail:
        """For a candidate that builds an extension when it is imported."""
        root = toolkit.toolkit()
        seen = (*toolkit.include_directories(), *([str(root)] if root else []), str(self.headers()))
        return self.host_jail(off).model_copy(update={"readable": seen})

    def host_jail(self, off: tuple[str, ...]) -> Jail:
        """For a candidate's own host code, less the parts that a test switched off."""
        return GPU_JAIL.model_copy(update={"off": off})

    def close(self) -> None:
        """End the waiting children, and the warm parent."""
        for waiting in self._spares.values():
            waiting.close()
        super().close()

    def ceiling_gbps(self, size: int, again: bool = False) -> float:
        """Read bandwidth in 10^9 bytes a second; the same for every size, since inputs come from device memory."""
        if again or "memory" not in self._bandwidth:
            self._bandwidth["memory"] = max(self._read_bandwidth(), self._bandwidth.get("memory", 0.0))
        return self._bandwidth["memory"]

    def floor_us(self, size: int, flops: int) -> float:
        """Microseconds that no honest kernel can undercut."""
        return ceiling_cuda.floor_us(size, flops)

    def watch(self) -> Watch:
        """Eyes on this GPU, where NVML is there."""
        return conditions.watch(str(torch.cuda.get_device_properties(0).uuid))

    def _read_bandwidth(self) -> float:
        free, _ = torch.cuda.mem_get_info()
        count = min(ceiling_cuda.YARDSTICK_BYTES, free // 4) // 4 >> 20 << 20
        spec = TensorSpec(name="x", shape=(count,), dtype="float32")
        out = TensorSpec(name="out", shape=(self.device.cores * 4,), dtype="float32")
        arena = CudaArena([spec.nbytes])
        arena.tensor(0, 0, spec).fill_(1.0)
        torch.cuda.synchronize()
        contestant = CudaContestant(self.warm.spawn("cuda", GPU_JAIL), 60.0)
        try:
            outbox = contestant.open_outbox(1 << 20)
            workload = Workload(inputs=(spec,), parameters=(), outputs=(out,))
            command = LoadModel(
                sizes=arena.layout(),
                outbox=contestant.outbox_bytes,
                candidate=ceiling_cuda.yardstick(),
                workload=workload,
                init="",
                files=(*arena.descriptors, outbox),
            )
            contestant.ask(command)
            contestant.run([(0,)], checked=False)
            fastest = min(contestant.run([(0,)], checked=False).inside_ns for _ in range(9))
        finally:
            contestant.close()
            arena.close()
        return spec.nbytes / fastest
