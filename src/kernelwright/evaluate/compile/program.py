"""Program: device code with its launch plans, ready for the referee's own launcher (tier one)."""

from dataclasses import dataclass

from kernelwright.records.launch import LaunchPlan
from kernelwright.records.measure import BuildFacts


@dataclass(frozen=True)
class Program:
    """What a compile stage hands over.

    Parameters, outputs and workspaces lie at multiples of 16 bytes in every call. `plans` are for inputs that do so too.
    """

    modules: tuple[bytes, ...]
    """Binaries for the device (cubin)."""
    plans: tuple[LaunchPlan, ...]
    """Ways to compute the same; the launcher tries them all and keeps the fastest. Never empty."""
    facts: BuildFacts
    unaligned_plans: tuple[LaunchPlan, ...] = ()
    """The same ways, by their labels, for inputs that are aligned to their elements only. Empty where `plans` are right for
    these as well, and where `aligned_only` says that nothing is."""
    aligned_only: str = ""
    """Why the candidate cannot take such inputs: what it raised, or that its tensor descriptors cannot."""


@dataclass(frozen=True)
class Dynamic:
    """The candidate's host code does what no launch plan can say, so that it must run itself (tier two)."""

    reason: str
    """The candidate's line and what it does there."""
