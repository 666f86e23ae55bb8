"""Making a data set: from the author, from past runs, from KernelBook's files; and judging one again.

A data set is a folder with `samples.jsonl` and `card.md`. Making more of it goes on where it was.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import TaskError, UsageError
from kernelwright.models.config import SHORT, is_provider, read_model
from kernelwright.models.table import ChatModel
from kernelwright.records.base import Record
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import TaskSource
from kernelwright.store.files import write_whole
from kernelwright.train.data.card import card
from kernelwright.train.data.collect import Collector, Heard, Pair, Tally, authored, compiled
from kernelwright.train.data.drawn import drawn
from kernelwright.train.data.kernelbook import read_kernelbook
from kernelwright.train.data.migrate import migrate
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.runs import runs, take_runs
from kernelwright.train.data.sample import FILE, Sample, judged, read_samples
from kernelwright.train.judges import Judges

if TYPE_CHECKING:
    from kernelwright.evaluate.evaluator import Evaluator

CARD = "card.md"
AUTHOR, COMPILE = "author", "compile"


@dataclass(frozen=True)
class DataRequest:
    """What to put into a data set."""

    folder: Path
    sources: tuple[str, ...] = (AUTHOR,)
    """`author`, `compile` (what `torch.compile` writes here), folders of runs or above them, files in KernelBook's format, and
    models, as `--model` spells them."""
    tasks: Path | None = None
    """For models: the data set whose training tasks they write kernels for."""
    each: int = 8
    """Kernels that a model writes for each task."""
    count: int = 200
    """Samples that the data set is to have in the end."""
    target: str | None = None
    seconds: float | None = None
    workers: int = 1
    effort: Effort = "search"
    seed: int = 0
    """Of the first random module."""
    rows: int = 0
    columns: int = 0
    """Sizes of random modules; 0: drawn, small enough for an interpreter."""
    policy: Policy = field(default_factory=Policy)


class DataReport(Record):
    """What came of it."""

    folder: str
    samples: int
    added: int
    fates: dict[str, int]
    """Pairs that were not kept, by why: an outcome, `task`, `unwritten`, `duplicate`, `structure`, `unjudged`."""
    author: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """By split: kernels that were right, of those that were judged."""


class Revalidation(Record):
    """What judging a data set again came to."""

    samples: int
    right: int
    repaired: int
    """Right after a migration."""
    dropped: dict[str, int]
    """By outcome."""
    unjudged: int
    """Kept as they were, for the referee broke."""

    @property
    def broken_share(self) -> float:
        """Share of samples that this PyTorch and Triton broke."""
        return (self.repaired + sum(self.dropped.values())) / max(1, self.samples)


def make_data(request: DataRequest, suppliers: Suppliers, heard: Heard) -> DataReport:
    """Add to a data set until it has as many samples as asked for, or sources or time are used up.

    Raises:
        UsageError: a source is none.
        StoreError: the folder cannot be written.
    """
    return asyncio.run(_make(request, suppliers, heard))


async def _make(request: DataRequest, suppliers: Suppliers, heard: Heard) -> DataReport:
    target = resolve_target(request.target)
    judges = Judges(lambda _: suppliers.open_evaluator(request.policy), request.workers)
    before = len(read_samples(request.folder))
    try:
        environment = await _environment(suppliers, request)
        collector = Collector(judges, target, environment.versions, request.effort, request.workers, heard=heard)
        tally = Tally()
        for source in request.sources:
            if past := runs(Path(source)):
                take_runs(past, request.folder)
                continue
            found = await _from(source, request, suppliers, collector)
            tally.fates += found.fates
            tally.judged += found.judged
            tally.right += found.right
    finally:
        await judges.close()
    samples = read_samples(request.folder)
    write_whole(request.folder / CARD, card(request.folder.name, samples, tally.fates))
    author = {split: (tally.right[split], count) for split, count in tally.judged.items()}
    return DataReport(
        folder=str(request.folder),
        samples=len(samples),
        added=len(samples) - before,
        fates=dict(tally.fates),
        author=author,
    )


async def _from(source: str, request: DataRequest, suppliers: Suppliers, collector: Collector) -> Tally:
    """What is collected from one source; a model that writes for it is ended."""
    model = _model(source, suppliers)
    try:
        compiles = source == COMPILE
        pairs = compiled(_modules(request), collector.judges) if compiles else _pairs(source, request, model)
        return await collector.collect(pairs, request.folder, request.count, request.seconds)
    finally:
        if model is not None:
            await model.close()


def _modules(request: DataRequest) -> Iterator[TaskSource]:
    return (random_module(n, rows=request.rows, columns=request.columns) for n in itertools.count(request.seed))


def _pairs(source: str, request: DataRequest, model: ChatModel | None) -> Iterator[Pair]:
    if model is not None:
        samples = read_samples(request.tasks) if request.tasks else []
        known = [one.task.source for one in samples if one.split == "train"]
        if not known:
            raise UsageError(f"source {source!r} writes kernels for the tasks of a data set: name one with --data")
        return drawn(model, known, request.each)
    if source == AUTHOR:
        return authored(_modules(request))
    if Path(source).is_file():
        return read_kernelbook(Path(source))
    raise UsageError(
        f"source {source!r} is neither `author`, `compile`, a run's folder nor a file of pairs, nor a model"
    )


def _model(source: str, suppliers: Suppliers) -> ChatModel | None:
    """The model that a source names; None: it names none."""
    provider = source.partition(":")[0]
    named = ":" in source and is_provider(SHORT.get(provider, provider))
    return suppliers.model(read_model(source)) if named else None


def revalidate(request: DataRequest, suppliers: Suppliers, heard: Callable[[int, int], None]) -> Revalidation:
    """Judge every sample again with what is installed here; repair by migration what it broke, and drop the rest.

    The file is replaced in the end. What the referee could not judge stays.

    Raises:
        UsageError: there are no samples.
        StoreError: the folder cannot be written.
    """
    samples = read_samples(request.folder)
    if not samples:
        raise UsageError(f"{request.folder} holds no samples: make some with `kernelwright train data`")
    return asyncio.run(_revalidate(request, samples, suppliers, heard))


async def _revalidate(
    request: DataRequest, samples: list[Sample], suppliers: Suppliers, heard: Callable[[int, int], None]
) -> Revalidation:
    judges = Judges(lambda _: suppliers.open_evaluator(request.policy), request.workers)
    again = _Again(judges, request, (await _environment(suppliers, request)).versions)
    kept: list[Sample] = []
    try:
        for number, one in enumerate(samples, 1):
            found = await again.judged(one)
            kept += [found] if found is not None else []
            heard(number, len(samples))
    finally:
        await judges.close()
    write_whole(request.folder / FILE, "".join(f"{one.model_dump_json()}\n" for one in kept))
    write_whole(request.folder / CARD, card(request.folder.name, kept, {}))
    return again.told(len(samples))


class _Again:
    """Judges samples again, and counts what became of them."""

    def __init__(self, judges: Judges, request: DataRequest, versions: dict[str, str]) -> None:
        self._judges, self._request, self._versions = judges, request, versions
        self._target = resolve_target(request.target)
        self._right = self._repaired = self._unjudged = 0
        self._dropped: dict[str, int] = {}

    def told(self, samples: int) -> Revalidation:
        """What it came to."""
        return Revalidation(
            samples=samples, right=self._right, repaired=self._repaired, dropped=self._dropped, unjudged=self._unjudged
        )

    async def judged(self, one: Sample) -> Sample | None:
        """The sample as it is now; None: it is broken for good."""
        try:
            task = await self._judges.admit(one.task.source, self._target)
        except TaskError:
            self._drop("task")
            return None
        made = migrate(one.candidate.source)
        tried = [one.candidate] + [one.candidate.model_copy(update={"source": made.text})] * bool(made.rewrites)
        outcome = ""
        for place, candidate in enumerate(tried):
            found = await self._judges.judge(task, candidate, self._request.effort)
            if found is None:
                self._unjudged += 1
                return one
            if is_right(found):
                self._right, self._repaired = self._right + (place == 0), self._repaired + place
                migrated = (*one.migrated, *made.rewrites) if place else one.migrated
                changed = {"task": task, "candidate": candidate, "judged": judged(found, self._versions)}
                return one.model_copy(update={**changed, "migrated": migrated})
            outcome = found.outcome
        self._drop(outcome)
        return None

    def _drop(self, why: str) -> None:
        self._dropped[why] = self._dropped.get(why, 0) + 1


async def _environment(suppliers: Suppliers, request: DataRequest) -> Environment:
    evaluator: Evaluator = suppliers.open_evaluator(request.policy)
    try:
        return await evaluator.environment(resolve_target(request.target))
    finally:
        await evaluator.close()
