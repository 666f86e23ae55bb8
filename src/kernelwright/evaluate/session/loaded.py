"""A candidate in its process, as the pipeline meets it: what it can be asked, and what its backend lends the audit of it.

Each backend implements `LoadedCandidate` with a small class for each way in which a candidate runs there.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess, TimedRun
from kernelwright.evaluate.sandbox.messages.calls import Again
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.trial import Trial
from kernelwright.records.measure import BuildFacts
from kernelwright.records.numerics import Flags

Offsets = tuple[int, ...]
Calls = Sequence[Sequence[int]]
Respawn = Literal["private", "again", "eager"]
"""One more process: of the candidate, with inputs that it may write to and the parameters of a case; of the candidate, with a
trial of its own; or of the task's own program as a candidate, with a trial of its own."""
BESIDE_EAGER = {"baselines": ("eager",), "final_baselines": (), "search_blocks": 12, "search_seconds": 1.0}
"""How one more process is held against eager."""


class NotRunError(Exception):
    """A probe does not apply here, or its tool is missing; str is the reason."""


@dataclass(frozen=True)
class Sanitized:
    """What one tool found."""

    errors: int
    first: str = ""
    """The first error in the tool's words."""


class Ablatable(Protocol):
    """A candidate whose kernels can be left out."""

    def launches(self) -> Sequence[str]:
        """Names of the kernels of one call, a launch each, in order."""
        ...

    def without(self, launches: Sequence[int], offsets: Offsets) -> list[torch.Tensor]:
        """Results of one call with these launches left out; results are poisoned beforehand."""
        ...


@dataclass
class Instruments:
    """Instruments that a backend has not are None, and their probes say so."""

    ablatable: Ablatable | None = None
    device_times: Callable[[], Mapping[str, float]] | None = None
    """Microseconds of each kernel that ran on the device during one call, by name."""
    own_kernels: Sequence[str] = ()
    run_source: Callable[[], str] | None = None
    """Runs the candidate's own host code where the referee's launcher stood for it so far; what it saw."""
    sanitize: Callable[[str], Sanitized] | None = None
    """Runs `memcheck` or `racecheck`. Raises NotRunError where the tool is missing."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Why a probe is not made here, by its name."""


class Replayable(Protocol):
    """A process whose calls can become a graph."""

    def capture(self, calls: Calls) -> None:
        """Make one graph of these calls; one without parameters has those that were given last."""
        ...

    def enqueue_behind_gate(self, calls: Calls, limit_s: float) -> None:
        """Queue these calls, none of which begins before `replay`."""
        ...

    def overwrite(self) -> None:
        """Have its last results overwritten."""
        ...

    def replay(self, calls: Calls, how: Again) -> TimedRun:
        """The captured or queued calls, or a loop of those, on what lies at their places now.

        No calls: what an empty question takes.
        """
        ...


class LoadedCandidate(Protocol):
    """A candidate in its process, ready to compute, with what its backend knows of it."""

    trial: Trial
    process: ComputeProcess
    facts: BuildFacts
    respawns: frozenset[Respawn] = frozenset()
    """Of what one more process can be begun."""
    guarded: bool = True
    """There is memory around its results that it may not touch."""
    parameters_in_call: bool = True
    """A call says where its parameters are; a module is given them beforehand."""
    skipped: Mapping[str, str] = {}
    """Input distributions that it cannot be asked, with the reason."""
    verified_on: str = ""
    """What it is verified on, where there is no device."""

    @property
    def replayable(self) -> Replayable | None:
        """Its process, where its own host code tells a device's time: that is bounded by calls that are made again."""
        return None

    def skips(self, distribution: str) -> str:
        """Why it is not asked a case; empty where it is."""
        return self.skipped.get(distribution, "")

    def respawn(self, kind: Respawn, case: Case | None = None) -> "AbstractContextManager[LoadedCandidate]":
        """One more process beside this one, ended again; a private one has the parameters of `case`.

        Raises:
            OutcomeReached: it cannot be confined or loaded.
            as `ComputeProcess.run`.
        """
        raise RefereeError(f"nothing begins one more process here ({kind})")

    def give_parameters(self, offsets: Offsets) -> None:
        """Hand over the parameters of a call, where a call does not say where they are."""
        return

    def timed(self) -> AbstractContextManager[None]:
        """What must hold while it is timed."""
        return nullcontext()

    def instruments(self) -> Instruments:
        """What the audit of a new best can look at it with."""
        return Instruments()

    def flags(self) -> Flags:
        """PyTorch's precision flags that its own host code has set; none where no such code runs."""
        return {}

    def library_share(self) -> float | None:
        """Share of a call's time that PyTorch's own operators take, as its process says; None where nobody can tell."""
        return None

    def decoration(self) -> str:
        """Why its kernels are there for show alone, where there is no device; empty where they are not."""
        return ""
