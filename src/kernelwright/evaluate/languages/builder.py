"""Builder: what every language offers, as the module `languages/<name>/build.py`; and the order that it is given."""

from dataclasses import dataclass
from typing import Protocol

from kernelwright.evaluate.languages.artifact import Built
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.knowledge.hardware import Hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload

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
