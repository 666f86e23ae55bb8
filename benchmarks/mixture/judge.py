"""Judges what was dealt with several candidates in flight, and says of each what became of it.

A candidate without an answer in time is lost.
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from campaign import Row
from mixture.deal import Dealt, written
from mixture.tasks import Sized
from mixture.ways import WAYS

from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.evaluation import Evaluation, Incorrect, Measured
from kernelwright.records.task import Target, Task

IN_FLIGHT = 6
PATIENCE_S = 180.0
"""An answer that takes longer than this is no answer."""
WORDS = 600
"""Characters of a reason that are kept."""


async def judged(
    evaluator: Evaluator, tasks: Mapping[str, Task], dealt: Sequence[Dealt], over: Callable[[], bool] = lambda: False
) -> AsyncIterator[Row]:
    """A row for each candidate, in the order in which verdicts come; once the time is over no other is begun."""
    start, places = time.perf_counter(), asyncio.Semaphore(IN_FLIGHT)

    async def one(each: Dealt) -> Row | None:
        async with places:
            return None if over() else await _row(evaluator, tasks[each.task.name], each, start)

    # Tasks, not coroutines: those would be begun in any order, and the order is the seed's.
    for coming in asyncio.as_completed([asyncio.create_task(one(each)) for each in dealt]):
        row = await coming
        if row is not None:
            yield row


async def _row(evaluator: Evaluator, task: Task, each: Dealt, start: float) -> Row:
    row: Row = {
        "number": each.number, "kind": each.kind, "style": each.style, "way": each.way.name, "task": each.task.name,
    }  # fmt: skip
    begun = time.perf_counter()
    try:
        found = await asyncio.wait_for(evaluator.evaluate(task, each.candidate), PATIENCE_S)
    except (KernelwrightError, TimeoutError) as error:
        # Said of the referee, not of the candidate: nothing was found out.
        row |= {"outcome": None, "as_expected": False, "lost": f"{type(error).__name__}: {error}"[:WORDS]}
    else:
        row |= _told(each, found)
    ended = time.perf_counter()
    return row | {"wall_s": round(ended - begun, 4), "ended_s": ended - start}


def _told(each: Dealt, found: Evaluation) -> Row:
    row: Row = {"outcome": found.outcome, "as_expected": each.as_expected(found), "tier": found.tier}
    row["stages_s"] = {stage: round(seconds, 4) for stage, seconds in found.stage_seconds.items()}
    if isinstance(found, Incorrect):
        row |= {"because": found.because, "case": found.case}
    if isinstance(found, Measured):
        row["latency_us"] = found.timing.latency_us
        row["verdicts"] = {v.baseline: v.verdict for v in found.timing.versus}
        row["blocks"] = len(found.timing.arms[0].samples_us)
    if not row["as_expected"]:
        row |= {"expected": list(each.expected), "wanted_because": list(each.way.because)}
        row |= {"found": found.model_dump(mode="json"), "source": each.candidate.source}
    return row


async def admitted(evaluator: Evaluator, sized: Sized, target: Target) -> Task:
    """A task with everything known that is computed once: one right kernel of each style has been judged on it."""
    start = time.perf_counter()
    task = await evaluator.admit(sized.source(), target)
    known = time.perf_counter()
    outcomes = []
    for style in ("triton", "cuda"):
        name = f"{sized.family}_first_{random.getrandbits(32)}"
        candidate = written(style, WAYS["right"][style][0], sized, name, random.Random(0))
        outcomes.append((await evaluator.evaluate(task, candidate)).outcome)
    took = {"admitted_s": round(known - start, 2), "first_verdicts_s": round(time.perf_counter() - known, 2)}
    sys.stderr.write(json.dumps({"task": sized.name, **took, "outcomes": outcomes}) + "\n")
    return task
