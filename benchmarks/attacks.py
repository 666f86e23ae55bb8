"""How often cheats are refused and honest kernels measured: `python benchmarks/attacks.py --target cpu --out FILE.jsonl`.

On the CPU these are all kernels of `tests/cheats` (the outsider's, the insider's, their honest twins, the honest folder,
the odd ones), on a GPU those of `tests/gpu` (cheats, twins, honest kernels). Each is judged as in a search, `--times`
times; a cheat counts as refused too where it is measured and gains nothing over its twin. `--beside-busy` keeps another
process at work meanwhile. Every row is written at once, and the same command goes on where it was cut; `--seconds` are
those of one call. A summary lies beside the rows (`FILE.json`). Exit code 0: nothing is left, cheats were refused in every
judgement (beside a busy process in nine of ten) and honest kernels measured in all.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from honest import CHEATS as ON_CPU
from honest import honest
from provenance import provenance
from pydantic import JsonValue

from kernelwright.engine.summary import check_of
from kernelwright.engine.target import resolve_target
from kernelwright.errors import RefereeError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Task, TaskSource
from kernelwright.tasks.kernel_file import read_kernel
from kernelwright.tasks.kernelbench import read_kernelbench
from kernelwright.tasks.table import read_task

ON_GPU = ON_CPU.parent / "gpu"
POLICY = Policy(baselines=("eager",), final_baselines=(), run_limit_s=60)
NOISE = 1.25
"""Times its twin's upper bound that the lower bound of a cheat may be: they are timed in two contests."""
BUSY_SHARE = 0.9
"""Judgements of a cheat in which it must be refused beside a busy process."""
BUSY = {
    "cpu": "import torch\ntorch.set_num_threads(1)\nx = torch.randn(1 << 22)\nwhile True:\n    x = (x * 1.01).tanh_()",
    "cuda": "import torch\nx = torch.randn(4096, 4096, device='cuda')\nwhile True:\n    x = (x @ x).tanh_(); "
    "torch.cuda.synchronize()",
}
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
        self.target = resolve_target(arguments.target)
        every = list(on_gpu() if self.target.kind == "cuda" else on_cpu())
        self.twins = {one.name: one for one in every}
        self.chosen = [one for one in every if arguments.only in one.name]
        self.end = time.monotonic() + arguments.seconds
        lines = self.out.read_text().splitlines() if self.out.exists() else []
        self.rows: list[Row] = [row for row in map(_row, lines) if row]
        self.device: JsonValue = ""

    async def run(self) -> dict[str, JsonValue]:
        """Judge; what a measurement comes from."""
        referee = Referee(POLICY)
        try:
            where = provenance(await referee.environment(self.target))
            self.device = where["device"]
            for one in sorted(self.chosen, key=lambda kernel: kernel.task.name):
                while self.left(one) and time.monotonic() < self.end:
                    self._add(one, await self._judged(referee, one))
            return where
        finally:
            await referee.close()

    def left(self, one: Kernel) -> int:
        """Judgements that it still needs."""
        return max(0, self.times - len(self.of(one)))

    def of(self, one: Kernel) -> list[Row]:
        """Its rows, with or without a busy process beside it as this pass has."""
        return [row for row in self.rows if row["key"] == one.key and row["beside"] == self.beside]

    async def _judged(self, referee: Referee, one: Kernel) -> Row:
        begin = time.monotonic()
        try:
            task = await referee.admit(one.task, self.target)
            found = await self._evaluated(referee, task, one)
            row = await self._told(referee, task, one, found)
        except TaskError as error:
            row = {"outcome": "task refused", "why": str(error)[:500], "as_it_must": False}
        except RefereeError as error:
            row = {"outcome": "broken", "why": str(error)[:500], "as_it_must": False}
        return {**row, "seconds": round(time.monotonic() - begin, 2)}

    async def _evaluated(self, referee: Referee, task: Task, one: Kernel) -> Evaluation:
        referee.policy = POLICY.model_copy(update=dict(one.options))
        try:
            return await referee.evaluate(task, one.candidate, one.effort)
        finally:
            referee.policy = POLICY

    async def _told(self, referee: Referee, task: Task, one: Kernel, found: Evaluation) -> Row:
        """The outcome, and whether it is what it must be: of a cheat that is measured, its twin is asked as well."""
        environment = await referee.environment(self.target)
        mine = check_of(task, environment, one.candidate, found)
        row: Row = {"outcome": found.outcome, "why": mine.reason[:500]}
        if not one.cheat or not isinstance(found, Measured):
            return {**row, "as_it_must": isinstance(found, Measured) != one.cheat}
        twin = self.twins.get(one.twin)
        if twin is None:
            return {**row, "as_it_must": False}
        other = check_of(task, environment, twin.candidate, await self._evaluated(referee, task, twin))
        if mine.speedup_eager is None or other.speedup_eager is None:
            return {**row, "why": f"its twin is {other.outcome}: {other.reason[:300]}", "as_it_must": False}
        gain = mine.speedup_eager.low / other.speedup_eager.high
        return {**row, "gain": round(gain, 3), "as_it_must": gain <= NOISE}

    def _add(self, one: Kernel, row: Row) -> None:
        whole = {
            "kernel": one.name,
            "cheat": one.cheat,
            "beside": self.beside,
            "device": self.device,
            **row,
            "key": one.key,
        }
        self.rows.append(whole)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        with self.out.open("a") as lines:
            lines.write(json.dumps(whole) + "\n")
        sys.stderr.write(f"{one.name}: {row['outcome']}{'' if row['as_it_must'] else ' (!)'}, {row['seconds']} s\n")


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
    devices = Counter(str(row.get("device", "not kept")) for kernel in one.chosen for row in one.of(kernel))
    found: dict[str, JsonValue] = {"times": one.times, "beside_busy": one.beside, "devices": dict(devices)}
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


def main() -> int:
    """One pass, its summary, and a short table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--target", default="cpu")
    asked.add_argument("--out", required=True)
    asked.add_argument("--times", type=int, default=10)
    asked.add_argument("--only", default="", help="kernels whose names contain this")
    asked.add_argument("--beside-busy", action="store_true")
    asked.add_argument("--seconds", type=float, default=540.0)
    one = Pass(asked.parse_args())
    with _busy(one.target.kind, one.beside):
        told = asyncio.run(one.run())
    counts = summary(one)
    one.out.with_suffix(".json").write_text(json.dumps({**told, **counts, "rows": one.rows}, indent=1) + "\n")
    sys.stdout.write("\n".join(_table(one, counts)) + "\n")
    held = all(
        counts[f"{word}_that_hold"] == counts[word] and not counts[f"{word}_left"] for word in ("cheats", "honest")
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
