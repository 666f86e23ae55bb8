"""The numbers behind a bottleneck, gathered from whatever there is: a profile of any tier, a measurement, or both.

Where two sources have a figure, the referee's clock wins over a profiler's, and a profiler's traffic over the
compulsory one. `call_limits` and `kernel_limits` judge the numbers.
"""

from dataclasses import dataclass
from functools import cached_property

from kernelwright.records.evaluation import Measured
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
