"""What a cluster of 100 or 1,000 GPUs would get through: `python benchmarks/farm.py --out FILE`.

Pool, queue and losses are those of `execution/ray.py`, the shares of several commands those of `execution/board.py`; Ray and
the workers are stood in for, and the clock jumps (`farming/`), so that an hour takes as long as its scheduling. What verdicts,
admissions and proposals take is drawn from what was recorded (`SOURCES`). What the process that asks spends on a verdict is
measured here (`farming/driver.py`), then simulated on one core.
"""

import asyncio
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaign import Campaign, Row, command
from farming.cluster import Recorded, Took
from farming.commands import Command, Crowd, crowded
from farming.driver import driver
from farming.scene import Case, simulated

RESULTS = Path(__file__).parent / "results"
SOURCES = {
    "verdicts": "mix-nvidia-h200.raw.jsonl.xz",
    "admissions": "suite-admission-nvidia-h200.json",
    "proposals": "author-plan.json",
}
"""Files of results by what is drawn from them."""
LOST_S = 3600.0
"""How long a node is there before it is lost: a hundredth of what one would hope."""


def recorded() -> Recorded:
    """Durations by their sources; a verdict loads, verifies and measures on its device."""
    with lzma.open(RESULTS / SOURCES["verdicts"], "rt") as lines:
        mix = [json.loads(line)["stages_s"] for line in lines]
    took = [Took(s.get("compile", 0.0), sum(s.values()) - s.get("compile", 0.0)) for s in mix]
    admissions = [row["seconds"] for row in json.loads((RESULTS / SOURCES["admissions"]).read_text())["rows"]]
    return Recorded(took, admissions, list(_seconds(json.loads((RESULTS / SOURCES["proposals"]).read_text()))))


def _seconds(of: Any) -> Iterator[float]:  # noqa: ANN401
    """Every `seconds` in a document."""
    if isinstance(of, dict) and "seconds" in of:
        yield of["seconds"]
    for each in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
        yield from _seconds(each)


def cases(costs: Row) -> list[Case]:
    """What is simulated; a single GPU is there to be compared with what was recorded."""
    cpu_s, disk_s = costs["all_ms"] / 1000, (costs["all_ms"] - costs["journal_ms"] + costs["journal_wall_ms"]) / 1000
    found = [Case("1 GPU, as it was recorded", 1, 9, 3600.0)]
    for gpus, seconds in ((100, 600.0), (1000, 40.0)):
        nodes = gpus / 8
        found += [
            Case(f"{gpus} GPUs, a search for each", gpus, gpus, seconds),
            Case(f"{gpus} GPUs, four searches for each", gpus, 4 * gpus, seconds),
            Case(f"{gpus} GPUs, one core asks", gpus, 4 * gpus, seconds, cpu_s),
            Case(f"{gpus} GPUs, one core asks and waits for its disk", gpus, 4 * gpus, seconds, disk_s),
            Case(f"{gpus} GPUs, nodes are lost", gpus, 4 * gpus, 3 * seconds, lose_every_s=LOST_S / nodes),
            Case(f"{gpus} GPUs, beside {100 * gpus} jobs at once", gpus, gpus // 5, 60.0, at_once=100 * gpus),
        ]
    return found


def crowds() -> list[Crowd]:
    """Several commands at once, without a board between them and with it."""
    two = (Command("anna", 1000, 100), Command("ben", 100, 20, 120.0))
    sizes = (2000, 1000, 500, 200, 100, 50, 20, 8, 4, 2)
    ten = tuple(Command(f"user{n}", jobs, max(1, jobs // 10), 20.0 * n) for n, jobs in enumerate(sizes))
    small = tuple(each._replace(jobs=min(each.jobs, 40), tasks=2) for each in ten)
    found = []
    for weights, how in ((None, ", before"), ("", "")):
        found += [
            Crowd(f"two commands on 100 GPUs{how}", 100, 1200.0, two, weights),
            Crowd(f"ten commands on 100 GPUs{how}", 100, 1200.0, ten, weights),
            Crowd(f"ten commands on 4 GPUs{how}", 4, 3900.0, small, weights),
            Crowd(f"two commands on 1 GPU{how}", 1, 3900.0, (small[0], small[-3]), weights),
        ]
    return [
        *found,
        Crowd(
            "two commands on 100 GPUs, ben weighs 3", 100, 1200.0, (two[0], Command("ben", 1000, 100, 120.0)), "ben=3"
        ),
    ]


async def measure(campaign: Campaign) -> None:
    """The driver, then the cases."""
    await campaign.begin_on_device(sources=SOURCES)
    for _ in campaign.left(["driver"]):
        campaign.put({"name": "driver", **await asyncio.to_thread(driver)})
    wanted, durations = cases(campaign.by_key["driver"]), recorded()
    for case in campaign.left(campaign.chosen(wanted, lambda case: case.name), lambda case: case.name):
        campaign.put(await asyncio.to_thread(simulated, case, durations))
    for crowd in campaign.left(campaign.chosen(crowds(), lambda crowd: crowd.name), lambda crowd: crowd.name):
        campaign.put(await asyncio.to_thread(crowded, crowd, durations))


def table(rows: list[Row]) -> str:
    """A line for each case, and for each command of several."""
    shown = ("verdicts_an_hour", "utilisation", "admitting", "nodes_lost", "scheduling_ms")
    lines = []
    for row in rows:
        lines.append(f"{row['name']:52}" + "".join(f"{row.get(name, ''):>12}" for name in shown))
        lines += [
            f"    {' '.join(f'{name} {value}' for name, value in each.items())}" for each in row.get("commands", ())
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    campaign = Campaign(command(__doc__).parse_args(), key=("name",))
    campaign.run(lambda: measure(campaign))
    campaign.show(table)
