"""How often cheats are refused and honest kernels measured: `python benchmarks/attacks.py --target cpu --out FILE.jsonl`.

On the CPU these are all kernels of `tests/cheats` (the outsider's, the insider's, their honest twins, the honest folder,
the odd ones), on a GPU those of `tests/gpu` (cheats, twins, honest kernels). Each is judged as in a search, `--times`
times, in rounds: a pass that is cut has met all of them. A cheat counts as refused too where it is measured and gains nothing
over its twin. `--beside-busy` keeps another process at work meanwhile. Every row is written at once, and the same command goes
on where it was cut, on the same device; `--seconds` are those of one call. A summary lies beside the rows (`FILE.json`).
With several GPUs each takes a part of the tasks, with a file of its own (`CUDA_VISIBLE_DEVICES=1 … --part 2/2`), and
`--join PART…` puts them together, without a device. Exit code 0: nothing is left, cheats were refused in every judgement
(beside a busy process in nine of ten) and honest kernels measured in all.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from author_rows import HERE
from honest import CHEATS as ON_CPU
from honest import honest
from parts import may_be_in_parts, of_part
from provenance import provenance
from pydantic import JsonValue

from kernelwright.engine.summary import check_of
from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Task, TaskSource
from kernelwright.store.files import write_whole
from kernelwright.tasks.kernel_file import read_kernel
from kernelwright.tasks.kernelbench import read_kernelbench
from kernelwright.tasks.table import read_task

ON_GPU = ON_CPU.parent / "gpu"
POLICY = Policy(baselines=("eager",), final_baselines=(), run_limit_s=60)
BRIEF = {"search_seconds": 2.0, "final_seconds": 5.0, "final_blocks": 8}
"""On a GPU, whose time is scarce: what refuses a cheat is no matter of more blocks."""
CUT_S = 30.0
"""How much later than the time is over a judgement may end; one that does not is begun anew by the next call."""
MOST_BROKEN = 5
"""Judgements without a verdict in a row, after which the pass ends: the machine is at fault, not the kernels."""
NOISE = 1.25
"""Times its twin's upper bound that the lower bound of a cheat may be: they are timed in two contests."""
BUSY_SHARE = 0.9
"""Judgements of a cheat in which it must be refused beside a busy process."""
BUSY = {
    "cpu": "import torch\ntorch.set_num_threads(1)\nx = torch.randn(1 << 22)\nwhile True:\n    x = (x * 1.01).tanh_()",
    "cuda": "import torch\nx = torch.randn(4096, 4096, device='cuda')\nwhile True:\n    x = (x @ x).tanh_(); "
    "torch.cuda.synchronize()",
}
WHERE = ("device", "versions", "commit", "date")
"""What a summary says of its measurements' origin."""
Row = dict[str, JsonValue]


class Kernel(NamedTuple):
    """A kernel whose fate is known."""

    name: str
    task: TaskSource
    candidate: Candidate
    twin: str = ""
    """The honest kernel that a cheat must not beat; empty: it is honest, or has none."""
    cheat: bool = False
    effort: Effort = "search"
    options: tuple[tuple[str, object], ...] = ()

    @property
    def key(self) -> str:
        """A changed kernel is another one."""
        told = {"task": self.task.identity_fields(), "candidate": self.candidate.model_dump(mode="json")}
        return identity("attack", {"name": self.name, "effort": self.effort, **told})


def on_cpu() -> Iterator[Kernel]:
    """All of `tests/cheats` that are files."""
    for one in honest():
        yield from (Kernel(name, one.task, candidate) for name, candidate in one.kernels.items())
    for path in sorted(ON_CPU.glob("*sider/*.cpp")):
        told = dict(line[3:].split(": ", 1) for line in path.read_text().splitlines() if line.startswith("// task: "))
        twin = f"{path.parent.name}/{Path(told['task']).stem}_honest"
        if path.stem != twin.split("/")[1]:
            name = f"{path.parent.name}/{path.stem}"
            yield Kernel(name, read_task(path.parent / told["task"]), read_kernel(path), twin, cheat=True)


