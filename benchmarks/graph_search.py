"""Searches replayed over tables of judged states, so that a thousand of them take no device.

`python benchmarks/graph_search.py measured FILE.json [--second FILE.json] --out FILE.json` replays on what
`graph_trajectories.py judge` wrote; `python benchmarks/graph_search.py drawn --out FILE.json` on made-up effects
(`graph_tables.py`). Every variant below asks the table instead of the referee, at equal numbers of evaluations. Reported are
the share of the best speedup there is that a variant has found, and by what factor `mcgs` is ahead of another variant: the
geometric mean over tasks, with a bootstrap interval over tasks and seeds.

The second pass begins with the weights of a first one, on effects that the weights have not seen: those of other sizes,
of measured tables each way. It is asked how many evaluations it takes to the best that a search without weights finds there
with the whole budget.

Beside the JSON there is a page of the same name with the curves.
"""

import argparse
import json
import math
import platform
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

import pydantic
from graph_search_page import search_page
from graph_tables import Table, cubes, drawn, measured
from graph_trajectories import read_states
from provenance import commit_and_date
from pydantic import JsonValue

from kernelwright.feedback.describe import describe
from kernelwright.knowledge.graph.merge import SMALLEST_EFFECT
from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest, WorkedStep
from kernelwright.records.candidate import Candidate
from kernelwright.records.technique import START, Judged, apply_step, code_id
from kernelwright.reward.table import find_reward
from kernelwright.search.regraph import ReGraph, ReGraphConfig
from kernelwright.search.strategy import Limits
from kernelwright.store.files import write_whole
from kernelwright.testing.samples import sample_attempt
from kernelwright.version import __version__

BUDGETS = (4, 8, 16, 32, 64)
CONFIDENCE = 0.99
DRAWS = 2000


class Variant(NamedTuple):
    """A way of searching: options of the strategy, and what is taken from it."""

    options: Mapping[str, JsonValue]
    feedback: bool = True
    """Whether rewards are passed on; else every kernel is worth the same."""
    examples: bool = True
    """Whether a step's example is known before it is written: that it fits, and what it will make."""
    gains: bool = True
    """Whether an edge promises what it gained in other tasks."""
    chooses: Literal["", "chance", "table"] = ""
    """Of the navigator `llm`: a model that picks any step that it is offered, or one that knows the best of them."""


VARIANTS = {
    "mcgs": Variant({}),
    "random": Variant({"navigator": "random"}),
    "enumerate": Variant({"navigator": "enumerate"}),
    "llm, by chance": Variant({"navigator": "llm"}, chooses="chance"),
    "llm, all-knowing": Variant({"navigator": "llm"}, chooses="table"),
    "mcgs, rewards as they are": Variant({"scale": "raw"}),
    "mcgs without feedback": Variant({}, feedback=False),
    "mcgs without gains": Variant({}, gains=False),
    "mcgs without examples": Variant({"examples": False}, examples=False),
}
Curves = dict[str, dict[str, list[list[float]]]]
"""By task and variant, for each seed the best speedup after each evaluation."""


