"""Serial functions on a device, before the referee: `python benchmarks/serial_on_device.py --target cuda --out FILE`.

Every file of `tests/serial_functions` is ported by ReGraph's rewritings, without a model. The port is judged; then, of the
first spelling of each function, whatever leads on from what is best so far, for `--rounds` rounds. A row says whether the
port is right, after how many seconds, and how many times as fast as the port the best right step is. The summary counts files,
functions that are right in every spelling, and takes the geometric mean over the ports.
"""

import time
from math import exp, log
from pathlib import Path
from statistics import median

from campaign import Campaign, Row, command

from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.referee import Referee
from kernelwright.nests.rewritings import rewritten
from kernelwright.records.evaluation import Measured
from kernelwright.records.task import Task
from kernelwright.tasks.kernel_file import parse_text
from kernelwright.tasks.table import read_task

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "serial_functions"
FIRST = "function-with-constants"
"""A step that only prepares a function for others."""


async def measure(campaign: Campaign) -> None:
    """Judge one file after the other."""
    files = campaign.chosen(sorted(f.name for f in FOLDER.iterdir() if f.suffix in (".c", ".cpp")))
    async with campaign.referee() as (referee, target):
        kind = "cuda" if target.kind == "cuda" else "cpu"
        for name in campaign.left(files):
            start = time.monotonic()
            try:
                task = await referee.admit(read_task(FOLDER / name), target)
                rounds = campaign.asked.rounds if ".a." in name else 0
                row = await _walked(referee, task, kind, rounds, start)
            except KernelwrightError as error:
                row = {"port": f"{type(error).__name__}: {str(error)[:200]}"}
            campaign.put({"file": name, **row, "seconds": round(time.monotonic() - start, 1)})


async def _walked(referee: Referee, task: Task, kind: str, rounds: int, start: float) -> Row:
    """The port, and what leads on from it."""
    serial, spec = task.source.serial, task.source.spec
    assert spec is not None
    ports = [one for one in rewritten(serial, spec, kind, serial) if one.technique != FIRST]
    if not ports:
        return {"port": "no way"}
    outcome, port_us, why = await _judged(referee, task, kind, ports[0].code)
    row: Row = {"port": outcome, "why": why, "first_right_s": round(time.monotonic() - start, 1), "port_us": port_us}
    best, best_us, steps = ports[0].code, port_us, dict[str, str | float]()
    for _ in range(rounds if port_us else 0):
        begun = best
        for one in rewritten(serial, spec, kind, begun):
            said, us, _ = await _judged(referee, task, kind, one.code)
            steps[f"{len(steps)} {one.technique}"] = us or said
            if us and us < best_us:
                best, best_us = one.code, us
        if best == begun:
            break
    return {**row, "steps": steps, "over_port": round(port_us / best_us, 3) if port_us else None}


async def _judged(referee: Referee, task: Task, kind: str, code: str) -> tuple[str, float, str]:
    """The outcome, the microseconds of a right kernel or zero, and why it is refused."""
    language = "cuda" if kind == "cuda" else "cpp"
    found = await referee.evaluate(task, parse_text(code, kind, language))
    if isinstance(found, Measured):
        return "right", round(found.timing.latency_us, 2), ""
    return found.outcome, 0.0, str(getattr(found, "evidence", "") or getattr(found, "log", ""))[:200]


def summary(rows: list[Row]) -> Row:
    """What the rows come to."""
    functions: dict[str, list[Row]] = {}
    for row in rows:
        functions.setdefault(row["file"].split(".")[0], []).append(row)
    right = [row for row in rows if row["port"] == "right"]
    gains = [row["over_port"] for row in right if row.get("steps")]
    return {
        "files": len(rows), "right": len(right), "functions": len(functions),
        "right in every spelling": sum(all(r["port"] == "right" for r in found) for found in functions.values()),
        "over the port": round(exp(sum(map(log, gains)) / len(gains)), 3) if gains else None,
        "median seconds to the first right kernel": median(r["first_right_s"] for r in right) if right else None,
    }  # fmt: skip


def table(rows: list[Row]) -> str:
    """A line for each file that is not right, and the summary."""
    lines = [f"{row['file']:28} {row['port']} {row.get('why', '')}" for row in rows if row["port"] != "right"]
    return "\n".join([*lines, *(f"{name}: {value}" for name, value in summary(rows).items())])


def main() -> None:
    """Measure, and print the table."""
    parser = command(__doc__, "cuda")
    parser.add_argument("--rounds", type=int, default=2)
    campaign = Campaign(parser.parse_args(), key=("file",), same=("target",), summary=summary)
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()
