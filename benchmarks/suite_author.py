"""What the built-in author masters of the suite: `python benchmarks/suite_author.py --target cpu --size small --out FILE`.

Its default kernel for each task is judged as in a search, against eager alone. With `--naive` it is the kernels under
`tasks/fsr/naive` that are judged.
"""

from pathlib import Path

from campaign import Campaign, Row, command
from figures import figures
from options import moves
from suite import ROOT, Listed, listed

from kernelwright.errors import KernelwrightError, ProposeError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.tasks.kernel_file import read_kernel

BUSY = ("latency_us", "eager")
"""What is not kept of a CPU that others use as well: whether a kernel is right is asked there, and times would say nothing."""


async def measure(campaign: Campaign) -> None:
    """Judge what is not known yet."""
    size, naive = campaign.asked.size, campaign.asked.naive
    async with campaign.referee(Policy(baselines=("eager",), search_seconds=2.0), size=size) as (referee, target):
        tasks = campaign.chosen(listed(campaign.asked.folder), lambda task: task.name)
        for task in campaign.left([t for t in tasks if not naive or _naive(t).exists()], lambda task: task.name):
            row = await _row(referee, task, target, campaign)
            drop = BUSY if target.kind == "cpu" else ()
            campaign.put({"task": task.name, **{name: value for name, value in row.items() if name not in drop}})


async def _row(referee: Referee, task: Listed, target: Target, campaign: Campaign) -> Row:
    try:
        admitted = await referee.admit(task.source(campaign.asked.size), target)
        candidate = read_kernel(_naive(task)) if campaign.asked.naive else next(moves(admitted))[1]
        return figures(await referee.evaluate(admitted, next(candidate.points())))
    except ProposeError as error:
        return {"right": False, "outcome": "not written", "why": str(error)}
    except KernelwrightError as error:
        return {"right": False, "outcome": "not judged", "why": str(error)}


def _naive(task: Listed) -> Path:
    folder, _, name = task.name.partition("/")
    return ROOT / folder / "naive" / f"{name}.cu"


def main() -> None:
    """Judge, and print the count."""
    parser = command(__doc__)
    parser.add_argument("--size", default="small")
    parser.add_argument("--folder", default="", help="fsr or own; all of them without it")
    parser.add_argument("--naive", action="store_true")
    campaign = Campaign(parser.parse_args(), same=("target", "size"), raw=("stages_s",))
    campaign.run(lambda: measure(campaign))
    campaign.show(
        lambda rows: f"{sum(row['right'] for row in rows)} right of {len(rows)} tried, {len(listed())} listed"
    )


if __name__ == "__main__":
    main()
