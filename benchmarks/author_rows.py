"""What is judged of one task in one step of `benchmarks/author.py`, and what its row says."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from author_families import Row, figure
from pydantic import JsonValue, ValidationError
from task_flops import flops

from kernelwright.errors import ProposeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.propose.author.designs import DESIGNS, Design
from kernelwright.propose.inductor import inductor
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Incorrect, Measured, is_right, speedup_over_eager
from kernelwright.records.policy import Effort
from kernelwright.records.task import Target, Task, TaskSource

LANGUAGES = {"cpu": "cpp"}
"""What is written for a kind of device; Triton for any other."""
EFFORTS: dict[str, Effort] = {
    "default": "search", "inductor": "search", "tries": "search", "final": "final", "second": "search",
}  # fmt: skip
"""By step."""
HERE = f"{Path(__file__).parents[1]}/"
"""What tracebacks say of one machine alone."""
BOILERPLATE = (
    "CUDA kernel errors might be", "For debugging consider", "Compile with `TORCH_USE_CUDA_DSA`", "Search for `cudaError",
)  # fmt: skip
WHY = 600
"""Characters of a reason: enough to mend a kernel without the device."""


@dataclass
class Kernel:
    """One schedule's kernel, and what is known of it."""

    schedule: dict[str, JsonValue]
    candidate: Candidate
    found: Evaluation


@dataclass
class Work:
    """One task in one step."""

    referee: Evaluator
    source: TaskSource
    target: Target
    step: str
    row: Row
    tries: int
    """Schedules besides the default that the step `tries` judges."""
    copy_gbps: float
    beside: bool
    """Other tasks are judged at the same time."""
    began: float = field(default_factory=time.monotonic)
    """Seconds from here on count, the turns of others included."""

    @property
    def compilers(self) -> bool:
        """Whether the step judges what `torch.compile` writes."""
        return self.step == "inductor" or (self.step == "final" and self.row.get("by") == "inductor")


async def judged(work: Work) -> None:
    """Admit the task, write its kernels, have each of them judged, and bring the row up to date.

    Raises:
        ProposeError: it is not the author's to write, or the compiler writes nothing that stands alone.
        KernelwrightError: the task cannot be judged.
    """
    task = await work.referee.admit(work.source, work.target)
    written = await (_compilers(work, task) if work.compilers else _authors(work, task))
    effort = EFFORTS[work.step]
    # The next kernel is compiled while this one is timed; the referee gives the device to one after the other.
    found = await asyncio.gather(*(work.referee.evaluate(task, candidate, effort) for _, candidate in written))
    kernels = [Kernel(s.model_dump(), c, f) for (s, c), f in zip(written, found, strict=True)]
    if work.step == "second":
        work.row["second"] = _second(work, kernels)
    else:
        _tell(work, kernels)
        _best(work, [kernel for kernel in kernels if isinstance(kernel.found, Measured)])
    _done(work)


async def _authors(work: Work, task: Task) -> list[tuple[Any, Candidate]]:
    design = await asyncio.to_thread(DESIGNS[LANGUAGES.get(work.target.kind, "triton")], task)
    work.row |= shape_of(design)
    return [(schedule, design.write(schedule)) for schedule in _schedules(work, design)]


async def _compilers(work: Work, task: Task) -> list[tuple[Any, Candidate]]:
    schedule = inductor.usual(task)
    written = await inductor.first_written(task, lambda options: work.referee.lower(task, options), schedule)
    return [(schedule, written)]


def _best(work: Work, measured: Sequence[Kernel]) -> None:
    """Put the step's best kernel into the row, if it is better than what is there; a final's figure stands in any case."""
    best = max(measured, key=lambda kernel: _sure(kernel.found), default=None)
    if best is None or (work.step != "final" and _sure(best.found) <= _known(work.row)):
        return
    work.row |= {"outcome": best.found.outcome, "source": best.candidate.source, "schedule": best.schedule}
    work.row |= {**_figures(best.found, work.copy_gbps), "final": work.step == "final"}
    work.row["tflops"] = round(flops(work.source.source) / float(str(work.row["latency_us"])) / 1e6, 2)
    if work.step != "final":
        work.row["by"] = "inductor" if work.step == "inductor" else "author"


def missed(work: Work, outcome: str, why: str) -> None:
    """The step ended before a verdict; what earlier steps found stays."""
    told: Row = {"step": work.step, "outcome": outcome, "why": _short(why)}
    work.row["tries"] = [*(work.row.get("tries") or []), told]  # type: ignore[misc]
    if not work.row.get("outcome"):
        work.row |= {"outcome": outcome, "why": _short(why)}
    _done(work)