def on_gpu() -> Iterator[Kernel]:
    """All of `tests/gpu` that are text."""
    sys.path.insert(0, str(ON_GPU))
    import gpu_cheats  # noqa: PLC0415 (the tests' own folder, which is no package)
    import gpu_cheats_cuda  # noqa: PLC0415
    import gpu_cheats_python  # noqa: PLC0415
    import honest_kernels  # noqa: PLC0415

    tasks = {n: TaskSource(name=n, format="kernelbench", source=text) for n, text in gpu_cheats.TASKS.items()}
    for name, kernel in gpu_cheats.TWINS.items():
        yield Kernel(f"twin/{name}", tasks[kernel.task], kernel.candidate())
    for name, path in honest_kernels.KERNELS.items():
        yield Kernel(f"honest/{name}", read_kernelbench(path.parent / "task.py"), read_kernel(path))
    for kind, cheats in (("python", gpu_cheats_python.CHEATS), ("cuda", gpu_cheats_cuda.CHEATS)):
        for name, cheat in cheats.items():
            twin = f"twin/{cheat.twin}" if cheat.twin else ""
            options = tuple(sorted(cheat.options.items()))
            of = (tasks[cheat.kernel.task], cheat.kernel.candidate(), twin, True, cheat.effort, options)
            yield Kernel(f"{kind}/{name}", *of)