class Replay:
    """One search on a table."""

    def __init__(self, table: Table, variant: Variant, seed: int, weights: JsonValue = None) -> None:
        self.table, self.variant, self.curve = table, variant, list[float]()
        self._draw, self._attempts = random.Random(f"model {seed}"), list[Attempt]()
        changed = {} if variant.examples else {"writer": "model"}
        scope = table.scope.model_copy(update=changed if variant.gains else {**changed, "gains": {}})
        config = ReGraphConfig.model_validate({**variant.options, "seed": seed})
        self.strategy: ReGraph = config.make(Limits(proposals=max(BUDGETS), scope=scope))
        if weights is not None:
            self.strategy.restore(weights)

    def play(self, budget: int) -> "Replay":
        """Search until the budget or the graph is at its end."""
        while len(self.curve) < budget and (asked := self.strategy.ask(1)):
            made = self._attempt(asked[0])
            if made is not None:
                self._attempts.append(made)
                reward = find_reward("regraph")(made.evaluation, None, None) if self.variant.feedback else 0.0
                self.strategy.tell(made, describe(made, None, None, reward=reward))
            self.strategy.closed(asked[0])
            self.curve.append(self.strategy.best_speedup)
        return self

    def _attempt(self, asked: ProposalRequest) -> Attempt | None:
        parent = self._attempts[asked.parents[0]] if asked.parents else None
        source = parent.proposal.candidate.source if parent else self.table.scope.root
        made, technique = self._written(asked, source, parent.proposal.technique if parent else START)
        if made is None or code_id(made) not in self.table.verdicts:
            return None
        found, number = self.table.verdicts[code_id(made)], len(self._attempts)
        sample = sample_attempt(number, found.outcome, _speedup(found))
        candidate = Candidate(language=self.table.scope.language, source=made)
        proposal = Proposal(candidate=candidate, technique=technique)
        return Attempt(
            number=number, proposal_request=asked, proposal=proposal, evaluation=sample.evaluation, cost=Cost()
        )

    def _written(self, asked: ProposalRequest, source: str, last: str) -> tuple[str | None, str]:
        """What becomes of a step: the code, and the technique that was applied."""
        steps = asked.steps if self.variant.examples else self._tried(last, asked.hint)
        made = [(step, apply_step(step, source, self.table.scope.sizes)) for step in steps]
        if self.variant.chooses == "table":
            step, code = max(made, key=lambda one: self._worth(one[1]))
        elif self.variant.chooses == "chance":
            step, code = self._draw.choice(made)
        else:
            step, code = next((one for one in made if one[1] is not None), made[0])
        return code, step.technique

    def _worth(self, made: str | None) -> float:
        found = self.table.verdicts.get(code_id(made)) if made else None
        return _speedup(found) if found and found.right else 0.0

    def _tried(self, last: str, technique: str) -> tuple[WorkedStep, ...]:
        """What a writer without examples may do: the technique, if it can be applied to this code at all."""
        graph = self.table.scope.graph
        return tuple(
            WorkedStep(
                technique=technique, think="", language=e.language, before=graph.codes[e.before],
                after=graph.codes[e.after], sizes=e.sizes,
            )
            for e in graph.by_key[f"{last}>{technique}"].examples
        )  # fmt: skip


def _speedup(found: Judged) -> float:
    return found.speedup[0] if found.speedup else 1.0


# --- many of them -----------------------------------------------------------------------------------------------------


def curves_of(table: Table, seeds: int, budget: int) -> dict[str, list[list[float]]]:
    """Every variant's curves on one table."""
    return {
        name: [Replay(table, variant, seed).play(budget).curve for seed in range(seeds)]
        for name, variant in VARIANTS.items()
    }


def at(curve: Sequence[float], budget: int) -> float:
    """What a search had found after so many evaluations."""
    return curve[min(budget, len(curve)) - 1] if curve else 1.0


def until(curve: Sequence[float], wanted: float) -> int:
    """Evaluations until a search had found something as fast; one more than it made where it never did.

    What differs by less than the smallest effect is as fast.
    """
    return next((i for i, value in enumerate(curve, 1) if value >= wanted / SMALLEST_EFFECT), len(curve) + 1)


def ahead(curves: Curves, other: str, budget: int) -> dict[str, JsonValue]:
    """How many times as fast a kernel `mcgs` has found as another variant has."""

    def logs(task: str) -> list[float]:
        pairs = zip(curves[task]["mcgs"], curves[task][other], strict=True)
        return [math.log(at(ours, budget) / at(theirs, budget)) for ours, theirs in pairs]

    return interval({task: logs(task) for task in curves})


def interval(by_task: Mapping[str, Sequence[float]]) -> dict[str, JsonValue]:
    """The geometric mean of ratios whose logarithms are given, with a bootstrap interval over tasks and seeds."""
    draw, tasks, means = random.Random(0), sorted(by_task), []
    for _ in range(DRAWS):
        chosen = draw.choices(tasks, k=len(tasks))
        means.append(fmean(fmean(draw.choices(by_task[t], k=min(50, len(by_task[t])))) for t in chosen))
    means.sort()
    tail = int((1 - CONFIDENCE) / 2 * DRAWS)
    middle = fmean(fmean(values) for values in by_task.values())
    return {"ratio": math.exp(middle), "low": math.exp(means[tail]), "high": math.exp(means[-tail - 1])}


def second_pass(tables: tuple[Table, Table], seeds: int, budget: int) -> list[tuple[int, int, int]]:
    """For each seed, evaluations to a search's own best without weights, with a first pass's, and with them switched off."""
    seen, unseen = tables
    found = []
    for seed in range(seeds):
        weights = Replay(seen, VARIANTS["mcgs"], seed).play(budget).strategy.state()
        cold = Replay(unseen, VARIANTS["mcgs"], seed).play(budget).curve
        warm = Replay(unseen, VARIANTS["mcgs"], seed + seeds, weights).play(budget).curve
        other = Replay(unseen, Variant({"weights": False}), seed + seeds, weights).play(budget).curve
        found.append(tuple(until(curve, cold[-1]) for curve in (cold, warm, other)))
    return found


