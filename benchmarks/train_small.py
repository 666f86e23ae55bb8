r"""A small model from scratch, taught to write Triton: `python benchmarks/train_small.py OUT [options]`.

Stages, each kept in --work and gone on with when the same command is called again on the same machine; OUT gets a copy of
what people want to have:

1. data: random modules, their kernels by the built-in author, each through the referee (stops after --data-seconds).
   OUT/samples.jsonl.gz has them; copied to benchmarks/results/train-small-samples.jsonl.gz (or named by --data), a later
   call or another machine begins with them.
2. sft: tokenizer and model from scratch (--size), then --sft-steps steps on the samples of the split `train`.
3. before: pass@1 and pass@8 on held-out compositions.
4. grpo: the referee's verdicts as reward, at most --grpo-seconds.
5. after: the same tasks as in 3, other random numbers.

OUT/train-small-DEVICE.json has all figures, OUT/sft.html and OUT/grpo.html the curves. With --export, OUT/model.part-* are
the weights in bfloat16, at most 15 MiB each: `cat model.part-* | tar xz`.

On one H200 (wheels of trl 1.16.0, datasets 5.2.0, dill and multiprocess beside the usual ones), in one call of 590 s:

    HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 PYTHONPATH=src:$PYTHONPATH python benchmarks/train_small.py $OUT \
        --seconds 560 --data-seconds 150 --sft-steps 900 --grpo-seconds 170 --export

To try it without a GPU:

    python benchmarks/train_small.py /tmp/small --target cpu --size 4M --vocabulary 1024 --count 4 --sft-steps 2 \
        --heldout 1 --samples 2 --workers 1 --grpo-steps 1 --groups 1 --trajectories 2 --max-new-tokens 16
"""

import argparse
import asyncio
import gzip
import io
import itertools
import json
import os
import random
import shutil
import sys
import tarfile
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import transformers
from provenance import provenance

from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import MachineError
from kernelwright.records.policy import Policy
from kernelwright.records.run import Environment as Machine
from kernelwright.records.task import Target
from kernelwright.train.data.collect import Collector, Tally, authored
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.prompts import rows
from kernelwright.train.data.sample import FILE, Sample, read_samples
from kernelwright.train.engine.network import open_network
from kernelwright.train.engine.sampling import Drawn, Sampling, draw, judge_all
from kernelwright.train.engine.small import make_small
from kernelwright.train.environment import Assignment, Environment, Settings
from kernelwright.train.judges import OPEN_TASKS
from kernelwright.train.passes import pass_rate
from kernelwright.train.recipe import MODEL, Grpo, Progress, Sft
from kernelwright.train.session import open_judges, steps, train

PACKED = "samples.jsonl.gz"
POLICY = Policy(compile_limit_s=40.0, run_limit_s=10.0)
PART = 15 << 20
ROWS, COLUMNS = 0, 0
"""Sizes of the modules: drawn, small."""


class Book:
    """The JSON: what is known so far, written after every stage, into the working folder and OUT."""

    def __init__(self, out: Path, work: Path, device: str) -> None:
        slug = "-".join("".join(c if c.isalnum() else " " for c in device.lower()).split())
        self._files = [folder / f"train-small-{slug}.json" for folder in (work, out)]
        self.document: dict[str, Any] = json.loads(self._files[0].read_text()) if self._files[0].exists() else {}

    def put(self, **figures: Any) -> None:  # noqa: ANN401
        """Add figures, and write."""
        self.document |= figures
        for file in self._files:
            file.write_text(json.dumps(self.document, indent=1) + "\n")


