"""What a backend offers to the probes of a new best, besides a process that computes: launches that can be left out, tools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch

Offsets = tuple[int, ...]


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
