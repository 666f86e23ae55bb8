"""The stages of train_small.py, over the project's own recipes and environment."""

import argparse
import asyncio
import json
import lzma
import math
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import train_small_kit as kit
from provenance import provenance
from train_small_measures import INTERPRETED, MEASURED, OTHER_FORM, POLICY, Measures, restyled

from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import MachineError
from kernelwright.records.run import Environment as Machine
from kernelwright.records.task import Target
from kernelwright.train.data.prompts import rows
from kernelwright.train.data.sample import FILE, Sample, read_samples
from kernelwright.train.engine.small import make_small
from kernelwright.train.loop import Loop
from kernelwright.train.recipe import MODEL, Grpo, Progress, Sft
from kernelwright.train.session import steps, train

START_S = 45.0
"""What loading, admitting and saving take beside GRPO's steps."""
OPEN_TASKS = 40
"""Of all workers: each holds a reference with 650 MB of the device, and beside 84, and 56 of 14 workers, the trainer found no
room on an 80 GB card. A task is dealt out to more than one worker only if all of them find room: one that was closed must be
opened anew."""
DEEP = 4
"""Operations of a module that GRPO practises on, at least: fewer are nearly always right, in the form that was taught."""
RESTYLED = 0.85
"""Share of modules in another form, of those that GRPO looks at with `--restyle`. GRPO on such forms alone took three to six
points from the form that was taught (two H200s, two seeds)."""
UNSURE = (0.01, 0.7)
"""Between which the probability of the author's whole kernel lies, of modules that GRPO practises on."""
COOLER = 0.5
"""The temperature of a control: what GRPO gains only by writing what is likely more often, colder sampling gains too."""
TRIED, WARMING = 40, 8
"""Steps that tell a fine-tuning's pace, and those at their beginning that do not."""
SHOWN_TO_TOKENIZER = 1000
"""Training samples by chance, so that all who write kernels are among them."""
PREPARING_S, SAVING_S = 50.0, 15.0
"""What reading, rendering and tokenising all the pairs take before the steps, and what is written after them."""
MOST_FAILURES = 2
SHOWN = ("loss", "reward", "right", "parsed", "hacks", "timed out", "length", "waiting")
STEPS = (
    "reward", "right", "groups without a right reply", "flat groups", "entropy", "gradient norm", "parsed", "hacks",
    "timed out", "length", "cut off", "waiting", "waited seconds", "step seconds",
    "unjudged",
)  # fmt: skip


class Stage(NamedTuple):
    """One stage, and what it needs."""

    run: Callable[[], bool]
    """Whether it is done; otherwise the next call goes on."""
    after: str
    seconds: float
    """Least time that it is begun with."""


