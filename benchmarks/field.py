"""Holds the referee against `tasks/field`: `python benchmarks/field.py --out FILE.jsonl [--seconds 540]`.

Every task is admitted by one referee process, one after another, and a program equal to the task's own is judged
(`class ModelNew(Model)`); `--steps compile` judges torch.compile's kernels, `copy2` to `copy4` the same program again. A line
is written as soon as it is known, and the same command goes on where the last one ended, within `--seconds`, with another
driver too. Beside the time stands by how much the device's memory grew at most, and what eager alone needs, measured here. A
task stays open while it is judged, and no longer, but for `KERNELWRIGHT_OPEN_TASKS`. The table says what is left; a task that
was refused is asked for again, last.

With several GPUs each takes a part, with a file of its own: `CUDA_VISIBLE_DEVICES=1 python benchmarks/field.py --part 2/2 …`;
`--out FILE --join PART…` puts them together, without a device. Exit code 0: nothing is left, and all is well.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

from parts import may_be_in_parts, of_part
from provenance import alike, provenance
from pydantic import JsonValue

from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.evaluate.session.trial import ITSELF
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, is_right, speedup_over_eager
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.tasks.files import with_size
from kernelwright.tasks.kernelbench import read_kernelbench

ROOT = Path(__file__).parents[1]
FIELD = ROOT / "tasks" / "field"
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
Line = dict[str, JsonValue]


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
    def peak(self) -> Iterator[Callable[[], float]]:
        """The most that all processes hold meanwhile, in GB."""
        seen, over = [self.used_gb()], threading.Event()

        def look() -> None:
            while self._torch is not None and not over.wait(LOOK_S):
                seen.append(self.used_gb())

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield lambda: max(seen)
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
        return float(found) if fits else None


def _runs(source: str) -> bool:
    """Whether one call of the task's own program ends on the device; nothing of it is left there afterwards."""
    import torch  # noqa: PLC0415 (a CPU pass needs none here)

    try:
        namespace: dict[str, object] = {}
        exec(compile(source, "<task>", "exec"), namespace)  # noqa: S102 (tasks of our own)
        with torch.device("cuda"), torch.no_grad():
            namespace["Model"]()(*namespace["get_inputs"]())  # type: ignore[operator]
        torch.cuda.synchronize()
    except RuntimeError:  # out of memory, or a library that found none
        return False
    return True


