"""How often an honest kernel is refused: `python benchmarks/honest.py --out FILE --times 5 --seconds 540`.

Every honest kernel of `tests/cheats` (twins, odd kernels, those beside the outsider's and insider's cheats) is verified
and not timed, each time on cases from seeds of its own. Verdicts are written down task by task, and the same command goes
on where the last one ended, until every kernel was judged `--times` times. Exit code 0: all were, and none was refused.
"""

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from provenance import provenance
from pydantic import JsonValue

from kernelwright.errors import TaskError
from kernelwright.evaluate.backends.cpu.backend import CpuBackend, host_of
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.pipeline.evaluate import evaluate_candidate
from kernelwright.evaluate.referee import Referee
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import Trial
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, TaskSource
from kernelwright.tasks.kernel_file import parse_text, read_kernel
from kernelwright.tasks.table import read_task

CHEATS = Path(__file__).parents[1] / "tests" / "cheats"
CPU = Target(kind="cpu", arch="native", present=True)
POLICY = Policy(baselines=("eager",), run_limit_s=60)
_ENTRY = re.compile(r'^extern "C" void (\w+)\(', re.MULTILINE)
_FLAGS = re.compile(r"^// flags: (.+)$", re.MULTILINE)
_TASK = re.compile(r"^// task: (.*)$", re.MULTILINE)
Row = dict[str, JsonValue]


class Honest(NamedTuple):
    """A task and its honest kernels, by name."""

    task: TaskSource
    kernels: dict[str, Candidate]


def honest() -> Iterator[Honest]:
    """All of them, task by task."""
    prelude = (CHEATS / "honest" / "prelude.h").read_text()
    for path in sorted((CHEATS / "honest").glob("*.cpp")):
        text = path.read_text()
        flags = _FLAGS.search(text)
        made = {
            f"{path.stem}/{entry}": Candidate(
                language="cpp", source=prelude + text, entry=entry, flags=tuple(flags[1].split()) if flags else ()
            )
            for entry in _ENTRY.findall(text)
        }
        yield Honest(read_task(path.with_suffix(".py")), made)
    for path in sorted(CHEATS.glob("*sider/*_honest.cpp")):
        task = _TASK.search(path.read_text())
        assert task is not None, path
        yield Honest(read_task(path.parent / task[1]), {f"{path.parent.name}/{path.stem}": read_kernel(path)})
    yield from _odd()


def _odd() -> Iterator[Honest]:
    sys.path.insert(0, str(CHEATS))
    from odd_kernels import ODD  # noqa: PLC0415 (the tests' own folder, which is no package)

    for name, one in ODD.items():
        source = TaskSource(name=name, format="kernelbench", source=one.task)
        yield Honest(source, {f"odd/{name}": parse_text(one.kernel, "cpu")})


class Pass:
    """Judges what is left, until the time is over."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.out, self.times, self.only = Path(arguments.out), int(arguments.times), str(arguments.only)
        self.end = time.monotonic() + arguments.seconds
        self.rows: list[Row] = json.loads(self.out.read_text())["rows"] if self.out.exists() else []

        self.told = provenance(asyncio.run(_environment()))

    def run(self, backend: CpuBackend) -> None:
        """Every task in turn, its kernels as often as they were not judged yet."""
        for one in honest():
            left = {n: k for n, k in one.kernels.items() if self.only in n and self._count(n) < self.times}
            if left and time.monotonic() < self.end:
                self._task(backend, one.task, left)
                self.write()

    def _task(self, backend: CpuBackend, task: TaskSource, left: dict[str, Candidate]) -> None:
        try:
            session = admit.open_session(backend, task, CPU, POLICY, lambda: False)
        except TaskError as error:
            self.rows += [{"kernel": name, "outcome": "task refused", "why": str(error)[:500]} for name in left]
            return
        try:
            while left and time.monotonic() < self.end:
                for name, kernel in left.items():
                    self.rows.append({"kernel": name, **_judged(backend, session, kernel)})
                left = {n: k for n, k in left.items() if self._count(n) < self.times}
                session.refresh()
        finally:
            session.close()

    def _count(self, name: str) -> int:
        return sum(row["kernel"] == name for row in self.rows)

    def write(self) -> None:
        """The whole file."""
        refused = [row for row in self.rows if row["outcome"] not in ("verified", "measured")]
        head = {"judgements": len(self.rows), "refused": len(refused), "kernels": len({r["kernel"] for r in self.rows})}
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(json.dumps({**self.told, **head, "rows": self.rows}, indent=1) + "\n")
        sys.stderr.write(f"{len(self.rows)} judgements, {len(refused)} refused\n")


def _judged(backend: CpuBackend, session: Session, kernel: Candidate) -> Row:
    begin = time.monotonic()
    found = evaluate_candidate(Trial(session.original.task, lambda: session, kernel, POLICY, "verify"), backend)
    row: Row = {"outcome": found.outcome, "seconds": round(time.monotonic() - begin, 2)}
    if not is_right(found):
        row |= {n: str(getattr(found, n))[:500] for n in ("because", "case", "evidence", "reason") if hasattr(found, n)}
    return row


async def _environment() -> Environment:
    referee = Referee(POLICY)
    try:
        return await referee.environment(CPU)
    finally:
        await referee.close()


def main() -> int:
    """One pass, and what was refused."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--out", required=True)
    asked.add_argument("--times", type=int, default=3)
    asked.add_argument("--only", default="", help="kernels whose names contain this")
    asked.add_argument("--seconds", type=float, default=540.0)
    one = Pass(asked.parse_args())
    with Warm(("kernelwright.evaluate.entrypoints.reference", "torch.export", "torch._dynamo")) as warm:
        one.run(CpuBackend(host_of(warm, 1)))
    refused = [row for row in one.rows if row["outcome"] not in ("verified", "measured")]
    for row in refused:
        sys.stdout.write(f"{row['kernel']}: {row}\n")
    names = [n for each in honest() for n in each.kernels if one.only in n]
    left = sum(max(0, one.times - one._count(n)) for n in names)
    sys.stdout.write(f"{len(one.rows)} judgements of {len(names)} kernels: {len(refused)} refused, {left} left\n")
    return int(bool(refused) or left > 0)


if __name__ == "__main__":
    sys.exit(main())
