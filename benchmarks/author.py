"""What the built-in author gains: `python benchmarks/author.py --target cuda --folder field/operators --out FILE --quick`.

Four steps, each over all tasks, one of every family after another: `default` judges the schedule that the author starts with,
`inductor` what `torch.compile` writes, where the author's was not faster than both baselines (a run searches among the kernels
of both), `tries` the author's next best by its cost model, the tasks that need it most first, and `final` measures the best
anew, head to head.
`--quick` leaves the last away and measures briefly: five seconds a task and step on an H200 with 16 cores.

Several referees work on one device, each on a task of its own, and take turns (`DeviceLock`). What needs no clock they do side
by side: admission, building kernels, whether they are right, a final's audit. While `torch.compile` compiles and tunes, and
beside a comparison, in which eager, it and the kernel take turns, nothing else runs. `--steps second` asks of each task that
has a best how near that schedule comes to the best of another size. FILE has each task's figures and its best schedule; texts
of kernels and every try go to FILE.raw.jsonl.
"""

import asyncio
import json
import os
import re
import tempfile
import time
from collections.abc import Sequence

from author_families import better, table
from author_rows import RAW, Work, judged, missed
from campaign import Campaign, Row, command
from provenance import copy_gbps, provenance
from suite import Listed, by_turns, field, listed

from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, MachineError, ProposeError, RefereeError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.policy import Policy
from kernelwright.records.task import TaskSource

STEPS = ("default", "inductor", "tries", "final")
SECOND = "second"
"""A step that must be asked for: half of the first of a task's sizes, with the schedule of the whole and with its own best."""
QUICK = Policy(search_seconds=0.6, final_baselines=(), cached_baselines=False)
"""Brief, and strict in all else: ten blocks of a clear case, 24 of another, every check, `torch.compile` beside the kernel."""
WORKERS = {"cpu": 1, "cuda": 4}
"""Referees by kind of device: the tasks of so many fit its memory together."""
LONGEST_S = 240.0
"""What a task may take in one step before it is given up, the turns of others included."""
NO_ROOM = ("OutOfMemory", "out of memory")
"""What a kernel's process says where the device's memory is full."""
CUT_S = 45.0
"""How much later than the pass a step of a task may end."""