class Pass:
    """One pass over the tasks, until the time is over."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.steps = arguments.steps.split(",")
        self.asked = str(arguments.target)
        self.out, self.end = Path(arguments.out), time.monotonic() + arguments.seconds
        files = sorted(p for p in FIELD.rglob("*.py") if arguments.only in str(p))
        # In an order by chance, so that a pass that was cut short has met a bit of everything.
        random.Random(0).shuffle(files)
        mine = of_part(files, arguments.part)
        self.sources = [(p.parent.name, read_kernelbench(with_size(p, arguments.size))) for p in mine]
        self.lines: dict[tuple[str, str], Line] = {}
        """By task and step."""
        self.now: set[tuple[str, str]] = set()
        """Those of this call."""
        self.machine: Line = {}
        self.provenance: Line = {}

    async def run(self) -> None:
        """Do what is not known yet."""
        self.target = resolve_target(self.asked)
        self.memory, self.referee = Memory(self.target), Referee(POLICY)
        try:
            environment = await self.referee.environment(self.target)
            self.provenance = provenance(environment)
            self.machine = {"device": environment.device.name, "versions": dict(environment.versions)}
            self._take([self.out])
            for family, source in sorted(self.sources, key=lambda one: self._refused(one[1])):
                if time.monotonic() > self.end:
                    break
                await self._task(family, source)
        finally:
            await self.referee.close()

    def join(self, parts: Sequence[Path]) -> None:
        """Take what several parts found, as one pass of the first one's machine."""
        first = next(line for part in parts for line in _lines(part))
        self.machine = {"device": first["device"], "versions": first["versions"]}
        self._take(parts)
        commits = sorted({str(line.get("commit", "not kept")) for line in self.lines.values()})
        self.provenance = {**self.machine, "commit": ", ".join(commits)}
        self.out.write_text("".join(json.dumps(line) + "\n" for line in self.lines.values()))

    def _refused(self, source: TaskSource) -> bool:
        return self.lines.get((source.name, "admit"), {}).get("fit") is False

    def _missing(self, source: TaskSource) -> list[str]:
        """Steps that have yet to be done, or that a fault of the machine ended in another call.

        A program equal to a task's is judged where the task is fit.
        """
        if self._refused(source):
            return []
        done = {step for step in self.steps if (line := self.lines.get((source.name, step))) and self._counts(line)}
        return [step for step in self.steps if step not in done]

    def _counts(self, line: Line) -> bool:
        return line.get("outcome") != "broken" or (str(line["task"]), str(line["step"])) in self.now

    async def _task(self, family: str, source: TaskSource) -> None:
        again = self._refused(source)
        missing = list(self.steps) if again else self._missing(source)
        if not missing:
            return
        task = await self._admitted(family, source, "admit" in missing)
        for step in missing:
            if step != "admit" and task is not None and time.monotonic() < self.end:
                await self._judged(family, task, step)

    async def _admitted(self, family: str, source: TaskSource, told: bool) -> Task | None:
        line: Line = {"fit": True, "eager_gb": self.memory.eager_gb(source.source) if told else None}
        before, start, task = self.memory.used_gb(), time.monotonic(), None
        with self.memory.peak() as peak:
            try:
                async with asyncio.timeout(LONGEST_S):
                    task = await self.referee.admit(source, self.target)
            except TaskError as error:
                line |= {"fit": False, "why": f"{error.reason}: {error}"}
            except (KernelwrightError, TimeoutError) as error:
                line |= {"fit": False, "why": f"broken: {error!r}"}
        if told:
            line |= {"before_gb": before, "peak_gb": peak(), "seconds": time.monotonic() - start}
            self._write(family, source, "admit", line)
        return task

    async def _judged(self, family: str, task: Task, step: str) -> None:
        candidate = Candidate(language="python", source=task.source.source + KERNELS[step])
        line: Line = {}
        before, start = self.memory.used_gb(), time.monotonic()
        with self.memory.peak() as peak:
            try:
                async with asyncio.timeout(LONGEST_S):
                    line = told(await self.referee.evaluate(task, candidate, "search"))
            except (KernelwrightError, TimeoutError) as error:
                line = {"outcome": "broken", "right": False, "why": repr(error)[:2000]}
        line |= {"before_gb": before, "peak_gb": peak(), "seconds": time.monotonic() - start}
        self._write(family, task.source, step, line)

    def _take(self, files: Iterable[Path]) -> None:
        """What is known of these tasks on such a machine; of several lines of one step the last."""
        texts = {source.name: text_of(source) for _, source in self.sources}
        for line in (line for file in files for line in _lines(file)):
            name = str(line["task"])
            # A line without a text is from before there were any: the tasks have not changed since.
            if alike(line, self.machine) and name in texts and line.get("text", texts[name]) == texts[name]:
                self.lines[name, str(line["step"])] = line

    def _write(self, family: str, source: TaskSource, step: str, line: Line) -> None:
        of: Line = {"task": source.name, "family": family, "step": step, "text": text_of(source)}
        whole: Line = {**of, **self.machine, "commit": self.provenance["commit"], **line}
        self.lines[source.name, step] = whole
        self.now.add((source.name, step))
        sys.stderr.write(
            f"{len(self.lines)}: {source.name} {step} {float(str(line['seconds'])):.1f} s {_why(line)[:100]}\n"
        )
        self.out.parent.mkdir(parents=True, exist_ok=True)
        with self.out.open("a") as file:
            file.write(json.dumps(whole).replace(f"{ROOT}/", "") + "\n")

    def table(self) -> tuple[str, bool]:
        """A row for each step and family, then what is not as it should be and how much is left; whether all is well."""
        rows = [
            f"{'step':8} {'family':10} {'done':>9} {'well':>5} {'median s':>9} {'worst s':>8} {'memory / eager':>15}"
        ]
        wrong: list[str] = []
        left = 0
        for step in self.steps:
            for family in dict.fromkeys(f for f, _ in self.sources):
                sources = [s for f, s in self.sources if f == family]
                found = [x for s in sources if (x := self.lines.get((s.name, step)))]
                left += sum(step in self._missing(s) for s in sources)
                rows += [self._row(step, family, len(sources), found)] if found else []
                wrong += [f"{x['task']}: {step}: {_why(x)}"[:200] for x in found if not _well(x)]
        rows += wrong
        rows.append(f"{left} steps left of {len(self.sources) * len(self.steps)}")
        return "\n".join(rows) + "\n", not left and not wrong

    def _by_eager(self, found: Sequence[Line]) -> list[float]:
        """By how much the device's memory grew at most, over what eager alone needs, where both are known."""
        shares = []
        for line in found:
            eager = self.lines.get((str(line["task"]), "admit"), {}).get("eager_gb")
            if eager and "before_gb" in line:
                shares.append((float(str(line["peak_gb"])) - float(str(line["before_gb"]))) / float(str(eager)))
        return shares

    def _row(self, step: str, family: str, count: int, found: list[Line]) -> str:
        seconds, times = [float(str(line["seconds"])) for line in found], self._by_eager(found)
        memory = f"{median(times):.1f}, worst {max(times):.1f}" if times else "-"
        done = f"{step:8} {family:10} {len(found):4}/{count:<4} {sum(map(_well, found)):5}"
        return f"{done} {median(seconds):9.1f} {max(seconds):8.1f} {memory:>15}"

    def summary(self) -> Line:
        """What the table says, for a file: each step's counts, seconds and memory, and what is not as it should be."""
        steps: dict[str, JsonValue] = {}
        for step in self.steps:
            found = [x for _, s in self.sources if (x := self.lines.get((s.name, step)))]
            seconds = [float(str(x["seconds"])) for x in found] or [0.0]
            shares = self._by_eager(found)
            steps[step] = {
                "tasks": len(self.sources),
                "done": len(found),
                "well": sum(map(_well, found)),
                "median_s": median(seconds),
                "worst_s": max(seconds),
                "total_s": sum(seconds),
                "median_memory_by_eager": median(shares) if shares else None,
                "most_memory_by_eager": max(shares, default=None),
                "wrong": [f"{x['task']}: {_why(x)}"[:200] for x in found if not _well(x)],
            }
        return {**self.provenance, "steps": steps}


