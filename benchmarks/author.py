"""What the built-in author gains: `python benchmarks/author.py --target cuda --folder field/operators --out FILE --quick`.

Four steps, each over all tasks, one of every family after another: `default` judges the schedule that the author starts with,
`inductor` what `torch.compile` writes, where the author's was not faster than both baselines (a run searches among the kernels
of both), `tries` the author's next best by its cost model, the tasks that need it most first, and `final` measures the best
anew, head to head.
`--quick` leaves the last away and measures briefly: five seconds a task and step on an H200 with 16 cores.

Several referees work on one device, each on a task of its own, and take turns (`DeviceLock`). What needs no clock they do side
by side: admission, building kernels, whether they are right, a final's audit. While `torch.compile` compiles and tunes, and
beside a comparison, in which eager, it and the kernel take turns, nothing else runs. A row is written as soon as it is known,
`--seconds` ends the pass, and the same command goes on where it ended, with another driver too; `--only WORD` takes tasks with
the word in their name, anew. `--steps second` asks of each task that has a best how near that schedule comes to the best of
another size. With several GPUs each takes a part: `CUDA_VISIBLE_DEVICES=1 python benchmarks/author.py --part 2/2 …`; `--out
FILE --join PART…` joins their files, and of two rows of one task takes the later file's.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from author_families import Row, better
from author_rows import Work, judged, missed
from author_table import line, table
from parts import may_be_in_parts, of_part
from provenance import alike, copy_gbps, provenance
from suite import Listed, by_turns, field, listed

from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, MachineError, ProposeError, RefereeError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.policy import Policy
from kernelwright.records.task import TaskSource
from kernelwright.store.files import write_whole

STEPS = ("default", "inductor", "tries", "final")
SECOND = "second"
"""A step that must be asked for: half of the first of a task's sizes, with the schedule of the whole and with its own best."""
QUICK = Policy(search_seconds=0.6, final_baselines=(), cached_baselines=False)
"""Brief, and strict in all else: ten blocks of a clear case, 24 of another, every check, `torch.compile` beside the kernel."""
WORKERS = {"cpu": 1, "cuda": 4}
"""Referees by kind of device: the tasks of so many fit its memory together."""
LONGEST_S = 240.0
"""What a task may take in one step before it is given up, the turns of others included."""
SAME = ("target", "size")
"""What rows of one file have in common, beside the machine."""
NO_ROOM = ("OutOfMemory", "out of memory")
"""What a kernel's process says where the device's memory is full."""
CUT_S = 45.0
"""How much later than the pass a step of a task may end."""


class Pass:
    """One pass over the tasks, until the time is over."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments, self.target = arguments, resolve_target(arguments.target)
        self.out, self.end = Path(arguments.out), time.monotonic() + arguments.seconds
        chosen = by_turns([t for t in tasks_of(arguments.folder) if arguments.only in t.name])
        self.tasks = list(of_part(chosen, arguments.part))
        self.policy = QUICK if arguments.quick else Policy(search_seconds=1.0, final_seconds=5.0)
        self.crew = [Referee(self.policy) for _ in range(arguments.workers or WORKERS.get(self.target.kind, 1))]
        self.head: Row = {}
        self.rows: dict[str, Row] = {}
        self.anew: set[str] = set()
        """Tasks whose rows are to be replaced."""
        self.alone: list[Listed] = []
        """Tasks for which there is no memory beside others, or with which the machine had a fault."""

    async def run(self) -> None:
        """Do what is not known yet, step by step."""
        try:
            gbps = await asyncio.to_thread(copy_gbps, self.target.kind)
            found = provenance(await self.crew[0].environment(self.target))
            self.head = {**found, "target": self.target.name, "size": self.arguments.size, "copy_gbps": gbps}
            self.rows = known(self.out, self.head)
            if self.arguments.only and STEPS[0] in self.arguments.steps:
                self.anew = {task.name for task in self.tasks}
            for step in self.arguments.steps:
                await self._step(step)
        finally:
            await asyncio.gather(*(referee.close() for referee in self.crew))

    async def _step(self, step: str) -> None:
        todo = [task for task in self.tasks if self._wanted(task, step)]
        if step != "default":
            todo.sort(key=lambda task: better(self.rows[task.name]))
        await self._windows(self.crew, todo, step)
        if self.alone:
            # The others give their tasks' memory back as they end, and start again when they are asked.
            await asyncio.gather(*(referee.close() for referee in self.crew[1:]))
            self.crew[1:] = [Referee(self.policy) for _ in self.crew[1:]]
            alone, self.alone = self.alone, []
            await self._windows(self.crew[:1], alone, step)

    def _wanted(self, task: Listed, step: str) -> bool:
        row = None if task.name in self.anew else self.rows.get(task.name)
        if row is None or step == "default":
            return row is None and step == "default"
        if step == "inductor":
            return step not in list(row["steps"]) and better(row) < 1.0  # type: ignore[arg-type]
        if step == SECOND and row.get("by") == "inductor":
            return False
        known = "source" in row if step != "tries" else bool(row.get("kernels"))
        return known and step not in list(row["steps"])  # type: ignore[arg-type]

    async def _windows(self, crew: Sequence[Referee], todo: Sequence[Listed], step: str) -> None:
        """A task for each referee at a time, as long as what the last ones took is left.

        They begin and end together, so that one's turn alone with the device holds up none that could be judged beside others.
        """
        took = 0.0
        for start in range(0, len(todo), len(crew)):
            began = time.monotonic()
            if began > self.end or began + took > self.end + CUT_S:
                return
            works = [self._work(r, t, step, len(crew) > 1) for r, t in zip(crew, todo[start:], strict=False)]
            await asyncio.gather(*(self._judged(work) for work in works))
            took = time.monotonic() - began

    def _work(self, referee: Referee, task: Listed, step: str, beside: bool) -> Work:
        size = "full" if self.arguments.size == "large" and task.name.startswith("field/") else self.arguments.size
        source = halved(task.source(size)) if step == SECOND else task.source(size)
        known = {} if task.name in self.anew else self.rows.get(task.name, {})
        commit = known["commit"] if step == SECOND else self.head["commit"]
        row: Row = {"task": task.name, "family": task.family, "steps": [], **known, "commit": commit}
        tries, gbps = self.arguments.tries, float(str(self.head["copy_gbps"]))
        return Work(referee, source, self.target, step, row, tries, gbps, beside)

    async def _judged(self, work: Work) -> None:
        """Judge it and keep its row, which says why where there is no verdict; or judge it later with nothing beside it."""
        limit_s = min(LONGEST_S, self.end + CUT_S - time.monotonic())
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
        name = str(work.row["task"])
        if work.beside and full(work.row):
            self.alone.append(self._listed(work))
            return
        self.rows[name] = work.row
        self.anew.discard(name)
        sys.stdout.write(line(work.row, work.step))
        sys.stdout.flush()
        self.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.out, json.dumps({**self.head, "rows": list(self.rows.values())}, indent=1) + "\n")


def full(row: Row) -> bool:
    """Whether a kernel, or a baseline, found no memory: beside other tasks that says nothing about it."""
    if "no device memory" in json.dumps(row.get("missing", "")):
        return True
    latest = list(row["steps"])[-1:]  # type: ignore[arg-type]
    tries = [one for one in row.get("tries") or [] if [one["step"]] == latest]  # type: ignore[index, union-attr]
    failed = [one for one in tries if one["outcome"] in ("build_failed", "crashed")]  # type: ignore[index, call-overload]
    told = json.dumps([failed, row.get(SECOND) if latest == [SECOND] else None])
    return any(word in told for word in NO_ROOM)


def tasks_of(folder: str) -> list[Listed]:
    """The suite's own tasks and those of the field; or those of one folder."""
    return [task for task in (*listed(), *field()) if task.name.startswith(folder)]


