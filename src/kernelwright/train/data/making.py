"""Making a data set: from the author, from past runs, from KernelBook's files; and judging one again.

A data set is a folder with `samples.jsonl` and `card.md`, which says what is in it, where it comes from, and what it must
not be used for. Making more of it goes on where it was.
"""

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import TaskError, UsageError
from kernelwright.models.config import SHORT, is_provider, read_model
from kernelwright.models.table import ChatModel
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Message
from kernelwright.records.task import Target, TaskSource
from kernelwright.store.database import FILE as RUN
from kernelwright.store.files import open_lines, write_whole
from kernelwright.store.run import RunStore
from kernelwright.train.data.collect import Collector, Heard, Pair, Tally, authored, compiled, drawn
from kernelwright.train.data.kernelbook import migrate, read_kernelbook
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.sample import FILE, INTERPRETED, Sample, judged, read_samples, sample
from kernelwright.train.judges import Judges, machine
from kernelwright.train.structure import HELD_OUT

CARD = "card.md"
AUTHOR, COMPILE = "author", "compile"
RIGHT, REPAIRED, UNJUDGED = "right", "repaired", "unjudged"
"""What becomes of samples that are judged again, beside outcomes."""


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
        environment = await machine(suppliers, target)
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
    target, fates, kept = resolve_target(request.target), Counter[str](), list[Sample]()
    versions = (await machine(suppliers, target)).versions
    try:
        for number, one in enumerate(samples, 1):
            fate, again = await _judged_again(one, (judges, target, request.effort), versions)
            fates[fate] += 1
            kept += [again] if again is not None else []
            heard(number, len(samples))
    finally:
        await judges.close()
    write_whole(request.folder / FILE, "".join(f"{one.model_dump_json()}\n" for one in kept))
    write_whole(request.folder / CARD, card(request.folder.name, kept, {}))
    right, repaired, unjudged = (fates.pop(name, 0) for name in (RIGHT, REPAIRED, UNJUDGED))
    return Revalidation(samples=len(samples), right=right, repaired=repaired, dropped=dict(fates), unjudged=unjudged)


async def _judged_again(
    one: Sample, how: tuple[Judges, Target, Effort], versions: dict[str, str]
) -> tuple[str, Sample | None]:
    """What became of a sample, and the sample as it is now; None: it is broken for good."""
    judges, target, effort = how
    try:
        task = await judges.admit(one.task.source, target)
    except TaskError:
        return "task", None
    made, outcome = migrate(one.candidate.source), ""
    ways = ((RIGHT, one.candidate.source, one.migrated), (REPAIRED, made.text, (*one.migrated, *made.rewrites)))
    for fate, source, migrated in ways[: 1 + bool(made.rewrites)]:
        candidate = one.candidate.model_copy(update={"source": source})
        found = await judges.judge(task, candidate, effort)
        if found is None:
            return UNJUDGED, one
        if is_right(found):
            changed = {"task": task, "candidate": candidate, "judged": judged(found, versions), "migrated": migrated}
            return fate, one.model_copy(update=changed)
        outcome = found.outcome
    return outcome, None


TEMPLATE = (Path(__file__).parent / "parts/card.md").read_text(encoding="utf-8")


PASSED = "Every pair passed the referee: compiled, and right in every kind of input against fp64."
UNADMITTED = (
    "Those with the outcome `interpreted` were checked in bulk, on two draws in Triton's interpreter, and have not passed the "
    "referee; every other pair has: compiled, and right in every kind of input against fp64."
)


