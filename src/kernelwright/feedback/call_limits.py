"""What holds a whole call back: traffic, arithmetic, launches, or nothing but waiting. Judged from the roofline.

`Evidence` has the numbers, from a profile of any tier, a measurement, or both: the referee's clock wins over a
profiler's, and a profiler's traffic over the compulsory one. Each function below it is one class: it returns a finding
or None. It works without any profile, from time and compulsory bytes alone, and says more with one. Thresholds are
named, with where they come from.
"""

from dataclasses import dataclass
from functools import cached_property

from kernelwright.records.evaluation import Measured
from kernelwright.records.feedback import Bottleneck, Finding
from kernelwright.records.profile import Ceilings, KernelProfile, Profile

SMALL = 0.05
"""Share of device time below which a kernel is not worth a word: what it could give is within the clock's noise."""


@dataclass(frozen=True)
class Evidence:
    """One call, in numbers. Every figure may be None."""

    profile: Profile | None
    measured: Measured | None

    @cached_property
    def kernels(self) -> tuple[KernelProfile, ...]:
        """The profile's kernels; the compiler's where there is no profile."""
        if self.profile is not None and self.profile.kernels:
            return self.profile.kernels
        return tuple(KernelProfile.of(k) for k in self.measured.build.kernels) if self.measured else ()

    @property
    def ceilings(self) -> Ceilings:
        """The profile's ceilings; the measurement's bandwidth where the profile has none."""
        found = self.profile.ceilings if self.profile is not None else Ceilings()
        if found.read_gbps is None and self.measured is not None:
            found = found.model_copy(update={"read_gbps": self.measured.roofline.ceiling_gbps})
        return found

    @property
    def latency_us(self) -> float | None:
        """Time of one call."""
        if self.measured is not None:
            return self.measured.timing.latency_us
        return self.profile.device_us if self.profile is not None else None

    @property
    def bytes(self) -> int | None:
        """Compulsory bytes."""
        return self.measured.roofline.bytes if self.measured else self.profile.bytes if self.profile else None

    @property
    def flops(self) -> int | None:
        """Arithmetic operations of the reference."""
        return self.measured.roofline.flops if self.measured else self.profile.flops if self.profile else None

    @property
    def bandwidth(self) -> tuple[float, float] | None:
        """Compulsory bytes over the time, and the most that the device reaches: both in 10^9 bytes a second."""
        if self.measured is not None:
            return self.measured.roofline.achieved_gbps, self.measured.roofline.ceiling_gbps
        ceiling = self.ceilings.read_gbps
        if not self.latency_us or self.bytes is None or not ceiling:
            return None
        return self.bytes / self.latency_us / 1e3, ceiling

    @property
    def tflops(self) -> float | None:
        """10^12 operations a second of the reference's arithmetic in this time."""
        return self.flops / self.latency_us / 1e6 if self.flops and self.latency_us else None

    @property
    def arithmetic_ceiling(self) -> float | None:
        """10^12 operations a second outside the tensor cores; the tensor cores' where the call is beyond that already."""
        ceilings = self.ceilings
        if ceilings.fp32_tflops and self.tflops and self.tflops > ceilings.fp32_tflops:
            faster = [c for c in (ceilings.tf32_tflops, ceilings.bf16_tflops) if c and c >= self.tflops]
            return min(faster, default=ceilings.bf16_tflops)
        return ceilings.fp32_tflops

    @property
    def reached(self) -> float | None:
        """Share of the nearer of both ceilings that the call reaches; None without a time or a ceiling."""
        shares = [achieved / ceiling for achieved, ceiling in (self.bandwidth,) if ceiling] if self.bandwidth else []
        if self.tflops and self.arithmetic_ceiling:
            shares.append(self.tflops / self.arithmetic_ceiling)
        return max(shares, default=None)

    @property
    def timed(self) -> bool:
        """Whether each kernel's share of the device's time is known."""
        return bool(self.kernels) and all(k.share is not None for k in self.kernels)

    @property
    def counted(self) -> bool:
        """Whether there are hardware counters."""
        return self.profile is not None and self.profile.tier == "counters"

    @property
    def traffic(self) -> float | None:
        """Bytes between device memory and the chip in one call; None unless counted for kernels of most of the time."""
        known = [k for k in self.kernels if k.counters.dram_read_bytes is not None]
        if not known or sum(k.share or 0.0 for k in known) < 1 - 2 * SMALL:
            return None
        return sum(
            (k.launches or 1) * ((k.counters.dram_read_bytes or 0.0) + (k.counters.dram_write_bytes or 0.0))
            for k in known
        )

    @property
    def watched(self) -> tuple[KernelProfile, ...]:
        """The candidate's own kernels that take enough time to matter."""
        return tuple(k for k in self.kernels if k.own is not False and self.weight(k) >= SMALL)

    def weight(self, kernel: KernelProfile) -> float:
        """The kernel's share of the call; an equal one where times are not known."""
        return kernel.share if kernel.share is not None else 1.0 / len(self.kernels)


