"""Builder: what every language offers, as the module `languages/<name>/build.py`; and the order that it is given."""

import os
from dataclasses import dataclass
from typing import Protocol

from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.knowledge.hardware import Hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.launch import LaunchPlan
from kernelwright.records.measure import BuildFacts
from kernelwright.records.task import Workload


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


NOTHING = Workload(inputs=(), parameters=(), outputs=())
PLAIN = Jail(directory="/")


@dataclass(frozen=True)
class Order:
    """One candidate to build, for which device, and within which bounds."""

    warm: Warm
    """Forks the compiler's process."""
    candidate: Candidate
    limit_s: float
    """Seconds that the compiler may take."""
    workload: Workload = NOTHING
    """Inputs, parameters and outputs at full size."""
    arch: str = "native"
    """`native`, `sm_75` … `sm_120`, or what else a backend's compilers know."""
    init: str = ""
    """The task's file as a candidate's process may see it: its `get_init_inputs`."""
    device: Hardware | None = None
    """The very device that host code is told of, where one is here."""
    jail: Jail = PLAIN
    """The confinement of the candidate's process; a compiler's differs as each says."""
    captures: bool = True
    """Whether launches may be captured into plans; a test of what is lost without switches it off."""


class Builder(Protocol):
    """How candidates of one language are built."""

    MODULE: bool
    """A candidate is a Python module with parameters of its own, which must be given to it before a call."""
    OWN_HOST: bool
    """Its own host code always launches its kernels, with what scratch memory it likes: no plan can stand for it."""
    EXTENSION: bool
    """It compiles an extension when it is imported, and needs compilers and headers in its jail."""
    INTERPRETED: bool
    """There is an interpreter for it, which says whether a kernel is right where no device can."""

    def build(self, order: Order) -> Built:
        """What can run on a device that is here, or why there is nothing.

        Raises:
            MachineError: a compiler is missing.
            ChildSlowError, ChildGoneError: it took too long, or was killed.
            TamperedError: its answer is not one that our code gives.
        """
        ...

    def cross_compile(self, order: Order) -> Built:
        """As `build` for a device that is elsewhere: the facts are what counts, and nothing need be able to run."""
        ...
