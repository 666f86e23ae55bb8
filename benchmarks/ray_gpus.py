"""What another GPU is worth through Ray: `python benchmarks/ray_gpus.py TARGET OUT.json [COUNT …]`, such as `cuda o.json 1 2`.

For each count, a Ray cluster with so many GPUs of this host judges the same mix of candidates: of every example, right
kernels of several schedules, one in five that does not build and one in five that ends its process. Written down, for
each count: candidates a minute with the workers warm (each has met every task), seconds until they were, and how often
each outcome was found; the outcomes of all counts must be the same. On target cpu the count is ignored: a node has one
worker.
"""

import asyncio
import itertools
import json
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import ray
from examples import EXAMPLES, sized
from options import moves
from provenance import provenance
from pydantic import JsonValue

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.execution.cluster import QUIET
from kernelwright.execution.executor import Place
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.tasks.table import read_task

EACH = int(os.environ.get("KERNELWRIGHT_CANDIDATES", "40"))
"""Candidates of each task."""
TASKS = EXAMPLES[: int(os.environ.get("KERNELWRIGHT_TASKS", "3"))]
POLICY = Policy(baselines=("eager",))
SPOILED = {
    "triton": {"unbuilt": "{source}\n)\n", "ending": "import os\n\nos._exit(3)\n{source}"},
    "cpp": {"unbuilt": "{source}\n)\n", "ending": "{source}\nstatic int ended = (__builtin_trap(), 0);\n"},
}
"""What is made of a source so that it does not build, or ends its process as soon as it is loaded."""


def main(target_name: str, out: Path, counts: Sequence[int]) -> None:
    """Measure each count and write all of them."""
    target = resolve_target(target_name)
    os.environ.update(QUIET)
    rows: list[JsonValue] = []
    first: list[str] = []
    for count in counts:
        ray.init(
            address="local",
            num_gpus=count if target.kind == "cuda" else 0,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        try:
            origin, row, outcomes = asyncio.run(_count(target, count))
        finally:
            ray.shutdown()
        rows.append({**row, "outcomes": dict(Counter(outcomes))})
        sys.stderr.write(f"{json.dumps(rows[-1])}\n")
        first = first or outcomes
        if outcomes != first:
            raise SystemExit(f"{count} workers found other outcomes than {counts[0]}")
        policy = POLICY.model_dump(mode="json", include={"baselines", "search_blocks"})
        document = {**origin, "target": target.name, "tasks": list(TASKS), "policy": policy, "rows": rows}
        out.write_text(json.dumps(document, indent=1) + "\n")


async def _count(target: Target, count: int) -> tuple[dict[str, JsonValue], dict[str, JsonValue], list[str]]:
    referee = Referee(POLICY, target, place=Place("ray"))
    try:
        start = time.perf_counter()
        tasks = [await referee.admit(source, target) for source in _sources(target)]
        environment = await referee.environment()
        mixed = [pair for task in tasks for pair in _mix(task)]
        # Enough at once that every worker meets every task.
        for task in tasks:
            candidate = next(_mix(task))[1]
            await asyncio.gather(*(referee.evaluate(task, candidate) for _ in range(4 * count)))
        warm = time.perf_counter()
        found = await asyncio.gather(*(referee.evaluate(task, candidate) for task, candidate in mixed))
        took = time.perf_counter() - warm
    finally:
        await referee.close()
    row: dict[str, JsonValue] = {"workers": count, "candidates": len(found), "warm_s": warm - start, "judging_s": took}
    return provenance(environment), {**row, "per_minute": 60 * len(found) / took}, [each.outcome for each in found]


def _sources(target: Target) -> list[TaskSource]:
    with tempfile.TemporaryDirectory() as folder:
        return [read_task(sized(Path("examples") / f"{name}.py", target.name, Path(folder))) for name in TASKS]


def _mix(task: Task) -> Iterator[tuple[Task, Candidate]]:
    """So many candidates of a task, no two alike."""
    right = itertools.cycle([next(candidate.points()) for _, candidate in moves(task)])
    for number, candidate in enumerate(itertools.islice(right, EACH)):
        sign = "#" if candidate.language == "triton" else "//"
        spoil = SPOILED[candidate.language][{3: "unbuilt", 4: "ending"}[number % 5]] if number % 5 > 2 else "{source}"
        source = f"{spoil.replace('{source}', candidate.source)}\n{sign} {number}\n"
        yield task, candidate.model_copy(update={"source": source})


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [int(n) for n in sys.argv[3:]] or [1, 2])