def halved(source: TaskSource) -> TaskSource:
    """The task with half of the first of its sizes, which is its batch or its rows."""
    smaller = "SIZE = {**SIZE, next(iter(SIZE)): next(iter(SIZE.values())) // 2}"
    text = re.sub(r"^SIZE = .*$", lambda found: f"{found[0]}\n{smaller}", source.source, count=1, flags=re.MULTILINE)
    return source.model_copy(update={"name": f"{source.name}@half", "source": text})


def known(out: Path, head: Row) -> dict[str, Row]:
    """Rows of an earlier pass on such a device, at the same size.

    Raises:
        SystemExit: the file is of another: its rows would be lost.
    """
    document = json.loads(out.read_text()) if out.exists() else {**head, "rows": []}
    if not of_one_pass(document, head):
        raise SystemExit(f"{out} is of another device, size or version: name another file with --out")
    return {row["task"]: row for row in document["rows"]}


def of_one_pass(one: Row, other: Row) -> bool:
    """Whether rows of both may stand in one file."""
    return alike(one, other) and all(one[name] == other[name] for name in SAME)


def joined(parts: Sequence[Path], out: Path) -> list[Row]:
    """The rows of several parts, written as one file with the last one's head.

    Raises:
        SystemExit: they are of different devices, versions or sizes.
    """
    documents = [json.loads(file.read_text()) for file in parts if file.exists()]
    if not all(of_one_pass(one, documents[0]) for one in documents):
        raise SystemExit(f"these files differ in device, versions, {' or '.join(SAME)}: they are no parts of one pass")
    rows = {row["task"]: {"commit": one["commit"], **row} for one in documents for row in one["rows"]}
    write_whole(out, json.dumps({**documents[-1], "rows": list(rows.values())}, indent=1) + "\n")
    return list(rows.values())


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--size", default="large", help="large takes the field's tasks at their full size")
    parser.add_argument("--out", required=True)
    parser.add_argument("--folder", default="", help="a folder of tasks/; all of them without it")
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true", help="brief comparisons, no final")
    parser.add_argument(
        "--steps",
        nargs="+",
        choices=(*STEPS, SECOND),
        default=None,
        help="without it: all, or with --quick the first three",
    )
    parser.add_argument("--tries", type=int, default=3, help="schedules besides the default")
    parser.add_argument("--workers", type=int, default=0, help="referees; four on a GPU")
    parser.add_argument("--seconds", type=float, default=500.0)
    may_be_in_parts(parser)
    parser.add_argument(
        "--join", type=Path, nargs="+", help="files of parts, put together into --out; nothing is measured"
    )
    found = parser.parse_args()
    found.steps = found.steps or (STEPS[:3] if found.quick else STEPS)
    return found


def main() -> None:
    """One pass, and the table."""
    # Each referee keeps one task's memory: the next one in its place is another task.
    os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", "1")
    arguments = parsed()
    if arguments.join:
        rows = joined(arguments.join, Path(arguments.out))
        sys.stdout.write(table(rows, len(tasks_of(arguments.folder))))
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("KERNELWRIGHT_DEVICE_LOCK", f"{folder}/device")
        one = Pass(arguments)
        asyncio.run(one.run())
    chosen = [row for task in one.tasks if (row := one.rows.get(task.name))]
    sys.stdout.write(table(chosen, len(one.tasks)))


if __name__ == "__main__":
    main()
