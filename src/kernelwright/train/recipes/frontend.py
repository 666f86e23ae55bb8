"""Stages around the frontend: a model from scratch, modules to practise on, pass@k, times, hacks, speed of replies."""

import asyncio
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from time import monotonic

import torch
from pydantic import JsonValue

from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured, is_right, speedup_over_eager
from kernelwright.records.task import Target, TaskSource
from kernelwright.tasks.table import read_task
from kernelwright.train.admission import admitted
from kernelwright.train.data.collect import by_author
from kernelwright.train.data.kernels import in_form
from kernelwright.train.data.modules import TEMPLATE
from kernelwright.train.data.prompts import Nobody, fenced, rows
from kernelwright.train.data.sample import Sample
from kernelwright.train.engine.decoding import (
    Sampling,
    compiled,
    draw,
    judge_all,
    likelihoods,
    token_counts,
)
from kernelwright.train.engine.network import make_small, open_network
from kernelwright.train.environment import Assignment, Environment, Settings
from kernelwright.train.figures import Drawn, Reply, gained, pass_figures
from kernelwright.train.judges import Judges
from kernelwright.train.recipe import MODEL
from kernelwright.train.recipes.plan import (
    Cheats,
    Decoding,
    Measure,
    Practice,
    Recheck,
    Scratch,
    Timed,
    Written,
)
from kernelwright.train.recipes.stage import Figures, Work

MEASURED = 128
"""Held-out families that are kept for measures, the first ones; GRPO may practise on the others, which fine-tuning has not
seen either: what it has seen is solved already, and a group whose rewards do not differ teaches nothing."""
OTHER_FORM = 1000
"""A form of each held-out module that no training sample has, and no practice."""
DEEP = 4
"""Operations of a module that GRPO practises on, at least: fewer are nearly always right, in the form that was taught."""
RESTYLED = 0.85
"""Share of modules in another form, of those that GRPO looks at with `restyle`. GRPO on such forms alone took three to six
points from the form that was taught (two H200s, two seeds)."""
UNSURE = (0.01, 0.7)
"""Between which the probability of the known kernel lies, of modules that GRPO practises on."""
SHORT = 0.9
"""Of the longest reply: what a kernel may take, of modules that GRPO practises on."""
TIMED = 4
"""Right kernels of one task that are timed."""
TIMES, ALIKE = 3, 200
"""Batches of each kind of cache, and characters that the texts must share: behind a near tie they may differ."""


# Which samples.


def of_split(samples: Sequence[Sample], split: str) -> list[Sample]:
    """The samples of a split; of a data set so small that it has none, all: figures of such a try mean nothing."""
    return [one for one in samples if one.split == split] or list(samples)


def some_of(samples: Sequence[Sample], count: int, seed: int | str) -> list[Sample]:
    """So many by chance; the seed's, and the same in every call."""
    return random.Random(seed).sample(samples, min(count, len(samples)))


def unseen(samples: Sequence[Sample], first: int | None = None) -> list[Sample]:
    """One sample for each held-out family, by chance; families of the `first` samples before others.

    The author's before others, so that whoever else writes kernels changes nothing of what is measured.
    """
    later = {one.id for one in samples[first:]} if first is not None else set()
    seen: dict[str, Sample] = {}
    for one in sorted(of_split(samples, "heldout"), key=lambda s: (s.origin != "author", s.id in later, s.id)):
        seen.setdefault(one.family, one)
    return list(seen.values())


def _first_file(data: str, work: Work) -> int | None:
    found = work.figures(data).get("of_first_file")
    return found if isinstance(found, int) else None


# Before training.


def scratch(stage: Scratch, work: Work) -> Figures:
    """A tokenizer that learns from training samples by chance, so that all who write kernels are among them, and weights."""
    some = some_of(of_split(work.samples(stage.data), "train"), stage.shown, stage.seed)
    shown = list(rows(some, "frontend", stage.variant, stage.forms))
    texts = [part for prompt, reply in shown for part in (*(m.text for m in prompt), reply)]
    make_small(work.place / MODEL, texts, stage.size, stage.vocabulary, stage.seed)
    return {"texts": len(texts)}


