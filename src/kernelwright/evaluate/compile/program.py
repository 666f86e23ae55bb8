"""Program: device code with its launch plans, ready for the referee's own launcher (tier one)."""

from dataclasses import dataclass

from kernelwright.records.launch import LaunchPlan
from kernelwright.records.measure import BuildFacts


@dataclass(frozen=True)
class Program:
    """What a compile stage hands over."""

    modules: tuple[bytes, ...]
    """Binaries for the device (cubin)."""
    plans: tuple[LaunchPlan, ...]
    """Ways to compute the same; the launcher tries them all and keeps the fastest. Never empty."""
    facts: BuildFacts
