"""Real candidates on a real Ray cluster of two nodes, while a worker, an actor and a node are killed.

Each candidate is judged once as far as its judge can tell, and as it would be on one machine: what crashes is crashed. With
jobs that cost nothing, the same kills are in every run (test_ray_cluster).
"""

import asyncio
import os
import signal
from collections import Counter

import pytest
from ray_cluster import gone, workers
from relu_task import RELU

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.execution import ray as pool
from kernelwright.execution.executor import Place
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.tasks.table import read_task

KERNEL = 'extern "C" void relu(const float* x, float* y) { for (int i = 0; i < 2048; i++) %s; }\n'
BODIES = {
    "measured": "y[i] = x[i] > 0 ? x[i] : 0",
    "incorrect": "y[i] = x[i]",
    "crashed": "y[i] = *(volatile float*)8",
    "build_failed": "y[i] = nothing",
}
POLICY = Policy(baselines=("eager",), search_blocks=8, seeds=2, disabled=("outside_clock",))
"""Two nodes share this machine's processors, so that no two clocks need agree here."""
WORKER = "kernelwright.evaluate.worker"


def candidates(count):
    """So many candidates with the outcomes that they have coming, no two alike."""
    outcomes = [list(BODIES)[n % len(BODIES)] for n in range(count)]
    return [
        (outcome, Candidate(language="cpp", source=f"// {n}\n" + KERNEL % BODIES[outcome], entry="relu"))
        for n, outcome in enumerate(outcomes)
    ]


def parent(pid):
    with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123  a file of the kernel's
        return int(stat.read().rpartition(")")[2].split()[1])


@pytest.mark.matrix
def test_every_candidate_is_judged_whatever_is_killed_meanwhile(nodes, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "SURVEY_S", 0.3)
    (tmp_path / "relu.py").write_text(RELU)
    answered, seen = [], set()

    async def judge(referee, task, number, expected, candidate):
        found = await referee.evaluate(task, candidate)
        answered.append(number)
        return expected, found

    async def reached(count):
        while len(answered) < count:
            await asyncio.sleep(0.02)
        seen.update(workers(WORKER))

    async def scene(referee):
        task = await referee.admit(read_task(tmp_path / "relu.py"), resolve_target("cpu"))
        crashing = candidates(3)[2][1]
        before = workers(WORKER)
        crashes = await asyncio.gather(*(referee.evaluate(task, crashing) for _ in range(3)))
        assert [found.outcome for found in crashes] == ["crashed"] * 3
        assert workers(WORKER) == before, "a candidate's crash ends no worker and is not tried again elsewhere"
        jobs = [asyncio.create_task(judge(referee, task, n, *each)) for n, each in enumerate(candidates(32))]
        await reached(4)
        os.kill(workers(WORKER)[0], signal.SIGKILL)
        await reached(12)
        os.kill(parent(workers(WORKER)[-1]), signal.SIGKILL)
        await reached(20)
        nodes.kill_one()
        found = await asyncio.gather(*jobs)
        await reached(32)
        nodes.replace()
        return found

    async def whole():
        referee = Referee(POLICY, place=Place("ray", nodes.address))
        try:
            return await asyncio.wait_for(scene(referee), 120)
        finally:
            await referee.close()

    found = asyncio.run(whole())
    assert Counter(answered) == Counter(range(32))
    assert [expected for expected, _ in found] == [evaluation.outcome for _, evaluation in found]
    assert len({evaluation.device for _, evaluation in found}) == 1
    assert len(seen) >= 4, "two workers, and one for each that was killed"
    assert not gone(seen)
