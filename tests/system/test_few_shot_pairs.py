"""The kernels that prompts show as examples before the referee: right on the CPU; built, and in Triton right, for sm_90."""

import asyncio

import pytest

from kernelwright.knowledge.library import CARDS, pairs
from kernelwright.languages import language
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.tasks.kernel_file import parse_kernel
from kernelwright.tasks.table import read_task
from lanes import sampled

CPU = Target(kind="cpu", arch="native", present=True)
ABSENT = Target(kind="cuda", arch="sm_90", present=False)
OUTCOMES = {"cpp": "verified", "triton": "verified", "cuda": "compiled", "cuda_host": "compiled", "python": "compiled"}
OWN = {f"{pair.shape}-{pair.language}": pair for pair in pairs() if (pair.shape, pair.language) not in CARDS}
"""Those of the cards are judged with their cards."""
QUICK = ("stencil-cpp", "stencil-cuda")


@pytest.mark.parametrize("name", sampled([*OWN], QUICK.__contains__))
def test_the_kernel_of_a_pair_is_right(warm_referee, name, tmp_path):
    pair, file = OWN[name], tmp_path / "module.py"
    file.write_text(pair.module)
    kernel = next(parse_kernel(pair.kernel, language(pair.language).suffix).points())
    referee = warm_referee.under(Policy(baselines=("eager",), final_baselines=()))

    async def judged():
        task = await referee.admit(read_task(file), CPU if pair.language == "cpp" else ABSENT)
        if pair.language == "cpp":
            return await referee.replay(task, kernel, (20240, 31477))
        return await referee.evaluate(task, kernel)

    found = asyncio.run(judged())
    assert found.outcome == OUTCOMES[pair.language], found