class Pass:
    """One pass over the tasks, until the time is over."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self.asked = campaign, campaign.asked
        self.target = resolve_target(self.asked.target)
        self.tasks = campaign.chosen(by_turns(tasks_of(self.asked.folder)), lambda task: task.name)
        policy = QUICK if self.asked.quick else Policy(search_seconds=1.0, final_seconds=5.0)
        self.policy = policy.model_copy(update={"numerics": self.asked.numerics})
        self.crew = [Referee(self.policy) for _ in range(self.asked.workers or WORKERS.get(self.target.kind, 1))]
        self.alone: list[Listed] = []
        """Tasks for which there is no memory beside others, or with which the machine had a fault."""

    async def measure(self) -> None:
        """Do what is not known yet, step by step."""
        try:
            gbps = await asyncio.to_thread(copy_gbps, self.target.kind)
            found = provenance(await self.crew[0].environment(self.target))
            how = {"target": self.target.name, "size": self.asked.size}
            how |= {"numerics": self.asked.numerics} if self.asked.numerics != "as-is" else {}
            self.campaign.begin({**found, **how, "copy_gbps": gbps})
            for step in self.asked.steps:
                await self._step(step)
        finally:
            await asyncio.gather(*(referee.close() for referee in self.crew))

    async def _step(self, step: str) -> None:
        todo = [task for task in self.tasks if self._wanted(task, step)]
        if step != "default":
            todo.sort(key=lambda task: better(self.campaign.by_key[task.name]))
        await self._windows(self.crew, todo, step)
        if self.alone:
            # The others give their tasks' memory back as they end, and start again when they are asked.
            await asyncio.gather(*(referee.close() for referee in self.crew[1:]))
            self.crew[1:] = [Referee(self.policy) for _ in self.crew[1:]]
            alone, self.alone = self.alone, []
            await self._windows(self.crew[:1], alone, step)

    def _wanted(self, task: Listed, step: str) -> bool:
        row = self.campaign.by_key.get(task.name)
        if row is None or step == "default":
            return row is None and step == "default"
        if step == "inductor":
            return step not in row["steps"] and better(row) < 1.0
        if step == SECOND and row.get("by") == "inductor":
            return False
        known = "schedule" in row if step != "tries" else bool(row.get("kernels"))
        return known and step not in row["steps"]

    async def _windows(self, crew: Sequence[Referee], todo: Sequence[Listed], step: str) -> None:
        """A task for each referee at a time, as long as what the last ones took is left.

        They begin and end together, so that one's turn alone with the device holds up none that could be judged beside others.
        """
        took = 0.0
        for start in range(0, len(todo), len(crew)):
            began = time.monotonic()
            if self.campaign.over() or began + took > self.campaign.until + CUT_S:
                return
            works = [self._work(r, t, step, len(crew) > 1) for r, t in zip(crew, todo[start:], strict=False)]
            await asyncio.gather(*(self._judged(work) for work in works))
            took = time.monotonic() - began

    def _work(self, referee: Referee, task: Listed, step: str, beside: bool) -> Work:
        size = "full" if self.asked.size == "large" and task.name.startswith("field/") else self.asked.size
        source = halved(task.source(size)) if step == SECOND else task.source(size)
        row: Row = {"task": task.name, "family": task.family, "steps": [], **self.campaign.by_key.get(task.name, {})}
        if step != SECOND:
            row["commit"] = self.campaign.head["commit"]
        return Work(referee, source, self.target, step, row, self.asked.tries, self.campaign.head["copy_gbps"], beside)

    async def _judged(self, work: Work) -> None:
        """Judge it and keep its row, which says why where there is no verdict; or judge it later with nothing beside it."""
        limit_s = min(LONGEST_S, self.campaign.until + CUT_S - time.monotonic())
        try:
            async with asyncio.timeout(limit_s):
                await judged(work)
        except TimeoutError:
            if limit_s < LONGEST_S:
                return
            if work.beside:
                self.alone.append(self._listed(work))
                return
            missed(work, "not judged", f"it took longer than {LONGEST_S:.0f} s")
        except ProposeError as error:
            missed(work, "not written", str(error))
        except KernelwrightError as error:
            no_room = isinstance(error, TaskError) and error.reason == "too_large"
            if work.beside and (no_room or isinstance(error, MachineError | RefereeError)):
                self.alone.append(self._listed(work))
                return
            missed(work, "not judged", str(error))
        self._keep(work)

    def _listed(self, work: Work) -> Listed:
        return next(task for task in self.tasks if task.name == work.row["task"])

    def _keep(self, work: Work) -> None:
        if work.beside and full(work.row):
            self.alone.append(self._listed(work))
        else:
            self.campaign.put(work.row)


def full(row: Row) -> bool:
    """Whether a kernel, or a baseline, found no memory: beside other tasks that says nothing about it."""
    if "no device memory" in json.dumps(row.get("missing", "")):
        return True
    latest = row["steps"][-1:]
    tries = [one for one in row.get("tries") or [] if [one["step"]] == latest]
    failed = [one for one in tries if one["outcome"] in ("build_failed", "crashed")]
    words = json.dumps([failed, row.get(SECOND) if latest == [SECOND] else None])
    return any(word in words for word in NO_ROOM)


def tasks_of(folder: str) -> list[Listed]:
    """The suite's own tasks and those of the field; or those of one folder."""
    return [task for task in (*listed(), *field()) if task.name.startswith(folder)]


def halved(source: TaskSource) -> TaskSource:
    """The task with half of the first of its sizes, which is its batch or its rows."""
    smaller = "SIZE = {**SIZE, next(iter(SIZE)): next(iter(SIZE.values())) // 2}"
    text = re.sub(r"^SIZE = .*$", lambda found: f"{found[0]}\n{smaller}", source.source, count=1, flags=re.MULTILINE)
    return source.model_copy(update={"name": f"{source.name}@half", "source": text})


def main() -> None:
    """One pass, and the table."""
    # Each referee keeps one task's memory: the next one in its place is another task.
    os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", "1")
    parser = command(__doc__, seconds=500.0)
    parser.add_argument("--size", default="large", help="large takes the field's tasks at their full size")
    parser.add_argument("--folder", default="", help="a folder of tasks/; all of them without it")
    parser.add_argument("--quick", action="store_true", help="brief comparisons, no final")
    steps = "without it: all, or with --quick the first three"
    parser.add_argument("--steps", nargs="+", choices=(*STEPS, SECOND), default=None, help=steps)
    parser.add_argument("--numerics", default="as-is", help="precision flags, as `kernelwright bench` has them")
    parser.add_argument("--tries", type=int, default=3, help="schedules besides the default")
    parser.add_argument("--workers", type=int, default=0, help="referees; four on a GPU")
    asked = parser.parse_args()
    asked.steps = asked.steps or (STEPS[:3] if asked.quick else STEPS)
    campaign = Campaign(asked, same=("target", "size", "numerics"), raw=RAW)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("KERNELWRIGHT_DEVICE_LOCK", folder)
        campaign.run(lambda: Pass(campaign).measure())
    campaign.show(lambda rows: table(rows, len(tasks_of(asked.folder))))


if __name__ == "__main__":
    main()