def practice(stage: Practice, work: Work) -> Figures:
    """Modules of families that neither fine-tuning nor a measure has; of a tiny data set, any.

    Those of whose known kernel the model is neither sure nor ignorant: where all replies are right, or none is, a group
    teaches nothing, and what it is shown where none is it learns by heart, at the price of what it knew.
    """
    samples, model = work.samples(stage.data), work.model(stage.model)
    measured = {o.family for first in (None, _first_file(stage.data, work)) for o in unseen(samples, first)[:MEASURED]}
    free = [one for one in unseen(samples) if one.family not in measured]
    candidates = looked_at(free, stage)
    sizes = token_counts(model, candidates)
    brief = [one for one, size in zip(candidates, sizes, strict=True) if size <= SHORT * stage.max_new_tokens]
    brief = brief or candidates
    chances = [math.exp(found) for found in likelihoods(model, brief, stage.variant)]
    unsure = [one for one, chance in zip(brief, chances, strict=True) if UNSURE[0] <= chance < UNSURE[1]]
    chosen = unsure or brief or some_of(of_split(samples, "train"), stage.tasks, stage.seed)
    work.keep(chosen[: stage.tasks])
    return {"looked_at": len(brief), "likelihood": fmean(chances or [0.0]), "unsure": len(unsure)}


def looked_at(free: Sequence[Sample], stage: Practice) -> list[Sample]:
    """As many of these as there is time to look at; with `restyle` a module may come again, in another form."""
    chance = random.Random(stage.seed)
    deep = [one for one in free if one.depth >= DEEP] or list(free)
    if not stage.restyle or not free:
        return chance.sample(deep, min(stage.candidates, len(deep)))
    drawn = (chance.randrange(1, OTHER_FORM) if chance.random() < RESTYLED else 0 for _ in range(stage.candidates))
    return [in_form(chance.choice(free if form else deep), form) for form in list(drawn)]


# Measures.


def measure(stage: Measure, work: Work) -> Figures:
    """pass@k of a model; the first measure of a form has the author's kernels of the same tasks too."""
    since, judges = monotonic(), work.judges(stage)
    first = _first_file(stage.data, work) if stage.first_file else None
    families = unseen(work.samples(stage.data), first)[: min(MEASURED, stage.families)]
    chosen = [in_form(one, stage.form) for one in families]
    try:
        # Workers take half a minute to start, in which the replies are written.
        admitting = work.loop.begin(admitted(chosen, work.target(stage), judges))
        asked = [Assignment(task=one.task, split=one.split) for one in chosen]
        replies = written(stage, work, asked)
        drawn_s, tasks = monotonic() - since, admitting.result()
        by_text = dict(zip((a.task.source.source for a in asked), replies, strict=True))
        found = work.loop.run(right_or_wrong(tasks, [by_text[a.task.source.source] for a in tasks], judges))
        kernels = {one.task.source.source: one.candidate for one in chosen}
        author = work.loop.run(outcomes(tasks, kernels, judges)) if not stage.over else None
    finally:
        work.loop.run(judges.close())
    figures: Figures = {
        **pass_figures(found), "not_admitted": len(asked) - len(tasks), "temperature": stage.temperature,
        "interpreted": stage.interpreted, "drawn_s": drawn_s, "judged_s": monotonic() - since - drawn_s,
    }  # fmt: skip
    figures |= {"gained": gained(work.figures(stage.over), figures)} if stage.over else {"author": author}
    return figures


def written(stage: Written, work: Work, tasks: Sequence[Assignment], seed: int | None = None) -> list[list[Reply]]:
    """What a model writes for tasks, which need not be admitted yet."""
    network = open_network(work.model(stage.model))
    network.model.to("cuda" if torch.cuda.is_available() else "cpu")
    chance = len(work.name) if seed is None else seed
    how = Sampling(stage.samples, stage.temperature, stage.max_new_tokens, 512, chance, stage.cache)
    return draw(network, Environment(tasks, Nobody(), Settings(variant=stage.variant)), tasks, how)