class Pass:
    """Judges what is left, a kernel after the other, until the time is over."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.out, self.times, self.beside = Path(arguments.out), int(arguments.times), bool(arguments.beside_busy)
        self.asked = str(arguments.target)
        self.kind = "cpu" if arguments.target == "cpu" else "cuda"
        every = list(on_cpu() if self.kind == "cpu" else on_gpu())
        self.twins = {one.name: one for one in every}
        chosen = [one for one in every if any(text in one.name for text in arguments.only.split(","))]
        self.chosen = with_its_task(chosen, arguments.part)
        self.end = time.monotonic() + arguments.seconds
        self.policy = POLICY.model_copy(update=BRIEF if self.kind == "cuda" else {})
        lines = self.out.read_text().splitlines() if self.out.exists() else []
        self.rows: list[Row] = [row for row in map(_row, lines) if row]
        self.where: dict[str, JsonValue] = {}
        """What the measurements come from; empty until the device was asked."""
        self._broken = 0
        """Judgements in a row that broke."""
        self._admitted: tuple[TaskSource, Task | TaskError] | None = None
        """The task of the last kernel."""

    def join(self, parts: Sequence[Path]) -> None:
        """Take the rows of several passes on one kind of device, and what the first one's measurements come from."""
        self.rows = [row for part in parts for line in part.read_text().splitlines() if (row := _row(line))]
        told = json.loads(parts[0].with_suffix(".json").read_text())
        self.where = {name: told[name] for name in WHERE}
        self.out.write_text("".join(json.dumps(row) + "\n" for row in self.rows))

    async def run(self) -> None:
        """Judge, round by round."""
        self.target, referee = resolve_target(self.asked), Referee(self.policy)
        try:
            self.where = provenance(await referee.environment(self.target))
            async with asyncio.timeout(max(0.0, self.end - time.monotonic()) + CUT_S):
                while (kernels := self.next_round()) and not self._over():
                    await self._judge(referee, kernels)
        except TimeoutError:
            sys.stderr.write("the time is over; the same command goes on\n")
        finally:
            await referee.close()

    def next_round(self) -> list[Kernel]:
        """The kernels that lack most judgements, those of one task together."""
        most = max(map(self.left, self.chosen), default=0)
        lacking = [kernel for kernel in self.chosen if self.left(kernel) == most > 0]
        return sorted(lacking, key=lambda kernel: (kernel.task.name, kernel.task.source))

    async def _judge(self, referee: Referee, kernels: Sequence[Kernel]) -> None:
        """Each once; a task is admitted anew in every round."""
        self._admitted = None
        for one in kernels:
            if self._over():
                return
            self._add(one, await self._judged(referee, one))

    def _over(self) -> bool:
        return time.monotonic() > self.end or self._broken >= MOST_BROKEN

    def left(self, one: Kernel) -> int:
        """Judgements that it still needs: a fault of the machine is none, unless it comes again and again."""
        rows = self.of(one)
        broken = sum(row["outcome"] == "broken" for row in rows)
        return max(0, self.times - len(rows) + (broken if broken < MOST_BROKEN else 0))

    def of(self, one: Kernel) -> list[Row]:
        """Its rows on this device, with or without a busy process beside it as this pass has."""
        mine = {"key": one.key, "beside": self.beside, "device": self.where.get("device")}
        return [row for row in self.rows if all(row.get(name) == value for name, value in mine.items())]

    async def _judged(self, referee: Referee, one: Kernel) -> Row:
        begin = time.monotonic()
        try:
            task = await self._task(referee, one.task)
            row = await self._told(referee, task, one, await self._evaluated(referee, task, one))
        except TaskError as error:
            row = {"outcome": "task refused", "why": _short(str(error)), "as_it_must": False}
        except KernelwrightError as error:
            row = {"outcome": "broken", "why": _short(str(error)), "as_it_must": False}
        return {**row, "seconds": round(time.monotonic() - begin, 2)}

    async def _task(self, referee: Referee, source: TaskSource) -> Task:
        """The task, admitted once for its kernels in a row.

        Raises:
            TaskError: it was refused.
        """
        if self._admitted is None or self._admitted[0] != source:
            try:
                self._admitted = (source, await referee.admit(source, self.target))
            except TaskError as error:
                self._admitted = (source, error)
        found = self._admitted[1]
        if isinstance(found, TaskError):
            raise found
        return found

    async def _evaluated(self, referee: Referee, task: Task, one: Kernel) -> Evaluation:
        referee.policy = self.policy.model_copy(update=dict(one.options))
        try:
            return await referee.evaluate(task, one.candidate, one.effort)
        finally:
            referee.policy = self.policy

    async def _told(self, referee: Referee, task: Task, one: Kernel, found: Evaluation) -> Row:
        """The outcome, and whether it is what it must be: of a cheat that is measured, its twin is asked as well."""
        environment = await referee.environment(self.target)
        mine = check_of(task, environment, one.candidate, found)
        row: Row = {"outcome": found.outcome, "why": _short(mine.reason)}
        if not one.cheat or not isinstance(found, Measured):
            return {**row, "as_it_must": isinstance(found, Measured) != one.cheat}
        twin = self.twins.get(one.twin)
        if twin is None:
            return {**row, "as_it_must": False}
        other = check_of(task, environment, twin.candidate, await self._evaluated(referee, task, twin))
        if mine.speedup_eager is None or other.speedup_eager is None:
            return {**row, "why": _short(f"its twin is {other.outcome}: {other.reason}"), "as_it_must": False}
        gain = mine.speedup_eager.low / other.speedup_eager.high
        return {**row, "gain": round(gain, 3), "as_it_must": gain <= NOISE}

    def _add(self, one: Kernel, row: Row) -> None:
        whole = {
            "kernel": one.name,
            "cheat": one.cheat,
            "beside": self.beside,
            "device": self.where["device"],
            **row,
            "key": one.key,
        }
        self.rows.append(whole)
        self._broken = self._broken + 1 if row["outcome"] == "broken" else 0
        self.out.parent.mkdir(parents=True, exist_ok=True)
        with self.out.open("a") as lines:
            lines.write(json.dumps(whole) + "\n")
        sys.stderr.write(f"{one.name}: {row['outcome']}{'' if row['as_it_must'] else ' (!)'}, {row['seconds']} s\n")


