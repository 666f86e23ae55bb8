"""Every technique's example before the referee: right on the CPU; built, and in Triton right, for sm_90."""

import asyncio

import pytest

from kernelwright.knowledge.library import FOLDER, technique, techniques_with_examples
from kernelwright.records.evaluation import Measured
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.tasks.kernel_file import read_kernel
from kernelwright.tasks.table import read_task
from lanes import sampled

CPU = Target(kind="cpu", arch="native", present=True)
ABSENT = Target(kind="cuda", arch="sm_90", present=False)
SEEDS = (20240, 31477)
OUTCOMES = {"cpp": "verified", "triton": "verified", "cuda": "compiled", "cuda_host": "compiled", "python": "compiled"}
QUICK = (
    "branchless-select", "threads-over-rows", "async-copy-double-buffering", "shared-memory-transposition", "warp-scan",
)  # fmt: skip
"""Of each language those with a construct of their own and little work: loops, lanes and threads; asynchronous copies,
shared memory and warps."""
LARGE = "loop-interchange"
"""A card that gains so much that a busy machine cannot hide it."""


class Bench:
    """Asks the warm referee from synchronous code."""

    def __init__(self, warm):
        self.loop = asyncio.new_event_loop()
        self.referee = warm.under(Policy(baselines=("eager",), final_baselines=(), search_seconds=1.0))

    def judged(self, name, timed=False):
        return self.loop.run_until_complete(self._judged(name, timed))

    async def _judged(self, name, timed):
        folder, language = FOLDER / "cards" / name, technique(name).example.language
        task = await self.referee.admit(read_task(folder / "task.py"), CPU if language == "cpp" else ABSENT)
        kernels = [next(read_kernel(next(folder.glob(f"{side}.*"))).points()) for side in ("before", "after")]
        if language != "cpp" or timed:
            return [await self.referee.evaluate(task, kernel) for kernel in kernels]
        return [await self.referee.replay(task, kernel, SEEDS) for kernel in kernels]

    def close(self):
        self.loop.close()


@pytest.fixture(scope="module")
def bench(warm_referee):
    made = Bench(warm_referee)
    yield made
    made.close()


def test_every_language_has_an_outcome_that_is_right():
    assert set(OUTCOMES) >= {example.language for _, example in techniques_with_examples()}


@pytest.mark.parametrize("name", sampled([card.name for card, _ in techniques_with_examples()], QUICK.__contains__))
def test_both_kernels_are_right(bench, name):
    found = bench.judged(name)
    assert [f.outcome for f in found] == 2 * [OUTCOMES[technique(name).example.language]], found


@pytest.mark.matrix
@pytest.mark.quiet
def test_what_a_card_promises_can_be_measured(bench):
    before, after = bench.judged(LARGE, timed=True)
    assert isinstance(before, Measured)
    assert isinstance(after, Measured)
    assert after.timing.against("eager").speedup.median > before.timing.against("eager").speedup.median
