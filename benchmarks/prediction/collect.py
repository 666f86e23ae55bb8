"""Collecting: every mastered task's candidates before the real referee, until the time is over.

The time is shared out among tasks. Nothing that learns is needed (no scikit-learn). Started again in the same folder,
it continues where it ended.
"""

import asyncio
import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from prediction.candidates import Drawn, candidates
from prediction.samples import Sample, trimmed
from provenance import provenance
from suite import Listed, listed

from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task

MASTERED = Path(__file__).parents[1] / "results" / "suite-author-amd-epyc.json"
POLICIES = {
    "cpu": Policy(baselines=("eager",), search_blocks=12, search_seconds=1.0, run_limit_s=8.0),
    "cuda": Policy(baselines=("eager",), search_blocks=12, search_seconds=0.5),
}
IN_FLIGHT = {"cpu": 1, "cuda": 4}
"""Candidates at once: on a GPU they compile beside each other's clocks."""


def mastered(only: list[str]) -> list[Listed]:
    """The tasks that the author is known to write, or those of them that are named."""
    rows = json.loads(MASTERED.read_text())["rows"]
    names = {row["task"] for row in rows if row["right"]}
    return [task for task in listed() if task.name in names and (not only or task.name in only)]


async def collect(arguments: Namespace) -> None:
    """Collect until the time is over or everything is there."""
    target, out = resolve_target(arguments.target), Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    size = arguments.size or ("large" if target.kind == "cuda" else "small")
    referee, end = Referee(POLICIES[target.kind]), time.monotonic() + arguments.seconds
    tasks = mastered(arguments.only)
    try:
        for position, listing in enumerate(tasks):
            left = end - time.monotonic()
            if left <= 0:
                break
            try:
                task = await referee.admit(listing.source(size), target)
                if not (out / "origin.json").exists():
                    head = {**provenance(await referee.environment(target)), "target": target.name, "size": size}
                    (out / "origin.json").write_text(json.dumps(head, indent=1) + "\n")
                share = time.monotonic() + (end - time.monotonic()) / (len(tasks) - position)
                told = await _task(referee, out, listing.name, task, (share, arguments.each))
            except KernelwrightError as error:
                told = f"left out: {error}"
            sys.stdout.write(f"{listing.name:32}{told}\n")
            sys.stdout.flush()
    finally:
        await referee.close()


async def _task(referee: Referee, out: Path, name: str, task: Task, limits: tuple[float, int]) -> str:
    """Judge what is not there yet, until the task's share of the time is over; what became of it, in words."""
    known = set(_lines(out, name))
    _keep(out, "tasks.jsonl", [name, task.model_dump_json()]) if not known else None
    end, count = limits
    waiting = (drawn for drawn in candidates(task, count) if drawn.number not in known)
    tally: dict[str, int] = {}

    async def work() -> None:
        while time.monotonic() < end and (drawn := next(waiting, None)) is not None:
            sample = await _judged(referee, name, task, drawn)
            with (out / "samples.jsonl").open("a") as file:
                file.write(sample.model_dump_json() + "\n")
            key = f"{sample.maker} {sample.found.outcome}"
            tally[key] = tally.get(key, 0) + 1

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT[task.target.kind])))
    return f"{len(known):3} known, new: {', '.join(f'{n} {key}' for key, n in sorted(tally.items())) or 'none'}"


async def _judged(referee: Referee, name: str, task: Task, drawn: Drawn) -> Sample:
    built = await referee.build(task, drawn.candidate)
    found = await referee.evaluate(task, drawn.candidate) if built.outcome == "compiled" else built
    return Sample(
        task=name, number=drawn.number, maker=drawn.maker, fault=drawn.fault,
        candidate=drawn.candidate, built=built, found=trimmed(found),
    )  # fmt: skip


def _lines(out: Path, name: str) -> Iterator[int]:
    """Numbers of a task's samples that are there already."""
    file = out / "samples.jsonl"
    for line in file.read_text().splitlines() if file.exists() else ():
        row = json.loads(line)
        if row["task"] == name:
            yield row["number"]


def _keep(out: Path, name: str, row: list[str]) -> None:
    with (out / name).open("a") as file:
        file.write(json.dumps(row) + "\n")
