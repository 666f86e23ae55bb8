"""Searches replayed over a table of judged states: `python benchmarks/graph_search.py FILE.jsonl --out FILE.json`.

FILE.jsonl is what `graph_trajectories.py judge` wrote. Every state of a task's reachable graph was judged once; a search
asks the table instead of the referee, so that a thousand of them take no device. Compared are Monte Carlo graph search, a
random walk and enumeration at equal numbers of evaluations, as the best speedup found over the best there is; between two
navigators the geometric mean over tasks, with a bootstrap interval over tasks and seeds. The second pass begins with the
weights of a first one: on the same table, or on another workload's (`--second FILE.jsonl`). The graph of a task has its own
steps alone; gains in it are not looked at, for they are what is searched for.
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from graph_trajectories import Family, Row, families
from pydantic import JsonValue

from kernelwright.engine.graph_build import family_of
from kernelwright.feedback.describe import describe
from kernelwright.knowledge.graph.merge import merged
from kernelwright.knowledge.graph.switched import trajectories
from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest
from kernelwright.records.candidate import Candidate
from kernelwright.records.rewrite import rewritten
from kernelwright.records.technique_graph import GraphScope, Judged, TechniqueGraph, code_id
from kernelwright.search.regraph import ReGraph, ReGraphConfig
from kernelwright.search.strategy import Limits
from kernelwright.store.files import open_lines, write_whole
from kernelwright.testing.samples import sample_attempt

NAVIGATORS = ("mcgs", "random", "enumerate")
BUDGETS = (4, 6, 8, 12, 16, 32, 64)
CONFIDENCE = 0.99
DRAWS = 2000


class Table(NamedTuple):
    """One task in one language, with a verdict for every state."""

    name: str
    scope: GraphScope
    verdicts: dict[str, Judged]

    @property
    def best(self) -> float:
        """The largest speedup that there is."""
        return max(v.speedup[0] for v in self.verdicts.values() if v.right and v.speedup is not None)


def tables(rows: Sequence[Row], workload: str = "") -> Iterator[Table]:
    """Every switched source whose states were all judged."""
    judged = {row.code: row.judged for row in rows}
    for family in families(workload=workload):
        codes = {code_id(family.source.code(state, family.task.sizes)) for state in family.source.states}
        if codes <= judged.keys() and any(judged[code].speedup for code in codes):
            yield _table(family, {code: judged[code] for code in codes}, rows[0].device)


def _table(family: Family, judged: dict[str, Judged], device: str) -> Table:
    graph, operations = TechniqueGraph(), family_of(family.task)
    known = {code: found.model_copy(update={"speedup": None, "device": ""}) for code, found in judged.items()}
    language = ""
    for way in trajectories(family.source, family.task.serial, operations, family.kind, family.task.sizes):
        graph, language = merged(graph, way, known), way.language
    scope = GraphScope(
        graph=graph, root=family.task.serial, kind=family.kind, language=language, family=operations, device=device,
        sizes=family.task.sizes,
    )  # fmt: skip
    return Table(family.file.name, scope, judged)


def searched(table: Table, navigator: str, seed: int, state: JsonValue = None) -> tuple[list[float], ReGraph]:
    """The best speedup after each evaluation, and the strategy as it ended."""
    budget = max(BUDGETS)
    strategy = ReGraphConfig.model_validate({"navigator": navigator, "seed": seed}).make(
        Limits(proposals=budget, scope=table.scope)
    )
    if state is not None:
        strategy.restore(state)
    attempts: list[Attempt] = []
    curve: list[float] = []
    while len(curve) < budget and (asked := strategy.ask(1)):
        made = _attempt(table, asked[0], attempts)
        if made is not None:
            attempts.append(made)
            reward = _reward(table.verdicts[code_id(made.proposal.candidate.source)])
            strategy.tell(made, describe(made, None, None, reward=reward))
        strategy.closed(asked[0])
        curve.append(strategy.best_speedup)
    return curve, strategy


def _attempt(table: Table, asked: ProposalRequest, attempts: Sequence[Attempt]) -> Attempt | None:
    source = attempts[asked.parents[0]].proposal.candidate.source if asked.parents else table.scope.root
    made = rewritten(asked.steps[0], source, table.scope.sizes)
    if made is None or code_id(made) not in table.verdicts:
        return None
    found = table.verdicts[code_id(made)]
    sample = sample_attempt(len(attempts), found.outcome, found.speedup[0] if found.speedup else 1.0)
    proposal = Proposal(candidate=Candidate(language=table.scope.language, source=made))
    return Attempt(
        number=len(attempts), proposal_request=asked, proposal=proposal, evaluation=sample.evaluation, cost=Cost()
    )


def _reward(found: Judged) -> float:
    if not found.right:
        return -1.0
    speedup = found.speedup[0] if found.speedup else 1.0
    return speedup if speedup >= 1.0 else speedup - 1.0


def at(curve: Sequence[float], budget: int) -> float:
    """What a search had found after so many evaluations."""
    return curve[min(budget, len(curve)) - 1] if curve else 1.0


Curves = dict[str, dict[str, list[list[float]]]]
"""By task and navigator, a curve for each seed."""


def compared(curves: Curves, other: str, budget: int) -> dict[str, float]:
    """How many times as fast a kernel `mcgs` has found as another navigator has: geometric mean with its interval."""
    draw, tasks = random.Random(0), sorted(curves)

    def ratio(task: str, seeds: Sequence[int]) -> float:
        ours, theirs = (fmean(math.log(at(curves[task][n][i], budget)) for i in seeds) for n in ("mcgs", other))
        return ours - theirs

    count = len(next(iter(curves.values()))["mcgs"])
    everyone = range(count)
    means = []
    cached = {task: [ratio(task, [i]) for i in everyone] for task in tasks}
    for _ in range(DRAWS):
        chosen = draw.choices(tasks, k=len(tasks))
        means.append(fmean(fmean(draw.choices(cached[task], k=min(count, 50))) for task in chosen))
    means.sort()
    tail = (1 - CONFIDENCE) / 2
    low, high = means[int(tail * DRAWS)], means[int((1 - tail) * DRAWS) - 1]
    middle = fmean(fmean(cached[task]) for task in tasks)
    return {"ratio": math.exp(middle), "low": math.exp(low), "high": math.exp(high)}


def until(curve: Sequence[float], wanted: float) -> int:
    """Evaluations until a search had found something as fast; one more than it made where it never did."""
    return next((i for i, value in enumerate(curve, 1) if value >= wanted * 0.999), len(curve) + 1)


def second_pass(first: Sequence[Table], second: Sequence[Table], seeds: int) -> list[dict[str, JsonValue]]:
    """Evaluations to the best of a pass without weights, and of one with a first pass's."""
    rows: list[dict[str, JsonValue]] = []
    by_name = {table.name: table for table in second}
    for table in (t for t in first if t.name in by_name):
        cold, warm = [], []
        target = by_name[table.name]
        for seed in range(seeds):
            learned = searched(table, "mcgs", seed)[1].state()
            cold.append(until(searched(target, "mcgs", seed + 10_000)[0], target.best))
            warm.append(until(searched(target, "mcgs", seed + 10_000, learned)[0], target.best))
        rows.append({"task": table.name, "without": fmean(cold), "with": fmean(warm)})
    return rows


