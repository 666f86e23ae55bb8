"""What the referee gets through: `python benchmarks/mix.py OUT.json [COUNT] [SEED] [MOST_S]`.

A fixed mix of candidates (60 % right and timed, 15 % wrong, 10 % not building, 10 % crashing, 5 % hanging; Triton and
CUDA C++ half and half; 1 MB to 1 GB) is judged as a search judges, several in flight, no text twice. Tasks are admitted
and baselines compiled before the clock starts. Each candidate knows what must become of it: what it is misjudged as, and who
got no answer, is written down. Rows are written as they come; called again, it goes on where it was cut, after MOST_S
seconds for instance, and the rate is that over the wall time of all parts.
"""

import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from mixture.deal import SHARES, Dealt, deal, shared_out
from mixture.judge import Row, admitted, judged
from mixture.tasks import MIX
from provenance import provenance

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.evaluate.referee import Referee
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task

MOST_S = 420.0
"""After this, no further candidate is begun: call again to go on."""


class Ledger:
    """OUT.json: the rows of all parts, what they cost, and what follows from them."""

    def __init__(self, path: Path, count: int, seed: int) -> None:
        self._path, self.count = path, count
        self.document: dict[str, Any] = {"count": count, "seed": seed}
        self.parts: list[dict[str, Any]] = []
        self.rows: dict[int, Row] = {}
        if path.exists():
            known = json.loads(path.read_text())
            if (known["count"], known["seed"]) != (count, seed):
                raise SystemExit(f"{path} has the mix of another count or seed: name another file")
            self.parts, self.rows = known["parts"], {row["number"]: row for row in known["rows"]}

    def begin(self, origin: dict[str, Any], admission_s: float) -> None:
        """Another part begins."""
        self.document = {**origin, **self.document}
        self.parts.append({"admission_s": admission_s, "wall_s": 0.0, "judged": 0})

    def add(self, row: Row, wall_s: float) -> None:
        """A candidate of this part was judged."""
        self.rows[row["number"]] = {**row, "part": len(self.parts) - 1}
        self.parts[-1] |= {"wall_s": wall_s, "judged": self.parts[-1]["judged"] + 1}
        self.write()

    def write(self) -> None:
        """Write the file, all of it or nothing."""
        rows = [self.rows[number] for number in sorted(self.rows)]
        lines = ",\n  ".join(json.dumps(row) for row in rows)
        head = json.dumps({**self.document, "summary": self.summary(), "parts": self.parts}, indent=1)
        beside = self._path.with_suffix(".part")
        beside.write_text(f'{head.removesuffix("}").rstrip()},\n "rows": [\n  {lines}\n ]\n}}\n')
        beside.replace(self._path)

    def summary(self) -> dict[str, Any]:
        """Rate, losses, misjudgements, and what each kind costs."""
        rows = list(self.rows.values())
        wall_s = sum(part["wall_s"] for part in self.parts)
        kinds = sorted({str(row["kind"]) for row in rows})
        return {
            "judged": len(rows),
            "left": self.count - len(rows),
            "wall_s": wall_s,
            "per_minute": 60 * len(rows) / wall_s if wall_s else None,
            "per_minute_by_quarter": _quarters(rows, self.parts),
            "lost": [row["number"] for row in rows if "lost" in row],
            "misjudged": [row["number"] for row in rows if not row["as_expected"] and "lost" not in row],
            "tiers": dict(Counter(str(row["tier"]) for row in rows if "tier" in row)),
            "stages_s": _stages(rows),
            "kinds": {kind: _kind([row for row in rows if row["kind"] == kind]) for kind in kinds},
            "tasks": {task.name: _kind([row for row in rows if row["task"] == task.name]) for task in MIX},
        }


def _stages(rows: Sequence[Row]) -> dict[str, Any]:
    spent: Counter[str] = Counter()
    for row in rows:
        spent.update(row.get("stages_s", {}))
    return {stage: round(seconds, 3) for stage, seconds in spent.items()}


def _kind(rows: Sequence[Row]) -> dict[str, Any]:
    if not rows:
        return {"judged": 0}
    stages = {stage: round(s / len(rows), 4) for stage, s in _stages(rows).items()}
    outcomes = dict(Counter(str(row["outcome"]) for row in rows))
    mean_s = fmean(row["wall_s"] for row in rows)
    return {"judged": len(rows), "outcomes": outcomes, "mean_wall_s": round(mean_s, 4), "mean_stages_s": stages}


def _quarters(rows: Sequence[Row], parts: Sequence[dict[str, Any]]) -> list[float]:
    """The rate in each quarter of what was judged, one after another: it must hold, not only on the average."""
    before = [sum(p["wall_s"] for p in parts[:i]) for i in range(len(parts))]
    ends = sorted(before[row["part"]] + row["ended_s"] for row in rows)
    if len(ends) < 8:
        return []
    bounds = [round(len(ends) * i / 4) for i in range(5)]
    spans = [(b - a, ends[b - 1] - (ends[a - 1] if a else 0.0)) for a, b in itertools.pairwise(bounds)]
    return [round(60 * many / took, 1) for many, took in spans]


async def main(out: Path, count: int, seed: int, most_s: float) -> None:
    """Judge what OUT.json does not have yet."""
    dealt, ledger = deal(shared_out(count, SHARES), MIX, seed), Ledger(out, count, seed)
    left = [each for each in dealt if each.number not in ledger.rows]
    referee, target = Referee(Policy()), resolve_target("cuda")
    try:
        start = time.perf_counter()
        tasks = {task.name: await admitted(referee, task, target) for task in MIX}
        origin = provenance(await referee.environment())
        ledger.begin(origin, time.perf_counter() - start)
        await judge_all(referee, tasks, left, ledger, most_s)
    finally:
        await referee.close()
    summary = {k: v for k, v in ledger.summary().items() if k not in ("kinds", "tasks")}
    sys.stderr.write(json.dumps(summary, indent=1) + "\n")


async def judge_all(
    evaluator: Evaluator, tasks: dict[str, Task], left: Sequence[Dealt], ledger: Ledger, most_s: float
) -> None:
    """Judge and write down, a row at a time."""
    start = time.perf_counter()
    async for row in judged(evaluator, tasks, left, most_s):
        wall_s = time.perf_counter() - start
        ledger.add(row, wall_s)
        told = {k: row.get(k) for k in ("number", "kind", "style", "way", "task", "outcome", "wall_s", "stages_s")}
        rate = 60 * ledger.parts[-1]["judged"] / wall_s
        amiss = "" if row["as_expected"] else f" NOT AS EXPECTED {row.get('lost') or row.get('found')}"
        sys.stderr.write(f"{len(ledger.rows)}/{ledger.count} {rate:.1f}/min {json.dumps(told)}{amiss}\n")


if __name__ == "__main__":
    given = sys.argv[2:]
    asyncio.run(
        main(
            Path(sys.argv[1]),
            int(given[0]) if given else 500,
            int(given[1]) if len(given) > 1 else 1,
            float(given[2]) if len(given) > 2 else MOST_S,
        )
    )
