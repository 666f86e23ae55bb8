"""What is judged of one task in one step of `benchmarks/author.py`, and what its row says."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from author_families import figure
from campaign import Row
from figures import short, timed, why
from pydantic import ValidationError
from task_flops import flops

from kernelwright.errors import ProposeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.propose.author.search.designs import DESIGNS, Design
from kernelwright.propose.inductor import inductor
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured, is_right, speedup_over_eager
from kernelwright.records.policy import Effort
from kernelwright.records.task import Target, Task, TaskSource

LANGUAGES = {"cpu": "cpp"}
"""What is written for a kind of device; Triton for any other."""
EFFORTS: dict[str, Effort] = {
    "default": "search", "inductor": "search", "tries": "search", "final": "final", "second": "search",
}  # fmt: skip
"""By step."""
RAW = ("source", "tries", "facts", "chosen")
"""Fields of a row that are long: a kernel's text, what was tried, what the compiler said."""


@dataclass
class Kernel:
    """One schedule's kernel, and what is known of it."""

    schedule: Row
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
        _note_tries(work, kernels)
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
    work.row["tflops"] = round(flops(work.source.source) / work.row["latency_us"] / 1e6, 2)
    if work.step != "final":
        work.row["by"] = "inductor" if work.step == "inductor" else "author"


def missed(work: Work, outcome: str, reason: str) -> None:
    """The step ended before a verdict; what earlier steps found stays."""
    work.row["tries"] = [*(work.row.get("tries") or []), {"step": work.step, "outcome": outcome, "why": short(reason)}]
    if not work.row.get("outcome"):
        work.row |= {"outcome": outcome, "why": short(reason)}
    _done(work)


def shape_of(design: Design) -> Row:
    """Which families made the kernels, which rules rewrote them, and what PyTorch still does."""
    kernels, kept = design.program.kernels, design.program.kept
    return {"kernels": [kernel.family for kernel in kernels], "kept": [step.node.op for step in kept]}


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
    row: Row = {"tuned": round(tuned, 4), "best": round(best, 4), "share": round(tuned / best, 4) if best else None}
    return row if tuned else {**row, "why": why(kernels[0].found)}


def _note_tries(work: Work, kernels: Sequence[Kernel]) -> None:
    """Add what was tried; a task without a right kernel says why."""
    tries = list(work.row.get("tries") or [])
    for kernel in kernels:
        one: Row = {"step": work.step, "schedule": kernel.schedule, "outcome": kernel.found.outcome}
        one["seconds"] = {stage: round(seconds, 2) for stage, seconds in kernel.found.stage_seconds.items()}
        if isinstance(kernel.found, Measured):
            one["speedup_eager"] = round(_sure(kernel.found), 4)
            if (audit := kernel.found.audit) is not None:
                one["audit"] = {p.name: [p.status, round(p.seconds, 2)] for p in audit.probes}
        elif not is_right(kernel.found):
            one |= {"why": why(kernel.found), "source": kernel.candidate.source}
        tries.append(one)
    work.row["tries"] = tries
    if "schedule" not in work.row and kernels and not is_right(kernels[0].found):
        work.row |= {"outcome": kernels[0].found.outcome, "why": why(kernels[0].found)}


def _sure(found: Evaluation) -> float:
    ratio = speedup_over_eager(found)
    return ratio.sure if ratio else 0.0


def _known(row: Row) -> float:
    return figure(row, "eager", place=1) if "eager" in row else -1.0


def _figures(found: Measured, copy_gbps: float) -> Row:
    share = round(found.roofline.achieved_gbps / copy_gbps, 4) if copy_gbps else None
    row: Row = {**timed(found), "copy_share": share, "missing": list(found.timing.missing)}
    return row | {"chosen": found.build.chosen, "facts": [k.model_dump(exclude_none=True) for k in found.build.kernels]}


def _done(work: Work) -> None:
    seconds = work.row.get("seconds", 0.0) + time.monotonic() - work.began
    work.row |= {"steps": [*work.row["steps"], work.step], "seconds": round(seconds, 1)}
