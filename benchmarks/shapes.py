"""Tasks with many shapes (`tasks/shapes`): `python benchmarks/shapes.py --target cuda --out FILE`.

For each task the author's proposals are judged over all workloads as in a search, each with what the ones before it taught, so
that portfolios come of them; the best is the answer. It is then called at drawn sizes in this process, of every kind that the
referee knows, against fp64: what a module leaves to PyTorch there is counted. On a CPU axes are no longer than `ON_CPU` of the
file says. For a device that is not here (`--target sm_90`) there are no times. Printed: right of all, the weighted mean over
the better baseline, the worst, protected workloads that are slower, and the best portfolio over the best single kernel.
"""

import ast
import math
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign import Campaign, Row, command

from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.over_workloads import OverWorkloads, at_drawn
from kernelwright.propose.author.author import Author
from kernelwright.propose.author.search.learn import read_memo
from kernelwright.propose.proposer import Brief, RunFacts
from kernelwright.records.across import against, timed
from kernelwright.records.attempt import Attempt, Proposal, ProposalRequest
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, is_right, speedup_over_eager
from kernelwright.records.feedback import Feedback
from kernelwright.records.policy import Policy
from kernelwright.records.reasons import reason_of
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.tasks.drawn_sizes import drawn_points
from kernelwright.tasks.files import last_assigned
from kernelwright.tasks.kernelbench import read_kernelbench

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "unit" / "propose" / "author"))
TASKS = sorted((ROOT / "tasks" / "shapes").glob("*.py"))
TIMES = ("mean", "worst", "speedups", "protected_slower", "portfolio_over_single")
"""What is not kept of a machine that others use as well (`--untimed`)."""
MOST_ELEMENTS = {"cpu": 1 << 22, "cuda": 1 << 28}
"""Of an axis's product at a drawn size; in the interpreter far fewer."""
INTERPRETED_ELEMENTS = 1 << 12


@dataclass
class Judged:
    """One proposal, and what the referee found."""

    attempt: Attempt
    candidate: Candidate

    @property
    def evaluation(self) -> Evaluation:
        """What the referee found."""
        return self.attempt.evaluation

    @property
    def several(self) -> bool:
        """Whether it is a portfolio."""
        memo = read_memo(self.attempt.proposal.memo)
        return memo is not None and memo.portfolio is not None

    @property
    def mean(self) -> float:
        """The weighted mean over the better baseline; nothing of what was not timed."""
        return _mean(self.evaluation)


@dataclass
class Search:
    """The proposals for one task, one after another."""

    judge: OverWorkloads
    task: Task
    made: list[Judged] = field(default_factory=list)

    async def go_on(self) -> None:
        """Judge one more."""
        parents = self._parents()
        intent = "improve" if parents else "seed"
        request = ProposalRequest(number=len(self.made), intent=intent, parents=tuple(p.number for p in parents))
        told = tuple(_feedback(parent) for parent in parents)
        run = RunFacts(tried=frozenset(one.candidate.kernel_id for one in self.made))
        brief = Brief(self.task, request, parents, told, seed=len(self.made), run=run)
        proposal: Proposal = (await Author().propose(brief))[0]
        candidate = next(proposal.candidate.points())
        found = await self.judge.evaluate(self.task, candidate)
        proposal = proposal.model_copy(update={"candidate": candidate})
        attempt = Attempt.model_construct(
            number=request.number, proposal_request=request, proposal=proposal, evaluation=found
        )
        self.made.append(Judged(attempt, candidate))

    @property
    def best(self) -> Judged:
        """The answer: the fastest that is right; of none timed the first that is right."""
        return max(self.made, key=lambda one: (is_right(one.evaluation), one.mean, -one.attempt.number))

    def _parents(self) -> tuple[Attempt, ...]:
        if not self.made:
            return ()
        last, best = self.made[-1].attempt, self.best.attempt
        return (last,) if best is last else (last, best)


def _feedback(attempt: Attempt) -> Feedback:
    speedup = speedup_over_eager(attempt.evaluation)
    return Feedback(
        attempt=attempt.number, words="", works=is_right(attempt.evaluation),
        speedup_eager=speedup.median if speedup else None,
    )  # fmt: skip


