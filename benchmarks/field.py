"""Holds the referee against `tasks/field`: `python benchmarks/field.py --out FILE [--seconds 500]`.

Every task is admitted by one referee process, one after another, and a program equal to the task's own is judged
(`class ModelNew(Model)`); `--steps compile` judges torch.compile's kernels, `copy2` to `copy4` the same program again. Beside
the time stands by how much the device's memory grew at most, and what eager alone needs, measured here. A task stays open
while it is judged, and no longer, but for `KERNELWRIGHT_OPEN_TASKS`. A task that was refused is asked for again, last.
Exit code 0: nothing is left, and all is well.
"""

import asyncio
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from campaign import Campaign, Row, command
from figures import figures, short

from kernelwright.errors import KernelwrightError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.evaluate.session.trial import ITSELF
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.tasks.files import with_size
from kernelwright.tasks.kernelbench import read_kernelbench

FIELD = Path(__file__).parents[1] / "tasks" / "field"
KERNELS = {
    "copy": ITSELF,
    "compile": "\n\nclass ModelNew(Model):\n"
    "    def __init__(self, *arguments):\n        super().__init__(*arguments)\n"
    "        self.compiled = torch.compile(super().forward)\n\n"
    "    def forward(self, *arguments):\n        return self.compiled(*arguments)\n",
}
"""One right kernel each: what is written behind the task's own text."""
KERNELS |= {f"copy{n}": KERNELS["copy"] for n in range(2, 5)}  # again, each in a process of its own
STEPS = ("admit", *KERNELS)
POLICY = Policy(baselines=("eager",), final_baselines=(), search_seconds=2.0)
LOOK_S = 0.05
LONGEST_S = 100.0
"""What a step of a task may take before it is given up."""


class Memory:
    """The device's memory, as its driver tells it to any process; all zero where there is no device."""

    def __init__(self, target: Target) -> None:
        self._torch = None
        if target.kind == "cuda":
            import torch  # noqa: PLC0415 (a CPU pass needs none here)

            self._torch = torch

    def used_gb(self) -> float:
        """What all processes hold now."""
        if self._torch is None:
            return 0.0
        free, total = self._torch.cuda.mem_get_info()
        return float(total - free) / 1e9

    @contextmanager
    def growth(self) -> Iterator[Callable[[], float]]:
        """By how much all processes together hold more at most meanwhile, in GB."""
        seen, over = [self.used_gb()], threading.Event()

        def look() -> None:
            while self._torch is not None and not over.wait(LOOK_S):
                seen.append(self.used_gb())

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield lambda: round(max(seen) - seen[0], 3)
        finally:
            over.set()
            thread.join()

    def eager_gb(self, source: str) -> float | None:
        """What one call of the task's own program needs: inputs, parameters, results and scratch; None: it found no room."""
        torch = self._torch
        if torch is None:
            return None
        torch.cuda.reset_peak_memory_stats()
        fits = _runs(source)
        found = torch.cuda.max_memory_allocated() / 1e9
        torch.cuda.empty_cache()
        return round(found, 4) if fits else None


def _runs(source: str) -> bool:
    """Whether one call of the task's own program ends on the device; nothing of it is left there afterwards."""
    import torch  # noqa: PLC0415 (a CPU pass needs none here)

    try:
        namespace: Row = {}
        exec(compile(source, "<task>", "exec"), namespace)  # noqa: S102 (tasks of our own)
        with torch.device("cuda"), torch.no_grad():
            namespace["Model"]()(*namespace["get_inputs"]())
        torch.cuda.synchronize()
    except RuntimeError:  # out of memory, or a library that found none
        return False
    return True


