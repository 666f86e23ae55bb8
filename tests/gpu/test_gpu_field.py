"""What people bring to a GPU: more elements than 32 bits count, memory that tasks share, TF32 as it comes, state."""

import pytest
import torch

from kernelwright.errors import TaskError
from kernelwright.propose.author.search.designs import triton_design
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import TaskSource

pytestmark = pytest.mark.gpu

TASK = """
import torch
import torch.nn.functional as F
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, x):
        {forward}

def get_inputs():
    return [{inputs}]
"""
SAME = "\nclass ModelNew(Model):\n    pass\n"
QUICK = Policy(search_blocks=4, final_blocks=8, baselines=("eager",), final_baselines=(), search_seconds=2.0)


def written(forward, inputs, init="pass"):
    return TASK.format(
        init=f"self.layer = {init}" if init != "pass" else init, forward=f"return {forward}", inputs=inputs
    )


@pytest.fixture
def judged(gpu):
    """Admit a task in text, and judge a program equal to it."""

    def judge(text, more=SAME, **options):
        gpu.referee.policy = QUICK.model_copy(update=options)
        source = TaskSource(name="field", format="kernelbench", source=text)
        task = gpu.wait(gpu.referee.admit(source, gpu.target))
        return task, gpu.wait(gpu.referee.evaluate(task, Candidate(language="python", source=text + more), "search"))

    return judge


@pytest.mark.parametrize(
    "text",
    [
        written("x.sum(dim=1)", "torch.rand(65536, 32768)"),
        written("torch.mean(x, dim=1)", "torch.rand(65536, 65536, dtype=torch.bfloat16)"),
        written("torch.relu(x)", "torch.rand(4096, 393216)"),
        written("torch.clamp(x, 0, 5).to(torch.int8)", "torch.rand(32768, 65536, dtype=torch.bfloat16) * 9"),
    ],
    ids=["2^31 added up", "2^32 in bfloat16", "6.4 GB in and out", "2^31 bytes out"],
)
def test_more_elements_than_32_bits_count_are_admitted_and_judged(judged, text):
    _, found = judged(text)
    assert found.outcome == "measured", found
    assert found.timing.against("eager").verdict == "inconclusive"


def test_large_tasks_one_after_another_give_way_to_each_other(judged):
    for factor in range(2, 8):
        _, found = judged(written(f"torch.relu(x) * {factor}.0", "torch.rand(4096, 196608)"))
        assert found.outcome == "measured", found


def test_a_refused_task_gives_its_memory_back(judged):
    """It had kept its inputs, here 6 GB and more, for as long as the referee lived.

    Up to six processes that wait ready for a candidate hold half a GB each, and how many wait differs.
    """

    def free():
        # Another task's admission has the referee give its caches back first.
        judged(written("torch.relu(x)", "torch.rand(8, 1024)"))
        return torch.cuda.mem_get_info()[0]

    before = free()
    for factor in range(2, 4):
        with pytest.raises(TaskError, match="does not depend on input"):
            judged(written(f"torch.relu(x).clamp(min=-1.0, max=0.0) * {factor}.0", "torch.rand(65536, 24576)"))
    assert before - free() < 4 << 30


def test_what_cannot_fit_is_the_task_s_fault_and_breaks_nothing(judged):
    total = torch.cuda.mem_get_info()[1]
    with pytest.raises(TaskError):
        judged(written("torch.relu(x)", f"torch.rand({total // 4 // 1024 * 2}, 1024)"))
    _, found = judged(written("torch.relu(x) + 1", "torch.rand(1024, 4096)"))
    assert found.outcome == "measured", found


CONVOLUTION = written("self.layer(x)", "torch.rand(16, 64, 128, 128)", "nn.Conv2d(64, 64, 3)")


@pytest.mark.parametrize("numerics", ["as-is", "strict"])
def test_pytorch_s_own_convolution_is_right_under_either_numerics(judged, numerics):
    task, found = judged(CONVOLUTION, numerics=numerics)
    assert task.numerics.flags["cudnn.allow_tf32"] is (numerics == "as-is")
    assert found.outcome == "measured", found
    assert found.numerics.mode == numerics


def test_a_kernel_that_allows_itself_tf32_is_named_and_held_to_the_same_tolerance(judged):
    text = written("x @ x.t()", "torch.randn(2048, 2048)")
    _, found = judged(text, "\ntorch.set_float32_matmul_precision('high')" + SAME)
    assert found.outcome == "incorrect", found
    _, found = judged(CONVOLUTION, "\ntorch.backends.cudnn.benchmark = True" + SAME)
    assert found.outcome == "measured", found
    assert found.numerics.candidate == {"cudnn.benchmark": True}


@pytest.mark.parametrize(
    "layer",
    [
        ("nn.ConvTranspose2d(32, 32, 3, stride=2)", "torch.rand(8, 32, 64, 64)"),
        ("nn.Conv3d(8, 16, 3, groups=4)", "torch.rand(4, 8, 24, 24, 24)"),
        ("nn.ConvTranspose3d(8, 16, 3, groups=2)", "torch.rand(4, 8, 16, 16, 16)"),
        ("nn.BatchNorm2d(32)", "torch.rand(16, 32, 64, 64)"),
        ("nn.Dropout(0.2)", "torch.rand(1024, 4096)"),
    ],
    ids=["transposed", "three dimensions", "transposed in three", "batch norm in training", "dropout"],
)
def test_sums_in_any_order_state_and_dropout_are_judged(judged, layer):
    _, found = judged(written("self.layer(x)", layer[1], layer[0]))
    assert found.outcome == "measured", found


def test_the_author_s_batch_norm_in_training_runs_on_the_referee_s_own_clock(gpu, judged):
    task, _ = judged(written("self.layer(x)", "torch.rand(16, 32, 63, 65)", "nn.BatchNorm2d(32)"))
    design = triton_design(task)
    found = gpu.wait(gpu.referee.evaluate(task, design.write(design.default), "search"))
    assert (found.outcome, found.tier) == ("measured", 1), found
