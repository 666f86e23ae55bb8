"""Serial functions on a device, before the referee.

    python benchmarks/serial_on_device.py --target cuda --processes 12 --seconds 480 --out FILE

Every file of `tests/serial_functions` is ported by ReGraph's rewritings, without a model, and the port is judged; after all of
them, of the first spelling of each function that has a right port, whatever leads on from what is best so far, for `--rounds`
rounds. A row says whether the port is right and after how many seconds; another one, how many times as fast as the port the
best right step is. The summary counts files, functions that are right in every spelling, and takes the geometric mean over
the ports.
"""

import asyncio
import time
from collections import Counter
from math import exp, log
from pathlib import Path
from statistics import median

from campaign import Campaign, Row, command

from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.referee import Referee
from kernelwright.nests.rewritings import Rewritten, rewritten
from kernelwright.records.evaluation import Measured
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task
from kernelwright.tasks.kernel_file import parse_text
from kernelwright.tasks.table import read_task

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "serial_functions"
FIRST = "function-with-constants"
"""A step that only prepares a function for others."""
POLICY = Policy(baselines=("eager",), final_baselines=(), search_blocks=8, search_seconds=1.0, counters=False)
"""The fewest blocks whose range is an interval: on a GPU all files share one device's time."""
SHOWN = 160
"""Characters of a reason in the table."""


async def measure(campaign: Campaign) -> None:
    """Judge the ports one after the other, then what leads on from them."""
    files = campaign.chosen(sorted(f.name for f in FOLDER.iterdir() if f.suffix in (".c", ".cpp")))
    async with campaign.referee(POLICY) as (referee, target):
        for name, what in campaign.left([(name, "port") for name in files]):
            campaign.put(await _row(referee, target, name, what, campaign))
        further = [name for name in files if ".a." in name and campaign.by_key.get((name, "port"), {}).get("us")]
        for name, what in campaign.left([(name, "steps") for name in further]):
            campaign.put(await _row(referee, target, name, what, campaign))


async def _row(referee: Referee, target: Target, name: str, what: str, campaign: Campaign) -> Row:
    """What became of one file's port, or of the steps after it."""
    start = time.monotonic()
    try:
        task = await referee.admit(read_task(FOLDER / name), target)
        walk = Walk(referee, task, "cuda" if target.kind == "cuda" else "cpu")
        row = await (walk.port() if what == "port" else walk.steps(campaign.asked.rounds))
    except KernelwrightError as error:
        row = {"ends": f"{type(error).__name__}: {str(error)[:200]}"}
    return {"file": name, "what": what, **row, "seconds": round(time.monotonic() - start, 1)}


class Walk:
    """One function's kernels."""

    def __init__(self, referee: Referee, task: Task, kind: str) -> None:
        self.referee, self.task, self.kind = referee, task, kind

    def _from(self, code: str) -> list[Rewritten]:
        spec = self.task.source.spec
        assert spec is not None
        made = rewritten(self.task.source.serial, spec, self.kind, code or self.task.source.serial)
        return [one for one in made if one.technique != FIRST]

    async def port(self) -> Row:
        """The first kernel."""
        ports = self._from("")
        if not ports:
            return {"ends": "no way"}
        ends, us, why = await self._judged(ports[0].code)
        return {"ends": ends, "us": us, "why": why}

    async def steps(self, rounds: int) -> Row:
        """What leads on from the port, round by round from the best."""
        best = self._from("")[0].code
        _, port_us, _ = await self._judged(best)
        best_us, steps = port_us, dict[str, str | float]()
        for _ in range(rounds if port_us else 0):
            begun, further = best, self._from(best)
            for one, (ends, us, _) in zip(
                further, await asyncio.gather(*(self._judged(one.code) for one in further)), strict=True
            ):
                steps[f"{len(steps)} {one.technique}"] = us or ends
                if us and us < best_us:
                    best, best_us = one.code, us
            if best == begun:
                break
        gain = round(port_us / best_us, 3) if port_us else None
        return {"ends": "right" if port_us else "the port's time is lost", "steps": steps, "over_port": gain}

    async def _judged(self, code: str) -> tuple[str, float, str]:
        """How it ends, the microseconds of a right kernel or zero, and why it is refused."""
        candidate = parse_text(code, self.kind, "cuda" if self.kind == "cuda" else "cpp")
        found = await self.referee.evaluate(self.task, candidate)
        if isinstance(found, Measured):
            return "right", round(found.timing.latency_us, 2), ""
        return found.outcome, 0.0, str(getattr(found, "evidence", "") or getattr(found, "log", ""))[:400]


def summary(rows: list[Row]) -> Row:
    """What the rows come to."""
    ports = [row for row in rows if row["what"] == "port"]
    functions: dict[str, list[Row]] = {}
    for row in ports:
        functions.setdefault(row["file"].split(".")[0], []).append(row)
    right = [row for row in ports if row["ends"] == "right"]
    gains = [row["over_port"] for row in rows if row.get("over_port")]
    return {
        "files": len(ports), **Counter(row["ends"].partition(":")[0] for row in ports), "functions": len(functions),
        "right in every spelling": sum(all(r["ends"] == "right" for r in found) for found in functions.values()),
        "functions with steps": len(gains),
        "over the port": round(exp(sum(map(log, gains)) / len(gains)), 3) if gains else None,
        "median seconds to the first right kernel": median(r["seconds"] for r in right) if right else None,
    }  # fmt: skip


def table(rows: list[Row]) -> str:
    """A line for each port that is not right and each wrong step, and the summary."""
    lines = [
        f"{row['file']:24} {row['ends']} {' '.join(row.get('why', '').split())[:SHOWN]}"
        for row in rows
        if row["ends"] != "right"
    ]
    wrong = [
        f"{row['file']:24} {name}: {ends}"
        for row in rows
        for name, ends in row.get("steps", {}).items()
        if isinstance(ends, str)
    ]
    return "\n".join([*lines, *wrong, *(f"{name}: {value}" for name, value in summary(rows).items())])


def main() -> None:
    """Measure, and print the table."""
    parser = command(__doc__, "cuda")
    parser.add_argument("--rounds", type=int, default=2)
    campaign = Campaign(parser.parse_args(), key=("file", "what"), same=("target",), summary=summary)
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()
