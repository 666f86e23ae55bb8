"""Hardware facts: what a vendor publishes about an architecture, and the occupancy that follows from it.

Ceilings of a real device are measured, and come from the referee.
"""

from functools import cache
from math import ceil

from kernelwright.devices import device_named, facts, sheets
from kernelwright.errors import MachineError
from kernelwright.records.base import Record


class Hardware(Record):
    """One device: the representative of its architecture, or another one with a sheet.

    Peaks are dense; None where it has no such unit.
    """

    arch: str
    """Such as `sm_90` or `gfx942`."""
    kind: str
    """The kind of device, such as `cuda`."""
    device: str
    """The device that the figures are of."""
    also: tuple[str, ...] = ()
    """Other names of it."""
    can: tuple[str, ...] = ()
    """What its architecture has beside plain cores, in a few words each."""
    multiprocessors: int
    schedulers: int
    """Of one multiprocessor, each with an equal share of its registers."""
    warp: int
    """Threads of a warp."""
    warps: int
    """Most warps that are resident on one multiprocessor."""
    blocks: int
    """Most blocks that are resident on one multiprocessor."""
    registers: int
    """32-bit registers of one multiprocessor."""
    registers_thread: int
    """Most registers of one thread."""
    register_step: int
    """Registers for a thread are allocated in steps of this many."""
    threads_block: int
    """Most threads of one block."""
    grid: tuple[int, int, int] = (2**31 - 1, 65_535, 65_535)
    """Most blocks of a launch along x, y and z."""
    shared_bytes: int
    """Shared memory of one multiprocessor, in bytes."""
    shared_bytes_block: int
    """Most shared memory that one block can ask for, in bytes."""
    shared_granularity: int
    """Shared memory is allocated in steps of this many bytes."""
    shared_reserved: int
    """Bytes that the system keeps for itself in each block."""
    bandwidth_gbps: float
    """Theoretical memory bandwidth, 10^9 bytes a second."""
    cache_bytes: int
    """Last-level cache."""
    fp32_tflops: float
    """10^12 operations a second outside the tensor cores."""
    tf32_tflops: float | None = None
    bf16_tflops: float | None = None

    def too_many_blocks(self, kernel: str, grid: tuple[int, int, int]) -> str:
        """Why a launch of so many blocks fails; empty where it does not."""
        over = next((i for i in range(3) if grid[i] > self.grid[i]), None)
        if over is None:
            return ""
        return (
            f"{kernel} is launched with a grid of {list(grid)}: {self.arch} takes at most {self.grid[over]} blocks along "
            f"{'xyz'[over]}"
        )

    @property
    def number(self) -> int:
        """The architecture as a number, such as 90 for `sm_90` and 0x942 for `gfx942`; no two have the same."""
        return int(self.arch.removeprefix("sm_")) if self.arch.startswith("sm_") else int(self.arch[3:], 16)

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability, major and minor, as torch tells it: (9, 0) for `sm_90`, (9, 4) for `gfx942`."""
        return (
            divmod(self.number, 10) if self.arch.startswith("sm_") else (int(self.arch[3:-2]), int(self.arch[-2], 16))
        )


class BlockShape(Record):
    """What one block of a kernel takes."""

    warps: int
    registers: int
    """For each thread."""
    shared_bytes: int = 0


@cache
def _table() -> dict[str, Hardware]:
    return {arch: Hardware.model_validate({"arch": arch, **row}) for arch, row in facts().items()}


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


def sheet(name: str) -> Hardware | None:
    """The facts of the very device that a driver or a person calls `name`; None where no sheet has it."""
    device = device_named(name)
    return Hardware.model_validate(dict(sheets()[device])) if device else None


def resident_blocks(device: Hardware, block: BlockShape) -> int:
    """How many blocks fit on one multiprocessor at a time; 0 when not even one does."""
    if block.shared_bytes > device.shared_bytes_block or block.registers > device.registers_thread:
        return 0
    shared = ceil(block.shared_bytes / device.shared_granularity) * device.shared_granularity
    by_shared = device.shared_bytes // max(shared + device.shared_reserved, 1)
    step, schedulers = device.register_step, device.schedulers
    registers_warp = max(ceil(block.registers / step), 1) * step * device.warp
    warps_by_registers = device.registers // schedulers // registers_warp * schedulers
    return min(device.blocks, device.warps // block.warps, by_shared, warps_by_registers // block.warps)


def occupancy(device: Hardware, block: BlockShape) -> float:
    """Share of the multiprocessor's warps that can be resident, 0 to 1."""
    return resident_blocks(device, block) * block.warps / device.warps
