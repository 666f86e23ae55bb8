"""Measurements: accuracy, samples, ratios with their intervals, compiler facts. Values only, no clocks."""

from math import exp
from typing import Literal

from pydantic import Field

from kernelwright.records.base import Record

Verdict = Literal["faster", "slower", "inconclusive", "disturbed"]
"""`disturbed`: other work on the machine left no quiet half of the blocks, and nothing is claimed."""
UNCLAIMED: tuple[Verdict, ...] = ("inconclusive", "disturbed")
BaselineName = Literal["eager", "compile", "compile_max", "graph", "freeze"]
"""`compile`: torch.compile as it comes; `compile_max`: max-autotune without CUDA graphs; `graph`: a CUDA graph of eager;
`freeze`: torch.compile with the weights as constants, where weights are constant."""
SideName = Literal["candidate", "eager", "compile", "compile_max", "graph", "freeze"]


BLURRED, WILD = 1.5, 100.0
"""Ends of an interval that are this many times apart say more of the machine's other work than of the kernel; and that many,
nothing at all."""


class Ratio(Record):
    """A ratio of times with its confidence interval; above one means that the candidate is faster."""

    median: float
    low: float
    high: float
    confidence: float
    least: float = 0.0
    """The smallest relative difference from one that counts, for all that was seen of machine and processes; 0: not told."""

    @property
    def width(self) -> float:
        """Width of the interval relative to its median."""
        return (self.high - self.low) / self.median

    @property
    def blurred(self) -> bool:
        """Whether it is too wide to tell the kernel from another."""
        return self.high > BLURRED * self.low

    @property
    def wild(self) -> bool:
        """Whether it is so wide that not even its ends are worth telling."""
        return not 0 < self.low <= self.high <= WILD * self.low

    @property
    def sure(self) -> float:
        """What can be relied on: the lower end, and nothing where the interval is blurred."""
        return 0.0 if self.blurred else self.low


def verdict(speedup: Ratio, minimum_effect: float) -> Verdict:
    """Faster or slower only if the interval excludes one and the effect is large enough to mean something."""
    if speedup.low > 1 and speedup.median > 1 + minimum_effect:
        return "faster"
    if speedup.high < 1 and speedup.median < 1 / (1 + minimum_effect):
        return "slower"
    return "inconclusive"


class Versus(Record):
    """The candidate against one named baseline, from paired blocks of one run."""

    baseline: BaselineName
    speedup: Ratio
    verdict: Verdict
    cached: bool = False
    """The baseline was not timed beside this candidate: its ratio to eager is from another benchmark on this task."""

    @classmethod
    def judged(cls, baseline: BaselineName, speedup: Ratio, effect: float, cached: bool = False) -> "Versus":
        """The comparison in which no difference smaller than `effect` counts."""
        told = speedup.model_copy(update={"least": effect})
        return cls(baseline=baseline, speedup=told, verdict=verdict(speedup, effect), cached=cached)

    def beyond(self, spread: float) -> "Versus":
        """With an interval that holds for other starts of the same program too, whose log ratios lie up to `spread` apart."""
        ratio, times = self.speedup, exp(spread)
        wide = ratio.model_copy(update={"low": ratio.low / times, "high": ratio.high * times})
        told = "inconclusive" if wide.low <= 1 <= wide.high and self.verdict not in UNCLAIMED else self.verdict
        return self.model_copy(update={"speedup": wide, "verdict": told})


class Side(Record):
    """One candidate process's samples: microseconds for one call, one sample a block."""

    name: SideName
    samples_us: tuple[float, ...]
    call_us: float | None = None
    """Wall time of one call, host work and waiting for the device included, where the samples are device time."""


class Conditions(Record):
    """The device's state around the blocks that count, one reading a block; empty where nothing could be read."""

    sm_mhz: tuple[int, ...] = ()
    memory_mhz: tuple[int, ...] = ()
    temperature_c: tuple[int, ...] = ()
    power_w: tuple[float, ...] = ()
    throttled: tuple[str, ...] = ()
    """Every reason for throttling that was seen, also in blocks that were measured again."""
    marked: tuple[int, ...] = ()
    """Positions of blocks that count although the device was throttled or slowed down in them."""
    repeated: int = 0
    """Blocks that were measured again for that reason."""
    note: str = ""
    """Why there are no readings."""


OTHERS, STOLEN = 0.05, 0.02
"""Shares of all cores' time. Beyond them a comparison of times is doubtful: daemons of a quiet machine take less."""