def with_its_task(kernels: Sequence[Kernel], part: str) -> list[Kernel]:
    """Those of a part, of which all kernels of a task are in one."""
    mine = set(of_part(list(dict.fromkeys(kernel.task.source for kernel in kernels)), part))
    return [kernel for kernel in kernels if kernel.task.source in mine]


def _short(text: str) -> str:
    return text.replace(HERE, "")[:500]


def _row(line: str) -> Row:
    """A line that was cut while it was written is none."""
    try:
        found: Row = json.loads(line)
    except ValueError:
        return {}
    return found


@contextmanager
def _busy(kind: str, wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    other = subprocess.Popen([sys.executable, "-c", BUSY[kind]])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def summary(one: Pass) -> dict[str, JsonValue]:
    """Counts over all kernels, and each that was not always what it must be."""
    found: dict[str, JsonValue] = {"times": one.times, "beside_busy": one.beside}
    for word, cheat in (("cheats", True), ("honest", False)):
        kernels = [kernel for kernel in one.chosen if kernel.cheat == cheat]
        rows = [row for kernel in kernels for row in one.of(kernel)]
        always = [kernel for kernel in kernels if _share(one, kernel) >= (BUSY_SHARE if cheat and one.beside else 1.0)]
        found |= {
            word: len(kernels),
            f"{word}_judgements": len(rows),
            f"{word}_as_they_must": sum(bool(row["as_it_must"]) for row in rows),
            f"{word}_that_hold": len(always),
            f"{word}_left": sum(map(one.left, kernels)),
        }
    return found


def _share(one: Pass, kernel: Kernel) -> float:
    rows = one.of(kernel)
    return sum(bool(row["as_it_must"]) for row in rows) / len(rows) if rows else 0.0


def _table(one: Pass, told: dict[str, JsonValue]) -> Iterator[str]:
    for kernel in one.chosen:
        if (share := _share(one, kernel)) < 1 and (rows := one.of(kernel)):
            ends = ", ".join(sorted({f"{row['outcome']} {row.get('gain', '')}".strip() for row in rows}))
            kind = "cheat" if kernel.cheat else "honest"
            yield f"{kernel.name:<40} {kind:<7} {share * len(rows):.0f} of {len(rows)}: {ends}"
    for word, end in (("cheats", "refused"), ("honest", "measured")):
        yield (
            f"{word}: {told[f'{word}_as_they_must']} of {told[f'{word}_judgements']} judgements {end}; "
            f"{told[f'{word}_that_hold']} of {told[word]} kernels hold, {told[f'{word}_left']} judgements left"
        )


def _summed(one: Pass) -> dict[str, JsonValue]:
    """The counts, which are written down where the device is known."""
    counts = summary(one)
    if one.where:
        text = json.dumps({**one.where, **counts, "rows": one.rows}, indent=1)
        write_whole(one.out.with_suffix(".json"), text + "\n")
    return counts


def main() -> int:
    """One pass, its summary, and a short table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--target", default="cpu")
    asked.add_argument("--out", required=True)
    asked.add_argument("--times", type=int, default=10)
    asked.add_argument("--only", default="", help="kernels whose names contain one of these texts: A,B")
    asked.add_argument("--beside-busy", action="store_true")
    asked.add_argument("--seconds", type=float, default=540.0)
    may_be_in_parts(asked)
    asked.add_argument("--join", type=Path, nargs="+", default=[], help="files of parts; nothing is measured")
    arguments = asked.parse_args()
    one = Pass(arguments)
    try:
        if arguments.join:
            one.join(arguments.join)
        else:
            with _busy(one.kind, one.beside):
                asyncio.run(one.run())
    finally:
        counts = _summed(one)
    sys.stdout.write("\n".join(_table(one, counts)) + "\n")
    held = all(
        counts[f"{word}_that_hold"] == counts[word] and not counts[f"{word}_left"] for word in ("cheats", "honest")
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
