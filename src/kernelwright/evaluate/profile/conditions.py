"""The device's clocks, temperature, power and throttling around blocks, read through NVML. Nothing is ever set.

Decides which blocks are measured again: those in which the device said that it was throttled, or ran at a clock well under
the highest that this contest has seen. Both sides of a block are dropped together, for a reason that neither of them
signs. NVML is optional (package nvidia-ml-py); without it nothing is read, and the reason is recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kernelwright.records.measure import Conditions

CLOCK_DROP = 0.03
"""A multiprocessor clock this share under the contest's highest spoils a block."""
MOST_REPEATS = 4
"""Blocks that one contest may measure again; after that they count, marked."""
MANY_MARKED = 0.25
WIDER = 2.0
"""Times the minimum effect that a verdict needs where more than a quarter of the blocks are marked."""
THROTTLING: dict[int, str] = {
    0x004: "software power cap",
    0x008: "hardware slowdown",
    0x020: "software thermal slowdown",
    0x040: "hardware thermal slowdown",
    0x080: "hardware power brake",
}
"""NVML's bits of what slows a device against its will; being idle or set to a clock is none of it."""


@dataclass(frozen=True)
class Reading:
    """The device at one moment."""

    sm_mhz: int
    memory_mhz: int
    temperature_c: int
    power_w: float
    reasons: int = 0
    """NVML's bit field."""


@dataclass
class Watch:
    """Reads the device after each block of one contest, and keeps the readings of those that count."""

    read: Callable[[], Reading] | None = None
    note: str = "no device to read"
    readings: list[Reading] = field(default_factory=list)
    marked: list[int] = field(default_factory=list)
    repeated: int = 0
    _seen: int = 0
    _highest: int = 0

    def spoiled(self) -> bool:
        """Whether the block that has just ended must be measured again; otherwise it counts."""
        if self.read is None:
            return False
        now = self.read()
        self._seen |= now.reasons
        self._highest = max(self._highest, now.sm_mhz)
        bad = bool(throttled(now.reasons)) or now.sm_mhz < (1 - CLOCK_DROP) * self._highest
        if bad and self.repeated < MOST_REPEATS:
            self.repeated += 1
            return True
        if bad:
            self.marked.append(len(self.readings))
        self.readings.append(now)
        return False

    @property
    def effect_times(self) -> float:
        """How many times the minimum effect a verdict needs."""
        return WIDER if len(self.marked) > MANY_MARKED * len(self.readings) else 1.0

    def conditions(self) -> Conditions:
        """What was read, as a record."""
        return Conditions(
            sm_mhz=tuple(r.sm_mhz for r in self.readings),
            memory_mhz=tuple(r.memory_mhz for r in self.readings),
            temperature_c=tuple(r.temperature_c for r in self.readings),
            power_w=tuple(r.power_w for r in self.readings),
            throttled=throttled(self._seen),
            marked=tuple(self.marked),
            repeated=self.repeated,
            note="" if self.read else self.note,
        )


def throttled(reasons: int) -> tuple[str, ...]:
    """The names of the bits that mean throttling."""
    return tuple(name for bit, name in THROTTLING.items() if reasons & bit)


def watch(uuid: str) -> Watch:
    """A watch on the GPU of this identity (as torch spells it), or one that says why there is nothing to read."""
    try:
        import pynvml  # noqa: PLC0415 (optional)
    except ImportError:
        return Watch(note="NVML is not read: the package nvidia-ml-py is not installed")
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")
        _read(pynvml, handle)
    except pynvml.NVMLError as error:
        return Watch(note=f"NVML does not answer: {error}")
    return Watch(read=lambda: _read(pynvml, handle))


def _read(nvml: Any, handle: object) -> Reading:  # noqa: ANN401 (an untyped module)
    return Reading(
        sm_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        memory_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        temperature_c=nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        power_w=nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
        reasons=nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
    )
