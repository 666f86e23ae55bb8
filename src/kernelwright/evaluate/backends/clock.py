"""Clock: whose clock counts on a backend, against whom it is held, and what can be believed of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kernelwright.evaluate.timing.clock import Pace
from kernelwright.evaluate.timing.conditions import Watch
from kernelwright.records.measure import BaselineName


class Clock(Protocol):
    """How candidates are timed on a device that is here."""

    on_device: bool
    """The device's own events count, bounded by the grader's clock outside; else the grader's clock itself."""
    pace: Pace
    least_us: Mapping[int, float]
    """Smallest difference that is told, by tier; nothing: any."""
    cpu_time_tells: bool
    """A candidate's processor time is that of its calls: its process compiles nothing."""
    launch_us: float
    """What starting one operation costs, roughly, in microseconds."""
    baselines: tuple[BaselineName, ...]
    """What candidates can be timed against."""
    keeps_baselines: bool
    """In a search, a baseline's known ratio to eager stands for timing it again."""

    def ceiling_gbps(self, size: int, again: bool = False) -> float:
        """Read bandwidth for this many bytes in 10^9 bytes a second, measured: the best so far.

        `again` measures once more: a neighbour's noise can only make a ceiling look low, and a kernel suspect.

        Raises:
            MachineError: there is no compiler.
            RefereeError: the yardstick kernel did not build.
        """
        ...

    def floor_us(self, size: int, flops: int) -> float:
        """Microseconds that no honest kernel can undercut."""
        ...

    def watch(self) -> Watch:
        """Eyes on the device for one benchmark."""
        ...

    def busy(self) -> Sequence[Callable[[], None]]:
        """Pieces of work that keep the device busy, one a thread: threads and blocks then meet in another order."""
        ...