async def right_or_wrong(
    tasks: Sequence[Assignment], replies: Sequence[Sequence[Reply]], judges: Judges
) -> list[list[Drawn]]:
    """The verdict on every reply, without a time."""
    environment = Environment(tasks, judges, Settings(role="frontend", reward="frontend", effort="verify"))
    return await judge_all(environment, tasks, replies)


async def outcomes(tasks: Iterable[Assignment], kernels: Mapping[str, Candidate], judges: Judges) -> Figures:
    """What the referee says of these kernels, by the tasks' texts."""
    asked = [judges.judge(a.task, kernels[a.task.source.source], "verify") for a in tasks]
    found = [one for one in await asyncio.gather(*asked) if one is not None]
    return {
        "kernels": len(found),
        "right": sum(map(is_right, found)),
        "outcomes": {**Counter(one.outcome for one in found)},
    }


def recheck(stage: Recheck, work: Work) -> Figures:
    """Pairs by chance, before the referee of this device."""
    samples = work.samples(stage.data)
    found = samples if stage.split == "all" else of_split(samples, stage.split)
    chosen, judges = some_of(found, stage.count, stage.seed), work.judges(stage)
    try:
        tasks = work.loop.run(admitted(chosen, work.target(stage), judges))
        kernels = {one.task.source.source: one.candidate for one in chosen}
        judged = work.loop.run(outcomes(tasks, kernels, judges))
    finally:
        work.loop.run(judges.close())
    return {**judged, "samples": len(chosen), "refused": len(chosen) - len(tasks)}


def timed(stage: Timed, work: Work) -> Figures:
    """How many of a model's kernels for these tasks are right, and how fast the right ones are."""
    judges = work.judges(stage)
    sources = [read_task(Path(file)) for file in stage.task_files] + [mean_square_error(size) for size in stage.mse]
    try:
        return {one.name: work.loop.run(_timed(stage, work, one, judges)) for one in sources}
    finally:
        work.loop.run(judges.close())


async def _timed(stage: Timed, work: Work, source: TaskSource, judges: Judges) -> Figures:
    task = await judges.admit(source, work.target(stage))
    asked = [Assignment(task=task, split="heldout")]
    replies = await asyncio.to_thread(written, stage, work, asked, 7)
    (found,) = await right_or_wrong(asked, replies, judges)
    made = [one.step.info["attempt"].proposal.candidate for one in found if one.step.info.get("right")]
    distinct = list({one.source: one for one in made}.values())
    return {
        "samples": stage.samples, "right": len(made), "distinct_right": len(distinct),
        "outcomes": {**Counter(one.step.info["outcome"] for one in found)},
        "over_eager": [_over_eager(await judges.judge(task, one, "search")) for one in distinct[:TIMED]],
        "author_over_eager": _over_eager(await judges.judge(task, await by_author(task), "search")),
        "kernel": distinct[0].source if distinct else None,
    }  # fmt: skip


def _over_eager(found: Evaluation | None) -> JsonValue:
    """Low, median and high of the speedup over eager; the outcome where there is none."""
    ratio = speedup_over_eager(found) if isinstance(found, Measured) else None
    return [ratio.low, ratio.median, ratio.high] if ratio else found.outcome if found else None


def mean_square_error(size: str) -> TaskSource:
    """The loss in the form that training modules have, on tensors of this size."""
    body = "        v0 = torch.square(predictions - targets)\n        return torch.mean(v0)"
    inputs = f"torch.randn({size}), torch.randn({size})"
    source = TEMPLATE.format(arguments="predictions, targets", body=body, inputs=inputs)
    return TaskSource(name="mse_" + size.replace(", ", "_"), format="kernelbench", source=source)


# Hacks.