def card(name: str, samples: Sequence[Sample], fates: Mapping[str, int]) -> str:
    """The card of a data set; `fates` are of pairs that were not kept, where they were just collected."""
    tables = [
        _table("Origin", (one.origin for one in samples)),
        _table("Split", (one.split for one in samples)),
        _table("Language", (one.candidate.language for one in samples)),
        _table("Operations of the module", (f"{one.depth:2d}" for one in samples)),
        _table("Outcome", (one.judged.outcome for one in samples)),
        _table("Device", (one.judged.device or one.judged.how or "unknown" for one in samples)),
        _table("torch", (dict(one.judged.versions).get("torch", "unknown") for one in samples)),
        _table("Rewrites", (name for one in samples for name in one.migrated)),
        _counted("Not kept", fates),
    ]
    return TEMPLATE.format(
        name=name,
        count=len(samples),
        passed=UNADMITTED if any(one.judged.outcome == INTERPRETED for one in samples) else PASSED,
        structures=len({one.structure for one in samples}),
        families=len({one.family for one in samples}),
        tasks=len({one.task.id for one in samples}),
        parents=sum(one.parent is not None for one in samples),
        advised=sum(bool(one.advice) for one in samples),
        migrated=sum(bool(one.migrated) for one in samples),
        tables="\n".join(filter(None, tables)),
        held_out=HELD_OUT,
    )


def _table(title: str, values: Iterable[str]) -> str:
    return _counted(title, Counter(values))


def _counted(title: str, counts: Mapping[str, int]) -> str:
    if not counts:
        return ""
    rows = "\n".join(f"| {name.strip()} | {count} |" for name, count in sorted(counts.items()))
    return f"## {title}\n\n| | samples |\n|---|--:|\n{rows}\n"


JUDGE = "judge"
"""The role whose diagnoses are kept."""
DEEPEST = 3
"""Folders below the one that was named, as a bench has them."""


def runs(folder: Path) -> list[Path]:
    """The runs in a folder: itself, or those below it, in the order of their names; empty where there are none."""
    if (folder / RUN).exists():
        return [folder]
    below = ("*/" * depth + RUN for depth in range(1, DEEPEST + 1))
    return sorted(file.parent for pattern in below for file in folder.glob(pattern)) if folder.is_dir() else []


def take_runs(folders: Iterable[Path], into: Path) -> None:
    """Add every right kernel of these runs to a data set that does not have it yet.

    Raises:
        StoreError: a run cannot be read, or the data set cannot be written.
    """
    into.mkdir(parents=True, exist_ok=True)
    with open_lines(Sample, into / FILE) as lines:
        known = {one.id for one in lines.read()}
        for folder in folders:
            for made in _samples(folder):
                if made.id not in known:
                    known.add(made.id)
                    lines.append(made)


def _samples(folder: Path) -> Iterator[Sample]:
    with closing(RunStore.open(folder)) as store:
        run, attempts, messages = store.card, store.attempts(), store.messages()
    by_number = {attempt.number: attempt for attempt in attempts}
    advice = _advice(messages)
    for attempt in attempts:
        found = attempt.evaluation
        if is_right(found) and attempt.known is None:
            short, parent = judged(found, run.environment.versions), _parent(attempt, by_number)
            made = sample("run", run.task, attempt.proposal.candidate, short, parent)
            said = advice.get((attempt.proposal_request.number, _sibling(attempt)), "") if parent else ""
            yield made.model_copy(update={"plan": attempt.proposal.note, "advice": said})


def _advice(messages: Iterable[Message]) -> dict[tuple[int, int], str]:
    """What the judge said, by proposal request and place among its candidates."""
    diagnoses = (one for one in messages if one.kind == "diagnosis" and one.role == JUDGE)
    return {(one.proposal_request, one.sibling): one.text for one in diagnoses}


def _sibling(attempt: Attempt) -> int:
    """The place of a candidate among its request's, which a language model's proposal has in its memo."""
    try:
        memo = json.loads(attempt.proposal.memo or "{}")
    except ValueError:
        return 0
    place = memo.get("sibling", 0) if isinstance(memo, dict) else 0
    return place if isinstance(place, int) else 0


def _parent(attempt: Attempt, by_number: Mapping[int, Attempt]) -> Attempt | None:
    parents = attempt.proposal_request.parents
    found = by_number.get(parents[0]) if parents else None
    return found if found is not None and is_right(found.evaluation) else None