class Pass:
    """One pass over the tasks, until the time is over."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self.steps = campaign, campaign.asked.steps.split(",")
        files = sorted(FIELD.rglob("*.py"))
        # In an order by chance, so that a pass that was cut short has met a bit of everything.
        random.Random(0).shuffle(files)
        chosen = campaign.chosen(files)
        self.sources = [(f.parent.name, read_kernelbench(with_size(f, campaign.asked.size))) for f in chosen]
        self.now: set[tuple[str, str]] = set()
        """Tasks and steps of this call."""

    async def measure(self) -> None:
        """Do what is not known yet."""
        async with self.campaign.referee(POLICY, size=self.campaign.asked.size) as (referee, target):
            memory = Memory(target)
            for source in sorted((source for _, source in self.sources), key=self._refused):
                missing = list(self.steps) if self._refused(source) else self.missing(source)
                if missing and not self.campaign.over():
                    await self._task(Work(referee, target, memory, source), missing)

    def row(self, source: TaskSource, step: str) -> Row | None:
        """What is known of a step; a task whose text has changed is another one."""
        row = self.campaign.by_key.get((source.name, step))
        return row if row is not None and row.get("text", text_of(source)) == text_of(source) else None

    def _refused(self, source: TaskSource) -> bool:
        return (self.row(source, "admit") or {}).get("fit") is False

    def missing(self, source: TaskSource) -> list[str]:
        """Steps that have yet to be done, or that a fault of the machine ended in another call; none where it is not fit."""
        if self._refused(source):
            return []
        rows = {step: self.row(source, step) for step in self.steps}
        broken = {s for s, r in rows.items() if r and r.get("outcome") == "broken" and (source.name, s) not in self.now}
        return [step for step, row in rows.items() if row is None or step in broken]

    async def _task(self, work: "Work", missing: Sequence[str]) -> None:
        row, task = await work.admitted("admit" in missing)
        if "admit" in missing:
            self._put(work.source, "admit", row)
        for step in missing:
            if step != "admit" and task is not None and not self.campaign.over():
                self._put(work.source, step, await work.judged(task, step))

    def _put(self, source: TaskSource, step: str, row: Row) -> None:
        family = next(family for family, one in self.sources if one.name == source.name)
        self.now.add((source.name, step))
        self.campaign.put({"task": source.name, "family": family, "step": step, "text": text_of(source), **row})

    def summary(self, rows: list[Row]) -> Row:
        """Of each step: counts, seconds and memory, and what is not as it should be."""
        return {"steps": {step: self._counts(step, [source for _, source in self.sources]) for step in self.steps}}

    def _counts(self, step: str, sources: Sequence[TaskSource]) -> Row:
        found = [row for source in sources if (row := self.row(source, step))]
        seconds = [row["seconds"] for row in found] or [0.0]
        shares = self._by_eager(found)
        return {
            "tasks": len(sources),
            "done": len(found),
            "well": sum(map(_well, found)),
            "median_s": median(seconds),
            "worst_s": max(seconds),
            "total_s": sum(seconds),
            "median_memory_by_eager": median(shares) if shares else None,
            "most_memory_by_eager": max(shares, default=None),
            "wrong": [f"{row['task']}: {_why(row)}"[:200] for row in found if not _well(row)],
        }

    def _by_eager(self, found: Sequence[Row]) -> list[float]:
        """By how much the device's memory grew at most, over what eager alone needs, where both are known."""
        eager = {task: row.get("eager_gb") for (task, step), row in self.campaign.by_key.items() if step == "admit"}
        return [row["grew_gb"] / eager[row["task"]] for row in found if "grew_gb" in row and eager.get(row["task"])]

    def table(self, rows: list[Row]) -> str:
        """A line for each step and family, then what is not as it should be and how much is left."""
        lines = [
            f"{'step':8} {'family':10} {'done':>9} {'well':>5} {'median s':>9} {'worst s':>8} {'memory / eager':>15}"
        ]
        wrong: list[str] = []
        for step in self.steps:
            for family in dict.fromkeys(f for f, _ in self.sources):
                of = self._counts(step, [source for f, source in self.sources if f == family])
                times = of["median_memory_by_eager"], of["most_memory_by_eager"]
                memory = f"{times[0]:.1f}, worst {times[1]:.1f}" if times[0] is not None else "-"
                done = f"{step:8} {family:10} {of['done']:4}/{of['tasks']:<4} {of['well']:5}"
                lines.append(f"{done} {of['median_s']:9.1f} {of['worst_s']:8.1f} {memory:>15}")
                wrong += [f"{step}: {line}" for line in of["wrong"]]
        return "\n".join([*lines, *wrong, f"{self.left()} steps left of {len(self.sources) * len(self.steps)}"])

    def left(self) -> int:
        """Steps that are missing."""
        return sum(len(self.missing(source)) for _, source in self.sources)


class Work:
    """What is done with one task."""

    def __init__(self, referee: Referee, target: Target, memory: Memory, source: TaskSource) -> None:
        self.referee, self.target, self.memory, self.source = referee, target, memory, source

    async def admitted(self, weighed: bool) -> tuple[Row, Task | None]:
        """What its admission says; `weighed`: with what eager needs."""
        row: Row = {"fit": True, "eager_gb": self.memory.eager_gb(self.source.source) if weighed else None}
        start, task = time.monotonic(), None
        with self.memory.growth() as growth:
            try:
                async with asyncio.timeout(LONGEST_S):
                    task = await self.referee.admit(self.source, self.target)
            except TaskError as error:
                row |= {"fit": False, "why": short(f"{error.reason}: {error}")}
            except (KernelwrightError, TimeoutError) as error:
                row |= {"fit": False, "why": short(f"broken: {error!r}")}
        return {**row, "grew_gb": growth(), "seconds": round(time.monotonic() - start, 2)}, task

    async def judged(self, task: Task, step: str) -> Row:
        """The verdict on the step's program."""
        candidate = Candidate(language="python", source=task.source.source + KERNELS[step])
        start = time.monotonic()
        with self.memory.growth() as growth:
            try:
                async with asyncio.timeout(LONGEST_S):
                    row = figures(await self.referee.evaluate(task, candidate, "search"))
            except (KernelwrightError, TimeoutError) as error:
                row = {"outcome": "broken", "right": False, "why": short(repr(error))}
        return {**row, "grew_gb": growth(), "seconds": round(time.monotonic() - start, 2)}


def text_of(source: TaskSource) -> str:
    """The task's text, in short."""
    return identity("field", {"source": source.identity_fields()})


def _well(row: Row) -> bool:
    if row["step"] == "admit":
        return bool(row["fit"])
    verdict = row["eager"][3] if "eager" in row else "inconclusive"
    return bool(row["right"]) and (not row["step"].startswith("copy") or verdict == "inconclusive")


def _why(row: Row) -> str:
    return " ".join(str(row[name]) for name in ("why", "outcome", "eager") if name in row)


def main() -> int:
    """One pass, or several put together, and the table."""
    os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", "1")
    parser = command(__doc__, "cuda", seconds=500.0)
    parser.add_argument("--size", default="full", choices=("full", "small"))
    parser.add_argument("--steps", default="admit,copy", help=f"of {', '.join(STEPS)}")
    campaign = Campaign(parser.parse_args(), ("task", "step"), same=("size",), raw=("stages_s",))
    one = Pass(campaign)
    campaign.summary = one.summary
    campaign.run(one.measure)
    campaign.show(one.table)
    return int(one.left() > 0 or any(of["wrong"] for of in one.summary([])["steps"].values()))


if __name__ == "__main__":
    sys.exit(main())
