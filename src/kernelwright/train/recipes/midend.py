"""Stages of the mid-end: timed kernels to begin from, pairs for fine-tuning, and what edits gain."""

import asyncio
import lzma
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, log
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import NamedTuple

import torch

from kernelwright.errors import KernelwrightError, UsageError
from kernelwright.propose.llm.render import EDITS
from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest, speedup
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured, Verified
from kernelwright.records.measure import Accuracy, BuildFacts
from kernelwright.records.policy import Effort
from kernelwright.records.task import Task, TaskSource
from kernelwright.store.files import open_lines, read_lines, write_whole
from kernelwright.train.admission import admitted
from kernelwright.train.data.collect import by_author
from kernelwright.train.data.kernels import retuned_source
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.sample import Sample, judged, sample
from kernelwright.train.engine.decoding import Sampling, draw, judge_all
from kernelwright.train.engine.network import open_network
from kernelwright.train.environment import Assignment, Environment, Settings, Step
from kernelwright.train.figures import interval, spread
from kernelwright.train.judges import Judges
from kernelwright.train.recipes.frontend import DEEP, of_split, some_of
from kernelwright.train.recipes.plan import Edits, Retuned, Variants
from kernelwright.train.recipes.stage import DONE, Figures, Work
from kernelwright.train.structure import family, split_of

VARIANTS, ELSEWHERE = "variants.jsonl", "variants-elsewhere.jsonl"
"""Kernels that were timed on this kind of device, and on others: these only teach what is faster."""
PRACTICE = "practice"
FASTER = 1.05
"""Times as fast as a kernel, of what fine-tuning learns from it: less may be noise."""
PRACTISED = 2
"""Kernels of a module that is practised on, each of them a parent."""
LAST_S = 15.0
"""Of a call, in which nothing is judged any more: what is known is written down."""
SAID_S = 15.0
"""Between two lines on how far a measure is."""


# Settings by chance.


def settings_of(kernel: Candidate, count: int, chance: random.Random, columns: int = 0) -> list[Candidate]:
    """The kernel under up to so many distinct settings by chance."""
    texts = dict.fromkeys(retuned_source(kernel.source, chance, columns) for _ in range(3 * count))
    return [kernel.model_copy(update={"source": text, "tunables": ()}) for text in texts][:count]


def renewed(one: Sample) -> Sample | None:
    """A frontend's sample as one of the mid-end's that is neutral; None: its kernel has no settings."""
    found = settings_of(one.candidate, 2, random.Random(one.id))
    if len(found) < 2:
        return None
    known = Verified(build=BuildFacts(compiler="", seconds=0.0), accuracy=Accuracy(cases=()), how=one.judged.how)
    return one.model_copy(update={"candidate": found[1], "parent": attempt(found[0], known)})


def attempt(kernel: Candidate, found: Measured | Verified) -> Attempt:
    """A kernel that was judged as an attempt that others begin from."""
    request = ProposalRequest(number=0, intent="seed", role="frontend")
    return Attempt(
        number=0, proposal_request=request, proposal=Proposal(candidate=kernel), evaluation=found, cost=Cost()
    )


def retuned(stage: Retuned, work: Work) -> Figures:
    """What a mid-end is asked, and no word of what is fast, beside what is measured; so less is learnt by heart."""
    timed = work.samples(stage.variants) if stage.variants and not stage.count else []
    count, samples = stage.count or len(timed), work.samples(stage.data)
    if stage.split == "train":
        chosen = some_of(of_split(samples, "train"), count, stage.seed)
    else:
        parents = work.variants(stage.variants)
        timed_names = {one.task.source.name for one in read_lines(Variant, work.folder / stage.variants / VARIANTS)}
        names = modules(parents, work.samples(parents.data))
        taken = {*names.measured, *names.practice, *timed_names}
        free = [one for one in of_split(samples, "heldout") if one.task.source.name not in taken and one.depth >= DEEP]
        chosen = some_of(free, 2 * count, stage.seed)
    made = [found for one in chosen if (found := renewed(one)) is not None][:count]
    work.keep([*timed, *made])
    return {"timed": len(timed), "neutral": len(made)}


# Timed kernels.


class Variant(Record):
    """One timed kernel of one module."""

    task: Task
    attempt: Attempt

    @property
    def heldout(self) -> bool:
        """Whether the module's family is."""
        return split_of(family(self.task.graph)) == "heldout"


class Modules(NamedTuple):
    """Names of the modules whose kernels are timed."""

    measured: list[str]
    """Of both splits: for fine-tuning, and for measures."""
    practice: list[str]
    """That GRPO practises on: of families that neither fine-tuning nor a measure has."""


def modules(stage: Variants, samples: Sequence[Sample]) -> Modules:
    """Of both splits by chance, by turns, the same of each whatever is drawn of the other."""
    most = {"train": stage.modules, "heldout": stage.heldout}
    chosen = [
        (place / count, split, one.task.source.name)
        for split, count in most.items()
        for place, one in enumerate(some_of(of_split(samples, split), 2 * count, f"{stage.seed} {split}"))
    ]
    measured = [name for *_, name in sorted(chosen)]
    free = sorted({one.task.source.name for one in of_split(samples, "heldout")} - set(measured))
    return Modules(measured, random.Random(stage.seed).sample(free, min(stage.practice, len(free))))


