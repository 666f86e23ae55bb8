"""The oracles of `tasks/gym`: `python benchmarks/gym.py --target sm_90 --out benchmarks/results/gym-sm_90.json`.

The referee judges each over its task's workloads, and at sizes that are drawn beside them. Where the device is not here, a
Gluon kernel is compiled and no more: the interpreter does not run it. No kernel is timed; `seconds` is the referee's.
"""

import ast
import random
import time
from pathlib import Path

from campaign import Campaign, Row, command

from kernelwright.bench.runner import oracle_of
from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.over_workloads import OverWorkloads
from kernelwright.records.evaluation import Evaluation, is_right
from kernelwright.records.policy import Policy
from kernelwright.records.reasons import reason_of
from kernelwright.records.task import Target, TaskSource
from kernelwright.tasks.files import last_assigned
from kernelwright.tasks.kernel_file import read_kernel
from kernelwright.tasks.kernelbench import read_kernelbench

TASKS = sorted((Path(__file__).parents[1] / "tasks" / "gym").glob("*.py"))


def part_of(file: Path) -> str:
    """Which part of the suite a task belongs to: `standard`, or what it says."""
    listed = last_assigned(ast.parse(file.read_text()), "PART")
    return "standard" if listed is None else str(ast.literal_eval(listed))


async def measure(campaign: Campaign) -> None:
    """Judge each oracle that is not known yet."""
    policy = Policy()
    async with campaign.referee(policy, drawn_each=campaign.asked.drawn) as (referee, target):
        for file in campaign.left(campaign.chosen(TASKS, lambda file: file.stem), lambda file: file.stem):
            judge = OverWorkloads(referee, policy, random.Random(0), campaign.asked.drawn)
            start = time.monotonic()
            row = await _row(judge, file, target, campaign.asked.smallest)
            told = {"task": file.stem, "part": part_of(file), **row, "seconds": round(time.monotonic() - start, 1)}
            campaign.put(told)


async def _row(judge: OverWorkloads, file: Path, target: Target, smallest: bool) -> Row:
    oracle = oracle_of(file, target)
    if oracle is None:
        return {"right": False, "outcome": "no oracle"}
    try:
        task = await judge.admit(the_last(read_kernelbench(file)) if smallest else read_kernelbench(file), target)
        found = await judge.evaluate(task, read_kernel(oracle), "verify")
    except KernelwrightError as error:
        return {"right": False, "outcome": "not judged", "why": str(error)[:400]}
    return {"oracle": oracle.name, "smallest": smallest, "workloads": len(task.parts), **_told(found)}


def the_last(source: TaskSource) -> TaskSource:
    """The task with its last workload alone, the small one that no block divides."""
    assert source.workloads is not None
    last = source.workloads.model_copy(update={"points": source.workloads.points[-1:]})
    return source.model_copy(update={"workloads": last})


def _told(found: Evaluation) -> Row:
    right = is_right(found)
    drawn = sum(row.drawn and not row.skipped for row in getattr(found, "workloads", ()))
    row: Row = {"right": right, "outcome": found.outcome, "drawn": drawn}
    return row if right else {**row, "why": reason_of(found)[-400:]}


def summary(rows: list[Row]) -> Row:
    """What all rows come to."""
    seconds = [row["seconds"] for row in rows]
    return {
        "tasks": len(rows), "right": sum(row["right"] for row in rows),
        "compiled": sum(row["outcome"] == "compiled" for row in rows),
        "seconds_each": round(sum(seconds) / len(seconds), 1) if seconds else None,
    }  # fmt: skip


def table(rows: list[Row]) -> str:
    """A line for each oracle, and what all come to."""
    lines = [
        f"{r['task']:28} {r['part']:9} {r['outcome']:10} {r['seconds']:6.1f} {r.get('why', '')[:80]}" for r in rows
    ]
    return "\n".join([*lines, str(summary(rows))])


def main() -> None:
    """Judge what is missing, and print the table."""
    parser = command(__doc__, target="sm_90")
    parser.add_argument("--drawn", type=int, default=0, help="sizes drawn for each task beside its workloads")
    parser.add_argument("--smallest", action="store_true", help="judge each on its last workload alone")
    campaign = Campaign(parser.parse_args(), same=("target", "drawn_each"), summary=summary)
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()
