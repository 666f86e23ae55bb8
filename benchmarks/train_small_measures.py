"""What the stages of train_small.py measure, and of which samples: pass@k, the author, the poster's MSE loss, and hacks."""

import argparse
import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import train_small_kit as kit

from kernelwright.engine.suppliers import Suppliers
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource
from kernelwright.tasks.table import read_task
from kernelwright.train.admission import admitted
from kernelwright.train.data.collect import by_author
from kernelwright.train.data.prompts import fenced, in_form
from kernelwright.train.data.sample import Sample
from kernelwright.train.engine.network import open_network
from kernelwright.train.engine.sampling import Drawn, Reply, Sampling, draw, judge_all
from kernelwright.train.environment import Assignment, Environment, Settings
from kernelwright.train.judges import Judges
from kernelwright.train.loop import Loop
from kernelwright.train.recipe import MODEL
from kernelwright.train.session import open_judges

POLICY = Policy(compile_limit_s=40.0, seeds=3)
INTERPRETED = POLICY.model_copy(update={"run_limit_s": 5.0})
"""Of verdicts in the interpreter: one that never ends holds its worker, and in the end the trainer, for twenty seconds."""
MEASURED = 128
"""Held-out families that are kept for measures, the first ones; GRPO may practise on the others, which fine-tuning has not
seen either: what it has seen is solved already, and a group whose rewards do not differ teaches nothing."""
OTHER_FORM = 1000
"""A form of each held-out module that no training sample has."""


BEFORE = {"after": ("gained", "before"), "forms_after": ("forms_gained", "forms")}
"""Of a measure after GRPO: how the difference is called, and from which."""


def restyled(sample: Sample, form: int) -> Sample:
    """A sample with its module in another form."""
    return sample.model_copy(update={"task": in_form(sample.task, form)})