class Bench(Measures):
    """One process's part of a call."""

    NAME = "train-small"

    def __init__(self, options: argparse.Namespace) -> None:
        os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", str(max(3, OPEN_TASKS // options.workers)))
        self.o, self.began = options, time.monotonic()
        self.out, self.work = options.out, options.work
        self.work.mkdir(parents=True, exist_ok=True)
        brought = (
            kit.restore(options.restore, self.work) if options.restore and not (self.work / "sft").exists() else ""
        )
        if options.policy and not (self.work / "sft" / MODEL).exists():
            shutil.copytree(options.policy, self.work / "sft" / MODEL)
            brought = "sft"
        self.target = resolve_target(options.target)
        self.machine = asyncio.run(_machine(self.target))
        self.book = kit.Book(self.out, self.work, kit.Book.file(self.NAME, self.machine.device.name, options.seed))
        told = {name: _named(value) for name, value in vars(options).items() if not isinstance(value, Path)}
        self.book.put(**provenance(self.machine), options=told, **({"brought": brought} if brought else {}))
        if options.known and "before" not in self.book.document:
            self.take(json.loads(options.known.read_text()))
        self.samples, self.later = [], set()
        self.loop = Loop()

    def take(self, known: dict[str, Any]) -> None:
        """What an earlier call measured of the same policy before GRPO: in an interpreter, or on the same kind of device."""
        interpreted = bool(known["before"].get("interpreted"))
        if interpreted != bool(self.o.interpret_measures):
            self.say("what is known was measured in another way, on a device or in an interpreter, and is left out")
            return
        if not interpreted and known["device"] != self.book.document["device"]:
            self.say(
                f"what is known was measured on {known['device']}, and is left out: this is {self.book.document['device']}"
            )
            return
        names = [name for name in ("before", "forms") if name in known]
        self.book.put(**{name: known[name] for name in (*names, "author")}, done=names)

    @property
    def left(self) -> float:
        """Seconds until this call must end."""
        return float(self.o.seconds - (time.monotonic() - self.began))

    def stages(self) -> dict[str, Stage]:
        """Every stage by its name, the most valuable first."""
        measure = self.o.measure_seconds
        return {
            "sft": Stage(self.sft, "", 60),
            "before": Stage(lambda: self.measure("before", "sft"), "sft" if self.began_here() else "never", measure),
            "forms": Stage(lambda: self.measure("forms", "sft", OTHER_FORM), "sft", measure),
            "cooler": Stage(lambda: self.measure("cooler", "sft", temperature=COOLER), "sft", measure),
            "grpo": Stage(self.grpo, "sft", START_S + 100 + (0 if self.o.grpo_seconds else measure)),
            "after": Stage(lambda: self.measure("after", "grpo"), "grpo", measure),
            "forms_after": Stage(lambda: self.measure("forms_after", "grpo", OTHER_FORM), "grpo", measure),
            "cheats": Stage(self.cheats, "", 90),
            "mse": Stage(self.mse, "sft", 100),
            "pairs": Stage(self.pairs, "", 60),
            "without_sft": Stage(self.without_sft, "sft", self.o.ablation_seconds + START_S),
        }

    def run(self) -> int:
        """Every stage that is not done, whose predecessor is, and for which there is time."""
        self.data()
        for name, stage in self.stages().items():
            if self.o.only is None or name in self.o.only:
                self.stage(name, stage)
        kit.keep_pages(self.work, self.out)
        left = [name for name in self.stages() if not self.done(name)]
        self.say(f"left: {', '.join(left) or 'nothing'}")
        shown = {k: v for k, v in self.book.document.items() if k not in ("versions", "options", "grpo", "without_sft")}
        sys.stdout.write(json.dumps(shown) + "\n")
        return 0

    def stage(self, name: str, stage: Stage) -> None:
        """One stage, or why not."""
        failures = self.book.document.get("failures", {}).get(name, 0)
        given_up = failures >= MOST_FAILURES and self.o.only is None
        if self.done(name) or (stage.after and not self.done(stage.after)) or given_up:
            return
        if self.left < stage.seconds:
            self.say(f"{name}: needs {stage.seconds:.0f} s, and {self.left:.0f} are left")
            return
        self.say(f"{name} begins, {self.left:.0f} s are left")
        self.book.put(running=name)
        since = time.monotonic()
        if stage.run():
            self.book.put(done=[*self.book.document.get("done", []), name])
        self.book.put(running="", seconds={**self.book.document.get("seconds", {}), name: time.monotonic() - since})
        kit.keep_pages(self.work, self.out)

    def began_here(self) -> bool:
        """Whether what GRPO began with is here; of one that was cut in another lease there are later weights alone."""
        return self.book.document.get("brought") != "grpo"

    def done(self, name: str) -> bool:
        """Whether a stage is done, now or in an earlier call."""
        return name in self.book.document.get("done", [])

    # Data.

    def data(self) -> None:
        """The pairs at hand, in the folder that recipes read."""
        folder = self.work / "data"
        folder.mkdir(exist_ok=True)
        files = [lzma.decompress(file.read_bytes()).decode().splitlines() for file in self.o.data]
        if not (folder / FILE).exists():
            lines = [line for lines in files for line in lines]
            if self.o.shortest:
                lines = sorted(lines, key=len)
            (folder / FILE).write_text("\n".join(lines[: self.o.pairs]) + "\n")
        self.samples = read_samples(folder)
        self.later = {one.id for one in self.samples[len(files[0]) :]}
        splits = dict(Counter(one.split for one in self.samples))
        self.book.put(data={"samples": len(self.samples), **splits, "families": len({s.family for s in self.samples})})
        self.say(f"{len(self.samples)} samples, {splits}")

    def practice(self, model: Path) -> list[Sample]:
        """Modules for GRPO, of families that neither fine-tuning nor a measure has; of a tiny data set, any.

        Of as many by chance as there is time to look at, those of whose known kernel the model is neither sure nor ignorant:
        where all replies are right, or none is, a group teaches nothing, and what it is shown where none is it learns by
        heart, at the price of what it knew. With `--restyle` most are in another form, and those that are not keep what was
        taught.
        """
        measured = {one.family for any_file in (False, True) for one in self.unseen(any_file)[:MEASURED]}
        free = [one for one in self.unseen(any_file=True) if one.family not in measured]
        drawn = kit.short(model, self.looked_at(free), self.o.max_new_tokens)
        sure = [math.exp(found) for found in kit.likelihoods(model, drawn)]
        unsure = [one for one, found in zip(drawn, sure, strict=True) if UNSURE[0] <= found < UNSURE[1]]
        self.book.put(practice={"looked_at": len(drawn), "likelihood": fmean(sure or [0.0]), "unsure": len(unsure)})
        return (unsure or drawn or self.drawn(self.o.grpo_tasks))[: self.o.grpo_tasks]

    def looked_at(self, free: Sequence[Sample]) -> list[Sample]:
        """As many of these as there is time to look at; with `--restyle` a module may come again, in another form."""
        draw = random.Random(self.o.seed)
        deep = [one for one in free if one.depth >= DEEP] or list(free)
        if not self.o.restyle or not free:
            return draw.sample(deep, min(self.o.candidates, len(deep)))
        forms = [draw.randrange(1, OTHER_FORM) if draw.random() < RESTYLED else 0 for _ in range(self.o.candidates)]
        return [restyled(draw.choice(free if form else deep), form) for form in forms]

    # Training.

    def base(self) -> Path:
        """The model that training begins with."""
        if self.o.base:
            return Path(self.o.base)
        base = self.work / "base"
        if not (base / "tokenizer.json").exists():
            shown = rows(self.drawn(SHOWN_TO_TOKENIZER), "frontend")
            texts = [part for prompt, reply in shown for part in (*(m.text for m in prompt), reply)]
            make_small(base, texts, self.o.size, self.o.vocabulary, self.o.seed)
        return base

    def sft(self) -> bool:
        """A model from scratch, and supervised fine-tuning; nothing where `--policy` has brought its weights."""
        if self.o.policy:
            return True
        if "sft_of" not in self.book.document:
            self.book.put(sft_of=self.affordable())
        recipe = self.tuning(self.work / "data", self.book.document["sft_of"])
        train(recipe, self.work / "sft", Suppliers(), kit.Every(10.0, self.told("sft")))
        last = steps(self.work / "sft")[-1]
        self.book.put(
            sft={"steps": last.step, "of": recipe.steps, "samples": len(self.of_split("train")), **last.figures}
        )
        self.export("sft")
        return bool(last.step >= recipe.steps)

    def tuning(self, data: Path, steps: int) -> Sft:
        """The recipe of supervised fine-tuning."""
        return Sft(
            model=str(self.base()), data=str(data), lora_rank=self.o.lora_rank, seed=self.o.seed,
            steps=steps, forms=self.o.forms, learning_rate=self.o.sft_rate, warmup=min(20, steps // 4),
            batch=self.o.sft_batch, micro_batch=self.o.sft_batch, save_every=max(1, steps // 4),
            max_tokens=3072, seconds=max(20.0, self.left - PREPARING_S - SAVING_S),
        )  # fmt: skip

    def affordable(self) -> int:
        """Steps for which there is time, by the pace of a few on little data: the learning rate's fall needs their number."""
        if not self.o.sft_seconds:
            return int(self.o.sft_steps)
        recipe = self.tuning(self.kept("data-pace", lambda: self.drawn(TRIED * self.o.sft_batch)), TRIED)
        train(recipe, self.work / "pace", Suppliers(), lambda _: None)
        made = steps(self.work / "pace")
        step_s = (made[-1].seconds - made[WARMING].seconds) / (made[-1].step - made[WARMING].step)
        room = min(self.o.sft_seconds, self.left - START_S) - PREPARING_S - SAVING_S
        if room < TRIED * step_s:
            self.say(
                f"{self.o.sft_seconds:.0f} s are hardly enough for more than what stands around the steps: say --sft-steps"
            )
        found = max(TRIED, min(int(self.o.sft_steps), int(room / step_s)))
        self.book.put(pace={"step_s": step_s, "steps": found})
        self.say(f"a step of fine-tuning takes {step_s:.3f} s: {found} steps")
        return found

    def grpo(self) -> bool:
        """Reinforcement learning from the referee's verdicts, over as many calls as it takes."""
        spent, measure = self.book.document.get("grpo", {}).get("trained_s", 0.0), self.o.measure_seconds
        model = self.work / "sft" / MODEL
        self.practised_on(model)  # looking for modules takes its time, too
        missing = max(1.0, self.o.grpo_seconds - spent if self.o.grpo_seconds else self.left - START_S - measure)
        room = self.left - START_S - (measure if missing < self.left else 0)
        folder = self.work / "grpo"
        given = min(missing, max(30.0, room))
        recipe = self.recipe(model, given)
        since = time.monotonic()
        self.run_recipe(recipe, folder)
        spent += time.monotonic() - since
        made = steps(folder)
        self.book.put(
            grpo={
                "steps": made[-1].step, "trained_s": spent, "cache": recipe.cache, "waves": recipe.waves,
                "rollouts_a_step": recipe.groups * recipe.trajectories, "waited_share": kit.waited(made),
                "hack_rate": max(one.figures.get("hacks", 0.0) for one in made), **kit.columns(made, STEPS),
            }
        )  # fmt: skip
        self.export("grpo")
        # A run that was given all the time ends before the step for which there is none, and a rest is not worth a start.
        return bool(made[-1].step >= recipe.steps or missing - given < START_S)

    def run_recipe(self, recipe: Grpo, folder: Path) -> None:
        """In this process, or in one on each of the first GPUs, as users have it."""
        if self.o.trainers == 1:
            train(recipe, folder, Suppliers(), self.told("grpo"))
            return
        file = self.work / "grpo.json"
        file.write_text(recipe.model_dump_json())
        several = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={self.o.trainers}"]
        asked = ["-m", "kernelwright", "train", "grpo", str(folder), "--recipe", str(file), "--json"]
        subprocess.run([sys.executable, *several, *asked], check=True)

    def recipe(self, model: Path, seconds: float) -> Grpo:
        """The recipe of reinforcement learning, from this model."""
        data = self.practised_on(model)
        tasks, workers = read_samples(data), max(1, (self.o.grpo_workers or self.o.workers) // self.o.trainers)
        return Grpo(
            model=str(model), data=str(data), split=tasks[0].split,
            steps=self.o.grpo_steps, seconds=seconds,
            learning_rate=self.o.grpo_rate, warmup=self.o.warmup, forms=1 if self.o.policy else self.o.forms,
            reward=self.o.reward, effort="verify", by_prefix=self.o.by_prefix, demonstrate=self.o.demonstrate,
            temperature=self.o.temperature, loss=self.o.loss, optimizer=self.o.optimizer,
            target=self.o.target, interpreted=self.o.interpreted,
            lora_rank=self.o.lora_rank, seed=self.o.seed, waves=self.o.waves, cache=self.o.cache,
            groups=self.o.groups, trajectories=self.o.trajectories, workers=workers,
            workers_of_task=self.workers_of_task(len(tasks), workers), ahead=self.o.ahead, updates=self.o.updates,
            beta=self.o.beta, negative=self.o.negative, max_new_tokens=self.o.max_new_tokens,
            save_every=self.o.save_every, policy=INTERPRETED if self.o.interpreted else POLICY,
            micro_batch=min(32, self.o.groups * self.o.trajectories), scale=self.o.scale, gpus=self.o.gpus,
        )  # fmt: skip

    def practised_on(self, model: Path) -> Path:
        """What GRPO practises on, as this model began with it."""
        return self.kept("data-grpo", lambda: self.practice(model))

    def workers_of_task(self, tasks: int, workers: int) -> int:
        """How many a task is dealt out to. A worker interprets one kernel after another, and holds nothing of the device."""
        groups = self.o.groups // self.o.trainers
        return max(1, min(workers // groups if self.o.interpreted else OPEN_TASKS // tasks, workers))

    def without_sft(self) -> bool:
        """GRPO from the model before its fine-tuning. It is shown no kernel: that would be fine-tuning."""
        folder = self.work / "without_sft"
        recipe = self.recipe(self.base(), self.o.ablation_seconds).model_copy(update={"demonstrate": False})
        train(recipe, folder, Suppliers(), self.told("without_sft"))
        made = steps(folder)
        self.book.put(without_sft={"steps": made[-1].step, **kit.columns(made, STEPS)})
        return True

    def kept(self, name: str, samples: Callable[[], Sequence[Sample]]) -> Path:
        """A data set of these samples; the one that an earlier call made, if it did."""
        folder = self.work / name
        if not (folder / FILE).exists():
            folder.mkdir(exist_ok=True)
            (folder / FILE).write_text("".join(one.model_dump_json() + "\n" for one in samples()))
        return folder

    # Telling.

    def export(self, name: str) -> None:
        """The weights of a training run, where they are asked for."""
        kit.keep_pages(self.work, self.out)
        if self.o.export:
            self.say(f"exported {name}: {kit.export(self.work / name / MODEL, self.out, name) / 1e6:.0f} MB")

    def told(self, name: str) -> Callable[[Progress], None]:
        """A line for each step."""

        def heard(p: Progress) -> None:
            shown = {k: round(p.figures[k], 4) for k in SHOWN if k in p.figures}
            self.say(f"{name} {p.step}/{p.of} {p.seconds:.0f}s {shown}")

        return heard


def _named(option: Any) -> str:  # noqa: ANN401
    """An option as it is told; of files their names, and no word of where this machine keeps them."""
    if isinstance(option, list) and option and isinstance(option[0], Path):
        return " ".join(file.name for file in option)
    return str(option)


async def _machine(target: Target) -> Machine:
    evaluator = Suppliers().open_evaluator(POLICY)
    try:
        return await evaluator.environment(target)
    except MachineError as error:
        raise SystemExit(str(error)) from None
    finally:
        await evaluator.close()