def _against_better(found: Evaluation) -> list[tuple[float, bool, str, float]]:
    """Of each timed workload its weight, whether it is protected, its words and the speedup over the better baseline."""
    rows = getattr(found, "workloads", ())
    return [
        (row.point.weight, row.point.protected, row.point.words, min(v.speedup.median for v in one.timing.versus))
        for row, one in timed(rows)
        if one.timing.versus
    ]


def _mean(found: Evaluation) -> float:
    rows = _against_better(found)
    total = sum(weight for weight, _, _, _ in rows)
    return math.exp(sum(weight * math.log(speedup) for weight, _, _, speedup in rows) / total) if total else 0.0


def at_most(source: TaskSource, text: str, kind: str) -> TaskSource:
    """The task with workloads that a CPU can bear; elsewhere as it is."""
    listed = last_assigned(ast.parse(text), "ON_CPU")
    most: dict[str, int] = ast.literal_eval(listed) if listed is not None and kind == "cpu" else {}
    assert source.workloads is not None
    points = [
        point.model_copy(update={"axes": {n: min(size, most.get(n, size)) for n, size in point.axes.items()}})
        for point in source.workloads.points
    ]
    once = {tuple(point.axes.items()): point for point in reversed(points)}
    kept = tuple(point for point in points if once[tuple(point.axes.items())] is point)
    axes = tuple(
        a.model_copy(update={"high": min(a.high, 2 * most.get(a.name, a.high))}) for a in source.workloads.axes
    )
    return source.model_copy(update={"workloads": source.workloads.model_copy(update={"points": kept, "axes": axes})})


async def measure(campaign: Campaign) -> None:
    """Judge each task that is not known yet."""
    asked = campaign.asked
    policy = Policy(baselines=tuple(asked.baselines.split(",")), final_baselines=(), search_seconds=asked.timing)
    async with campaign.referee(policy, tries=asked.tries, drawn_each=asked.drawn) as (referee, target):
        files = campaign.chosen(TASKS, lambda file: file.stem)
        for file in campaign.left(files, lambda file: file.stem):
            judge = OverWorkloads(referee, policy, random.Random(0))
            row = await _row(campaign, judge, target, file)
            dropped = TIMES if asked.untimed else ()
            campaign.put({"task": file.stem, **{name: value for name, value in row.items() if name not in dropped}})


async def _row(campaign: Campaign, judge: OverWorkloads, target: Target, file: Path) -> Row:
    try:
        source = at_most(read_kernelbench(file), file.read_text(), target.kind)
        search = Search(judge, await judge.admit(source, target))
        for _ in range(campaign.asked.tries):
            if not search.made or not campaign.over():
                await search.go_on()
    except KernelwrightError as error:
        return {"right": False, "outcome": "not judged", "why": str(error)}
    best, told = search.best, figures(search)
    if is_right(best.evaluation):
        told |= at_drawn_sizes(search.task, best.candidate, campaign.asked.drawn, target)
    return told


def figures(search: Search) -> Row:
    """What the answer came to."""
    best = search.best
    found, rows = best.evaluation, _against_better(best.evaluation)
    singles = [one.mean for one in search.made if not one.several and one.mean]
    portfolios = [one.mean for one in search.made if one.several and one.mean]
    right = is_right(found)
    eager = against(getattr(found, "workloads", ()), "eager")
    slower = [row.point.words for row, v in eager if row.point.protected and v.verdict == "slower"]
    row: Row = {
        "outcome": found.outcome, "right": right, "workloads": len(search.task.parts), "judged": len(search.made),
        "kernels": best.candidate.source.count("def _run_of_") or 1 + best.candidate.source.count("#else"),
    }  # fmt: skip
    if not right:
        row["why"] = reason_of(found)[:400]
    if rows and right:
        row["mean"] = round(best.mean, 3)
        row["worst"] = round(min(speedup for _, _, _, speedup in rows), 3)
        row["speedups"] = {words: round(speedup, 3) for _, _, words, speedup in rows}
        row["protected_slower"] = slower
        row["portfolio_over_single"] = round(max(portfolios) / max(singles), 3) if portfolios and singles else None
    return row