class Bench:
    """One call."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.o, self.began = options, time.monotonic()
        self.out, self.work = options.out, options.work
        self.out.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)
        self.target = resolve_target(options.target)
        self.machine = asyncio.run(_machine(self.target))
        self.book = Book(self.out, self.work, self.machine.device.name)
        self.book.put(**provenance(self.machine), options={k: str(v) for k, v in vars(options).items()})

    @property
    def left(self) -> float:
        """Seconds until this call must end."""
        return self.o.seconds - (time.monotonic() - self.began)

    def run(self) -> None:
        """Every stage that is not done and for which there is time."""
        self.data()
        self.sft()
        self.measure("before", self.work / "sft" / MODEL)
        self.grpo()
        self.keep_pages()
        if "grpo" in self.book.document:
            self.measure("after", self.work / "grpo" / MODEL)
        if self.o.export:
            self.export()
        sys.stdout.write(
            json.dumps({k: v for k, v in self.book.document.items() if k not in ("versions", "options")}, indent=1)
            + "\n"
        )

    # Data.

    def data(self) -> None:
        """Samples: those at hand, and new ones for as long as there is time."""
        folder = self.work / "data"
        folder.mkdir(exist_ok=True)
        if self.o.data.exists() and not (folder / FILE).exists():
            (folder / FILE).write_bytes(gzip.decompress(self.o.data.read_bytes()))
        known = len(read_samples(folder))
        if known < self.o.count and self.o.data_seconds > 0:
            since = time.monotonic()
            tally = asyncio.run(self.collect(folder))
            self.book.put(
                data={
                    "samples": tally.kept,
                    "new": tally.kept - known,
                    "seconds": time.monotonic() - since,
                    "not_kept": dict(tally.fates),
                    "author": {split: [tally.right[split], tally.judged[split]] for split in tally.judged},
                }
            )
        if (folder / FILE).exists():
            (self.out / PACKED).write_bytes(gzip.compress((folder / FILE).read_bytes(), mtime=0))
        self.say(f"{len(read_samples(folder))} samples, {dict(Counter(s.split for s in read_samples(folder)))}")

    async def collect(self, folder: Path) -> Tally:
        """New samples through the referee."""
        judges = open_judges(Suppliers(), POLICY, self.o.workers)
        heard = Every(10.0, lambda t: self.say(f"data: {t.kept} kept, {dict(t.fates)}"))
        collector = Collector(
            judges, self.target, dict(self.machine.versions), "verify", self.o.workers, self.o.of_structure, heard
        )
        modules = (random_module(n, rows=ROWS, columns=COLUMNS) for n in itertools.count(self.o.first))
        try:
            return await collector.collect(authored(modules), folder, self.o.count, self.o.data_seconds)
        finally:
            await judges.close()

    # Training.

    def sft(self) -> None:
        """A model from scratch, and supervised fine-tuning."""
        if "sft" in self.book.document:
            return
        data, base = self.work / "data", self.work / "base"
        samples = [one for one in read_samples(data) if one.split == "train"]
        if not (base / "config.json").exists():
            texts = [part for prompt, reply in rows(samples, "frontend") for part in (*(m.text for m in prompt), reply)]
            make_small(base, texts, self.o.size, self.o.vocabulary)
        recipe = Sft(
            model=str(base),
            data=str(data),
            steps=self.o.sft_steps,
            learning_rate=self.o.sft_rate,
            warmup=20,
            batch=self.o.sft_batch,
            micro_batch=self.o.sft_batch,
            save_every=max(1, self.o.sft_steps // 4),
            max_tokens=3072,
        )
        since = time.monotonic()
        train(recipe, self.work / "sft", Suppliers(), Every(10.0, self.told("sft")))
        self.keep_pages()
        last = steps(self.work / "sft")[-1]
        self.book.put(
            sft={"steps": last.step, "seconds": time.monotonic() - since, "samples": len(samples), **last.figures}
        )

    def grpo(self) -> None:
        """Reinforcement learning from the referee's verdicts."""
        if "grpo" in self.book.document or self.left < 60:
            return
        room = min(self.o.grpo_seconds, max(30.0, self.left - self.o.measure_seconds))
        recipe = Grpo(
            model=str(self.work / "sft" / MODEL), data=str(self.fewer()), steps=self.o.grpo_steps, seconds=room,
            learning_rate=self.o.grpo_rate, warmup=1, decay=False, reward="frontend", effort="verify",
            target=self.o.target, groups=self.o.groups, trajectories=self.o.trajectories, workers=self.o.workers,
            max_new_tokens=self.o.max_new_tokens, save_every=self.o.save_every, policy=POLICY,
            micro_batch=min(64, self.o.groups * self.o.trajectories), scale=self.o.scale,
        )  # fmt: skip
        since = time.monotonic()
        train(recipe, self.work / "grpo", Suppliers(), self.told("grpo"))
        made = steps(self.work / "grpo")
        self.book.put(
            grpo={
                "steps": made[-1].step,
                "seconds": time.monotonic() - since,
                "rewards": [one.figures.get("reward") for one in made],
                "right": [one.figures.get("right") for one in made],
                "waiting": [one.figures.get("waiting") for one in made],
            }
        )

    def fewer(self) -> Path:
        """A data set with as many training tasks as workers can keep open."""
        folder = self.work / "data-grpo"
        if not folder.exists():
            folder.mkdir()
            found = [one for one in read_samples(self.work / "data") if one.split == "train"]
            chosen = random.Random(0).sample(found, min(self.o.grpo_tasks, len(found)))
            (folder / FILE).write_text("".join(one.model_dump_json() + "\n" for one in chosen))
        return folder

    # Measuring.

    def measure(self, name: str, model: Path) -> None:
        """pass@k of a model on held-out compositions."""
        if name in self.book.document or self.left < 20:
            return
        tasks = self.heldout()
        network = open_network(str(model))
        environment = Environment(tasks, open_judges(Suppliers(), POLICY, 1), Settings())
        network.model.to("cuda" if self.machine.device.kind == "cuda" else "cpu")
        since = time.monotonic()
        replies = draw(
            network, environment, tasks, Sampling(self.o.samples, 1.0, self.o.max_new_tokens, seed=len(name))
        )
        drawn_s = time.monotonic() - since
        found = asyncio.run(self.judged(tasks, replies))
        right = [[one.step.info.get("right", False) for one in group] for group in found]
        flat = [one.step.info for group in found for one in group]
        self.book.put(
            **{
                name: {
                    **{f"pass@{k}": pass_rate(right, k).model_dump() for k in sorted({1, self.o.samples})},
                    "outcomes": Counter(info["outcome"] for info in flat),
                    "parsed": sum(i.get("parsed", False) for i in flat),
                    "hacks": sum(bool(i.get("hack")) for i in flat),
                    "distinct": len({r for g in replies for r in g}),
                    "drawn_s": drawn_s,
                    "judged_s": time.monotonic() - since - drawn_s,
                    "tasks": {t.task.name: sum(row) for t, row in zip(tasks, right, strict=True)},
                }
            }
        )
        self.say(f"{name}: pass@1 {pass_rate(right, 1).rate:.3f}")

    async def judged(self, tasks: list[Assignment], replies: list[list[str]]) -> list[list[Drawn]]:
        """Every verdict."""
        judges = open_judges(Suppliers(), POLICY, self.o.workers)
        environment = Environment(tasks, judges, Settings(role="frontend", reward="frontend", effort="verify"))
        try:
            return await judge_all(environment, tasks, replies)
        finally:
            await judges.close()

    def heldout(self) -> list[Assignment]:
        """One task for each held-out structure."""
        samples = read_samples(self.work / "data")
        seen: dict[str, Sample] = {}
        for one in sorted(samples, key=lambda s: s.id):
            if one.split == "heldout":
                seen.setdefault(one.structure, one)
        found = [Assignment(task=one.task, split="heldout") for one in seen.values()][: self.o.heldout]
        if not found:
            # So few samples come without one; figures of such a try mean nothing.
            self.book.put(warning="no held-out composition: tasks of the training split were measured")
            found = [Assignment(task=one.task) for one in samples[: self.o.heldout]]
        return found

    # What comes back.

    def keep_pages(self) -> None:
        """Copy the curves."""
        for name in ("sft", "grpo"):
            if (page := self.work / name / "report.html").exists():
                shutil.copy(page, self.out / f"{name}.html")

    def export(self) -> None:
        """The newest model in bfloat16, in parts."""
        source = next(f for f in (self.work / "grpo" / MODEL, self.work / "sft" / MODEL) if f.exists())
        with tempfile.TemporaryDirectory() as folder:
            model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16)
            model.save_pretrained(folder)
            for file in source.glob("*token*"):
                shutil.copy(file, folder)
            for file in source.glob("*.jinja"):
                shutil.copy(file, folder)
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w:gz") as tar:
                tar.add(folder, "model")
        for number, start in enumerate(range(0, packed.tell(), PART)):
            (self.out / f"model.part-{number:02d}").write_bytes(packed.getbuffer()[start : start + PART])

    def told(self, name: str) -> Any:  # noqa: ANN401
        """A line for each step."""

        def heard(p: Progress) -> None:
            shown = {
                k: round(v, 4)
                for k, v in p.figures.items()
                if k in ("loss", "reward", "right", "parsed", "length", "waiting")
            }
            self.say(f"{name} {p.step}/{p.of} {p.seconds:.0f}s {shown}")

        return heard

    def say(self, words: str) -> None:
        """A line with the time."""
        sys.stdout.write(f"[{time.monotonic() - self.began:5.0f}s] {words}\n")
        sys.stdout.flush()


