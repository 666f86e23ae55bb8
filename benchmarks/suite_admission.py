"""Admits every task of the suite: `python benchmarks/suite_admission.py --target cuda --size large --out FILE`.

A task whose text has changed is examined again. Exit code 0: all of it is fit.
"""

import sys
import time

from campaign import Campaign, Row, command
from suite import Listed, listed

from kernelwright.errors import KernelwrightError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.admission import Fitness
from kernelwright.records.base import identity
from kernelwright.records.task import Target


async def measure(campaign: Campaign) -> None:
    """Examine what is not known yet; what the machine's trouble hid is asked for again."""
    size = campaign.asked.size
    async with campaign.referee(size=size) as (referee, target):
        for task in campaign.chosen(listed(campaign.asked.folder), lambda task: task.name):
            key = identity("suite", {"source": task.source(size).identity_fields(), "target": target.name})
            known = campaign.by_key.get(task.name, {})
            if known.get("key") == key and known["reason"] != "not_examined":
                continue
            if campaign.over():
                return
            campaign.put({"key": key, **await _row(referee, task, size, target)})


async def _row(referee: Referee, task: Listed, size: str, target: Target) -> Row:
    start = time.monotonic()
    row: Row = {"task": task.name, "size": size, "family": task.family, "fit": True, "reason": None}
    try:
        row |= _figures(await referee.examine(task.source(size), target))
    except TaskError as error:
        row |= {"fit": False, "reason": error.reason, "message": str(error)}
    except KernelwrightError as error:
        row |= {"fit": False, "reason": "not_examined", "message": str(error)}
    return {**row, "seconds": round(time.monotonic() - start, 2)}


def _figures(found: Fitness) -> Row:
    checks = {check.name: check.figure for check in found.checks}
    warned = [f"{c.name}: {c.figure}" for c in found.checks if c.status == "warned"]
    return {"reference": checks["reference"], "duration": checks["duration"], "warnings": warned}


def table(rows: list[Row]) -> str:
    """A line for each task, and the counts."""
    lines = []
    for row in rows:
        words = row["duration"] if row["fit"] else f"{row['reason']}: {row['message'].splitlines()[-1]}"
        notes = f"; {len(row['warnings'])} warned" if row.get("warnings") else ""
        fit = "fit" if row["fit"] else "NOT FIT"
        lines.append(f"{row['task']:32} {fit:8} {row['seconds']:>6} s  {words}{notes}"[:160])
    fits = sum(row["fit"] for row in rows)
    return "\n".join([*lines, f"{fits} fit of {len(rows)} examined, {len(listed())} listed"])


def main() -> int:
    """Examine, and print the table."""
    parser = command(__doc__, seconds=210.0)
    parser.add_argument("--size", default="small")
    parser.add_argument("--folder", default="", help="fsr or own; all of them without it")
    campaign = Campaign(parser.parse_args(), same=("target", "size"))
    campaign.run(lambda: measure(campaign))
    campaign.show(table)
    wanted = campaign.chosen(listed(campaign.asked.folder), lambda task: task.name)
    return int(not all(campaign.by_key.get(task.name, {}).get("fit") for task in wanted))


if __name__ == "__main__":
    sys.exit(main())