def sources(stage: Variants, names: Modules) -> list[tuple[TaskSource, int]]:
    """These modules in the stage's size, and how many kernels of each are timed; it may be cut anywhere."""
    groups = ((names.measured, stage.variants_each), (names.practice, PRACTISED))
    wanted = sorted((at / len(group), name, count) for group, count in groups for at, name in enumerate(group))
    sizes = {"rows": stage.rows, "columns": stage.columns}
    return [(random_module(int(name.rpartition("_")[2]), **sizes), count) for _, name, count in wanted]


def variants(stage: Variants, work: Work) -> Figures:
    """Kernels of each module with settings by chance, until there are enough or the time is over."""
    file, judges, machine = work.place / VARIANTS, work.judges(stage, cached=True), work.machine(stage)
    names = modules(stage, work.samples(stage.data))
    if not file.exists():
        _take_timed(stage.timed, file, machine.device.name)
    end = monotonic() + min(stage.seconds, work.left - 40)
    try:
        with open_lines(Variant, file) as lines:
            known = Counter(one.task.source.name for one in lines.read())
            waiting = [one for one in sources(stage, names) if one[0].name not in known]
            measured = set(names.measured)
            while waiting and monotonic() < end:
                # Together: while one is timed, the next ones are admitted as far as they may.
                chosen, waiting = waiting[: stage.workers], waiting[stage.workers :]
                enough = len(measured & known.keys()) >= stage.modules + stage.heldout
                chosen = [one for one in chosen if not (enough and one[0].name in measured)]
                for one in work.loop.run(_timed(chosen, work, stage, judges)):
                    lines.append(one)
                    known[one.task.source.name] += 1
    finally:
        work.loop.run(judges.close())
    found, versions = read_lines(Variant, file), dict(machine.versions)
    elsewhere = read_lines(Variant, work.place / ELSEWHERE)
    pairs = [pair for ones in (found, elsewhere) for pair in faster([v for v in ones if not v.heldout], versions)]
    practised = [as_parent(one, versions) for one in practised_of(stage, found, names)]
    work.keep(pairs)
    work.keep(practised, PRACTICE)
    counts = {"modules": len(known), "variants": len(found), "pairs": len(pairs), "practised": len(practised)}
    return {**counts, DONE: bool(pairs)}


def _take_timed(packed: Iterable[str], file: Path, device: str) -> None:
    """Kernels that were timed before: those of this kind of device, and beside them those of others."""
    lines = b"".join(lzma.decompress(Path(one).read_bytes()) for one in packed).decode().splitlines()
    found: dict[Path, list[str]] = {file: [], file.with_name(ELSEWHERE): []}
    for line in lines:
        here = Variant.model_validate_json(line).attempt.evaluation.device == device
        found[file if here else file.with_name(ELSEWHERE)].append(line)
    # The file itself last, and whole: as long as it is missing, this is done again.
    for place, ones in reversed(found.items()):
        write_whole(place, "".join(f"{one}\n" for one in ones))


async def _timed(
    chosen: Iterable[tuple[TaskSource, int]], work: Work, stage: Variants, judges: Judges
) -> list[Variant]:
    """The author's kernel of each under settings by chance; those that are wrong or refused are left out."""

    async def of(source: TaskSource, count: int) -> list[Variant]:
        try:
            task = await judges.admit(source, work.target(stage))
            kernel = await by_author(task)
        except KernelwrightError as error:
            work.say(f"{source.name} is left out: {error}"[:300])
            return []
        kernels = settings_of(kernel, count, random.Random(source.name), stage.columns)
        kernels = kernels if len(kernels) > 1 else list(kernel.points())[:count]
        found = await asyncio.gather(*(judges.judge(task, one, "search") for one in kernels))
        made = zip(kernels, found, strict=True)
        return [Variant(task=task, attempt=attempt(k, f)) for k, f in made if isinstance(f, Measured)]

    return [one for ones in await asyncio.gather(*(of(*one) for one in chosen)) for one in ones]


def as_parent(one: Variant, versions: Mapping[str, str]) -> Sample:
    """A timed kernel as a parent; whether anything is faster, GRPO finds out."""
    kernel, found = one.attempt.proposal.candidate, judged(one.attempt.evaluation, dict(versions))
    return sample("author", one.task, kernel, found, parent=one.attempt)


def faster(found: Sequence[Variant], versions: Mapping[str, str]) -> list[Sample]:
    """From each module's kernels to every faster one of them."""
    return [
        as_parent(b, versions).model_copy(update={"parent": a.attempt})
        for a in found
        for b in found
        if a.task.id == b.task.id and speedup(b.attempt) > FASTER * speedup(a.attempt)
    ]


def practised_of(stage: Variants, found: Iterable[Variant], names: Modules) -> list[Variant]:
    """What GRPO practises on: all timed kernels of its modules, or the first of them."""
    practice = set(names.practice)
    return [one for one in found if one.task.source.name in practice][: stage.practised or None]