NEAR_CEILING = 0.75
"""Share of the measured bandwidth from which more speed must come from moving fewer bytes. Our own yardstick kernels,
untuned, reach more than this of each other on every device tried."""
FAR = NEAR_CEILING / 2
"""Share of the ceiling below which waiting, not the ceiling, decides: half of near."""
BUSY = 0.6
"""Share of a unit's peak below which it is not the limit (the rule of Nsight Compute's Speed Of Light section)."""
EXCESS = 1.25
"""Traffic over compulsory bytes from which it is worth saving: a quarter more than an ideal cache would need."""
INTENSE = 16.0
"""Operations for each compulsory byte beyond which arithmetic can be the limit where the ceilings are not known; the
ridge of a CPU core with two fused multiply-adds of eight lanes a cycle and about 10 GB/s is near it."""
SHORT_US = 20.0
"""Microseconds. A floor below this is hidden by the fixed price of a call when the kernel takes several times longer."""
MOST_OVERHEAD_US = 1000.0
"""Microseconds. The fixed price of a call (launches, parallel regions, allocations) is at most this: beyond, it waits."""
LAUNCH_SHARE = 0.3
"""Share of the call from which its launches are the thing to cut."""
GAP_SHARE = 0.3
"""Share of the call in which no kernel ran from which the gaps are."""


def memory(evidence: Evidence) -> Finding | None:
    """Device memory is as busy as it gets, or moves far more than it must."""
    if evidence.bandwidth is None:
        return _expected_memory(evidence)
    achieved, ceiling = evidence.bandwidth
    reached, wasted = achieved / ceiling, _wasted(evidence)
    if reached >= NEAR_CEILING:
        text = f"Memory-bound: it reaches {_share(evidence)}; only moving fewer bytes can help much."
        if reached > 1:
            text = f"Memory-bound: it reaches {_share(evidence)}, so that part of its data comes from a cache."
        advice = "Keep intermediate results in registers, and fuse with what comes before and after."
        return Finding(bottleneck="memory", gain=max(0.0, 1 - reached), evidence=text, suggestion=advice)
    traffic = evidence.traffic
    if wasted is None or traffic is None or evidence.bytes is None or not evidence.latency_us:
        return None
    moved = traffic / evidence.latency_us / 1e3 / ceiling
    if moved < BUSY:
        return None
    text = (
        f"Memory-bound: device memory moves {_size(traffic)} where {_size(evidence.bytes)} would do, "
        f"at {moved:.0%} of the measured bandwidth."
    )
    several = sum(k.launches or 1 for k in evidence.kernels) > 1
    advice = (
        "Fuse the kernels, so that each input is read once and no intermediate result goes through memory."
        if several
        else "Read each input once: keep the tile in registers or shared memory between passes, or order blocks for L2."
    )
    return Finding(bottleneck="memory", gain=wasted, evidence=text, suggestion=advice)


def compute(evidence: Evidence) -> Finding | None:
    """Arithmetic decides, and is near what the units can do."""
    if not _arithmetic_side(evidence) or not evidence.flops or not evidence.bytes or evidence.bandwidth is None:
        return None
    intensity = f"{evidence.flops / evidence.bytes:.0f} operations a byte"
    ceiling, rate = evidence.arithmetic_ceiling, evidence.tflops
    if ceiling is None or rate is None:
        text = f"Compute-bound: {intensity}; it reaches {_share(evidence)}."
        gain = None
    elif rate / ceiling >= BUSY:
        text = f"Compute-bound: {intensity}, at {rate:.1f} of {ceiling:.1f} TFLOP/s measured here."
        gain = max(0.0, 1 - rate / ceiling)
    else:
        return None
    advice = (
        "Do fewer operations, or do them on a faster pipe that the tolerance admits (fused multiply-add, matrix units)."
    )
    return Finding(bottleneck="compute", gain=gain, evidence=text, suggestion=advice)


