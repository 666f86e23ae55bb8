"""What the verbs are asked and what they answer: plain values, the same for every interface."""

from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.engine.config import RunConfig
from kernelwright.engine.summary import RunSummary
from kernelwright.engine.suppliers import Shown
from kernelwright.errors import KernelwrightError
from kernelwright.execution.executor import Place
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import TaskSource
from kernelwright.tasks.published.traces import Form

INTERRUPTED = 130
NOTHING_RIGHT = 1
PYTORCH_STAYS = 11
"""The best right kernel is not surely faster than eager by what was asked for, so nothing was written."""


@dataclass(frozen=True)
class OptimizeRequest:
    """What is to be optimized, and how."""

    task: Path | TaskSource
    """A file to read, or a task that was read."""
    target: str | None = None
    """`cpu`, `cuda` or an architecture; None: the GPU if there is one."""
    config: RunConfig = field(default_factory=RunConfig)
    runs: Path = Path("runs")
    """Where the run's folder is made."""


@dataclass(frozen=True)
class ProfileRequest:
    """Which kernel is to be profiled on which task."""

    task: Path
    kernel: Path
    target: str | None = None
    """None: the device here that the kernel's language is for, or else its usual architecture, compiled and interpreted."""
    entry: str | None = None
    workspace_bytes: int = 0
    policy: Policy = field(default_factory=Policy)
    place: Place = field(default_factory=Place)
    """Where the kernel is judged."""


@dataclass(frozen=True)
class CheckRequest(ProfileRequest):
    """Which kernel is to be judged on which task."""

    effort: Effort = "final"
    receipt: Path | None = None
    """Where the verdict's receipt is written."""
    emit: Form | None = None
    """The format of another benchmark in which the verdict is written, too."""
    emit_into: Path = Path("traces")
    """The folder for that."""


@dataclass(frozen=True)
class OptimizeResult:
    """How a run ended, with what it left behind."""

    summary: RunSummary
    shown: Shown
    """The summary for a terminal."""
    report: Path
    kernel: Path | None
    """The best kernel as a drop-in module; None when nothing was right, or nothing faster than PyTorch."""
    source: Path | None = None
    """The best kernel as it was judged, where its language or its task allows no drop-in."""
    receipt: Path | None = None
    """The receipt of that kernel's verdict."""
    error: KernelwrightError | None = None
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """0: a right, faster kernel; 1: none is right; 11: none is faster; 130: interrupted; otherwise the error's own."""
        if self.error is not None:
            return self.error.exit_code
        if self.interrupted:
            return INTERRUPTED
        if self.summary.best is None and self.summary.answer != "disturbed":
            return NOTHING_RIGHT
        return 0 if self.summary.best is not None and not self.summary.pytorch_stays else PYTORCH_STAYS
