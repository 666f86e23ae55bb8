"""What the process that asks spends on one verdict: measured here, with the records, the journal and Ray as they are."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from scale import SOURCE

from kernelwright.evaluate.jobs import Answered, Evaluate, Request, read_answer
from kernelwright.execution.executor import Work
from kernelwright.execution.ray import RayExecutor
from kernelwright.records.attempt import Attempt
from kernelwright.records.policy import Policy
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_attempt, sample_card

ECHO = Path(__file__).parents[2] / "tests" / "unit" / "execution" / "fake_worker.py"
COUNT = 300
"""Verdicts that are averaged."""


def driver() -> dict[str, Any]:
    """Milliseconds of this process's processors for a verdict, by what it does, and the wall's for the disk."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(RunStore.create(Path(folder) / "run", sample_card())) as store,
    ):
        task, begun = store.card.task, time.perf_counter()
        attempts = [_attempt(number) for number in range(COUNT)]
        journal = _ms(lambda: [_journal(store, attempt) for attempt in attempts])
        wall_ms = 1000 * (time.perf_counter() - begun) / COUNT
    jobs = [Evaluate(task=task.id, candidate=each.proposal.candidate, effort="search") for each in attempts]
    answers = [Answered(result=each.evaluation).model_dump_json().encode() for each in attempts]
    costs = {
        "hash_ms": _ms(lambda: [_attempt(n).proposal.candidate.id for n in range(COUNT)]),
        "ask_ms": _ms(lambda: [Request(job=job, policy=Policy()).model_dump_json().encode() for job in jobs]),
        "read_ms": _ms(lambda: [read_answer(a, j) for a, j in zip(answers, jobs, strict=True)]),
        "journal_ms": journal,
        "ray_ms": asyncio.run(_through_ray()),
    }
    return {**costs, "all_ms": round(sum(costs.values()), 3), "journal_wall_ms": round(wall_ms, 3)}


def _attempt(number: int) -> Attempt:
    found = sample_attempt(number)
    candidate = found.proposal.candidate.model_copy(update={"source": f"// {number}\n{SOURCE}"})
    return found.model_copy(update={"proposal": found.proposal.model_copy(update={"candidate": candidate})})


def _journal(store: RunStore, attempt: Attempt) -> None:
    store.ask(attempt.proposal_request)
    store.propose(attempt.number, [attempt.proposal])
    store.evaluate(attempt.proposal.candidate.id, attempt.evaluation)
    store.append(attempt)
    store.tell(attempt.number, 1.0)


async def _through_ray() -> float:
    """Of this process alone, whatever Ray's own processes take: jobs that are answered at once."""
    executor = RayExecutor(Work([str(ECHO)], greeting=b"echo hello"))
    try:
        await asyncio.gather(*(executor.submit(b"echo warm") for _ in range(8)))
        begun = time.process_time()
        await asyncio.gather(*(executor.submit(b"echo " + SOURCE.encode()) for _ in range(COUNT)))
        return round(1000 * (time.process_time() - begun) / COUNT, 3)
    finally:
        await executor.close()


def _ms(call: Callable[[], object]) -> float:
    begun = time.process_time()
    call()
    return round(1000 * (time.process_time() - begun) / COUNT, 3)
