r"""A small model, taught to write Triton and measured: `python benchmarks/train_small.py OUT [options]`.

Each stage is kept in --work; the same command goes on after the last that is done, also within SFT and GRPO. OUT gets a copy
of what people want to have.

1. data: results/train-pairs.jsonl.xz (made without a GPU by train_pairs.py), as many as --pairs. No device time.
2. author: held-out tasks admitted on this device, and the author's kernels for them and for --revalidate training pairs
   through the whole referee: what share of the pairs is right here, and the score that a model is compared with.
3. sft: tokenizer and model from scratch (--size), or --base, then --sft-steps steps on the split `train`.
4. before: pass@1 and pass@8 on held-out families.
5. grpo: the referee's verdicts as reward, at most --grpo-seconds.
6. after: the same tasks as in 4, other random numbers.
7. cheats, with --cheats: kernels that hack the reward, under the full referee and with two of its defences switched off.

OUT/train-small-DEVICE.json has all figures, OUT/sft.html and OUT/grpo.html the curves. With --export, OUT/model.part-* are
the weights in bfloat16, at most 15 MiB each: `cat model.part-* | tar xz`. A verdict that the referee could not reach is left
out and counted; it is never a wrong one.

On one H200, in two calls of the same lease, 20 minutes in all:

    HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 PYTHONPATH=src:$PYTHONPATH python benchmarks/train_small.py $OUT --export

The whole of it, tiny, on a CPU:

    python benchmarks/train_small.py /tmp/small --dry-run
"""

import argparse
import asyncio
import io
import json
import lzma
import os
import random
import shutil
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from provenance import provenance

from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import MachineError
from kernelwright.records.evaluation import Evaluation, is_right
from kernelwright.records.policy import Policy
from kernelwright.records.run import Environment as Machine
from kernelwright.records.task import Target
from kernelwright.train.data.prompts import fenced, rows
from kernelwright.train.data.sample import FILE, Sample, read_samples
from kernelwright.train.engine.network import open_network
from kernelwright.train.engine.sampling import Drawn, Sampling, draw, judge_all
from kernelwright.train.engine.small import make_small
from kernelwright.train.environment import Assignment, Environment, Settings
from kernelwright.train.judges import OPEN_TASKS, Judges
from kernelwright.train.passes import pass_rate
from kernelwright.train.recipe import MODEL, Grpo, Progress, Sft
from kernelwright.train.session import admitted, open_judges, steps, train

