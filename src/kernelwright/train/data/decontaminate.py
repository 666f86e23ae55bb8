"""Dropping from a data set what is the same as, or nearly, a task that models are judged on.

Tasks are compared by what they compute: the same structure is the same task, whatever its shapes, numbers and names. How alike
two others are is the share of what both have, of all that either has: operations, and pairs of an operation and one that reads
its result, each as often as it occurs (the weighted Jaccard index).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import KernelwrightError, UsageError
from kernelwright.records.base import Record
from kernelwright.records.graph import OpGraph
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.store.files import write_whole
from kernelwright.tasks.table import read_task
from kernelwright.train.data.making import CARD, card
from kernelwright.train.data.sample import FILE, Sample, read_samples
from kernelwright.train.judges import Judges
from kernelwright.train.structure import structure

REPORT = "decontaminated.json"
ALIKE = 0.9
"""From where on two graphs are nearly the same: one operation of ten is another."""
ABSENT = Target(kind="cuda", arch="sm_90", present=False)
"""What tasks are admitted for: one that is not here needs no memory for their tensors."""
DROPPED = "like a task that models are judged on"


class Alike(Record):
    """A sample that was dropped."""

    id: str
    sample: str
    """Its module's name, which others may have too."""
    task: str
    """The nearest task's file."""
    likeness: float
    """1: the same structure."""


class Decontamination(Record):
    """What came of it."""

    samples: int
    tasks: int
    unread: dict[str, str]
    """Files that are no task that can be admitted, with why: nothing was compared with them."""
    dropped: tuple[Alike, ...]
    nearest: dict[str, int]
    """Of the samples that were kept, by tenths: how alike the nearest task is."""

    @property
    def same(self) -> int:
        """How many of the dropped have a task's very structure."""
        return sum(one.likeness == 1.0 for one in self.dropped)


class Compared:
    """A graph as it is compared."""

    def __init__(self, graph: OpGraph) -> None:
        self.structure, self._graph = structure(graph), graph

    @cached_property
    def parts(self) -> Counter[tuple[str, ...]]:
        """Operations, and pairs of one and its reader."""
        names = {node.name: node.op for node in self._graph.nodes}
        alone = [(node.op,) for node in self._graph.nodes]
        read = [
            (names[ref], node.op)
            for node in self._graph.nodes for ref in node.reads if ref in names
        ]  # fmt: skip
        return Counter([*alone, *read])

    def likeness(self, other: "Compared") -> float:
        """Between 0 and 1; 1 only for the same structure."""
        if self.structure == other.structure:
            return 1.0
        mine, theirs = self.parts, other.parts
        return min(0.999, (mine & theirs).total() / max(1, (mine | theirs).total()))


def decontaminate(
    folder: Path, tasks: Sequence[Path], suppliers: Suppliers, heard: Callable[[str], None], workers: int = 1
) -> Decontamination:
    """Drop samples of a set that are like a task in one of these folders; the set, its card and a report are written.

    Raises:
        UsageError: there are no samples, or no tasks.
        StoreError: the folder cannot be written.
    """
    samples = read_samples(folder)
    files = sorted({file for one in tasks for file in ([one] if one.is_file() else one.rglob("*.py"))})
    if not samples or not files:
        raise UsageError(
            f"{folder if not samples else ', '.join(map(str, tasks))} holds no {'tasks' if samples else 'samples'}"
        )
    known, unread = asyncio.run(_read(files, suppliers, workers, heard))
    heard(f"comparing {len(samples)} samples with {len(known)} tasks")
    found = compared(samples, known)
    report = found.model_copy(update={"unread": unread})
    gone = {one.id for one in report.dropped}
    kept = [one for one in samples if one.id not in gone]
    write_whole(folder / FILE, "".join(f"{one.model_dump_json()}\n" for one in kept))
    write_whole(folder / CARD, card(folder.name, kept, {DROPPED: len(samples) - len(kept)}))
    write_whole(folder / REPORT, report.model_dump_json(indent=1) + "\n")
    return report


def compared(samples: Sequence[Sample], tasks: Mapping[str, OpGraph]) -> Decontamination:
    """Which samples are like a task; each structure is compared once."""
    others = {name: Compared(graph) for name, graph in tasks.items()}
    graphs = {one.structure: one.task.graph for one in samples}
    nearest = {key: _nearest(Compared(graph), others) for key, graph in graphs.items()}
    dropped = tuple(
        Alike(id=one.id, sample=one.task.source.name, task=name, likeness=value)
        for one in samples for name, value in [nearest[one.structure]] if value >= ALIKE
    )  # fmt: skip
    tenths = Counter(
        f"{int(value * 10) / 10:.1f}" for _, value in (nearest[s.structure] for s in samples) if value < ALIKE
    )
    return Decontamination(
        samples=len(samples), tasks=len(tasks), unread={}, dropped=dropped, nearest=dict(sorted(tenths.items()))
    )


def _nearest(one: Compared, others: Mapping[str, Compared]) -> tuple[str, float]:
    return max(((name, one.likeness(other)) for name, other in others.items()), key=lambda found: found[1])


async def _read(
    files: Sequence[Path], suppliers: Suppliers, workers: int, heard: Callable[[str], None]
) -> tuple[dict[str, OpGraph], dict[str, str]]:
    """What each file computes, and why some say nothing."""
    judges = Judges(lambda _: suppliers.open_evaluator(Policy()), workers)
    known, unread = dict[str, OpGraph](), dict[str, str]()

    async def one(file: Path) -> None:
        try:
            known[str(file)] = (await judges.admit(read_task(file), ABSENT)).graph
        except KernelwrightError as error:
            unread[str(file)] = str(error).split("\n")[0]
        heard(f"{len(known) + len(unread)} of {len(files)} tasks are read")

    try:
        await asyncio.gather(*map(one, files))
    finally:
        await judges.close()
    return known, unread
