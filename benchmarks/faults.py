"""What faults do to others: `python benchmarks/faults.py --out FILE [--seed 1]`.

160 candidates (right, wrong, not building) are judged alone; then the same 160 with 40 among them that crash, hang, exit,
take all memory, overflow their stack or write to their inputs, several in flight, in an order that the seed fixes. Each
of the 160 verdicts must be what it was: the outcome, the reason and the case of a wrong one, and the latency of a timed one
within the bound. Small tasks and a quick policy: it is the faults that are on trial, not the clock.
"""

import random
from collections import Counter
from collections.abc import Sequence
from statistics import median

from campaign import Campaign, Row, command
from mixture.deal import deal
from mixture.judge import admitted, judged
from mixture.tasks import SMALL
from mixture.ways import Kind

from kernelwright.records.policy import Policy

QUICK = Policy(search_blocks=4, baselines=("eager",))
OTHERS: dict[Kind, int] = {"right": 100, "wrong": 40, "unbuilt": 20}
FAULTS: dict[Kind, int] = {"poisonous": 40}
BOUND = 1.25
"""Most that two latencies of one kernel may differ by: four blocks of a few microseconds, in two processes."""


async def measure(campaign: Campaign) -> None:
    """Judge both times: a time that was cut is begun anew."""
    seed = campaign.asked.seed
    others = deal(OTHERS, SMALL, seed)
    drill = [*others, *deal(FAULTS, SMALL, seed + 1)]
    random.Random(seed).shuffle(drill)
    async with campaign.referee(QUICK, seed=seed, bound=BOUND) as (referee, target):
        tasks = {task.name: await admitted(referee, task, target) for task in SMALL}
        for among, dealt in ((False, others), (True, drill)):
            if sum(row["among"] == among for row in campaign.rows) < len(dealt):
                async for row in judged(referee, tasks, dealt):
                    campaign.put({"among": among, **row})


def summary(rows: list[Row]) -> Row:
    """What the two times came to, side by side."""
    alone, among = ([row for row in rows if row["among"] == word] for word in (False, True))
    return {"summary": compared(alone, among)}


def compared(alone_rows: Sequence[Row], drill_rows: Sequence[Row]) -> Row:
    """What changed, what was not as it must be, and by how much latencies differ."""
    alone = {row["number"]: row for row in alone_rows}
    faults = [row for row in drill_rows if row["kind"] == "poisonous"]
    among = {row["number"]: row for row in drill_rows if row["kind"] != "poisonous"}
    pairs = {n: (row, among.get(n, {})) for n, row in alone.items()}
    timed = {
        n: b["latency_us"] / a["latency_us"] for n, (a, b) in pairs.items() if "latency_us" in a and "latency_us" in b
    }
    ratios = sorted(timed.values())
    return {
        "others": len(alone),
        "faults": len(faults),
        "changed": [
            {"number": n, "alone": _said(a), "among_faults": _said(b)}
            for n, (a, b) in pairs.items()
            if _said(a) != _said(b)
        ],
        "beyond_bound": [n for n, ratio in timed.items() if not 1 / BOUND <= ratio <= BOUND],
        "latency_ratios": {"count": len(ratios), "min": ratios[0], "median": median(ratios), "max": ratios[-1]}
        if ratios
        else {},
        "verdict_flips": [n for n in timed if alone[n]["verdicts"] != among[n]["verdicts"]],
        "lost": [[row["kind"], row["number"]] for row in (*alone_rows, *drill_rows) if "lost" in row],
        "alone_not_as_expected": [n for n, row in alone.items() if not row["as_expected"]],
        "faults_not_as_expected": [row["number"] for row in faults if not row["as_expected"]],
        "fault_outcomes": dict(Counter(f"{row['style']}, {row['way']}: {row['outcome']}" for row in faults)),
    }


def _said(row: Row) -> Row:
    return {key: row.get(key) for key in ("outcome", "because", "case")}


def main() -> None:
    """Both times, and what changed."""
    parser = command(__doc__, "cuda")
    parser.add_argument("--seed", type=int, default=1)
    campaign = Campaign(parser.parse_args(), ("among", "kind", "number"), same=("seed",), summary=summary)
    campaign.run(lambda: measure(campaign))
    campaign.show(lambda rows: "\n".join(f"{name}: {value}" for name, value in summary(rows)["summary"].items()))


if __name__ == "__main__":
    main()
