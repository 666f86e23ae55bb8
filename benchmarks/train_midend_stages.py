"""The stages of train_midend.py."""

import asyncio
import lzma
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
import train_midend
from train_small_kit import Every, columns, waited
from train_small_stages import DEEP, INTERPRETED, STEPS, Bench, Stage

from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import KernelwrightError, UsageError
from kernelwright.evaluate.backends.host import SHARED
from kernelwright.propose.llm.render import EDITS
from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest, speedup
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured, Verified
from kernelwright.records.measure import Accuracy, BuildFacts
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Task, TaskSource
from kernelwright.reward.table import REWARDS
from kernelwright.store.files import open_lines, read_lines, write_whole
from kernelwright.train.admission import admitted
from kernelwright.train.data.collect import by_author
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.sample import FILE, Sample, judged, read_samples, sample
from kernelwright.train.engine.network import open_network
from kernelwright.train.engine.sampling import Sampling, draw, judge_all
from kernelwright.train.environment import Assignment, Environment, Settings
from kernelwright.train.judges import Judges
from kernelwright.train.passes import interval
from kernelwright.train.recipe import MODEL, Grpo, Sft
from kernelwright.train.session import open_judges, steps, train
from kernelwright.train.structure import family, split_of

POLICY = Policy(
    compile_limit_s=6.0, seeds=3, search_seconds=0.3, search_blocks=12, baselines=("eager",), counters=False
)
"""Tiles that compile for half a minute are too large to be fast, and a set of rollouts waited for two or three of them."""
VARIANTS, ELSEWHERE = "variants.jsonl", "variants-elsewhere.jsonl"
"""Kernels that were timed on this kind of device, and on others: these only teach what is faster."""
START_S = 60.0
FASTER = 1.05
"""Times as fast as a kernel, of what fine-tuning learns from it: less may be noise."""
PREPARING_S = 60.0
"""What rendering and tokenising pairs takes before the steps, and saving after them."""
LAST_S = 15.0
"""Of a call, in which nothing is judged any more: what is known is written down."""
SAID_S = 15.0
"""Between two lines on how far a measure is."""
PRACTISED = 2
"""Kernels of a module that is practised on, each of them a parent."""


class Variant(Record):
    """One timed kernel of one module."""

    task: Task
    attempt: Attempt

    @property
    def heldout(self) -> bool:
        """Whether the module's family is."""
        return split_of(family(self.task.graph)) == "heldout"