def _share(tables: Sequence[Table], curves: Curves, navigator: str, budget: int) -> float:
    """Of the best speedup that there is, what a search has found: the mean over tasks and seeds."""
    return fmean(at(curve, budget) / table.best for table in tables for curve in curves[table.name][navigator])


def _read(file: Path) -> list[Row]:
    with open_lines(Row, file) as lines:
        return lines.read()


def main() -> int:
    """Replay, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("states", type=Path)
    parser.add_argument("--second", type=Path, help="states at the workload `small`")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workload", default="")
    given = parser.parse_args()
    rows = _read(given.states)
    first = list(tables(rows, given.workload))
    if not first:
        parser.error(f"{given.states} has no task whose states were all judged")
    curves: Curves = {
        t.name: {n: [searched(t, n, s)[0] for s in range(given.seeds)] for n in NAVIGATORS} for t in first
    }
    second = list(tables(_read(given.second), "small")) if given.second else first
    report: dict[str, JsonValue] = {
        "device": rows[0].device,
        "seeds": given.seeds,
        "tasks": {t.name: {"states": len(t.verdicts), "best": t.best} for t in first},
        "share": {str(b): {n: _share(first, curves, n, b) for n in NAVIGATORS} for b in BUDGETS},
        "mcgs": {str(b): {o: compared(curves, o, b) for o in NAVIGATORS[1:]} for b in BUDGETS},
        "second pass": second_pass(first, second, min(given.seeds, 100)),
    }  # fmt: skip
    write_whole(given.out, json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
