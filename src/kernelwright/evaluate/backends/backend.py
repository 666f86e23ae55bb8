"""Backend: what the pipeline asks of a kind of device. `cpu`, `cuda` and `absent` implement it, each in its folder.

To add one: a folder with a class that has what stands here, and a row in `table.py`. A backend that only cross-compiles
composes `absent.backend.AbsentBackend` with its languages and versions, as `hip` does, and has no clock.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from kernelwright.evaluate.backends.host import Host
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess, TimedRun
from kernelwright.evaluate.sandbox.process import ChildRaisedError
from kernelwright.evaluate.session.cases import OriginalTask
from kernelwright.evaluate.session.loaded import LoadedCandidate
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.evaluate.timing.clock import Pace
from kernelwright.evaluate.timing.conditions import Watch
from kernelwright.records.evaluation import BuildFailed, Crashed, Stage, TimedOut
from kernelwright.records.measure import BaselineName, BuildFacts
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Profile
from kernelwright.records.task import TaskSource


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


NO_KERNELS = "library calls are forbidden, and it has 0 kernels of its own: PyTorch does it all"
"""Why a candidate is refused where it may not leave the work to PyTorch."""
CloseOldest = Callable[[], bool]
"""Closes the session on this backend that was not asked for longest; False: there is none."""


@dataclass(frozen=True)
class BuiltCandidate:
    """A candidate that was built."""

    facts: BuildFacts | None
    """What a compiler said; None where only running it can tell."""
    load: Callable[[], AbstractContextManager[LoadedCandidate]]
    """The candidate in its process, ended in the end; whoever asks has the host's turn.

    Raises:
        OutcomeReached: it cannot be loaded, or what ended it means more than the pipeline knows.
        ChildSlowError, ChildGoneError, ChildRaisedError, TamperedError: of its process.
    """
    own_host: bool = True
    """Whether code of its own runs on the host, beside kernels that the referee launches for it."""


class Backend(Protocol):
    """One kind of device."""

    host: Host
    clock: Clock | None
    """None: the device is not here, and no time is claimed."""
    languages: tuple[str, ...]
    """What candidates may be written in."""
    is_gpu: bool
    """Limits on shared memory, registers and the like mean something."""
    most_bytes: int | None
    """See `LoadTask.most_bytes`; None where candidates run at full size."""

    def versions(self) -> dict[str, str]:
        """Of what can change a measurement on this device alone; what does not answer is `absent`."""
        ...

    def reference(self, source: TaskSource, policy: Policy, close_oldest: CloseOldest) -> ComputeProcess:
        """A process for a task's reference, with room for what it will need: open tasks may have to give way.

        Raises:
            as `ComputeProcess.ask`.
        """
        ...

    def session(
        self, original: OriginalTask, reference: ComputeProcess, policy: Policy, close_oldest: CloseOldest
    ) -> Session:
        """Opens the session of the task that a reference turned out to be.

        Raises:
            TaskError: it does not fit.
        """
        ...

    def activate(self, session: Session) -> None:
        """It is this task's turn."""
        ...

    def prepared(self, trial: Trial) -> AbstractContextManager[BuiltCandidate]:
        """The candidate built, and freed in the end. Holds the host's turn if a compiler would be heard by a clock.

        Raises:
            OutcomeReached: it does not build, breaks a limit, or compiling is all that can be done with it.
            MachineError: a compiler is missing.
            ChildSlowError, ChildGoneError, ChildRaisedError, TamperedError: of the compiler's process.
        """
        ...

    def profile(self, trial: Trial, build: BuildFacts | None) -> Profile:
        """Where the candidate's time goes, as well as can be told here; a lack is a note, and nothing raises."""
        ...

    def close(self) -> None:
        """End what it started."""
        ...


@dataclass(frozen=True)
class FirstCall:
    """What a first call means on one backend."""

    compiler: str
    """Of the build's facts."""
    stage: Stage
    """Where a candidate stands that ends in it."""
    build_errors: frozenset[str]
    """Names of exceptions that a compiler raises."""

    def of(self, compute: Callable[[], TimedRun]) -> BuildFacts:
        """Make it; its result is judged with the first case, not here.

        Raises:
            OutcomeReached: it fails.
        """
        try:
            ran = compute()
        except ChildRaisedError as raised:
            if raised.name in self.build_errors:
                raise OutcomeReached(BuildFailed(log=raised.log)) from None
            raise OutcomeReached(Crashed(stage=self.stage, reason=raised.name, log=raised.log)) from None
        except ChildGoneError as gone:
            raise OutcomeReached(Crashed(stage=self.stage, reason=gone.reason, log=gone.log)) from None
        except ChildSlowError as slow:
            raise OutcomeReached(TimedOut(stage=self.stage, limit_s=slow.limit_s)) from None
        return BuildFacts(compiler=self.compiler, seconds=ran.outside_ns / 1e9)
