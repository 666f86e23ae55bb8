"""What faults do to others: `python benchmarks/faults.py OUT.json [SEED]`.

160 candidates (right, wrong, not building) are judged alone; then the same 160 with 40 among them that crash, hang, exit,
take all memory, overflow their stack or write to their inputs, several in flight, in an order that the seed fixes. Each
of the 160 verdicts must be what it was: the outcome, the reason and the case of a wrong one, and the latency of a timed one
within the bound. Small tasks and a quick policy: it is the faults that are on trial, not the clock.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from mixture.deal import Dealt, deal
from mixture.judge import Row, admitted, judged
from mixture.tasks import SMALL
from mixture.ways import Kind
from provenance import provenance

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.evaluate.referee import Referee
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task

QUICK = Policy(search_blocks=4, baselines=("eager",))
OTHERS: dict[Kind, int] = {"right": 100, "wrong": 40, "unbuilt": 20}
FAULTS: dict[Kind, int] = {"poisonous": 40}
BOUND = 1.25
"""Most that two latencies of one kernel may differ by: four blocks of a few microseconds, in two processes."""


async def main(out: Path, seed: int) -> None:
    """Judge both times and compare."""
    others = deal(OTHERS, SMALL, seed)
    drill = [*others, *deal(FAULTS, SMALL, seed + 1)]
    random.Random(seed).shuffle(drill)
    referee, target = Referee(QUICK), resolve_target("cuda")
    try:
        start = time.perf_counter()
        tasks = {task.name: await admitted(referee, task, target) for task in SMALL}
        origin = provenance(await referee.environment())
        document = {**origin, "seed": seed, "bound": BOUND, "admission_s": time.perf_counter() - start}
        for name, dealt in (("alone", others), ("among_faults", drill)):
            document[name] = await _all(referee, tasks, dealt, name)
            out.write_text(_written(document))
    finally:
        await referee.close()
    document["summary"] = compared(document["alone"]["rows"], document["among_faults"]["rows"])
    out.write_text(_written(document))
    sys.stderr.write(json.dumps(document["summary"], indent=1) + "\n")


async def _all(evaluator: Evaluator, tasks: Mapping[str, Task], dealt: Sequence[Dealt], name: str) -> dict[str, Any]:
    """The rows, and how long they took together."""
    start, rows = time.perf_counter(), []
    async for row in judged(evaluator, tasks, dealt):
        rows.append(row)
        told = {k: row.get(k) for k in ("kind", "style", "way", "task", "outcome", "as_expected", "wall_s")}
        amiss = "" if row["as_expected"] else f" NOT AS EXPECTED {row.get('lost') or row.get('found')}"
        sys.stderr.write(f"{name} {len(rows)}/{len(dealt)} {json.dumps(told)}{amiss}\n")
    return {"wall_s": time.perf_counter() - start, "rows": sorted(rows, key=lambda row: (row["kind"], row["number"]))}


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


def _said(row: Row) -> dict[str, Any]:
    return {key: row.get(key) for key in ("outcome", "because", "case")}


def _written(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