def _second(pairs: Sequence[tuple[Table, Table]], found: Iterable[list[tuple[int, int, int]]]) -> dict[str, JsonValue]:
    by_task = {f"{number} {seen.name}": rows for number, ((seen, _), rows) in enumerate(zip(pairs, found, strict=True))}
    shares = {task: [math.log(warm / cold) for cold, warm, _ in rows] for task, rows in by_task.items()}
    mean = {
        word: fmean(fmean(row[i] for row in rows) for rows in by_task.values())
        for i, word in enumerate(("cold", "with weights", "weights off"))
    }
    return {"evaluations": dict(mean), "with weights over cold": interval(shares)}


def report(
    first: Sequence[Table], pairs: Sequence[tuple[Table, Table]], seeds: int, budget: int
) -> dict[str, JsonValue]:
    """All figures of one set of tables; the second pass goes from the one of a pair to the other."""
    curves: Curves = {table.name: curves_of(table, seeds, budget) for table in first}
    passes = [second_pass(pair, seeds, budget) for pair in pairs]
    budgets = [b for b in BUDGETS if b <= budget]
    return {
        "seeds": seeds,
        "tables": {t.name: facts(t) for t in first},
        "curves": {name: [round(_share(first, curves, name, b), 4) for b in range(1, budget + 1)] for name in VARIANTS},
        "share of the best": {str(b): {name: _share(first, curves, name, b) for name in VARIANTS} for b in budgets},
        "mcgs over": {str(b): {n: ahead(curves, n, b) for n in VARIANTS if n != "mcgs"} for b in budgets},
        **({"second pass": _second(pairs, passes)} if pairs else {}),
    }


def facts(table: Table) -> dict[str, JsonValue]:
    """How many states there are, how many are right, and what the best gained over serial code and the first kernel."""
    right = [verdict for verdict in table.verdicts.values() if verdict.right]
    found: dict[str, JsonValue] = {"states": len(table.verdicts), "right": len(right), "best": table.best}
    naive = table.verdicts.get(table.naive)
    times = [verdict.latency_us for verdict in right if verdict.latency_us is not None]
    if naive is not None and naive.latency_us is not None:
        found["over naive"] = naive.latency_us / min(times)
    return found


def _share(tables: Sequence[Table], curves: Curves, variant: str, budget: int) -> float:
    return fmean(at(curve, budget) / table.best for table in tables for curve in curves[table.name][variant])


def _measured(given: argparse.Namespace) -> dict[str, JsonValue]:
    rows = read_states(given.states)
    first = list(measured(rows, given.workload))
    if not first:
        raise SystemExit(f"{given.states} has no task whose states were all judged")
    second = {table.name: table for table in measured(read_states(given.second), "small")} if given.second else {}
    pairs = [(table, second[table.name]) for table in first if table.name in second]
    pairs += [(small, large) for large, small in pairs]  # what was learned at either size is of use at the other
    return {"device": rows[0].device, **report(first, pairs, given.seeds, given.budget)}


def _drawn(given: argparse.Namespace) -> dict[str, JsonValue]:
    """Cubes of 256 states, or the graphs of the tasks, which a budget of 16 exhausts."""
    pairs = list(cubes(given.cubes, 8, given.first)) if given.cubes else list(drawn())
    found = report([pair[0] for pair in pairs], pairs, given.seeds, given.budget if given.cubes else 16)
    return {"device": "none: effects are made up", **found}


def main() -> None:
    """Replay, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind in ("measured", "drawn"):
        one = kinds.add_parser(kind)
        one.add_argument("--seeds", type=int, default=1000 if kind == "measured" else 40)
        one.add_argument("--budget", type=int, default=max(BUDGETS))
        one.add_argument("--out", type=Path, required=True)
    kinds.choices["measured"].add_argument("states", type=Path)
    kinds.choices["measured"].add_argument("--second", type=Path, help="states at the workload `small`")
    kinds.choices["measured"].add_argument("--workload", default="")
    kinds.choices["drawn"].add_argument("--cubes", type=int, default=30, help="0: the tasks' graphs")
    kinds.choices["drawn"].add_argument(
        "--first", type=int, default=0, help="number of the first cube: others, other effects"
    )
    given = parser.parse_args()
    versions = {"kernelwright": __version__, "python": platform.python_version(), "pydantic": pydantic.VERSION}
    found = {"versions": versions, **commit_and_date(), **(_measured if given.kind == "measured" else _drawn)(given)}
    write_whole(given.out, json.dumps(found, indent=1) + "\n")
    shown = {name: value for name, value in found.items() if name not in ("tables", "curves")}
    sys.stdout.write(json.dumps(shown, indent=1) + "\n")
    write_whole(given.out.with_suffix(".html"), search_page(found))


if __name__ == "__main__":
    main()