def at_drawn_sizes(task: Task, candidate: Candidate, count: int, target: Target) -> Row:
    """How many of so many drawn sizes are right, and at how many a kernel answered."""
    interpreted = target.kind != "cpu" and not target.present
    most = INTERPRETED_ELEMENTS if interpreted else MOST_ELEMENTS[target.kind]
    assert task.source.workloads is not None
    points = drawn_points(task.source.workloads, 4 * count, random.Random(0))
    few = [p for p in points if math.prod(p.axes.values()) <= most][:count]
    found = [_tried(task, candidate, few, target.kind, interpreted)]
    right, by_kernel, wrong = found[0]
    return {"drawn": len(few), "drawn_right": right, "drawn_by_kernel": by_kernel, "drawn_wrong": wrong}


def _tried(
    task: Task, candidate: Candidate, points: Sequence[Any], kind: str, interpreted: bool
) -> tuple[int, int, list[str]]:
    import drawn_here  # noqa: PLC0415  it imports torch, and Triton, which must know of the interpreter first

    with tempfile.TemporaryDirectory() as folder:
        device = "cuda" if kind != "cpu" and not interpreted else "cpu"
        sources = [at_drawn(task.source, point) for point in points]
        told = drawn_here.tried(candidate, sources, device, Path(folder))
    right = sum(one.right for one in told)
    return right, sum(one.by_kernel for one in told), [one.words for one in told if not one.right]


def table(rows: list[Row]) -> str:
    """A line for each task, and what all come to."""
    lines = [
        f"{'task':18} {'right':5} {'drawn':>9} {'kernels':>7} {'mean':>6} {'worst':>6} {'portf.':>6} protected slower"
    ]
    for row in rows:
        drawn = f"{row['drawn_right']}/{row['drawn']}" if "drawn" in row else "-"
        slower = ", ".join(row.get("protected_slower", [])) or row.get("why", "")[:60]
        told = [f"{row[n]:.2f}" if row.get(n) else "-" for n in ("mean", "worst", "portfolio_over_single")]
        lines.append(
            f"{row['task']:18} {'yes' if row['right'] else 'no':5} {drawn:>9} {row.get('kernels', '-'):>7} "
            f"{told[0]:>6} {told[1]:>6} {told[2]:>6} {slower}"
        )
    return "\n".join([*lines, str(summary(rows))])


def summary(rows: list[Row]) -> Row:
    """What all rows come to."""
    means = [row["mean"] for row in rows if row.get("mean")]
    several = [row["portfolio_over_single"] for row in rows if row.get("portfolio_over_single")]

    def mean(found: list[float]) -> float | None:
        return round(math.exp(sum(map(math.log, found)) / len(found)), 3) if found else None

    return {
        "tasks": len(rows), "right": sum(row["right"] for row in rows),
        "drawn": sum(row.get("drawn", 0) for row in rows),
        "drawn_right": sum(row.get("drawn_right", 0) for row in rows),
        "drawn_by_kernel": sum(row.get("drawn_by_kernel", 0) for row in rows),
        "mean_over_better_baseline": mean(means), "timed": len(means),
        "worst": min((row["worst"] for row in rows if "worst" in row), default=None),
        "protected_slower": sum(len(row.get("protected_slower", [])) for row in rows),
        "portfolio_over_single": mean(several), "portfolios": len(several),
    }  # fmt: skip


def main() -> None:
    """Judge what is missing, and print the table."""
    parser = command(__doc__)
    parser.add_argument("--tries", type=int, default=6, help="proposals for each task")
    parser.add_argument("--drawn", type=int, default=40, help="sizes at which the answer is tried")
    parser.add_argument("--baselines", default="eager,compile")
    parser.add_argument("--timing", type=float, default=2.0, help="seconds of timing for one workload")
    parser.add_argument("--untimed", action="store_true", help="keep no times: others use this machine")
    asked = parser.parse_args()
    if asked.target.startswith("sm_"):
        os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported: drawn sizes are tried in the interpreter
    campaign = Campaign(asked, same=("target", "tries", "drawn_each"), summary=summary)
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


if __name__ == "__main__":
    main()
