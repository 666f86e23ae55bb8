"""The device's clocks, temperature, power and throttling around blocks, read through NVML. Nothing is ever set.

A block is measured again if the device counted time of being slowed down in it, says after it that it is throttled, or
runs at a clock well under the highest that this comparison has seen. Both sides of a block are dropped together, for a
reason that depends on neither of them. NVML is optional (package nvidia-ml-py); without it nothing is read, and the
reason is recorded.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kernelwright.evaluate.timing.load import LoadMeter
from kernelwright.records.measure import Conditions, Load

CLOCK_DROP = 0.03
"""A multiprocessor clock this share under the benchmark's highest spoils a block."""
MOST_REPEATS = 4
"""Blocks that one benchmark may measure again; after that they count, marked."""
MANY_MARKED = 0.25
WIDER = 2.0
"""Times the minimum effect that a verdict needs where more than a quarter of the blocks are marked."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 1.0
"""Seconds that others get to end after a block that they disturbed: each time in a row twice as many."""
VIOLATED_SHARE = 0.05
"""Of the time since the reading before: being slowed down for longer spoils a block."""
IDLE = 0x001
"""NVML's bit of a device with nothing to do, whose clock says nothing of the block before."""
VIOLATIONS = {"power violation": "NVML_PERF_POLICY_POWER", "thermal violation": "NVML_PERF_POLICY_THERMAL"}
"""Counters of time, by NVML's names: they also know what happened during a block."""
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
    at_ns: int = 0
    violated_ns: tuple[int, ...] = ()
    """Of `VIOLATIONS`, since the driver was loaded; empty where the device does not count."""

    def violations_since(self, before: "Reading") -> tuple[str, ...]:
        """What slowed the device down for a noteworthy share of the time since another reading."""
        most = VIOLATED_SHARE * (self.at_ns - before.at_ns)
        pairs = zip(VIOLATIONS, self.violated_ns, before.violated_ns, strict=False)
        return tuple(name for name, now, then in pairs if now - then > most)


@dataclass
class Watch:
    """Reads the device after each block of one benchmark, and keeps the readings of those that count."""

    read: Callable[[], Reading | None] | None = None
    note: str = "nothing was read"
    meter: LoadMeter | None = None
    """Looks at what else the machine does; None: nobody does."""
    readings: list[Reading] = field(default_factory=list)
    marked: list[int] = field(default_factory=list)
    repeated: int = 0
    set_aside: int = 0
    """Blocks during which others worked, and which were taken again."""
    disturbed: bool = False
    """No quiet half of the blocks could be had."""
    pause: Callable[[float], None] = time.sleep
    _in_a_row: int = 0
    _seen: set[str] = field(default_factory=set)
    _highest: int = 0
    _before: Reading | None = None

    def begin(self) -> None:
        """The first block that counts begins now."""
        self._before = self.read() if self.read else None
        if self.meter is not None:
            self.meter.begin()

    def load(self) -> Load | None:
        """What else the machine did since the benchmark began."""
        found = self.meter.load() if self.meter is not None else None
        return found and found.model_copy(update={"set_aside": self.set_aside, "disturbed": self.disturbed})

    def turn_over(self) -> None:
        """A side has computed and is frozen, as all others are."""
        if self.meter is not None:
            self.meter.look()

    def noisy(self) -> bool:
        """Whether others worked during the block that has just ended: it is set aside, and they get some time to end."""
        if self.meter is None or not self.meter.noisy():
            self._in_a_row = 0
            return False
        self.pause(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**self._in_a_row))
        self._in_a_row, self.set_aside = self._in_a_row + 1, self.set_aside + 1
        return True

    def spoiled(self) -> bool:
        """Whether the device spoiled the block that has just ended, so that it must be measured again."""
        now = self.read() if self.read else None
        if now is None:
            return False
        reasons = {*throttled(now.reasons), *(now.violations_since(self._before) if self._before else ())}
        self._highest = max(self._highest, now.sm_mhz)
        slowed = not now.reasons & IDLE and now.sm_mhz < (1 - CLOCK_DROP) * self._highest
        self._seen |= reasons
        self._before = now
        if (reasons or slowed) and self.repeated < MOST_REPEATS:
            self.repeated += 1
            return True
        if reasons or slowed:
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
            throttled=tuple(n for n in (*THROTTLING.values(), *VIOLATIONS) if n in self._seen),
            marked=tuple(self.marked),
            repeated=self.repeated,
            note="" if self.readings else self.note,
        )


def throttled(reasons: int) -> tuple[str, ...]:
    """The names of the bits that mean throttling."""
    return tuple(name for bit, name in THROTTLING.items() if reasons & bit)


def watch(uuid: str) -> Watch:
    """A watch on the GPU of this identity (as torch spells it), or one that says why there is nothing to read."""
    try:
        import pynvml  # noqa: PLC0415 (optional)
    except ImportError:
        told = "NVML is not read: the package nvidia-ml-py is not installed"
        return Watch(note=told, meter=LoadMeter(on_device=True))
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}")
        _read(pynvml, handle)
    except pynvml.NVMLError as error:
        return Watch(note=f"NVML does not answer: {error}", meter=LoadMeter(on_device=True))
    meter = LoadMeter(on_device=True, neighbours=lambda: _processes(pynvml, handle))
    return Watch(read=lambda: _read_again(pynvml, handle), meter=meter)


def _processes(nvml: Any, handle: object) -> list[int]:  # noqa: ANN401 (an untyped module)
    """Processes that compute on the device, as far as this container may know them."""
    try:
        return [int(found.pid) for found in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]
    except nvml.NVMLError:
        return []


def _read_again(nvml: Any, handle: object) -> Reading | None:  # noqa: ANN401 (an untyped module)
    """A device that answered once and does not now costs a reading, not a verdict."""
    try:
        return _read(nvml, handle)
    except nvml.NVMLError:
        return None


def _read(nvml: Any, handle: object) -> Reading:  # noqa: ANN401 (an untyped module)
    return Reading(
        sm_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        memory_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        temperature_c=nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        power_w=nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
        reasons=nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
        at_ns=time.perf_counter_ns(),
        violated_ns=_violated(nvml, handle),
    )


def _violated(nvml: Any, handle: object) -> tuple[int, ...]:  # noqa: ANN401
    try:
        policies = [getattr(nvml, name) for name in VIOLATIONS.values()]
        return tuple(int(nvml.nvmlDeviceGetViolationStatus(handle, policy).violationTime) for policy in policies)
    except nvml.NVMLError:
        return ()
