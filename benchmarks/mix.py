"""What the referee gets through: `python benchmarks/mix.py --out FILE [--count 500] [--seed 1] [--seconds 420]`.

A fixed mix of candidates (60 % right and timed, 15 % wrong, 10 % not building, 10 % crashing, 5 % hanging; Triton and
CUDA C++ half and half; 1 MB to 1 GB) is judged as a search judges, several in flight, no text twice. Tasks are admitted
and baselines compiled before the clock starts. Each candidate knows what must become of it: what it is misjudged as, and who
got no answer, is written down. The rate is that over the wall time of all calls.
"""

import itertools
import time
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from campaign import Campaign, Row, command
from mixture.deal import SHARES, Dealt, deal, shared_out
from mixture.judge import admitted, judged
from mixture.tasks import MIX

from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.task import Task


async def measure(campaign: Campaign) -> None:
    """Judge what the file does not have yet."""
    count, seed = campaign.asked.count, campaign.asked.seed
    async with campaign.referee(count=count, seed=seed) as (referee, target):
        tasks = {task.name: await admitted(referee, task, target) for task in MIX}
        await judge_all(campaign, referee, tasks, deal(shared_out(count, SHARES), MIX, seed))


async def judge_all(campaign: Campaign, evaluator: Evaluator, tasks: dict[str, Task], dealt: Sequence[Dealt]) -> None:
    """Judge and write down, a row at a time."""
    start, call = time.perf_counter(), max((row["call"] for row in campaign.rows), default=-1) + 1
    left = [each for each in dealt if each.number not in campaign.by_key]
    async for row in judged(evaluator, tasks, left, campaign.over):
        campaign.put({**row, "call": call, "call_s": time.perf_counter() - start})


def summary(rows: list[Row]) -> Row:
    """Rate, losses, misjudgements, and what each kind costs."""
    calls = _calls(rows)
    wall_s = sum(calls.values())
    return {
        "summary": {
            "judged": len(rows),
            "wall_s": wall_s,
            "per_minute": 60 * len(rows) / wall_s if wall_s else None,
            "per_minute_by_quarter": _quarters(rows, calls),
            "lost": sorted(row["number"] for row in rows if "lost" in row),
            "misjudged": sorted(row["number"] for row in rows if not row["as_expected"] and "lost" not in row),
            "tiers": dict(Counter(str(row["tier"]) for row in rows if "tier" in row)),
            "stages_s": _stages(rows),
            "kinds": {kind: _cost(rows, "kind", kind) for kind in sorted({str(row["kind"]) for row in rows})},
            "tasks": {task.name: _cost(rows, "task", task.name) for task in MIX},
        }
    }


def _calls(rows: Sequence[Row]) -> dict[int, float]:
    """Wall seconds of each call of the program."""
    found: dict[int, float] = {}
    for row in rows:
        found[row["call"]] = max(found.get(row["call"], 0.0), row["call_s"])
    return found


def _stages(rows: Sequence[Row]) -> Row:
    spent: Counter[str] = Counter()
    for row in rows:
        spent.update(row.get("stages_s", {}))
    return {stage: round(seconds, 3) for stage, seconds in spent.items()}


def _cost(rows: Sequence[Row], field: str, value: str) -> Row:
    of = [row for row in rows if row[field] == value]
    if not of:
        return {"judged": 0}
    stages = {stage: round(s / len(of), 4) for stage, s in _stages(of).items()}
    outcomes = dict(Counter(str(row["outcome"]) for row in of))
    mean_s = round(fmean(row["wall_s"] for row in of), 4)
    return {"judged": len(of), "outcomes": outcomes, "mean_wall_s": mean_s, "mean_stages_s": stages}


def _quarters(rows: Sequence[Row], calls: dict[int, float]) -> list[float]:
    """The rate in each quarter of what was judged, one after another: it must hold, not only on the average."""
    before = {call: sum(s for c, s in calls.items() if c < call) for call in calls}
    ends = sorted(before[row["call"]] + row["ended_s"] for row in rows)
    if len(ends) < 8:
        return []
    bounds = [round(len(ends) * i / 4) for i in range(5)]
    spans = [(b - a, ends[b - 1] - (ends[a - 1] if a else 0.0)) for a, b in itertools.pairwise(bounds)]
    return [round(60 * many / took, 1) for many, took in spans]


def table(rows: list[Row]) -> str:
    """The rate, and whose verdict was not as it must be."""
    found = summary(rows)["summary"]
    return "\n".join(f"{name}: {found[name]}" for name in ("judged", "wall_s", "per_minute", "lost", "misjudged"))


def main() -> None:
    """One call, and what all of them came to."""
    parser = command(__doc__, "cuda", seconds=420.0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    campaign = Campaign(parser.parse_args(), key=("number",), same=("count", "seed"), summary=summary)
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()