class Load(Record):
    """What else the machine did while it timed. Cores are averages: 0.5 is one core for half of the time."""

    cores: int
    """Of the machine."""
    before: float | None = None
    """Cores that other processes kept busy while the benchmark warmed up; None: nobody could tell."""
    during: float | None = None
    """The same during the blocks that count."""
    stolen: float = 0.0
    """Share of the cores' time that the hypervisor gave to somebody else, 0 to 1."""
    waiting: float = 0.0
    """Threads of others that ran or waited for a core after a side's turn, the median over turns."""
    set_aside: int = 0
    """Blocks beside which others worked; they were taken again, and count only where no quiet half could be had."""
    disturbed: bool = False
    """No quiet half could be had."""
    neighbours: int = 0
    """Other processes on the GPU."""
    on_device: bool = False
    """A GPU was timed: what its host's cores do is told, and makes no figure doubtful."""

    @property
    def busy(self) -> bool:
        """Whether figures are doubtful for it."""
        if self.on_device:
            return self.neighbours > 0
        if self.set_aside:
            return self.disturbed
        return (self.during or 0.0) > OTHERS * self.cores or self.stolen > STOLEN

    @property
    def words(self) -> str:
        """What was seen, in one line; empty where nothing was."""
        parts = [f"{self.neighbours} other {'process' if self.neighbours == 1 else 'processes'} on the GPU"]
        parts = parts if self.neighbours else []
        if self.disturbed:
            parts.append(f"others worked beside {self.set_aside} blocks, and no quiet half could be had")
        if self.during is not None and self.during > OTHERS * self.cores:
            before = f", {self.before:.1f} just before" if self.before is not None else ""
            queue = f", and {self.waiting:.0f} of its threads ran or waited" if self.waiting >= 1 else ""
            parts.append(f"other work kept {self.during:.1f} of {self.cores} cores busy{before}{queue}")
        if self.stolen > STOLEN:
            parts.append(f"the hypervisor took {self.stolen:.0%} of the cores' time")
        return "; ".join(parts)


class Timing(Record):
    """What the clock saw. `latency_us` is the candidate's median call time."""

    latency_us: float
    arms: tuple[Side, ...]
    versus: tuple[Versus, ...]
    calls_per_sample: int
    clock: Literal["outside", "device"]
    """`outside`: the grader's clock around the call; `device`: events, checked against outside bounds."""
    call_us: float | None = None
    """Wall time of one call of the candidate, host work included, where `clock` is `device`."""
    launch_overhead_us: float | None = None
    """What the same clock says of a kernel that does nothing, where `clock` is `device`. It is part of every sample."""
    conditions: Conditions | None = None
    """Clocks, temperature and power, where `clock` is `device`."""
    load: Load | None = None
    """What else the machine did meanwhile; None where it was not looked at."""
    process_spread: float = 0.0
    """By how much processes of eager's program were seen to differ for life, relatively: no verdict tells less. 0: nobody
    looked, since no small difference was to be told, or nobody could, or there the processes do not differ."""
    start_spread: float = 0.0
    """By how much other starts of the same two programs may lie apart, as logarithms: the intervals have it on either side."""
    missing: tuple[str, ...] = ()
    """Baselines that were asked for and could not be made, each with the reason."""
    final: bool = False
    """Measured anew, head to head, with fresh inputs: the only figure that is published."""

    def against(self, baseline: BaselineName) -> Versus | None:
        """The comparison with one baseline, if it was run."""
        return next((v for v in self.versus if v.baseline == baseline), None)


class CaseError(Record):
    """Error of one verification case against fp64, in the units of the comparator (relative)."""

    distribution: str
    error: float
    reference_error: float
    """What the reference shows at the task's own precision on the same case."""
    allowed: float
    output: int | None = None
    """Which of several outputs this is; None of a single one."""

    @property
    def named(self) -> str:
        """The case, and where there are several outputs which one, such as `times 3, output 1`."""
        return self.distribution if self.output is None else f"{self.distribution}, output {self.output}"


class Accuracy(Record):
    """Errors of every case that was judged, and the input distributions that were dropped with the reason."""

    cases: tuple[CaseError, ...]
    dropped: tuple[str, ...] = ()

    @property
    def worst(self) -> CaseError | None:
        """The case that used up most of what it was allowed."""
        return max(self.cases, key=lambda c: c.error / c.allowed, default=None)


class Yardstick(Record):
    """What a kernel is held against: figures for a prompt, on which no verdict rests."""

    times_us: dict[BaselineName, float] = Field(default_factory=dict)
    """Median time of one call of each baseline, microseconds; a baseline that was not measured is not in it."""
    floor_us: float | None = None
    """No honest kernel is faster; None: nothing is timed on this device."""
    strictest: CaseError | None = None
    """The case that allows the smallest error."""


class Roofline(Record):
    """Where the kernel stands between its physical floor and the device's measured ceiling."""

    bytes: int
    """Compulsory bytes of one call."""
    flops: int
    achieved_gbps: float
    """Compulsory bytes over the measured latency, 10^9 bytes a second."""
    ceiling_gbps: float = Field(gt=0)
    """Bandwidth measured on this device in the same run, 10^9 bytes a second."""
    floor_us: float
    """No honest kernel can run faster: below it the outcome is Suspect."""

    @property
    def fraction(self) -> float:
        """Share of the measured ceiling that was reached; more than one where data lay in caches."""
        return self.achieved_gbps / self.ceiling_gbps

    @property
    def ceiling_us(self) -> float:
        """What one call would take at the measured ceiling."""
        return self.bytes / self.ceiling_gbps / 1e3


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
