"""Published kernels, and an audit of them: what was claimed beside what was measured.

Values only: `tasks/published` reads kernels as people publish them, `engine/audit.py` has them judged.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from kernelwright.records.base import Record, identity
from kernelwright.records.evaluation import Evaluation, Incorrect, Measured, Suspect, Weights, is_right
from kernelwright.records.measure import Versus
from kernelwright.records.task import Target

Speedup = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class PublishedKernel(Record):
    """One kernel as its authors published it, with the task that it is for. Nothing of it was run."""

    name: str
    origin: str
    """Where it was read: a file, or a file with the line."""
    reference: str
    """The task's text, KernelBench's form."""
    kernel: str
    suffix: str = ".py"
    """The ending that says its language."""
    claimed: Speedup | None = None
    """Times faster than eager, as published; None where nothing was claimed."""
    missing: str = ""
    """Why there is nothing to judge; empty where there is."""

    @property
    def key(self) -> str:
        """Identity of what is judged."""
        return identity("published", self.model_dump(mode="json", include={"reference", "kernel", "suffix"}))


class AuditedKernel(Record):
    """One published kernel, judged."""

    key: str
    """Identity of kernel, task, device, versions and policy: an equal one needs no second look."""
    published: PublishedKernel
    reason: str
    """Why it has no time, as a class that many may share, such as `incorrect: value` or `task: random`; empty: it has."""
    message: str = ""
    """The same with its particulars."""
    evaluation: Evaluation | None = None
    """None where the task or the kernel could not be read or admitted."""
    seconds: float = 0.0
    """Wall time, with the task's admission where it was the first on it."""

    @property
    def right(self) -> bool:
        """Whether it was right in every case."""
        return self.evaluation is not None and is_right(self.evaluation)

    @property
    def judged(self) -> bool:
        """Whether there is a verdict on the kernel itself."""
        return self.evaluation is not None

    @property
    def weights(self) -> Weights:
        """Which parameters it was judged with."""
        return self.evaluation.weights if self.evaluation else "fresh"

    def against(self, baseline: str) -> Versus | None:
        """How it compares with a baseline; None where it was not timed against it."""
        timing = self.evaluation.timing if isinstance(self.evaluation, Measured) else None
        return next((v for v in timing.versus if v.baseline == baseline), None) if timing else None


class AuditSummary(Record):
    """An audit in figures."""

    published: int
    judged: int
    """Those with a verdict of their own; of the others the task could not be judged, or nothing could be read."""
    right: int
    faster_than_eager: int
    """Beyond noise."""
    faster_than_compile: int
    compared: int
    """Those that are measured and for which a speedup was claimed: both means are over these."""
    claimed: float | None
    """Geometric mean of what was claimed."""
    measured: float | None
    """Geometric mean of the measured medians."""
    weaker: int
    """Right with the parameters of construction alone."""
    reasons: dict[str, int]
    """Why the others have no time, the commonest first."""
    sentence: str


class KernelAudit(Record):
    """Published kernels, all judged by the same rules on the same device."""

    created: str
    """ISO 8601, UTC."""
    source: str
    """What was read."""
    target: Target
    device: str
    versions: dict[str, str]
    weights: Weights
    """What was asked for."""
    summary: AuditSummary
    kernels: tuple[AuditedKernel, ...]
    """In the order in which they were published."""


def summarise(kernels: tuple[AuditedKernel, ...]) -> AuditSummary:
    """The figures of an audit, and its summary line."""
    against = {name: [v for k in kernels if (v := k.against(name))] for name in ("eager", "compile")}
    faster = {name: sum(v.verdict == "faster" for v in all_of_it) for name, all_of_it in against.items()}
    pairs = [
        (k.published.claimed, v.speedup.median) for k in kernels if k.published.claimed and (v := k.against("eager"))
    ]
    found = AuditSummary(
        published=len(kernels),
        judged=sum(k.judged for k in kernels),
        right=sum(k.right for k in kernels),
        faster_than_eager=faster["eager"],
        faster_than_compile=faster["compile"],
        compared=len(pairs),
        claimed=_geometric_mean(claimed for claimed, _ in pairs if claimed),
        measured=_geometric_mean(measured for _, measured in pairs),
        weaker=sum(k.right and k.weights == "construction" for k in kernels),
        reasons=dict(Counter(k.reason for k in kernels if k.reason).most_common()),
        sentence="",
    )
    # Such as: of 250 published kernels 181 are right, 96 faster than eager, …; measured 1.20.
    line = (
        f"of {found.published} published kernels {found.right} are right, {found.faster_than_eager} faster than eager, "
        f"{found.faster_than_compile} faster than torch.compile"
    )
    if found.claimed is not None and found.measured is not None:
        line += f"; geometric mean claimed {found.claimed:.2f}, measured {found.measured:.2f}"
        line += f" ({found.compared} kernels)" if found.compared < found.published else ""
    return found.model_copy(update={"sentence": line})


def reason_class(evaluation: Evaluation) -> str:
    """Why an evaluation has no time, as a class; empty where it has."""
    if isinstance(evaluation, Measured):
        return ""
    if isinstance(evaluation, Incorrect | Suspect):
        return f"{evaluation.outcome}: {evaluation.because}"
    return evaluation.outcome


def _geometric_mean(values: Iterable[float]) -> float | None:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None
