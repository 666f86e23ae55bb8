"""Jails for profilers: they start programs, talk over a loopback of their own, and may need a weaker jail than a candidate.

The ladder below is the order in which parts of a jail are given up, and for whom.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from kernelwright import version
from kernelwright.errors import MachineError
from kernelwright.evaluate.backends.cuda.profile_request import Request
from kernelwright.evaluate.sandbox.contestant import Contestant
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import PrepareProfile, ProfileOrder
from kernelwright.evaluate.sandbox.spawn import Warm

PACKAGE = (str(Path(version.__file__).parents[1]),)
"""What a started interpreter must be able to read: the folder that our package lies in."""


def importing() -> dict[str, str]:
    """Environment in which a started interpreter finds what this one finds, installed or not."""
    return {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@dataclass(frozen=True)
class Rung:
    """A jail to try a profiler in."""

    off: tuple[str, ...]
    """Parts that are left out."""
    words: str
    foreign: bool
    """Whether a candidate's own host code may run in it; device code alone makes no system call."""


LADDER = (
    Rung((), "", foreign=True),
    Rung(("limits",), "without limits on memory and processes", foreign=True),
    Rung(("limits", "namespaces"), "in the referee's network and process namespaces", foreign=True),
    Rung(("limits", "namespaces", "seccomp"), "without a filter of system calls", foreign=True),
    Rung(("limits", "namespaces", "seccomp", "nobody"), "as the referee's own user", foreign=False),
)
"""From the full jail to the weakest; a machine remembers the first in which ncu counts."""


def jail(rung: Rung) -> Jail:
    """The confinement of a profiled process and of the tool beside it."""
    return Jail(
        directory="/",
        readable=PACKAGE,
        may_execute=True,
        memory_bytes=1 << 40,
        tmpfs_bytes=1 << 30,
        loopback=True,
        off=rung.off,
        environment={**importing(), "LC_ALL": "C", "PATH": "/usr/local/cuda/bin:/usr/bin:/bin"},
    )


class Opened:
    """A single-use child of the side `profiled`, closed whatever happens."""

    def __init__(self, warm: Warm, rung: Rung, limit_s: float) -> None:
        self._warm, self._rung, self._limit_s = warm, rung, limit_s

    def __enter__(self) -> Contestant:
        self._child = Contestant(self._warm.spawn("profiled", jail(self._rung)), self._limit_s)
        # Its own tools work on while it waits for them; nothing is timed.
        self._child.freeze = False
        return self._child

    def __exit__(self, *_: object) -> None:
        self._child.close()


def must_be_nobody(child: Contestant, rung: Rung, request: Request) -> None:
    """A part that was left out may cost another: foreign host code never runs as the referee's user for a profile.

    Raises:
        MachineError: it would.
    """
    if rung.off and "nobody" in child.child.denied and request.program is None:
        raise MachineError(f"{rung.words}, this host would run foreign code as the referee's own user")


def prepare(child: Contestant, request: Request, traces: bool = False) -> None:
    """Hand the order and the binaries over; `traces` has a started target trace itself.

    Raises:
        as `Contestant.ask`.
    """
    descriptors = [_file(image) for image in request.binaries()]
    try:
        child.ask(PrepareProfile(order=ProfileOrder(subject=request.subject(), trace=traces), files=descriptors))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _file(image: bytes) -> int:
    descriptor = os.memfd_create("binary", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(image)
    return descriptor