class Every:
    """Passes on what it hears at most so often."""

    def __init__(self, seconds: float, heard: Any) -> None:  # noqa: ANN401
        self._seconds, self._heard, self._last = seconds, heard, 0.0

    def __call__(self, what: Any) -> None:  # noqa: ANN401
        """Pass it on, or not."""
        if time.monotonic() - self._last >= self._seconds:
            self._last = time.monotonic()
            self._heard(what)


async def _machine(target: Target) -> Machine:
    evaluator = Suppliers().open_evaluator(POLICY)
    try:
        return await evaluator.environment(target)
    except MachineError as error:
        raise SystemExit(str(error)) from None
    finally:
        await evaluator.close()


def options() -> argparse.Namespace:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("out", type=Path)
    found.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "kernelwright-train-small")
    found.add_argument("--data", type=Path, default=Path(__file__).parent / "results" / f"train-small-{PACKED}")
    found.add_argument("--target", default=None)
    found.add_argument("--export", action="store_true")
    found.add_argument("--size", default="24M")
    found.add_argument("--scale", default="group")
    numbers = {
        "seconds": 560.0, "data-seconds": 150.0, "grpo-seconds": 170.0, "measure-seconds": 80.0, "sft-rate": 1e-3,
        "grpo-rate": 1e-4, "workers": 10, "count": 2000, "first": 0, "of-structure": 3, "vocabulary": 4096, "sft-steps": 900,
        "sft-batch": 32, "heldout": 32, "samples": 8, "grpo-steps": 60, "grpo-tasks": 40, "groups": 16, "trajectories": 8,
        "max-new-tokens": 768, "save-every": 4,
    }  # fmt: skip
    for name, value in numbers.items():
        found.add_argument(f"--{name}", type=type(value), default=value)
    return found.parse_args()


if __name__ == "__main__":
    asked = options()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # workers are started beside it
    os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", str(max(1, OPEN_TASKS // asked.workers)))
    Bench(asked).run()
