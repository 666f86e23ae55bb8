"""Sample: one verified pair of module and kernel, and the file of them.

A sample keeps the admitted task, so that prompts are rendered when a recipe runs and a change of the prompt files changes
no data. What is measured on one machine says nothing of another, so the device and the versions stand beside it.
"""

from functools import cached_property
from pathlib import Path
from typing import Literal

from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record, identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured
from kernelwright.records.measure import BaselineName
from kernelwright.records.task import Task
from kernelwright.store.files import read_lines
from kernelwright.train.structure import Split, family, split_of, structure

FILE = "samples.jsonl"
INTERPRETED = "interpreted"
"""Outcome of pairs that were checked in bulk and never admitted: whoever judges them admits their tasks first."""
Origin = Literal["author", "compile", "model", "run", "kernelbook"]


class Judged(Record):
    """What the referee found, as short as a data set can bear."""

    outcome: str
    device: str = ""
    how: str = ""
    """What it was verified on, where no time was taken."""
    latency_us: float | None = None
    eager: float | None = None
    """Median speedup over eager."""
    compiled: float | None = None
    """Median speedup over `torch.compile`."""
    versions: tuple[tuple[str, str], ...] = ()


class Sample(Record):
    """One pair. `parent` is the kernel that this one was made from: a sample for the mid-end agent."""

    origin: Origin
    task: Task
    candidate: Candidate
    judged: Judged
    structure: str
    """Hash of the computation without shapes and constants: what tells how alike two samples are."""
    depth: int
    """Operations of the module: the curriculum's measure."""
    parent: Attempt | None = None
    plan: str = ""
    """What led from the parent to this kernel, in words: what a judge should have said."""
    advice: str = ""
    """What a judge did say of the parent before this kernel was written, as its JSON."""
    migrated: tuple[str, ...] = ()
    """Rewrites that a change of an API made necessary."""

    @property
    def id(self) -> str:
        """Hash of task, kernel, and the kernel that it was made from: a pair that is met again is the same sample."""
        parent = {"parent": self.parent.proposal.candidate.id} if self.parent else {}
        return identity("sample", {"task": self.task.id, "candidate": self.candidate.id, **parent})

    @property
    def split(self) -> Split:
        """Which part of the data the family of its operations belongs to."""
        return split_of(self.family)

    @cached_property
    def family(self) -> str:
        """Hash of the set of its operations."""
        return family(self.task.graph)


def judged(evaluation: Evaluation, versions: dict[str, str]) -> Judged:
    """The short form of an evaluation."""
    listed = tuple(sorted(versions.items()))
    if not isinstance(evaluation, Measured):
        how = getattr(evaluation, "how", "")
        return Judged(outcome=evaluation.outcome, device=evaluation.device, how=how, versions=listed)
    return Judged(
        outcome=evaluation.outcome,
        device=evaluation.device,
        latency_us=evaluation.timing.latency_us,
        eager=_speedup(evaluation, "eager"),
        compiled=_speedup(evaluation, "compile"),
        versions=listed,
    )


def sample(origin: Origin, task: Task, candidate: Candidate, found: Judged, parent: Attempt | None = None) -> Sample:
    """A sample with its structure and depth worked out."""
    return Sample(
        origin=origin,
        task=task,
        candidate=candidate,
        judged=found,
        structure=structure(task.graph),
        depth=len(task.graph.nodes),
        parent=parent,
    )


def read_samples(folder: Path) -> list[Sample]:
    """Every sample of a data set's folder, each once; empty where there is none."""
    return list({one.id: one for one in read_lines(Sample, folder / FILE)}.values())


def _speedup(evaluation: Measured, baseline: BaselineName) -> float | None:
    versus = evaluation.timing.against(baseline)
    return versus.speedup.median if versus else None