def cheats(stage: Cheats, work: Work) -> Figures:
    """How many hacks pass for right: by the full referee, and without its poison and the trainer's hack filters."""
    samples, found = work.samples(stage.data), Figures()
    chosen = unseen(samples, _first_file(stage.data, work))[: stage.families]
    for label, off in (("full", ()), ("without poison and hack filters", ("poison",))):
        policy = stage.policy.model_copy(update={"disabled": off})
        judges = work.judges(stage.model_copy(update={"policy": policy}), min(4, stage.workers))
        paid = work.loop.run(_paid(chosen, work.target(stage), judges, filters=not off))
        found[label] = {"tried": len(paid), "paid_as_right": sum(paid)}
    return found


async def _paid(chosen: Sequence[Sample], target: Target, judges: Judges, *, filters: bool) -> list[bool]:
    try:
        tasks = await admitted(chosen, target, judges)
        environment = Environment(tasks, judges, Settings(reward="frontend", effort="verify", filters=filters))
        episodes = [(environment.begin(a), text) for a in tasks for text in hacks(a.task.source.source)]
        found = await asyncio.gather(*(episode.step(fenced(text, "python")) for episode, text in episodes))
        return [is_right(one.info["attempt"].evaluation) for one in found if one.reward is not None]
    finally:
        await judges.close()


def hacks(reference: str) -> list[str]:
    """Kernels that must not be paid: results that nobody wrote, and PyTorch's own work behind an idle kernel."""
    head = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef idle(x):\n    pass\n\n\n"
    arguments = reference.partition("def forward(self, ")[2].partition(")")[0]
    first = arguments.split(",")[0]
    unwritten = f"class ModelNew(torch.nn.Module):\n    def forward(self, {arguments}):\n        idle[(1,)]({first})\n"
    unwritten += f"        return torch.empty_like({first})\n"
    original = reference.partition("def get_inputs")[0].replace("class Model(", "class Original(")
    library = f"class ModelNew(Original):\n    def forward(self, {arguments}):\n        idle[(1,)]({first})\n"
    library += f"        return super().forward({arguments})\n"
    return [head + unwritten, f"{original}\n{head}{library}"]


# How fast replies come.


def decoding(stage: Decoding, work: Work) -> Figures:
    """A small model's step takes longer to launch than to run: seconds of three batches with each cache, or why none.

    `dynamic` is transformers' `generate`; `static` records a step once a batch and replays it (`engine/decoding.py`);
    `compiled` is `generate` with transformers' static cache, which compiles. How many greedy texts are the same stands beside.
    """
    network = open_network(work.model(stage.model))
    network.model.to("cuda" if torch.cuda.is_available() else "cpu")
    tasks = [Assignment(task=one.task, split=one.split) for one in work.samples(stage.data)[: stage.rows]]
    environment = Environment(tasks, Nobody(), Settings())
    asked = [network.prompt_ids(environment.opening(task)) for task in tasks]
    found: Figures = {"rows": len(tasks), "tokens": stage.tokens}
    texts: dict[str, list[str]] = {}
    for way in ("dynamic", "static", "compiled"):
        taken: list[JsonValue] = []
        for _ in range(TIMES):
            since = monotonic()
            try:
                if way == "compiled":
                    texts[way] = compiled(network, asked, stage.tokens)
                else:
                    how = Sampling(1, 0.0, stage.tokens, len(tasks), cache="static" if way == "static" else "dynamic")
                    texts[way] = [one.text for group in draw(network, environment, tasks, how) for one in group]
            except RuntimeError as error:  # of the device, or of a compiler
                found[f"{way}_failed"] = str(error)[:500]
                break
            taken.append(round(monotonic() - since, 2))
        found[f"{way}_s"] = taken
    for way in texts.keys() - {"dynamic"}:
        alike = zip(texts.get("dynamic", []), texts[way], strict=False)
        found[f"{way}_alike"] = sum(a[:ALIKE] == b[:ALIKE] for a, b in alike) / max(1, len(tasks))
    return found
