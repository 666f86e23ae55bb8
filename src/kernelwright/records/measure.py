"""Measurements: accuracy, samples, ratios with their intervals, compiler facts. Values only, no clocks."""

from typing import Literal

from kernelwright.records.base import Record

Verdict = Literal["faster", "slower", "inconclusive"]
BaselineName = Literal["eager", "compile"]


class Ratio(Record):
    """A ratio of times with its confidence interval; above one means that the candidate is faster."""

    median: float
    low: float
    high: float
    confidence: float

    @property
    def width(self) -> float:
        """Width of the interval relative to its median."""
        return (self.high - self.low) / self.median


class Versus(Record):
    """The candidate against one named baseline, from paired blocks of one run."""

    baseline: BaselineName
    speedup: Ratio
    verdict: Verdict


class Side(Record):
    """One contestant's samples: microseconds for one call, one sample a block."""

    name: Literal["candidate", "eager", "compile"]
    samples_us: tuple[float, ...]


class Timing(Record):
    """What the clock saw. `latency_us` is the candidate's median call time."""

    latency_us: float
    sides: tuple[Side, ...]
    versus: tuple[Versus, ...]
    calls_per_sample: int
    clock: Literal["outside", "device"]
    """`outside`: the grader's clock around the call; `device`: events, checked against outside bounds."""
    call_us: float | None = None
    """Wall time of one call, host work included, where `clock` is `device`."""
    final: bool = False
    """Measured anew, head to head, with fresh inputs: the only figure that is published."""

    def against(self, baseline: BaselineName) -> Versus | None:
        """The comparison with one baseline, if it was run."""
        return next((v for v in self.versus if v.baseline == baseline), None)


class CaseError(Record):
    """Error of one verification case against fp64, in the units of the comparator (relative)."""

    regime: str
    error: float
    reference_error: float
    """What the reference shows at the task's own precision on the same case."""
    allowed: float


class Accuracy(Record):
    """Errors of every case that was judged, and the regimes that were dropped with the reason."""

    cases: tuple[CaseError, ...]
    dropped: tuple[str, ...] = ()

    @property
    def worst(self) -> CaseError | None:
        """The case that used up most of what it was allowed."""
        return max(self.cases, key=lambda c: c.error / c.allowed, default=None)


class Roofline(Record):
    """Where the kernel stands between its physical floor and the device's measured ceiling."""

    bytes: int
    """Compulsory bytes of one call."""
    flops: int
    achieved_gbps: float
    """Compulsory bytes over the measured latency, 10^9 bytes a second."""
    ceiling_gbps: float
    """Bandwidth measured on this device in the same run, 10^9 bytes a second."""
    floor_us: float
    """No honest kernel can run faster: below it the outcome is Suspect."""

    @property
    def fraction(self) -> float:
        """Share of the measured ceiling that was reached."""
        return self.achieved_gbps / self.ceiling_gbps


class KernelFacts(Record):
    """The compiler's own facts of one device kernel; None where the compiler does not say."""

    name: str
    registers: int | None = None
    """Registers for each thread."""
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    """Shared memory of one block, static and dynamic."""
    warps: int | None = None
    occupancy: float | None = None
    """Share of the multiprocessor's warps that can be resident, 0 to 1."""


class BuildFacts(Record):
    """What the build produced."""

    compiler: str
    seconds: float
    warnings: str = ""
    binary_bytes: int | None = None
    kernels: tuple[KernelFacts, ...] = ()
    chosen: str = ""
    """Which of several ways to launch it was the fastest on the device, such as an autotuner's configuration."""