class Midend(Bench):
    """One process's part of a call."""

    NAME = "train-midend"

    def stages(self) -> dict[str, Stage]:
        """Every stage by its name, the most valuable first."""
        measure, ablation = self.o.measure_seconds, self.o.ablation_seconds + START_S
        return {
            "parents": Stage(self.parents, "", 90),
            "warm": Stage(self.warm, "", 90),
            "sft": Stage(self.sft, "parents", 60),
            "before": Stage(lambda: self.edits("before", "midend_sft"), "sft", measure),
            "practised": Stage(lambda: self.edits("practised", "midend_sft", self.practised()), "sft", measure),
            "right": Stage(self.right, "sft", START_S + 60),
            "after_right": Stage(lambda: self.edits("after_right", "midend_right"), "right", measure),
            "grpo": Stage(lambda: self.reinforced("grpo", "log_gain", self.o.grpo_seconds), "sft", START_S + 100),
            "after": Stage(lambda: self.edits("after", "midend_grpo"), "grpo", measure),
        } | {name: Stage(partial(self.ablation, name), "sft", ablation + measure) for name in train_midend.REWARDS}

    def sources(self) -> list[tuple[TaskSource, int]]:
        """Modules of the pairs in another size, and how many kernels of each are timed; it may be cut anywhere."""
        sizes = {"rows": self.o.rows, "columns": self.o.columns}
        wanted = [
            (place / len(names), name, count)
            for names, count in ((self.names(), self.o.variants), (self.practice(), PRACTISED))
            for place, name in enumerate(names)
        ]
        return [(random_module(int(name.rpartition("_")[2]), **sizes), count) for _, name, count in sorted(wanted)]

    def practice(self) -> list[str]:
        """Modules that GRPO practises on: of families that neither fine-tuning nor a measure has."""
        taken = set(self.names())
        free = sorted({one.task.source.name for one in self.of_split("heldout")} - taken)
        return random.Random(self.o.seed).sample(free, min(self.o.practice, len(free)))

    def names(self) -> list[str]:
        """Modules of both splits: for fine-tuning, and for measures."""
        most = {"train": self.o.modules, "heldout": self.o.heldout}
        chosen = [
            (place / count, split, one)
            for split, count in most.items()
            for place, one in enumerate(self.some_of(split, 2 * count))
        ]
        return [one.task.source.name for *_, one in sorted(chosen, key=lambda c: c[:2])]

    def some_of(self, split: str, count: int) -> list[Sample]:
        """Samples of a split by chance, the same whatever is drawn of the other."""
        found = self.of_split(split)
        return random.Random(f"{self.o.seed} {split}").sample(found, min(count, len(found)))

    def frontend(self) -> Path:
        """The model that the mid-end begins with.

        Raises:
            UsageError: there is none.
        """
        for name in ("grpo", "sft"):
            if (self.work / name / MODEL / "config.json").exists():
                return Path(self.work / name / MODEL)
        raise UsageError(f"{self.work} holds no model of train_small.py: name its OUT with --restore")

    # Data.

    def parents(self) -> bool:
        """Modules, and kernels of each with settings by chance, until there are enough or the time is over."""
        with self.in_turn():
            return self._parents()

    def _parents(self) -> bool:
        file, judges = self.work / VARIANTS, self.judges()
        if not file.exists():
            self.take_timed(file)
        end = time.monotonic() + min(self.o.parents_seconds, self.left - 40)
        try:
            with open_lines(Variant, file) as lines:
                known = Counter(one.task.source.name for one in lines.read())
                names, most = set(self.names()), self.o.modules + self.o.heldout
                waiting = [one for one in self.sources() if one[0].name not in known]
                while waiting and time.monotonic() < end:
                    # Together: while one is timed, the next ones are admitted as far as they may.
                    chosen, waiting = waiting[: self.o.workers], waiting[self.o.workers :]
                    enough = len(names & known.keys()) >= most
                    chosen = [one for one in chosen if not (enough and one[0].name in names)]
                    for task, made in self.loop.run(self.all_variants(chosen, judges)):
                        lines.append(Variant(task=task, attempt=made))
                        known[task.source.name] += 1
        finally:
            self.loop.run(judges.close())
        found = read_lines(Variant, file)
        elsewhere = read_lines(Variant, self.work / ELSEWHERE)
        pairs = [pair for ones in (found, elsewhere) for pair in self.pairs_of([v for v in ones if not v.heldout])]
        practised = [self.begun_from(one) for one in self.practised()]
        for name, made in (("data-midend", pairs), ("data-practice", practised)):
            folder = self.work / name
            folder.mkdir(exist_ok=True)
            (folder / FILE).write_text("".join(one.model_dump_json() + "\n" for one in made))
        counts = {"modules": len(known), "variants": len(found), "pairs": len(pairs), "practised": len(practised)}
        self.book.put(parents=counts)
        self.say(f"parents: {self.book.document['parents']}")
        return bool(pairs)

    def take_timed(self, file: Path) -> None:
        """Kernels that were timed before: those of this kind of device, and beside them those of others."""
        packed = self.work / "timed.jsonl"
        packed.write_bytes(b"".join(lzma.decompress(one.read_bytes()) for one in self.o.timed))
        found: dict[Path, list[Variant]] = {file: [], self.work / ELSEWHERE: []}
        for one in read_lines(Variant, packed):
            here = one.attempt.evaluation.device == self.machine.device.name
            found[file if here else self.work / ELSEWHERE].append(one)
        # The file itself last, and whole: as long as it is missing, this is done anew.
        for place, ones in reversed(found.items()):
            write_whole(place, "".join(one.model_dump_json() + "\n" for one in ones))

    async def all_variants(
        self, chosen: Sequence[tuple[TaskSource, int]], judges: Judges
    ) -> list[tuple[Task, Attempt]]:
        """Those of several modules."""
        found = await asyncio.gather(*(self.variants(source, count, judges) for source, count in chosen))
        return [one for ones in found for one in ones]

    async def variants(self, source: Any, count: int, judges: Judges) -> list[tuple[Task, Attempt]]:  # noqa: ANN401
        """The author's kernel under settings by chance, each timed; those that are wrong or refused are left out."""
        try:
            task = await judges.admit(source, self.target)
            kernel = await by_author(task)
        except KernelwrightError as error:
            self.say(f"{source.name} is left out: {error}"[:300])
            return []
        drawn = random.Random(source.name)
        texts = list(
            dict.fromkeys(train_midend.retuned(kernel.source, drawn, self.o.columns) for _ in range(3 * count))
        )
        kernels = [kernel.model_copy(update={"source": text, "tunables": ()}) for text in texts]
        kernels = (kernels if len(kernels) > 1 else list(kernel.points()))[:count]
        found = await asyncio.gather(*(judges.judge(task, one, "search") for one in kernels))
        return [(task, attempt(k, f)) for k, f in zip(kernels, found, strict=True) if isinstance(f, Measured)]

    def begun_from(self, one: Variant) -> Sample:
        """A timed kernel as a parent; whether anything is faster, GRPO finds out."""
        made, versions = one.attempt, dict(self.machine.versions)
        return sample("author", one.task, made.proposal.candidate, judged(made.evaluation, versions), parent=made)

    def pairs_of(self, found: Sequence[Variant]) -> list[Sample]:
        """From each module's kernels to every faster one of them."""
        versions = dict(self.machine.versions)
        return [
            sample(
                "author", a.task, b.attempt.proposal.candidate, judged(b.attempt.evaluation, versions), parent=a.attempt
            )
            for a in found
            for b in found
            if a.task.id == b.task.id and speedup(b.attempt) > FASTER * speedup(a.attempt)
        ]

    def slowest(self) -> list[Variant]:
        """Each held-out module with its slowest kernel; none that is practised on."""
        found: dict[str, Variant] = {}
        practice = set(self.practice())
        for one in read_lines(Variant, self.work / VARIANTS):
            measured = one.heldout and one.task.source.name not in practice
            if measured and (one.task.id not in found or speedup(one.attempt) < speedup(found[one.task.id].attempt)):
                found[one.task.id] = one
        return list(found.values())

    def practised(self) -> list[Variant]:
        """What GRPO practises on: all timed kernels of its modules, or the first --practised of them."""
        practice = set(self.practice())
        found = [one for one in read_lines(Variant, self.work / VARIANTS) if one.task.source.name in practice]
        return found[: self.o.practised or None]

    # Training.

    def judges(self, policy: Policy = POLICY, workers: int = 0) -> Judges:
        """As the frontend's; but each kernel is timed once by all stages, and by arms beside each other."""
        return open_judges(Suppliers(), policy, workers or self.o.workers, self.o.gpus, cached=True)

    def warm(self) -> bool:
        """From a kernel to the same with other settings, both by chance: what a mid-end is asked, and no word of what is fast.

        Nothing here is timed, so that it costs no device time to make: the pairs are the frontend's.
        """
        data = self.kept("data-warm", lambda: self.neutral(self.o.warm_pairs))
        return self.tuned("warm", self.frontend(), data, self.o.warm_steps, self.o.warm_rate)

    def neutral(self, count: int) -> list[Sample]:
        """The author's kernels of training modules, under settings by chance, each from one under others."""
        return [found for one in self.drawn(count) if (found := renewed(one)) is not None]

    def sft(self) -> bool:
        """From a measured kernel to a faster one, among as many changes of which nothing is known: less is learnt by heart."""
        measured = read_samples(self.work / "data-midend")
        data = self.kept("data-sft", lambda: [*measured, *self.neutral(len(measured))])
        warm = self.work / "midend_warm" / MODEL
        model = warm if self.done("warm") else self.frontend()
        return self.tuned("sft", model, data, self.o.sft_steps, self.o.rate)

    def tuned(self, name: str, model: Path, data: Path, count: int, rate: float) -> bool:
        """Supervised fine-tuning as the mid-end."""
        recipe = Sft(
            model=str(model), data=str(data), role="midend", variant=EDITS, seed=self.o.seed, steps=count, learning_rate=rate,
            warmup=min(10, count // 4), batch=self.o.sft_batch, micro_batch=self.o.sft_batch, save_every=max(1, count // 3),
            max_tokens=self.o.max_tokens, seconds=max(20.0, self.left - PREPARING_S),
        )  # fmt: skip
        folder = self.work / f"midend_{name}"
        train(recipe, folder, Suppliers(), Every(10.0, self.told(name)))
        last = steps(folder)[-1]
        self.book.put(**{name: {"steps": last.step, "samples": len(read_samples(data)), **last.figures}})
        return bool(last.step >= recipe.steps)

    def right(self) -> bool:
        """GRPO on whether edits are right, of many modules and none timed: nothing is paid for but whole kernels.

        Verdicts are Triton's interpreter's, on the other cores. What an edit gains, `grpo` goes on with.
        """
        data = self.kept("data-right", self.untimed)
        groups, workers = self.o.right_groups, self.o.grpo_workers or self.o.workers
        how = {
            "data": str(data), "split": "heldout", "effort": "verify", "interpreted": True, "gpus": (),
            "workers": workers, "learning_rate": self.o.right_rate, "groups": groups,
            "policy": POLICY.model_copy(update={"run_limit_s": INTERPRETED.run_limit_s}), "steps": 10 * self.o.grpo_steps,
            "micro_batch": min(32, groups * self.o.trajectories), "save_every": 10,
            "workers_of_task": max(1, workers // groups), "scale": "group",
        }  # fmt: skip
        return self.reinforced("right", "correctness", self.o.right_seconds, "midend_sft", **how)

    def untimed(self) -> list[Sample]:
        """Edits of held-out modules that no measure has and no timed practice."""
        taken = {*self.names(), *self.practice(), *(one.task.source.name for one in self.slowest())}
        free = [one for one in self.of_split("heldout") if one.task.source.name not in taken and one.depth >= DEEP]
        drawn = random.Random(self.o.seed).sample(free, min(len(free), 2 * self.o.right_tasks))
        return [found for one in drawn if (found := renewed(one)) is not None][: self.o.right_tasks]

    def reinforced(self, name: str, reward: str, seconds: float, begin: str = "", **others: Any) -> bool:  # noqa: ANN401
        """GRPO with this reward for so long, over as many calls as it takes; `others` are settings of the recipe."""
        spent = self.book.document.get(name, {}).get("trained_s", 0.0)
        missing = max(1.0, seconds - spent)
        given = min(missing, max(30.0, self.left - START_S))
        data = self.work / ("data-practice" if self.o.practice else "data-midend")
        begun = self.book.document.get("begun_with", {})
        begin = begin or begun.get(name) or ("midend_right" if self.done("right") else "midend_sft")
        self.book.put(begun_with={**begun, name: begin})
        # Rewards are in nats: scaled by group, groups that differ by noise alone would count as much as any.
        settings = {
            "model": str(self.work / begin / MODEL), "data": str(data), "role": "midend", "reward": reward,
            "split": "heldout" if self.o.practice else "train",
            "variant": EDITS, "effort": "search", "target": self.o.target, "steps": self.o.grpo_steps, "seconds": given,
            "learning_rate": self.o.grpo_rate, "decay": False, "seed": self.o.seed, "groups": self.o.groups,
            "trajectories": self.o.trajectories, "workers": self.o.workers, "gpus": self.o.gpus, "waves": self.o.waves,
            "updates": self.o.updates, "ahead": self.o.ahead, "negative": self.o.negative, "cache": self.o.cache,
            "cached": True, "save_every": 2, "policy": POLICY, "max_new_tokens": self.o.max_new_tokens,
            "micro_batch": min(16, self.o.groups * self.o.trajectories), "scale": "none",
        }  # fmt: skip
        recipe = Grpo(**(settings | others))
        since, folder = time.monotonic(), self.work / f"midend_{name}"
        with nullcontext() if recipe.interpreted else self.in_turn():
            train(recipe, folder, Suppliers(), self.told(name))
        spent += time.monotonic() - since
        made = steps(folder)
        told = {"steps": made[-1].step, "trained_s": spent, "waited_share": waited(made)}
        self.book.put(**{name: {**told, **columns(made, (*STEPS, "speedup"))}})
        return bool(made[-1].step >= recipe.steps or missing - given < START_S)

    def ablation(self, name: str) -> bool:
        """GRPO with another reward, and its edits of held-out modules."""
        REWARDS[f"midend_{name}"] = train_midend.REWARDS[name]
        done = self.reinforced(name, f"midend_{name}", self.o.ablation_seconds)
        return done and self.edits(f"after_{name}", f"midend_{name}")

    # Measuring.

    def edits(self, name: str, folder: str, chosen: Sequence[Variant] = ()) -> bool:
        """Edits of these kernels, or of each held-out module's slowest: what they gain over it."""
        chosen, judges = chosen or self.slowest(), self.judges()
        timely = Timely(judges, time.monotonic() + self.left - LAST_S, self.say)
        tasks = [Assignment(task=one.task, parent=one.attempt, split="heldout") for one in chosen]
        environment = Environment(tasks, timely, Settings(role="midend", reward="midend", variant=EDITS))
        how = Sampling(self.o.samples, 1.0, self.o.max_new_tokens, 64, len(name), self.o.cache)
        try:
            with self.in_turn():
                # Workers take half a minute to start, in which the replies are written.
                opening = self.loop.begin(admitted([self.begun_from(one) for one in chosen], self.target, judges))
                network = open_network(str(self.work / folder / MODEL))
                network.model.to("cuda" if torch.cuda.is_available() else "cpu")
                replies = draw(network, environment, tasks, how)
                opening.result()
                found = self.loop.run(judge_all(environment, tasks, replies))
        finally:
            self.loop.run(judges.close())
        gains = [
            [gain(one.assignment, one.step.info) for one in group if one.step.reward is not None] for group in found
        ]
        known = [one.step.info for group in found for one in group if one.step.reward is not None]
        logs = {
            group[0].assignment.task.name: fmean(log(one or 1.0) for one in mine)
            for group, mine in zip(found, gains, strict=True) if mine
        }  # fmt: skip
        self.book.put(
            **{
                name: {
                    "tasks": len(logs), "samples": len(known), "late": timely.late,
                    "right": sum(bool(info["right"]) for info in known), "hacks": sum(bool(info["hack"]) for info in known),
                    "outcomes": Counter(info["outcome"] for info in known),
                    "refused_for": dict(Counter(info["reason"][:80] for info in known if info["reason"]).most_common(5)),
                    "of_all": train_midend.spread([one or 1.0 for group in gains for one in group]),
                    "of_right": train_midend.spread([one for group in gains for one in group if one]),
                    "best_of_each": train_midend.spread([max(one or 1.0 for one in group) for group in gains if group]),
                    "parents_over_eager": train_midend.spread([speedup(one.parent) for one in tasks if one.parent]),
                    "log_gain": logs, "over_before": self.over_before(logs),
                }
            }
        )  # fmt: skip
        self.say(f"{name}: {self.book.document[name]}")
        return True

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Workers that are started within it take turns on the device: one kernel is timed at a time."""
        os.environ[SHARED] = str(self.work / "device.lock")
        try:
            yield
        finally:
            # What interprets has no device: its workers would wait for one another.
            os.environ.pop(SHARED)

    def over_before(self, logs: dict[str, float]) -> dict[str, float] | None:
        """How many times the gain of the policy before GRPO these gains are, with the 95 % interval, task by task."""
        before = self.book.document.get("before", {}).get("log_gain", {})
        differences = [logs[task] - before[task] for task in sorted(logs.keys() & before.keys())]
        if not differences:
            return None
        low, high = interval(differences)
        return {"low": exp(low), "times": exp(fmean(differences)), "high": exp(high)}


class Timely:
    """Judges of a measure, while there is time: what comes later is left out of it, so that what is known is not lost."""

    def __init__(self, judges: Judges, end: float, say: Callable[[str], None]) -> None:
        self._judges, self._end, self._say = judges, end, say
        self._known, self._said = 0, time.monotonic()
        self.late = 0
        """Verdicts that did not come in time."""

    async def judge(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation | None:
        """See `Judges.judge`; None also where the time is over."""
        try:
            found = await asyncio.wait_for(
                self._judges.judge(task, candidate, effort), max(0.0, self._end - time.monotonic())
            )
        except TimeoutError:
            self.late += 1
            return None
        self._known += 1
        if time.monotonic() - self._said > SAID_S:
            self._said = time.monotonic()
            self._say(f"{self._known} verdicts, {self._judges.rate.judged} of them made anew")
        return found


def gain(assignment: Assignment, info: dict[str, Any]) -> float | None:
    """An edit's speedup over its parent; None for one that is wrong, which leaves the parent in place."""
    before = speedup(assignment.parent) if assignment.parent else 0.0
    return info["speedup"] / before if before and info.get("right") and info.get("speedup") else None


def renewed(one: Sample) -> Sample | None:
    """A frontend's sample as one of the mid-end's that is neutral; None: its kernel has no settings."""
    draw = random.Random(one.id)
    texts = dict.fromkeys(train_midend.retuned(one.candidate.source, draw) for _ in range(6))
    if len(texts) < 2:
        return None
    before, after = (one.candidate.model_copy(update={"source": text, "tunables": ()}) for text in list(texts)[:2])
    known = Verified(build=BuildFacts(compiler="", seconds=0.0), accuracy=Accuracy(cases=()), how=one.judged.how)
    parent = attempt(before, known)
    return one.model_copy(update={"candidate": after, "parent": parent})


def attempt(kernel: Candidate, found: Measured | Verified) -> Attempt:
    """A kernel that was judged as an attempt that others begin from."""
    request = ProposalRequest(number=0, intent="seed", role="frontend")
    return Attempt(
        number=0, proposal_request=request, proposal=Proposal(candidate=kernel), evaluation=found, cost=Cost()
    )