def told(found: Evaluation) -> Line:
    """One verdict in figures."""
    line: Line = {"outcome": found.outcome, "right": is_right(found), "device_s": found.total_seconds}
    if (ratio := speedup_over_eager(found)) is not None:
        line |= {"speedup": ratio.median, "low": ratio.low, "high": ratio.high}
        timing = found.timing  # type: ignore[union-attr]
        blocks = next(arm.samples_us for arm in timing.arms if arm.name == "candidate")
        line |= {"verdict": timing.versus[0].verdict, "us": timing.latency_us, "blocks": len(blocks)}
    for name in ("evidence", "because", "reason", "log"):
        if text := getattr(found, name, ""):
            line[name] = str(text)[-600:]
    return line


def text_of(source: TaskSource) -> str:
    """The task's text, in short: a changed task is another one."""
    return identity("field", {"source": source.identity_fields()})


def _lines(file: Path) -> Iterator[Line]:
    """The lines of a file; one that was cut while it was written is none."""
    for text in file.read_text().splitlines() if file.exists() else ():
        with suppress(ValueError):
            yield json.loads(text)


def _well(line: Line) -> bool:
    if line["step"] == "admit":
        return bool(line["fit"])
    return bool(line["right"]) and (
        not str(line["step"]).startswith("copy") or line.get("verdict", "inconclusive") == "inconclusive"
    )


def _why(line: Line) -> str:
    return " ".join(
        str(line[name])
        for name in ("why", "outcome", "verdict", "speedup", "because", "evidence", "reason", "log")
        if name in line
    )


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="JSONL that is continued")
    parser.add_argument("--summary", default="", help="JSON with what the table says")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--size", default="full", choices=("full", "small"))
    parser.add_argument("--steps", default="admit,copy", help=f"of {', '.join(STEPS)}")
    parser.add_argument("--only", default="", help="tasks whose path contains this")
    may_be_in_parts(parser)
    parser.add_argument("--join", type=Path, nargs="+", default=[], help="files of parts; nothing is measured")
    parser.add_argument("--seconds", type=float, default=500.0)
    return parser.parse_args()


def main() -> int:
    """One pass, or several put together, and the table."""
    os.environ.setdefault("KERNELWRIGHT_OPEN_TASKS", "1")
    arguments = parsed()
    one = Pass(arguments)
    if arguments.join:
        one.join(arguments.join)
    else:
        asyncio.run(one.run())
    if arguments.summary:
        Path(arguments.summary).write_text(json.dumps(one.summary(), indent=1) + "\n")
    table, well = one.table()
    sys.stdout.write(table)
    return int(not well)


if __name__ == "__main__":
    sys.exit(main())