def launch(evidence: Evidence) -> Finding | None:
    """Launches, and the gaps between kernels, take the time."""
    latency = evidence.latency_us
    if not latency:
        return None
    if not evidence.timed:
        return _overhead(evidence, latency)
    count, each = sum(k.launches or 1 for k in evidence.kernels), evidence.ceilings.launch_us
    share = count * each / latency if each else 0.0
    busy = sum(k.duration_us or 0.0 for k in evidence.kernels)
    # A profiler's times are its own: only gaps that are much larger than its disturbance mean something.
    gaps = max(0.0, 1 - busy / latency) if evidence.measured is not None else 0.0
    if count > 1 and share >= LAUNCH_SHARE:
        text = f"Launch-bound: {count} launches of {each:.1f} us each are {min(share, 1.0):.0%} of {latency:.1f} us."
        gain = min(share, 1.0) * (1 - 1 / count)
    elif gaps >= GAP_SHARE:
        text = f"Launch-bound: kernels run for {busy:.1f} of {latency:.1f} us; {gaps:.0%} of the call no kernel runs."
        gain = gaps
    elif share >= LAUNCH_SHARE:
        text = (
            f"Launch-bound: one launch costs {each:.1f} of {latency:.1f} us; little is left to gain inside the kernel."
        )
        gain = 0.0
    else:
        return None
    advice = "Fuse the launches into one kernel, and do in it what copies, fills and library calls do around it."
    return Finding(bottleneck="launch", gain=gain, evidence=text, suggestion=advice)


def latency(evidence: Evidence) -> Finding | None:
    """Neither memory nor arithmetic is busy, and there are no counters to say why."""
    # Without counters, time that launches take cannot be told from time that warps wait.
    if evidence.counted or evidence.bandwidth is None or launch(evidence) is not None:
        return None
    achieved, ceiling = evidence.bandwidth
    reached, words = achieved / ceiling, _share(evidence)
    peak, rate = evidence.arithmetic_ceiling, evidence.tflops
    if _arithmetic_side(evidence):
        if peak is None or rate is None:
            return None
        reached, words = rate / peak, f"{rate:.1f} of {peak:.1f} TFLOP/s measured here"
    if reached >= FAR:
        return None
    text = f"Latency-bound: it reaches only {words}."
    advice = "Keep more work in flight: wider loads, several independent elements at once, work for all of the device."
    return Finding(bottleneck="latency", gain=1 - reached / NEAR_CEILING, evidence=text, suggestion=advice)


def _overhead(evidence: Evidence, latency_us: float) -> Finding | None:
    floor = evidence.measured.roofline.floor_us if evidence.measured is not None else None
    bandwidth = evidence.bandwidth
    if floor is not None and bandwidth is not None:
        # The floor is for a clock that cannot be fooled, with all that caches could hold in them; from memory it takes longer.
        floor = max(floor, latency_us * bandwidth[0] / bandwidth[1])
    if floor is None or floor >= SHORT_US or not 4 * floor < latency_us <= MOST_OVERHEAD_US:
        return None
    if bandwidth is not None and bandwidth[0] >= NEAR_CEILING * bandwidth[1]:
        return None
    text = f"Overhead-bound: the data needs {floor:.1f} us, the call takes {latency_us:.1f}."
    advice = "Cut what a call costs before its kernel starts: fewer launches, smaller parallel regions, no allocation."
    return Finding(bottleneck="launch", gain=1 - 4 * floor / latency_us, evidence=text, suggestion=advice)


def _expected_memory(evidence: Evidence) -> Finding | None:
    """Nothing was timed: what the intensity lets one expect on this chip."""
    if evidence.latency_us is not None or not evidence.bytes or evidence.flops is None or not _ridge(evidence):
        return None
    intensity, ridge = evidence.flops / evidence.bytes, _ridge(evidence) or INTENSE
    side: Bottleneck = "memory" if intensity < ridge else "compute"
    text = (
        f"Expected to be {side}-bound, and not measured: {intensity:.1f} operations for each compulsory byte, where "
        f"{ridge:.0f} are in balance on {evidence.profile.device if evidence.profile else 'this device'}."
    )
    advice = (
        "Move each byte once, in wide coalesced loads, and fuse everything that works on the same data."
        if side == "memory"
        else "Tile for reuse, and use the matrix units as far as the tolerance admits."
    )
    return Finding(bottleneck=side, evidence=text, suggestion=advice)


def _wasted(evidence: Evidence) -> float | None:
    """Share of the traffic that an ideal kernel would not have."""
    traffic, needed = evidence.traffic, evidence.bytes
    return 1 - needed / traffic if traffic and needed is not None and traffic > EXCESS * needed else None


def _arithmetic_side(evidence: Evidence) -> bool:
    """Whether the call has more operations for each byte than balance memory and arithmetic."""
    if not evidence.flops or not evidence.bytes:
        return False
    return evidence.flops > (_ridge(evidence) or INTENSE) * evidence.bytes


def _ridge(evidence: Evidence) -> float | None:
    """Operations for each byte at which both ceilings take the same time."""
    ceilings, peak = evidence.ceilings, evidence.arithmetic_ceiling
    return peak * 1e3 / ceilings.read_gbps if peak and ceilings.read_gbps else None


def _share(evidence: Evidence) -> str:
    achieved, ceiling = evidence.bandwidth or (0.0, 1.0)
    return f"{achieved / ceiling:.0%} of the measured bandwidth ({achieved:.3g} of {ceiling:.3g} GB/s)"


def _size(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count:.0f} bytes"
