"""What more GPUs of one host are worth to training: `python benchmarks/train_gpus.py OUT.json [--gpus 2] [--seconds 540]`.

A small model from scratch is trained on train-pairs.jsonl.xz by the commands that users run, under `torchrun` where several
processes train:

| run | processes that train | the referee's workers |
|---|---|---|
| sft-1 | one | |
| sft-all | one on each GPU, the same batch in all | |
| grpo-shared | one | on the same GPU |
| grpo-split | one on each GPU of the first half | on the other half |
| grpo-all | one on each GPU | on the same GPUs |

GRPO begins with what sft-1 left. Written down for each run: seconds a step (median, without the first two), rows or rollouts a
second, and the share of time in which the trainer waits for verdicts. A run for which no time is left is missing.
`--gpus 0` is a try of two processes on a CPU, as small as it can be; its figures mean nothing.
"""

import argparse
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from provenance import provenance_of
from pydantic import JsonValue
from train_small_kit import columns, ended, waited

from kernelwright.store.files import write_whole
from kernelwright.train.data.prompts import rows
from kernelwright.train.data.sample import FILE, Sample, read_samples
from kernelwright.train.engine.small import make_small
from kernelwright.train.recipe import MODEL
from kernelwright.train.session import steps

PAIRS = Path(__file__).parent / "results" / "train-pairs.jsonl.xz"
COMMON: Mapping[str, JsonValue] = {"warmup": 10, "save_every": 10_000}
SFT: Mapping[str, JsonValue] = {"batch": 32, "micro_batch": 32, "max_tokens": 3072, "learning_rate": 1e-3, "steps": 300}
GRPO: Mapping[str, JsonValue] = {
    "groups": 8, "trajectories": 8, "micro_batch": 64, "max_new_tokens": 896, "learning_rate": 1e-4, "steps": 10,
    "waves": 2, "workers": 14, "reward": "frontend", "effort": "verify", "scale": "group",
}  # fmt: skip
SMALLEST: Mapping[str, JsonValue] = {
    "batch": 2, "micro_batch": 1, "groups": 2, "trajectories": 2, "max_new_tokens": 12, "steps": 3, "workers": 1,
    "target": "sm_90",
}  # fmt: skip
SKIPPED = 2
"""Steps that find caches cold."""


class Run(NamedTuple):
    """One training run."""

    kind: str
    trainers: Sequence[int]
    """GPUs, one for each process that trains."""
    referee: Sequence[int] = ()
    """GPUs that its workers take in turn."""


def main() -> int:
    """Make the data and the model, and train."""
    asked = arguments()
    end = time.monotonic() + asked.seconds
    document = {**provenance_of(None if asked.gpus else "cpu"), "gpus": asked.gpus, "runs": {}}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        made(work, asked.pairs, asked.tasks)
        for name, run in plan(asked.gpus).items():
            left = end - time.monotonic()
            if left < asked.least:
                break
            status = ended(subprocess.Popen(command(name, run, work, asked.gpus), start_new_session=True), left)
            document["runs"][name] = {**figures(run, work / name), "status": status}
            write_whole(asked.out, json.dumps(document, indent=1) + "\n")
            sys.stderr.write(f"{name}: {json.dumps(document['runs'][name])}\n")
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--least", type=float, default=45.0, help="Nothing is begun with less.")
    parser.add_argument("--pairs", type=int, default=6000)
    parser.add_argument("--tasks", type=int, default=24, help="Tasks of reinforcement learning.")
    return parser.parse_args()


def plan(gpus: int) -> dict[str, Run]:
    """Every run by its name, in the order in which they are made."""
    all_of_them = range(max(2, gpus))
    half = all_of_them[: len(all_of_them) // 2]
    return {
        "sft-1": Run("sft", [0]),
        "sft-all": Run("sft", all_of_them),
        "grpo-shared": Run("grpo", [0], [0]),
        "grpo-split": Run("grpo", half, all_of_them[len(half) :]),
        "grpo-all": Run("grpo", all_of_them, all_of_them),
    }


def made(work: Path, count: int, tasks: int) -> None:
    """The data of both kinds, and a model of no knowledge with a tokenizer of its own."""
    samples = [Sample.model_validate_json(line) for line in lzma.decompress(PAIRS.read_bytes()).decode().splitlines()]
    learned = [one for one in samples if one.split == "train"][:count]
    for name, chosen in {"sft": learned, "grpo": random.Random(0).sample(learned, tasks)}.items():
        (work / "data" / name).mkdir(parents=True)
        (work / "data" / name / FILE).write_text("".join(one.model_dump_json() + "\n" for one in chosen))
    shown = rows(read_samples(work / "data" / "sft")[:1000], "frontend")
    texts = [part for prompt, reply in shown for part in (*(m.text for m in prompt), reply)]
    make_small(work / "base", texts, "24M" if count > 1000 else "1M", 4096 if count > 1000 else 2048, 0)


def command(name: str, run: Run, work: Path, gpus: int) -> list[str]:
    """What a user would call, each in an environment that shows it its GPUs."""
    settings = {**COMMON, **(SFT if run.kind == "sft" else GRPO), **({} if gpus else smallest(run.kind))}
    if run.kind == "grpo" and gpus:
        settings["gpus"] = [str(gpu) for gpu in run.referee]
        settings["workers"] = int(str(settings["workers"])) // len(run.trainers)
    model = work / "base" if run.kind == "sft" else work / "sft-1" / MODEL
    called = ["-m", "kernelwright", "train", run.kind, str(work / name), "--model", str(model)]
    called += ["--data", str(work / "data" / run.kind)]
    called += [part for key, value in settings.items() for part in ("--set", f"{key}={json.dumps(value)}")]
    several = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={len(run.trainers)}"]
    seen = ",".join(map(str, run.trainers)) if gpus else ""
    launcher = several if len(run.trainers) > 1 else []
    return ["env", f"CUDA_VISIBLE_DEVICES={seen}", sys.executable, *launcher, *called]


def smallest(kind: str) -> dict[str, JsonValue]:
    """Settings of a try on a CPU."""
    others = {"sft": GRPO, "grpo": SFT}[kind].keys() - {"micro_batch", "steps"} | (
        {"target"} if kind == "sft" else set()
    )
    return {key: value for key, value in SMALLEST.items() if key not in others}


def figures(run: Run, folder: Path) -> dict[str, JsonValue]:
    """What a run's own files say."""
    told = steps(folder) if folder.exists() else ()
    if len(told) <= SKIPPED:
        return {"steps": len(told)}
    times = [one.seconds for one in told]
    each = median(after - before for before, after in zip(times[SKIPPED - 1 :], times[SKIPPED:], strict=False))
    rows_of = 32 if run.kind == "sft" else int(str(GRPO["groups"])) * int(str(GRPO["trajectories"]))
    found: dict[str, JsonValue] = {"steps": len(told), "step_s": round(each, 4), "rows_per_s": round(rows_of / each, 2)}
    if run.kind == "grpo":
        found |= {
            "waited_share": waited(told),
            **columns(told, ("reward", "right", "parsed", "step seconds", "unjudged")),
        }
    return found


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
