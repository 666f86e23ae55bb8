"""What the built-in author gains on the suite: `python benchmarks/author.py --target cuda --size large --out FILE`.

For each task the author's default schedule and the next best by its cost model are judged in a search's way, with eager and
`torch.compile` beside them; the best is measured anew, head to head. Goes on where it was cut: a row is written as soon as
it is known, and `--seconds` ends the pass before. `--only WORD` takes tasks with the word in their name, anew.
"""

import argparse
import asyncio
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from provenance import provenance
from pydantic import JsonValue
from suite import ROOT, Listed, listed

from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, ProposeError
from kernelwright.evaluate.referee import Referee
from kernelwright.propose.author.designs import DESIGNS, Design
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured, is_right
from kernelwright.records.measure import Ratio
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task

Row = dict[str, JsonValue]
Best = tuple[float, Candidate, Evaluation]
LANGUAGES = {"cpu": "cpp"}
"""What is written for a kind of device; Triton for any other."""
BASELINES = ("eager", "compile")


async def main(arguments: argparse.Namespace) -> None:
    """Judge what is not known yet, write after each task, and print a table."""
    target, out = resolve_target(arguments.target), Path(arguments.out)
    end = time.monotonic() + arguments.seconds
    referee = Referee(Policy(search_seconds=arguments.search_seconds, final_seconds=arguments.final_seconds))
    tasks = [task for task in tasks_of(arguments.folder) if arguments.only in task.name]
    try:
        head = {**provenance(await referee.environment(target)), "target": target.name, "size": arguments.size}
        rows = _known(out, head)
        for task in tasks:
            if time.monotonic() > end:
                break
            if task.name not in rows or arguments.only:
                rows[task.name] = await _row(referee, task, arguments, target)
                sys.stdout.write(_line(rows[task.name]))
                sys.stdout.flush()
            out.write_text(json.dumps({**head, "rows": list(rows.values())}, indent=1) + "\n")
    finally:
        await referee.close()
    sys.stdout.write(_table(list(rows.values()), len(tasks)))


def tasks_of(folder: str) -> list[Listed]:
    """The suite's own tasks and those of the field; or those of one folder."""
    paths = sorted((ROOT / "field").rglob("*.py"))
    field = [Listed(str(p.relative_to(ROOT).with_suffix("")), f"field {p.parent.name}", ()) for p in paths]
    return [task for task in (*listed(), *field) if task.name.startswith(folder)]


def _known(out: Path, head: Row) -> dict[str, Row]:
    """Rows of an earlier pass on the same device, at the same size, with the same versions."""
    document = json.loads(out.read_text()) if out.exists() else {"rows": []}
    same = all(document.get(name) == head[name] for name in ("device", "versions", "target", "size"))
    return {row["task"]: row for row in document["rows"]} if same else {}


async def _row(referee: Referee, listed_task: Listed, arguments: argparse.Namespace, target: Target) -> Row:
    start = time.monotonic()
    row: Row = {"task": listed_task.name, "family": listed_task.family, "outcome": "not written"}
    try:
        named = "full" if arguments.size == "large" and listed_task.name.startswith("field/") else arguments.size
        task = await referee.admit(listed_task.source(named), target)
        design = DESIGNS[LANGUAGES.get(target.kind, "triton")](task)
        row |= shape_of(design)
        row |= await _best(referee, task, design, arguments.tries)
    except ProposeError as error:
        row["why"] = str(error)
    except KernelwrightError as error:
        row |= {"outcome": "not judged", "why": str(error)}
    return {**row, "seconds": round(time.monotonic() - start, 1)}


def shape_of(design: Design) -> Row:
    """Which families made the kernels, and what PyTorch still does."""
    if design.program is None:
        return {"kernels": ["rows"], "kept": []}
    kernels: list[JsonValue] = [kernel.family for kernel in design.program.kernels]
    kept: list[JsonValue] = [step.node.op for step in design.program.kept]
    return {"kernels": kernels, "kept": kept}


async def _best(referee: Referee, task: Task, design: Design, tries: int) -> Row:
    """The best of several schedules, measured anew."""
    outcomes: list[JsonValue] = []
    best: Best | None = None
    for schedule in design.tries(tries):
        candidate = next(design.write(schedule).points())
        found = await referee.evaluate(task, candidate)
        low = _ratio(found, "eager").low if isinstance(found, Measured) else 0.0
        outcomes.append({"schedule": schedule.model_dump(), "outcome": found.outcome, "speedup_eager": round(low, 4)})
        if is_right(found) and (best is None or low > best[0]):
            best = (low, candidate, found)
        elif best is None and len(outcomes) == 1:
            outcomes[0] = {**outcomes[0], "why": found.model_dump_json()[:1500]}  # type: ignore[dict-item]
    if best is None:
        return {"outcome": "wrong", "tries": outcomes}
    final = await referee.evaluate(task, best[1], "final") if isinstance(best[2], Measured) else best[2]
    return {"outcome": final.outcome, **_told(final), "source": best[1].source, "tries": outcomes}


def _ratio(found: Measured, baseline: str) -> Ratio:
    versus = found.timing.against(baseline)  # type: ignore[arg-type]
    return versus.speedup if versus else Ratio(median=0.0, low=0.0, high=0.0, confidence=0.0)


def _told(found: Evaluation) -> Row:
    if not isinstance(found, Measured):
        return {}
    told: Row = {"latency_us": found.timing.latency_us, "missing": list(found.timing.missing)}
    for versus in found.timing.versus:
        r = versus.speedup
        told[versus.baseline] = [round(r.median, 4), round(r.low, 4), round(r.high, 4), versus.verdict]
    return told


def _line(row: Row) -> str:
    ratios = [f"{name} {row[name][0]}x" for name in BASELINES if isinstance(row.get(name), list)]  # type: ignore[index]
    return (
        f"{row['task']!s:36} {row['outcome']!s:12} {' '.join(ratios):36} {row.get('kernels', '')} {row['seconds']} s\n"
    )


def _table(rows: Sequence[Row], wanted: int) -> str:
    """Counts, and geometric means by family, over torch.compile and over the better of both."""
    right = [row for row in rows if row["outcome"] in ("measured", "verified")]
    lines = [f"{len(right)} right of {len(rows)} tried, {wanted} listed"]
    timed = [row for row in rows if all(isinstance(row.get(name), list) for name in BASELINES)]
    for family in sorted({str(row["family"]) for row in timed}):
        lines.append(_means(family, [row for row in timed if row["family"] == family]))
    if timed:
        lines.append(_means("all", timed))
    return "\n".join(lines) + "\n"


def _means(name: str, rows: Sequence[Row]) -> str:
    compiled = [float(row["compile"][0]) for row in rows]  # type: ignore[index, arg-type]
    better = [min(float(row[b][0]) for b in BASELINES) for row in rows]  # type: ignore[index, arg-type]
    faster = sum(min(float(row[b][1]) for b in BASELINES) > 1.0 for row in rows)  # type: ignore[index, arg-type]
    return (
        f"{name:16} {len(rows):3} timed, {_mean(compiled):5.2f}x torch.compile, {_mean(better):5.2f}x the better,"
        f" {faster} faster beyond noise, worst {min(better):.2f}x"
    )


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--size", default="large")
    parser.add_argument("--out", required=True)
    parser.add_argument("--folder", default="", help="a folder of tasks/; all of them without it")
    parser.add_argument("--only", default="")
    parser.add_argument("--tries", type=int, default=6)
    parser.add_argument("--search-seconds", type=float, default=1.0)
    parser.add_argument("--final-seconds", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=540.0)
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main(parsed()))
