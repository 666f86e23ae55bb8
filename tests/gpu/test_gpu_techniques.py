"""Every technique's example for a GPU, at the sizes that fill one: both kernels are right and timed. So are few-shot pairs."""

import pytest

from kernelwright.knowledge.library import pairs, techniques_with_examples
from kernelwright.languages import language
from kernelwright.records.policy import Policy
from kernelwright.tasks.kernel_file import parse_kernel
from kernelwright.tasks.table import read_task

pytestmark = pytest.mark.gpu

POLICY = Policy(search_blocks=4, search_seconds=0.5, baselines=("eager",), final_baselines=())
CARDS = [card for card, example in techniques_with_examples() if example.language != "cpp"]
LARGE = ("coalesced-access", "split-reduction", "avoid-atomics", "tensor-cores-dot", "rows-per-program")
"""Cards whose gain no device with tensor cores and many multiprocessors can miss."""


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_both_kernels_are_right_at_the_sizes_that_count(gpu, card, tmp_path):
    file = tmp_path / "task.py"
    file.write_text(card.example.task_on_device)
    gpu.referee.policy = POLICY
    task = gpu.wait(gpu.referee.admit(read_task(file), gpu.target))
    speedups = []
    for text in (card.example.before, card.example.after):
        kernel = next(parse_kernel(text, card.example.suffix).points())
        found = gpu.wait(gpu.referee.evaluate(task, kernel))
        assert found.outcome == "measured", found
        speedups.append(found.timing.against("eager").speedup.median)
    if card.name in LARGE:
        assert speedups[1] > 1.2 * speedups[0]


PAIRS = [
    pair for pair in pairs() if pair.language != "cpp" and pair.module not in {card.example.task for card in CARDS}
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.shape}-{pair.language}")
def test_the_kernel_of_a_few_shot_pair_is_right(gpu, pair, tmp_path):
    file = tmp_path / "module.py"
    file.write_text(pair.module)
    gpu.referee.policy = POLICY
    task = gpu.wait(gpu.referee.admit(read_task(file), gpu.target))
    kernel = next(parse_kernel(pair.kernel, language(pair.language).suffix).points())
    found = gpu.wait(gpu.referee.evaluate(task, kernel))
    assert found.outcome == "measured", found


TWICE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return 2.0 * x


def get_inputs():
    return [torch.randn(65536)]
"""


def test_the_contract_s_launches_in_host_code_are_right(gpu, tmp_path):
    file = tmp_path / "twice.py"
    file.write_text(TWICE)
    gpu.referee.policy = POLICY
    task = gpu.wait(gpu.referee.admit(read_task(file), gpu.target))
    source = language("cuda").contract.split("```cuda\n")[1].split("```")[0]
    for kernel in parse_kernel(source, ".cu").points():
        found = gpu.wait(gpu.referee.evaluate(task, kernel))
        assert (found.outcome, found.tier) == ("measured", 1), found
