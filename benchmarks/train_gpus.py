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
second, and the share of time in which the trainer waits for verdicts. Each run gets an equal share of the time left, and one
whose share is too small is missing. The same command goes on with what OUT lacks, on the same device; `--only NAME…` makes
these runs alone. GRPO without the weights of sft-1 makes that run first; `--work FOLDER` keeps them for the next call.
`--gpus 0` is a try of two processes on a CPU, as small as it can be; its figures mean nothing.
"""

import argparse
import json
import lzma
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

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
    "waves": 2, "workers": 8, "cache": "static", "reward": "frontend", "effort": "verify", "scale": "group",
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
    """Make what is missing, and train."""
    asked = arguments()
    end = time.monotonic() + asked.seconds
    document = begun(asked.out, {**provenance_of(None if asked.gpus else "cpu"), "gpus": asked.gpus, "runs": {}})
    with tempfile.TemporaryDirectory() as folder:
        work = asked.work or Path(folder)
        todo = left(plan(asked.gpus), document["runs"], asked.only, work)
        if todo:
            made(work, asked.pairs, asked.tasks)
        for number, (name, run) in enumerate(todo.items()):
            share = (end - time.monotonic()) / (len(todo) - number)
            if why := hindered(run, work, share, asked.least):
                sys.stderr.write(f"{name}: {why}\n")
                break
            found = trained(name, run, work, asked.gpus, share)
            sys.stderr.write(f"{name}: {json.dumps(found)}\n")
            keep(asked.out, document, name, found)
    return 0


def begun(out: Path, head: Mapping[str, Any]) -> dict[str, Any]:
    """The document, with the runs of an earlier call on as many of the same GPUs."""
    known = json.loads(out.read_text()) if out.exists() else {}
    same = all(known.get(name) == head[name] for name in ("device", "gpus"))
    return {**head, "runs": known["runs"] if same else {}}


def left(runs: Mapping[str, Run], known: Mapping[str, Any], only: Sequence[str], work: Path) -> dict[str, Run]:
    """What was chosen and has no figures yet; sft-1 first where its weights are missing."""
    todo = {n: run for n, run in runs.items() if n in (only or runs) and "step_s" not in known.get(n, {})}
    if any(run.kind == "grpo" for run in todo.values()) and not weights(work).exists():
        return {"sft-1": runs["sft-1"], **todo}
    return todo


def hindered(run: Run, work: Path, share: float, least: float) -> str:
    """Why a run cannot begin; empty where it can."""
    if share < least:
        return "too little time is left; the same command goes on"
    return "sft-1 left no weights: give more --seconds" if run.kind == "grpo" and not weights(work).exists() else ""


def weights(work: Path) -> Path:
    """What GRPO begins with."""
    return work / "sft-1" / MODEL


def trained(name: str, run: Run, work: Path, gpus: int, seconds: float) -> dict[str, JsonValue]:
    """The figures of one run, from its beginning."""
    shutil.rmtree(work / name, ignore_errors=True)
    status = ended(subprocess.Popen(command(name, run, work, gpus), start_new_session=True), seconds)
    return {**figures(run, work / name), "status": status}


def keep(out: Path, document: dict[str, Any], name: str, found: Mapping[str, JsonValue]) -> None:
    """Write a run down; figures that are there stay."""
    if "step_s" not in document["runs"].get(name, {}):
        document["runs"][name] = found
    write_whole(out, json.dumps(document, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--least", type=float, default=45.0, help="Nothing is begun with less.")
    parser.add_argument("--only", nargs="+", default=[], choices=plan(2), metavar="NAME", help="Make these runs alone.")
    parser.add_argument("--work", type=Path, help="Keeps data and weights; without it they go with the call.")
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
    if (work / "base").exists():
        return
    with lzma.open(PAIRS, "rt") as lines:
        samples = map(Sample.model_validate_json, lines)
        learned = list(islice((one for one in samples if one.split == "train"), count))
    for name, chosen in {"sft": learned, "grpo": random.Random(0).sample(learned, tasks)}.items():
        (work / "data" / name).mkdir(parents=True, exist_ok=True)
        (work / "data" / name / FILE).write_text("".join(one.model_dump_json() + "\n" for one in chosen))
    shown = rows(read_samples(work / "data" / "sft")[:1000], "frontend")
    texts = [part for prompt, reply in shown for part in (*(m.text for m in prompt), reply)]
    make_small(work / "new", texts, "24M" if count > 1000 else "1M", 4096 if count > 1000 else 2048, 0)
    (work / "new").rename(work / "base")


def command(name: str, run: Run, work: Path, gpus: int) -> list[str]:
    """What a user would call, each in an environment that shows it its GPUs."""
    settings = {**COMMON, **(SFT if run.kind == "sft" else GRPO), **({} if gpus else smallest(run.kind))}
    if run.kind == "grpo" and gpus:
        settings["gpus"] = [str(gpu) for gpu in run.referee]
        settings["workers"] = max(1, int(str(settings["workers"])) // len(run.trainers))
    model = work / "base" if run.kind == "sft" else weights(work)
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
