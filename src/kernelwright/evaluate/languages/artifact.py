"""What building a candidate can come to: a program for our launcher, a library, or host code that must run itself."""

import os
from dataclasses import dataclass

from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.launch import LaunchPlan
from kernelwright.records.measure import BuildFacts


@dataclass(frozen=True)
class Program:
    """Device code with its launch plans, ready for the referee's own launcher (tier one).

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
    """The candidate's own host code must run (tier two), and nothing was built that stands for it."""

    reason: str
    """Why no launch plan can say what it does: its line and what it does there, for instance."""
    facts: BuildFacts | None = None
    """What a compiler said all the same."""


@dataclass(frozen=True)
class Library:
    """A shared object as an anonymous file, with the build's facts."""

    descriptor: int
    facts: BuildFacts

    def close(self) -> None:
        """Free it."""
        os.close(self.descriptor)


Artifact = Program | Library | Dynamic
Built = Artifact | BuildFailed | Refused
