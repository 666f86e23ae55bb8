"""Hardware facts: what a vendor publishes about an architecture, and the occupancy that follows from it.

Ceilings of a real device are measured, and come from the referee.
"""

import tomllib
from functools import cache
from importlib.resources import files
from math import ceil

from kernelwright.errors import MachineError
from kernelwright.records.base import Record

WARP = 32
"""Threads of a warp, on every architecture here."""
REGISTER_STEP = 8
"""Registers for a thread are allocated in steps of this many (256 for a warp)."""
SCHEDULERS = 4
"""Each multiprocessor has four schedulers, each with a quarter of the registers."""


class Hardware(Record):
    """One representative device of an architecture. Peaks are dense; None where it has no such unit."""

    arch: str
    """`sm_75` … `sm_120`."""
    device: str
    """The device that the figures are of."""
    multiprocessors: int
    warps: int
    """Most warps that are resident on one multiprocessor."""
    blocks: int
    """Most blocks that are resident on one multiprocessor."""
    registers: int = 65536
    """32-bit registers of one multiprocessor."""
    registers_thread: int = 255
    """Most registers of one thread."""
    shared_bytes: int
    """Shared memory of one multiprocessor, in bytes."""
    shared_bytes_block: int
    """Most shared memory that one block can ask for, in bytes."""
    shared_granularity: int = 128
    """Shared memory is allocated in steps of this many bytes."""
    shared_reserved: int = 1024
    """Bytes that the system keeps for itself in each block."""
    bandwidth_gbps: float
    """Theoretical memory bandwidth, 10^9 bytes a second."""
    cache_bytes: int
    """Last-level cache."""
    fp32_tflops: float
    """10^12 operations a second outside the tensor cores."""
    tf32_tflops: float | None = None
    bf16_tflops: float | None = None

    @property
    def number(self) -> int:
        """The architecture as compilers number it: 90 for `sm_90`."""
        return int(self.arch.removeprefix("sm_"))

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability, major and minor."""
        return divmod(self.number, 10)


class BlockShape(Record):
    """What one block of a kernel takes."""

    warps: int
    registers: int
    """For each thread."""
    shared_bytes: int = 0


@cache
def _table() -> dict[str, Hardware]:
    text = files("kernelwright.knowledge").joinpath("hardware.toml").read_text(encoding="utf-8")
    return {arch: Hardware(arch=arch, **facts) for arch, facts in tomllib.loads(text).items()}


def architectures() -> tuple[str, ...]:
    """Every architecture with facts, oldest first."""
    return tuple(_table())


def hardware(arch: str) -> Hardware:
    """The facts of `arch`.

    Raises:
        MachineError: nothing is known of it.
    """
    try:
        return _table()[arch]
    except KeyError:
        raise MachineError(f"unknown architecture {arch!r}: expected one of {', '.join(_table())}") from None


def resident_blocks(device: Hardware, block: BlockShape) -> int:
    """How many blocks fit on one multiprocessor at a time; 0 when not even one does."""
    if block.shared_bytes > device.shared_bytes_block or block.registers > device.registers_thread:
        return 0
    shared = ceil(block.shared_bytes / device.shared_granularity) * device.shared_granularity
    by_shared = device.shared_bytes // max(shared + device.shared_reserved, 1)
    registers_warp = max(ceil(block.registers / REGISTER_STEP), 1) * REGISTER_STEP * WARP
    warps_by_registers = device.registers // SCHEDULERS // registers_warp * SCHEDULERS
    return min(device.blocks, device.warps // block.warps, by_shared, warps_by_registers // block.warps)


def occupancy(device: Hardware, block: BlockShape) -> float:
    """Share of the multiprocessor's warps that can be resident, 0 to 1."""
    return resident_blocks(device, block) * block.warps / device.warps
