"""What each degree of freedom of the author's schedule is worth: `python benchmarks/options.py --target cpu --out FILE`.

For every example, from the schedule where the author starts, each dial alone is turned to each other value and judged.
Written down: the outcome, and how many times as fast as the start it is, both by their paired speedup over eager.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from campaign import Campaign, Row, command
from examples import EXAMPLES, sized

from kernelwright.propose.author.search.designs import DESIGNS
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, speedup_over_eager
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task
from kernelwright.tasks.table import read_task


async def measure(campaign: Campaign) -> None:
    """Judge every turn, and a task's start first."""
    async with campaign.referee(Policy(baselines=("eager",))) as (referee, target):
        for name in campaign.chosen(EXAMPLES):
            with tempfile.TemporaryDirectory() as folder:
                source = read_task(sized(Path("examples") / f"{name}.py", target.kind, Path(folder)))
            task = await referee.admit(source, target)
            for turn, candidate in campaign.left(moves(task), lambda move, name=name: (name, move[0])):
                found = await referee.evaluate(task, next(candidate.points()))
                start = campaign.by_key.get((name, "start"), {}).get("speedup_eager")
                campaign.put({"task": name, "move": turn, **_figures(found, start)})


def moves(task: Task) -> Iterator[tuple[str, Candidate]]:
    """The start, and every schedule that differs from it in one dial."""
    design = DESIGNS["cpp" if task.target.kind == "cpu" else "triton"](task)
    yield "start", design.write(design.default)
    for turn in design.space.moves(design.default):
        yield turn.name, design.write(design.space.turned(design.default, turn))


def _figures(found: Evaluation, start: float | None) -> Row:
    speedup = speedup_over_eager(found)
    if speedup is None:
        return {"outcome": found.outcome}
    start = start or speedup.median
    relative = {k: round(v / start, 4) for k, v in speedup.model_dump(exclude={"confidence"}).items()}
    return {"outcome": found.outcome, "speedup_eager": round(speedup.median, 4), "as_fast_as_start": relative}


def table(rows: list[Row]) -> str:
    """A line for each turn."""
    return "\n".join(f"{r['task']:24} {r['move']:32} {r['outcome']} {r.get('as_fast_as_start', '')}" for r in rows)


if __name__ == "__main__":
    campaign = Campaign(command(__doc__).parse_args(), key=("task", "move"), same=("target",))
    campaign.run(lambda: measure(campaign))
    campaign.show(table)