class Measures:
    """Measuring, over the samples at hand."""

    o: argparse.Namespace
    began: float
    work: Path
    target: Target
    book: kit.Book
    samples: list[Sample]
    later: set[str]
    """Those of other files than the first."""
    loop: Loop

    def of_split(self, split: str) -> list[Sample]:
        """The samples of a split; of a data set so small that it has none, all: figures of such a try mean nothing."""
        return [one for one in self.samples if one.split == split] or self.samples

    def heldout(self, form: int = 0) -> list[Sample]:
        """One sample for each held-out family that is measured, with its module in this form."""
        chosen = self.unseen(self.o.any_file)[: min(MEASURED, self.o.heldout)]
        return [restyled(one, form) for one in chosen]

    def unseen(self, any_file: bool) -> list[Sample]:
        """One sample for each held-out family, by chance; or the first file's first, which have been measured longest.

        The author's before others, so that whoever else writes kernels changes nothing of what is measured.
        """
        seen: dict[str, Sample] = {}
        for one in sorted(
            self.of_split("heldout"), key=lambda s: (s.origin != "author", s.id in self.later and not any_file, s.id)
        ):
            seen.setdefault(one.family, one)
        return list(seen.values())

    def drawn(self, count: int) -> list[Sample]:
        """Training samples by chance; the seed's, and the same in every call."""
        found = self.of_split("train")
        return random.Random(self.o.seed).sample(found, min(count, len(found)))

    def judges(self, policy: Policy = POLICY, workers: int = 0) -> Judges:
        """Workers of our own."""
        return open_judges(Suppliers(), policy, workers or self.o.workers, self.o.gpus)

    def measure(self, name: str, folder: str, form: int = 0, temperature: float = 1.0) -> bool:
        """pass@k of a model on held-out families; the first time the author's kernels of the same tasks too."""
        since, judges, chosen = time.monotonic(), self.measuring(), self.heldout(form)
        target = self.target.model_copy(update={"present": self.target.present and not self.o.interpret_measures})
        try:
            admitting = self.loop.begin(admitted(chosen, target, judges))
            asked = [Assignment(task=one.task, split=one.split) for one in chosen]
            replies = self.replies(folder, asked, len(name), temperature=temperature)
            written = dict(zip((a.task.source.source for a in asked), replies, strict=True))
            drawn_s = time.monotonic() - since
            tasks = admitting.result()
            found = self.loop.run(self.judged(tasks, [written[a.task.source.source] for a in tasks], judges))
            figures = {**kit.figures_of(found), "not_admitted": len(asked) - len(tasks), "drawn_s": drawn_s}
            figures |= {"temperature": temperature, "interpreted": bool(self.o.interpret_measures)}
            self.book.put(**{name: {**figures, "judged_s": time.monotonic() - since - drawn_s}})
            if name in BEFORE:
                said, first = BEFORE[name]
                self.book.put(**{said: kit.gained(self.book.document.get(first, {}), figures)})
            if "author" not in self.book.document:
                kernels = [one.candidate for one in chosen]
                self.book.put(
                    author=self.loop.run(self.outcomes(tasks, dict(zip(written, kernels, strict=True)), judges))
                )
        finally:
            self.loop.run(judges.close())
        rates = {k: round(v["rate"], 3) for k, v in figures.items() if k.startswith("pass@")}
        self.say(f"{name}: {rates}, {dict(figures['outcomes'])}; author: {self.book.document['author']}")
        return True

    def replies(
        self, folder: str, tasks: Sequence[Assignment], seed: int, samples: int = 0, temperature: float = 1.0
    ) -> list[list[Reply]]:
        """What a trained model writes for tasks, which need not be admitted yet."""
        network = open_network(str(self.work / folder / MODEL))
        network.model.to("cuda" if torch.cuda.is_available() else "cpu")
        environment = Environment(tasks, self.judges(), Settings())
        count, longest = samples or self.o.samples, self.o.max_new_tokens
        how = Sampling(count, temperature, longest, batch=512, seed=seed, cache=self.o.cache)
        return draw(network, environment, tasks, how)

    def measuring(self) -> Judges:
        """The judges of a measure: on the device, or in Triton's interpreter on as many cores as GRPO's."""
        if not self.o.interpret_measures:
            return self.judges()
        return self.judges(INTERPRETED, self.o.grpo_workers)

    async def judged(
        self, tasks: Sequence[Assignment], replies: Sequence[Sequence[Reply]], judges: Judges
    ) -> list[list[Drawn]]:
        """Right or wrong, for every reply."""
        environment = Environment(tasks, judges, Settings(role="frontend", reward="frontend", effort="verify"))
        return await judge_all(environment, tasks, replies)

    async def outcomes(self, tasks: Sequence[Assignment], kernels: dict[str, Any], judges: Judges) -> dict[str, Any]:
        """What the referee says of these kernels, by the tasks' texts."""
        asked = [judges.judge(a.task, kernels[a.task.source.source], "verify") for a in tasks]
        found = [one for one in await asyncio.gather(*asked) if one is not None]
        return {
            "kernels": len(found),
            "right": sum(map(is_right, found)),
            "outcomes": Counter(e.outcome for e in found),
        }

    def pairs(self) -> bool:
        """The author's kernels of training pairs on this device."""
        chosen, judges = self.drawn(self.o.revalidate), self.judges()
        try:
            tasks = self.loop.run(admitted(chosen, self.target, judges))
            kernels = {one.task.source.source: one.candidate for one in chosen}
            self.book.put(pairs=self.loop.run(self.outcomes(tasks, kernels, judges)))
        finally:
            self.loop.run(judges.close())
        self.say(f"pairs: {self.book.document['pairs']}")
        return True

    def mse(self) -> bool:
        """MSE loss by the trained policy: how many are right, and how fast the right ones are."""
        folder = "grpo" if (self.work / "grpo" / MODEL).exists() else "sft"
        poster = read_task(Path(__file__).parents[1] / "examples" / "mse_loss.py")
        sources = {"poster": poster, "plain": kit.mse("4096, 4096"), "small": kit.mse("64, 512")}
        judges = self.judges(workers=1)  # times are taken
        try:
            told = {name: self.loop.run(self.timed(folder, source, judges)) for name, source in sources.items()}
        finally:
            self.loop.run(judges.close())
        self.book.put(mse={"policy": folder, **told})
        self.say(f"mse: {told}")
        return True

    async def timed(self, folder: str, source: TaskSource, judges: Judges) -> dict[str, Any]:
        """One task: distinct right replies, and the speedups over eager of a few of them and of the author's kernel."""
        task = await judges.admit(source, self.target)
        assignment = Assignment(task=task, split="heldout")
        (replies,) = await asyncio.to_thread(self.replies, folder, [assignment], 7, self.o.mse_samples)
        (found,) = await self.judged([assignment], [replies], judges)
        right = {one.step.info["attempt"].proposal.candidate.source: one for one in found if one.step.info.get("right")}
        kernels = [one.step.info["attempt"].proposal.candidate for one in list(right.values())[:4]]
        return {
            "samples": len(replies), "right": sum(bool(one.step.info.get("right")) for one in found),
            "distinct_right": len(right),
            "outcomes": Counter(one.step.info["outcome"] for one in found),
            "over_eager": [kit.told(await judges.judge(task, one, "search")) for one in kernels],
            "author_over_eager": kit.told(await judges.judge(task, await by_author(task), "search")),
            "kernel": kernels[0].source if kernels else None,
        }  # fmt: skip

    def cheats(self) -> bool:
        """Share of hacks that are paid: by the full referee, and without its poison and the trainer's hack filters."""
        chosen = self.heldout()[:4]
        told = {}
        for label, off in (("full", ()), ("without poison and hack filters", ("poison",))):
            paid = self.loop.run(self.paid(chosen, POLICY.model_copy(update={"disabled": off}), filters=not off))
            told[label] = {"tried": len(paid), "paid_as_right": sum(paid)}
        self.book.put(cheats=told)
        self.say(f"cheats: {told}")
        return True

    async def paid(self, chosen: Sequence[Sample], policy: Policy, *, filters: bool) -> list[bool]:
        """Whether they pass for right: kernels that write nothing, and ones that leave the work to PyTorch."""
        judges = self.judges(policy, min(4, self.o.workers))
        try:
            tasks = await admitted(chosen, self.target, judges)
            environment = Environment(tasks, judges, Settings(reward="frontend", effort="verify", filters=filters))
            episodes = [(environment.begin(a), text) for a in tasks for text in kit.hacks(a.task.source.source)]
            found = await asyncio.gather(*(episode.step(fenced(text, "python")) for episode, text in episodes))
            return [is_right(one.info["attempt"].evaluation) for one in found if one.reward is not None]
        finally:
            await judges.close()

    def say(self, words: str) -> None:
        """A line with the time."""
        kit.say(self.began, words)
