"""A candidate that nobody waits for any more is ended, and costs neither its worker nor the candidate beside it."""

import asyncio
from pathlib import Path

from relu_task import RELU

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.tasks.table import read_task

KERNEL = 'extern "C" void relu(const float* x, float* y) { %s }\n'
RIGHT = KERNEL % "for (int i = 0; i < 2048; i++) y[i] = x[i] > 0 ? x[i] : 0;"
HANGING = KERNEL % "for (volatile int i = 0;;) i = i;"

POLICY = Policy(baselines=("eager",), search_blocks=8, run_limit_s=600.0, disabled=("outside_clock",))
"""A machine that is busy with other tests has clocks that need not agree."""


def processes():
    """This process's children: the worker, and whatever else the tests have started."""
    return {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}


def test_a_cancelled_candidate_is_ended_and_the_others_go_on(tmp_path):
    (tmp_path / "relu.py").write_text(RELU)
    notes = []

    async def scene(referee):
        task = await referee.admit(read_task(tmp_path / "relu.py"), resolve_target("cpu"))
        right, hanging = (Candidate(language="cpp", source=source, entry="relu") for source in (RIGHT, HANGING))
        assert (await referee.evaluate(task, right)).outcome == "measured"
        before = processes()
        hangs = asyncio.create_task(referee.evaluate(task, hanging))
        await asyncio.sleep(1.5)
        others = [asyncio.create_task(referee.evaluate(task, right)) for _ in range(2)]
        await asyncio.sleep(0.1)
        assert not hangs.done()
        hangs.cancel()
        # Far sooner than the hanging one's limit of ten minutes would let them.
        found = await asyncio.wait_for(asyncio.gather(*others), 60)
        return [each.outcome for each in found], before, processes(), hangs.cancelled()

    async def whole():
        referee = Referee(POLICY, on_note=notes.append)
        try:
            return await scene(referee)
        finally:
            await referee.close()

    outcomes, before, after, cancelled = asyncio.run(whole())
    assert outcomes == ["measured"] * 2
    assert before == after, "it is the same worker"
    assert cancelled
    assert sum("running the reference" in note for note in notes) == 1, "the session was kept"