def shape_of(design: Design) -> Row:
    """Which families made the kernels, which rules rewrote them, and what PyTorch still does."""
    if design.program is None:
        return {"kernels": ["rows"], "kept": []}
    kernels: list[JsonValue] = [kernel.family for kernel in design.program.kernels]
    kept: list[JsonValue] = [step.node.op for step in design.program.kept]
    return {"kernels": kernels, "kept": kept}


def _schedules(work: Work, design: Design) -> list[Any]:
    """What the step judges: records of the design's own type."""
    if work.step == "default":
        return [design.default]
    if work.step == "tries":
        return design.tries(1 + work.tries)[1:]
    try:
        tuned = design.space.record.model_validate(work.row["schedule"])
    except ValidationError as error:
        raise ProposeError(f"its kernels have other schedules here: {error}") from None
    return [tuned] if work.step == "final" else [tuned, *(s for s in design.tries(1 + work.tries) if s != tuned)]


def _second(work: Work, kernels: Sequence[Kernel]) -> Row:
    """The schedule that was tuned at another size against the best of those that were tried at this one."""
    tuned, best = (_sure(kernel.found) for kernel in (kernels[0], max(kernels, key=lambda k: _sure(k.found))))
    told: Row = {"tuned": round(tuned, 4), "best": round(best, 4), "share": round(tuned / best, 4) if best else None}
    return told if tuned else {**told, "why": why(kernels[0].found)}


def _tell(work: Work, kernels: Sequence[Kernel]) -> None:
    tries = list(work.row.get("tries") or [])  # type: ignore[arg-type]
    for kernel in kernels:
        told: Row = {"step": work.step, "schedule": kernel.schedule, "outcome": kernel.found.outcome}
        told["seconds"] = {stage: round(seconds, 2) for stage, seconds in kernel.found.stage_seconds.items()}
        if isinstance(kernel.found, Measured):
            told["speedup_eager"] = round(_sure(kernel.found), 4)
            if (audit := kernel.found.audit) is not None:
                told["audit"] = {p.name: [p.status, round(p.seconds, 2)] for p in audit.probes}
        elif not is_right(kernel.found):
            told["why"] = why(kernel.found)
            told["source"] = kernel.candidate.source
        tries.append(told)
    work.row["tries"] = tries
    if "source" not in work.row and kernels and not is_right(kernels[0].found):
        work.row |= {"outcome": kernels[0].found.outcome, "why": why(kernels[0].found)}


def why(found: Evaluation) -> str:
    """Why a kernel has no time, in its first words and its last."""
    texts = [getattr(found, name, "") for name in ("because", "case", "stage", "reason", "evidence", "log")]
    told = ": ".join(str(text).strip() for text in texts if text)
    if isinstance(found, Incorrect) and (worst := found.accuracy.worst) is not None:
        told += f" (worst: {worst.distribution}, {worst.error:.2e} where {worst.allowed:.2e} is allowed)"
    return _short(told)


def _short(text: str) -> str:
    """Without what stands in every message of CUDA's, and without this machine's paths."""
    told = [line for line in text.replace(HERE, "").splitlines() if not line.startswith(BOILERPLATE)]
    text = "\n".join(told)
    return text if len(text) <= WHY else f"{text[: WHY // 2]} … {text[-WHY // 2 :]}"


def _sure(found: Evaluation) -> float:
    ratio = speedup_over_eager(found)
    return ratio.sure if ratio else 0.0


def _known(row: Row) -> float:
    return figure(row, "eager", place=1) if "eager" in row else -1.0


def _figures(found: Evaluation, copy_gbps: float) -> Row:
    assert isinstance(found, Measured)
    timing = found.timing
    share = found.roofline.achieved_gbps / copy_gbps if copy_gbps else None
    told: Row = {"latency_us": timing.latency_us, "copy_share": share, "missing": list(timing.missing)}
    told |= {"chosen": found.build.chosen, "facts": [k.model_dump(exclude_none=True) for k in found.build.kernels]}
    for versus in timing.versus:
        r = versus.speedup
        told[versus.baseline] = [round(r.median, 4), round(r.low, 4), round(r.high, 4), versus.verdict]
    return told


def _done(work: Work) -> None:
    steps = list(work.row.get("steps") or [])  # type: ignore[arg-type]
    before = float(str(work.row.get("seconds") or 0.0))
    work.row |= {"steps": [*steps, work.step], "seconds": round(before + time.monotonic() - work.began, 1)}
