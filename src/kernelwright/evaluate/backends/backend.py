"""Backend: what the pipeline asks of a kind of device. `cpu`, `cuda` and `absent` implement it, each in its folder.

To add one: a folder with a class that has what stands here, and a row in `table.py`. A backend that only cross-compiles
composes `absent.backend.AbsentBackend` with its languages and versions, as `hip` does, and has no clock.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from kernelwright.evaluate.backends.clock import Clock
from kernelwright.evaluate.backends.host import Host
from kernelwright.evaluate.backends.instruments import Instruments, Offsets
from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess
from kernelwright.evaluate.session.cases import Case, OriginalTask
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import Trial
from kernelwright.records.measure import BuildFacts
from kernelwright.records.numerics import Flags
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Profile

NO_KERNELS = "library calls are forbidden, and it has 0 kernels of its own: PyTorch does it all"
"""Why a candidate is refused where it may not leave the work to PyTorch."""
BESIDE_EAGER = {"baselines": ("eager",), "final_baselines": (), "search_blocks": 12, "search_seconds": 1.0}
"""How one more process is held against eager."""
CloseOldest = Callable[[], bool]
"""Closes the session on this backend that was not asked for longest; False: there is none."""


@dataclass(frozen=True)
class Reference:
    """A task's reference in its process, before it is known whether the task can be judged."""

    process: CandidateProcess
    open: Callable[[OriginalTask, CloseOldest], Session]
    """Opens the session of the task that it turned out to be.

    Raises:
        TaskError: it does not fit.
    """
    make_room: Callable[[str, CloseOldest], None] = lambda source, close_oldest: None
    """Has open tasks give way before the task in this text draws its first input, where it will need the room."""


@dataclass(frozen=True)
class Prepared:
    """A candidate that was built."""

    facts: BuildFacts | None
    """What a compiler said; None where only running it can tell."""
    load: "Callable[[], AbstractContextManager[Loaded]]"
    """The candidate in its process, ended in the end; whoever asks has the host's turn.

    Raises:
        OutcomeReached: it cannot be loaded, or what ended it means more than the pipeline knows.
        ChildSlowError, ChildGoneError, ChildRaisedError, TamperedError: of its process.
    """
    own_host: bool = True
    """Whether code of its own runs on the host, beside kernels that the referee launches for it."""


@dataclass(frozen=True)
class Loaded:
    """A candidate in its process, ready to compute, with what its backend knows of it."""

    process: CandidateProcess
    facts: BuildFacts
    again: Callable[[Case], CandidateProcess] | None = None
    """Loads it into one more process, with inputs that it may write to and the parameters of a case; None: nobody can."""
    eager_again: Callable[[], CandidateProcess] | None = None
    """Begins one more process of the task's own program, as a candidate's, where processes of one program may differ for
    as long as they live, and several find room beside each other; None: they do not, or nobody can."""
    twin: "Callable[[], AbstractContextManager[tuple[Trial, Loaded]]] | None" = None
    """The same, loaded as a candidate is and ended again, with its trial: where only one finds room."""
    anew: "Callable[[], AbstractContextManager[tuple[Trial, Loaded]]] | None" = None
    """The candidate in one more process, with a trial of its own, and ended again; None: nobody asks for it."""
    instruments: Callable[[], Instruments] = Instruments
    guarded: bool = True
    """There is memory around its results that it may not touch."""
    whole: bool = True
    """A call says where its parameters are; a module is given them beforehand."""
    give: Callable[[Offsets], None] = lambda offsets: None
    """Hands over the parameters of a call, where a call does not say where they are."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Regimes that it cannot be asked, with the reason."""
    timed: Callable[[], AbstractContextManager[None]] = nullcontext
    """What must hold while it is timed."""
    flags: Callable[[], Flags] = dict
    """PyTorch's precision flags that its own host code has set; none where no such code runs."""
    library_share: Callable[[], float | None] = lambda: None
    """Share of a call's time that PyTorch's own operators take, as its process says; None where nobody can tell."""
    how: str = ""
    """What it is verified on, where there is no device."""
    decoration: Callable[[], str] = str
    """Why its kernels are there for show alone, where there is no device; empty where they are not."""


class Backend(Protocol):
    """One kind of device."""

    host: Host
    clock: Clock | None
    """None: the device is not here, and no time is claimed."""
    languages: tuple[str, ...]
    """What candidates may be written in."""
    is_gpu: bool
    """Limits on shared memory, registers and the like mean something."""

    def versions(self) -> dict[str, str]:
        """Of what can change a measurement on this device alone; what does not answer is `absent`."""
        ...

    def reference(self, policy: Policy) -> Reference:
        """A process for a task's reference."""
        ...

    def activate(self, session: Session) -> None:
        """It is this task's turn."""
        ...

    def prepared(self, trial: Trial) -> AbstractContextManager[Prepared]:
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