def slowest(found: Iterable[Variant], names: Modules) -> list[Variant]:
    """Each held-out module with its slowest kernel; none that is practised on."""
    kept: dict[str, Variant] = {}
    for one in found:
        measured = one.heldout and one.task.source.name not in names.practice
        if measured and (one.task.id not in kept or speedup(one.attempt) < speedup(kept[one.task.id].attempt)):
            kept[one.task.id] = one
    return list(kept.values())


# Measures.


class Timely:
    """Judges of a measure, while there is time: what comes later is left out of it, so that what is known is not lost."""

    def __init__(self, judges: Judges, end: float, say: Callable[[str], None]) -> None:
        self._judges, self._end, self._say = judges, end, say
        self._known, self._said = 0, monotonic()
        self.late = 0
        """Verdicts that did not come in time."""

    async def judge(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation | None:
        """See `Judges.judge`; None also where the time is over."""
        left = max(0.0, self._end - monotonic())
        try:
            found = await asyncio.wait_for(self._judges.judge(task, candidate, effort), left)
        except TimeoutError:
            self.late += 1
            return None
        self._known += 1
        if monotonic() - self._said > SAID_S:
            self._said = monotonic()
            self._say(f"{self._known} verdicts, {self._judges.rate.judged} of them by the referee now")
        return found


def edits(stage: Edits, work: Work) -> Figures:
    """Edits of each held-out module's slowest kernel, or of those practised on: what they gain over it."""
    parents, found = work.variants(stage.variants), read_lines(Variant, work.folder / stage.variants / VARIANTS)
    names = modules(parents, work.samples(parents.data))
    chosen = practised_of(parents, found, names) if stage.practised else slowest(found, names)
    if not chosen:
        raise UsageError(f"{stage.variants} has no timed kernel to edit: give it more seconds")
    judges = work.judges(stage, cached=True)
    timely = Timely(judges, monotonic() + work.left - LAST_S, work.say)
    tasks = [Assignment(task=one.task, parent=one.attempt, split="heldout") for one in chosen]
    environment = Environment(tasks, timely, Settings(role="midend", reward="midend", variant=EDITS))
    how = Sampling(stage.samples, stage.temperature, stage.max_new_tokens, 64, len(work.name), stage.cache)
    try:
        # Workers take half a minute to start, in which the replies are written.
        opening = work.loop.begin(admitted([as_parent(one, {}) for one in chosen], work.target(stage), judges))
        network = open_network(work.model(stage.model))
        network.model.to("cuda" if torch.cuda.is_available() else "cpu")
        replies = draw(network, environment, tasks, how)
        opening.result()
        drawn = work.loop.run(judge_all(environment, tasks, replies))
    finally:
        work.loop.run(judges.close())
    known = {task.task.name: [one.step for one in group if one.step.reward is not None]
             for task, group in zip(tasks, drawn, strict=True)}  # fmt: skip
    figures = gains({task.task.name: task for task in tasks}, known)
    figures |= {"late": timely.late}
    return figures | ({"over_before": over(work.figures(stage.over), figures)} if stage.over else {})


def gains(tasks: Mapping[str, Assignment], known: Mapping[str, Sequence[Step]]) -> Figures:
    """What edits gain over their parents, by task; one that is wrong leaves the parent in place."""
    each = {name: [gain(tasks[name], step) for step in ones] for name, ones in known.items() if ones}
    infos = [step.info for ones in known.values() for step in ones]
    reasons = Counter(info["reason"][:80] for info in infos if info["reason"])
    return {
        "tasks": len(each), "samples": len(infos),
        "right": sum(bool(info["right"]) for info in infos), "hacks": sum(bool(info["hack"]) for info in infos),
        "outcomes": {**Counter(info["outcome"] for info in infos)}, "refused_for": {**dict(reasons.most_common(5))},
        "of_all": spread([one or 1.0 for ones in each.values() for one in ones]),
        "of_right": spread([one for ones in each.values() for one in ones if one]),
        "best_of_each": spread([max(one or 1.0 for one in ones) for ones in each.values()]),
        "parents_over_eager": spread([speedup(one.parent) for one in tasks.values() if one.parent]),
        "log_gain": {name: fmean(log(one or 1.0) for one in ones) for name, ones in each.items()},
    }  # fmt: skip


def gain(assignment: Assignment, step: Step) -> float | None:
    """An edit's speedup over its parent; None for one that is wrong."""
    before, after = speedup(assignment.parent) if assignment.parent else 0.0, step.info.get("speedup")
    return after / before if before and step.info.get("right") and after else None


def over(before: Figures, after: Figures) -> Figures | None:
    """How many times the gain of the earlier measure these gains are, with the 95 % interval, task by task."""
    then, now = before.get("log_gain"), after.get("log_gain")
    assert isinstance(now, dict)
    both = sorted(now.keys() & then.keys()) if isinstance(then, dict) else []
    differences = [float(str(now[task])) - float(str(then[task])) for task in both] if isinstance(then, dict) else []
    if not differences:
        return None
    low, high = interval(differences)
    return {"low": exp(low), "times": exp(fmean(differences)), "high": exp(high)}
