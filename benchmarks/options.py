"""What each degree of freedom of the author's schedule is worth: `python benchmarks/options.py TARGET OUT.json`.

For every example, from the schedule where the author starts, each dial alone is turned to each other value and judged.
Written down: the outcome, and how many times as fast as the start it is, both by their paired speedup over eager.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from examples import EXAMPLES, sized
from provenance import provenance

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.propose.author.designs import DESIGNS
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured
from kernelwright.records.measure import Ratio
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task
from kernelwright.tasks.table import read_task


async def main(target_name: str, out: Path) -> None:
    """Judge every turn, print and write the table."""
    referee, target = Referee(Policy(baselines=("eager",))), resolve_target(target_name)
    rows: list[dict[str, object]] = []
    origin = {}
    try:
        for name in EXAMPLES:
            with tempfile.TemporaryDirectory() as folder:
                source = read_task(sized(Path("examples") / f"{name}.py", target_name, Path(folder)))
            task = await referee.admit(source, target)
            origin = origin or provenance(await referee.environment())
            started: Ratio | None = None
            for turn, candidate in moves(task):
                found = await referee.evaluate(task, next(candidate.points()))
                started = started or _speedup(found)
                rows.append(_row(name, turn, found, started))
                sys.stderr.write(json.dumps(rows[-1]) + "\n")
                out.write_text(json.dumps({**origin, "target": target_name, "rows": rows}, indent=1) + "\n")
    finally:
        await referee.close()


def moves(task: Task) -> Iterator[tuple[str, Candidate]]:
    """The start, and every schedule that differs from it in one dial."""
    design = DESIGNS["cpp" if task.target.kind == "cpu" else "triton"](task)
    yield "start", design.write(design.default)
    for turn in design.space.moves(design.default):
        yield turn.name, design.write(design.space.turned(design.default, turn))


def _row(name: str, turn: str, found: Evaluation, started: Ratio | None) -> dict[str, object]:
    row: dict[str, object] = {"task": name, "move": turn, "outcome": found.outcome}
    speedup = _speedup(found)
    if speedup is None or started is None:
        return row
    relative = {k: round(v / started.median, 4) for k, v in speedup.model_dump(exclude={"confidence"}).items()}
    return {**row, "speedup_eager": round(speedup.median, 4), "as_fast_as_start": relative}


def _speedup(found: Evaluation) -> Ratio | None:
    versus = found.timing.against("eager") if isinstance(found, Measured) else None
    return versus.speedup if versus else None


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