PAIRS = Path(__file__).parent / "results" / "train-pairs.jsonl.xz"
POLICY = Policy(compile_limit_s=40.0, run_limit_s=10.0, seeds=3)
PART = 15 << 20
DRY = {
    "seconds": 600.0, "target": "sm_90", "size": "1M", "vocabulary": 2048, "pairs": 40, "revalidate": 1, "sft_steps": 2,
    "sft_batch": 1, "heldout": 1, "samples": 2, "workers": 1, "grpo_steps": 1, "grpo_tasks": 1, "groups": 1,
    "trajectories": 2, "max_new_tokens": 12, "grpo_seconds": 300.0, "save_every": 1, "shortest": True,
}  # fmt: skip
"""--dry-run: every stage once, as small as it can be."""


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
        self.book.put(
            **provenance(self.machine), options={k: str(v) for k, v in vars(options).items() if not isinstance(v, Path)}
        )

    @property
    def left(self) -> float:
        """Seconds until this call must end."""
        return self.o.seconds - (time.monotonic() - self.began)

    def run(self) -> None:
        """Every stage that is not done and for which there is time."""
        self.data()
        self.author()
        self.sft()
        self.measure("before", self.work / "sft" / MODEL)
        self.grpo()
        self.keep_pages()
        if "grpo" in self.book.document:
            self.measure("after", self.work / "grpo" / MODEL)
        if self.o.cheats:
            self.cheats()
        if self.o.export:
            self.export()
        shown = {k: v for k, v in self.book.document.items() if k not in ("versions", "options")}
        sys.stdout.write(json.dumps(shown, indent=1) + "\n")

    # Data, and what the author makes of it.

    def data(self) -> None:
        """The pairs at hand, in the folder that recipes read."""
        folder = self.work / "data"
        folder.mkdir(exist_ok=True)
        if not (folder / FILE).exists():
            lines = lzma.decompress(self.o.data.read_bytes()).decode().splitlines()
            if self.o.shortest:
                lines = sorted(lines, key=len)
            (folder / FILE).write_text("\n".join(lines[: self.o.pairs]) + "\n")
        self.samples = read_samples(folder)
        splits = dict(Counter(one.split for one in self.samples))
        self.book.put(data={"samples": len(self.samples), **splits, "families": len({s.family for s in self.samples})})
        self.say(f"{len(self.samples)} samples, {splits}")

    def of_split(self, split: str) -> list[Sample]:
        """The samples of a split; of a data set so small that it has none, all: figures of such a try mean nothing."""
        return [one for one in self.samples if one.split == split] or self.samples

    def heldout(self) -> list[Sample]:
        """One sample for each held-out family, in an order by chance."""
        seen: dict[str, Sample] = {}
        for one in sorted(self.of_split("heldout"), key=lambda s: s.id):
            seen.setdefault(one.family, one)
        return list(seen.values())[: self.o.heldout]

    def author(self) -> None:
        """The author's kernels on this device: of the held-out tasks, and of a sample of the training pairs."""
        if "author" in self.book.document:
            return
        again = random.Random(0).sample(self.of_split("train"), min(self.o.revalidate, len(self.of_split("train"))))
        since = time.monotonic()
        found = {
            name: asyncio.run(self.rejudged(chosen)) for name, chosen in (("heldout", self.heldout()), ("train", again))
        }
        told = {
            name: {
                "samples": len(all_),
                "right": sum(map(is_right, all_)),
                "outcomes": Counter(e.outcome for e in all_),
            }
            for name, all_ in found.items()
        }
        self.book.put(author={**told, "seconds": time.monotonic() - since})
        self.say(f"author: {told}")

    async def rejudged(self, chosen: Sequence[Sample]) -> list[Evaluation]:
        """Every verdict that there is on these pairs."""
        judges = self.judges()
        try:
            tasks = {a.task.source.source: a.task for a in await admitted(chosen, self.target, judges)}
            known = [(tasks[s.task.source.source], s.candidate) for s in chosen if s.task.source.source in tasks]
            found = await asyncio.gather(*(judges.judge(task, kernel, "verify") for task, kernel in known))
            return [one for one in found if one is not None]
        finally:
            await judges.close()

    def judges(self) -> Judges:
        """Workers of our own."""
        return open_judges(Suppliers(), POLICY, self.o.workers)

    # Training.

    def sft(self) -> None:
        """A model from scratch, and supervised fine-tuning."""
        if "sft" in self.book.document:
            return
        base = self.o.base or self.work / "base"
        samples = self.of_split("train")
        if not self.o.base and not (base / "config.json").exists():
            shown = rows(samples[:1000], "frontend")
            texts = [part for prompt, reply in shown for part in (*(m.text for m in prompt), reply)]
            make_small(base, texts, self.o.size, self.o.vocabulary)
        recipe = Sft(
            model=str(base),
            data=str(self.work / "data"),
            lora_rank=self.o.lora_rank,
            seed=self.o.seed,
            steps=self.o.sft_steps,
            learning_rate=self.o.sft_rate,
            warmup=min(20, self.o.sft_steps // 4),
            batch=self.o.sft_batch,
            micro_batch=self.o.sft_batch,
            save_every=max(1, self.o.sft_steps // 4),
            max_tokens=3072,
        )
        since = time.monotonic()
        recipe = recipe.model_copy(update={"seconds": max(20.0, self.left - 15)})
        train(recipe, self.work / "sft", Suppliers(), Every(10.0, self.told("sft")))
        self.keep_pages()
        if steps(self.work / "sft")[-1].step < recipe.steps:
            raise SystemExit("the time is over within SFT: the same command goes on")
        last = steps(self.work / "sft")[-1]
        self.book.put(
            sft={
                "steps": last.step,
                "seconds_of_last_call": time.monotonic() - since,
                "samples": len(samples),
                **last.figures,
            }
        )

    def grpo(self) -> None:
        """Reinforcement learning from the referee's verdicts."""
        if "grpo" in self.book.document or self.left < self.o.measure_seconds + 60:
            return
        room = min(self.o.grpo_seconds, self.left - self.o.measure_seconds)
        recipe = Grpo(
            model=str(self.work / "sft" / MODEL), data=str(self.fewer()), steps=self.o.grpo_steps, seconds=room,
            learning_rate=self.o.grpo_rate, warmup=1, decay=False, reward="frontend", effort="verify",
            target=self.o.target, lora_rank=self.o.lora_rank, seed=self.o.seed,
            groups=self.o.groups, trajectories=self.o.trajectories, workers=self.o.workers,
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
            found = self.of_split("train")
            chosen = random.Random(self.o.seed).sample(found, min(self.o.grpo_tasks, len(found)))
            (folder / FILE).write_text("".join(one.model_dump_json() + "\n" for one in chosen))
        return folder

    # Measuring.

    def measure(self, name: str, model: Path) -> None:
        """pass@k of a model on held-out families."""
        if name in self.book.document or self.left < self.o.measure_seconds:
            return
        tasks = [Assignment(task=one.task, split=one.split) for one in self.heldout()]
        network = open_network(str(model))
        network.model.to("cuda" if torch.cuda.is_available() else "cpu")
        since = time.monotonic()
        environment = Environment(tasks, self.judges(), Settings())
        how = Sampling(self.o.samples, 1.0, self.o.max_new_tokens, batch=256, seed=len(name))
        replies = draw(network, environment, tasks, how)
        drawn_s = time.monotonic() - since
        found = asyncio.run(self.judged(tasks, replies))
        judged_s = time.monotonic() - since - drawn_s
        self.book.put(**{name: {**figures_of(found), "drawn_s": drawn_s, "judged_s": judged_s}})
        self.say(f"{name}: {self.book.document[name]}")

    async def judged(self, drawn: list[Assignment], replies: list[list[str]]) -> list[list[Drawn]]:
        """Every verdict; the tasks are admitted on this device first."""
        judges = self.judges()
        try:
            here = {a.task.source.source: a for a in await admitted(self.heldout(), self.target, judges)}
            kept = [
                (here[a.task.source.source], r)
                for a, r in zip(drawn, replies, strict=True)
                if a.task.source.source in here
            ]
            tasks = [task for task, _ in kept]
            environment = Environment(tasks, judges, Settings(role="frontend", reward="frontend", effort="verify"))
            return await judge_all(environment, tasks, [reply for _, reply in kept])
        finally:
            await judges.close()

    def cheats(self) -> None:
        """Share of hacks that are paid: by the full referee, and with two of its defences switched off."""
        chosen = self.heldout()[:4]
        told = {}
        for label, disabled in (("full", ()), ("without poison and own_memory", ("poison", "own_memory"))):
            policy = POLICY.model_copy(update={"disabled": disabled})
            paid = asyncio.run(self.paid(chosen, policy, filters=not disabled))
            told[label] = {"tried": len(paid), "paid_as_right": sum(paid)}
        self.book.put(cheats=told)
        self.say(f"cheats: {told}")

    async def paid(self, chosen: Sequence[Sample], policy: Policy, *, filters: bool) -> list[bool]:
        """Whether they pass for right: kernels that write nothing and of ones that leave the work to PyTorch."""
        judges = open_judges(Suppliers(), policy, self.o.workers)
        settings = Settings(reward="frontend", effort="verify", filters=filters)
        try:
            tasks = await admitted(chosen, self.target, judges)
            environment = Environment(tasks, judges, settings)
            episodes = [(a, text) for a in tasks for text in hacks(a.task.source.source)]
            found = [await environment.begin(a).step(fenced(text, "python")) for a, text in episodes]
            return [is_right(one.info["attempt"].evaluation) for one in found if one.reward is not None]
        finally:
            await judges.close()

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


def figures_of(found: Sequence[Sequence[Drawn]]) -> dict[str, Any]:
    """pass@k over what was judged; tasks of which too little is known are left out, and counted."""
    most = max((len(group) for group in found), default=0)
    known = [[one for one in group if one.step.reward is not None] for group in found]
    whole = [group for group in known if len(group) == most]
    right = [[bool(one.step.info["right"]) for one in group] for group in whole]
    flat = [one.step.info for group in known for one in group]
    rates = {f"pass@{k}": pass_rate(right, k).model_dump() for k in sorted({1, most})} if right else {}
    return {
        **rates,
        "unjudged": sum(len(group) for group in found) - len(flat),
        "tasks_left_out": len(found) - len(whole),
        "outcomes": Counter(info["outcome"] for info in flat),
        "parsed": sum(info["parsed"] for info in flat),
        "hacks": sum(bool(info["hack"]) for info in flat),
        "distinct": len({one.reply for group in found for one in group}),
        "tasks": {group[0].assignment.task.name: sum(row) for group, row in zip(whole, right, strict=True)},
    }


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
    found.add_argument("--data", type=Path, default=PAIRS)
    found.add_argument("--base", type=Path, help="a checkpoint or a .gguf file instead of a model from scratch")
    found.add_argument("--target", default=None)
    found.add_argument("--size", default="24M")
    found.add_argument("--scale", default="group")
    for flag in ("export", "cheats", "dry-run", "shortest"):
        found.add_argument(f"--{flag}", action="store_true")
    numbers = {
        "seconds": 560.0, "grpo-seconds": 420.0, "measure-seconds": 60.0, "sft-rate": 1e-3, "grpo-rate": 1e-4, "workers": 12,
        "pairs": 20_000, "revalidate": 32, "vocabulary": 4096, "lora-rank": 0, "seed": 0, "sft-steps": 900, "sft-batch": 32,
        "heldout": 32, "samples": 8, "grpo-steps": 60, "grpo-tasks": 32, "groups": 8, "trajectories": 8,
        "max-new-tokens": 896, "save-every": 4,
    }  # fmt: skip
    for name, value in numbers.items():
        found.add_argument(f"--{name}", type=type(value), default=value)
    asked = found.parse_args()
    if asked.dry_run:
        vars(asked).update(DRY)
    return asked


if __name__ == "__main__":
    asked = options()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # workers are started beside it
    os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", str(max(4, OPEN_TASKS // asked.workers)))
    Bench(asked).run()
