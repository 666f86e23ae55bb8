"""Drop-ins of the examples, of our tasks and of modules as people bring them, in every circumstance: right, or what the
reference does. `drop_in_matrix.py` is what runs in a process of its own.
"""

import pytest
from drop_in_cases import IN_CPP, IN_TRITON, NO_COMPILER, by_hand, exported, judged, small, wrong
from drop_in_kernels import KERNELS

DROPOUT = """import torch
from torch import nn


class Model(nn.Module):
    scale = 2.0

    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.drop = nn.Dropout(0.5)
        self.factors = [1.5, 2]
        self.twice = self.norm.weight
        self.register_buffer("mask", torch.ones(features), persistent=False)
        self.eval()

    def forward(self, x, factor=2.0, *, shift=None):
        return self.drop(self.norm(x)) * self.twice * factor * self.scale * self.factors[0]


def get_inputs():
    return [torch.randn(6, 40)]


def get_init_inputs():
    return [40]
"""


def test_a_module_with_everything_that_a_trace_may_depend_on(tmp_path):
    exported(DROPOUT, tmp_path)
    report = judged(tmp_path, "--part", "eager")
    assert not wrong(report)
    assert {
        "train",
        "set_norm.eps",
        "set_drop.p",
        "untied",
        "hook_forward_norm",
        "fake",
        "vmap",
        "torch.float16",
    } <= report.keys()
    assert report["train"]["kernel"] == 0
    assert report["rows_3_again"]["kernel"] == 1


def test_a_hook_of_the_module_itself_hears_two_results_and_may_change_them(tmp_path):
    exported(small("tasks/own/add_rms_norm.py"), tmp_path)
    assert not wrong(judged(tmp_path, "--part", "eager"))


@pytest.mark.matrix
@pytest.mark.parametrize("name", IN_CPP)
def test_right_or_the_reference_everywhere(name, tmp_path):
    exported(small(name), tmp_path)
    assert not wrong(judged(tmp_path))


@pytest.mark.matrix
@pytest.mark.parametrize("name", KERNELS)
def test_right_or_the_reference_around_a_kernel_that_somebody_wrote(name, tmp_path):
    by_hand(name, tmp_path)
    assert not wrong(judged(tmp_path))


@pytest.mark.matrix
@pytest.mark.parametrize("name", IN_CPP)
def test_the_reference_everywhere_without_a_compiler(name, tmp_path):
    exported(small(name), tmp_path)
    assert not wrong(judged(tmp_path, "--part", "eager", "--no-kernel", **NO_COMPILER))


@pytest.mark.matrix
@pytest.mark.parametrize("name", IN_TRITON)
def test_a_triton_drop_in_is_the_reference_everywhere_without_a_gpu(name, tmp_path):
    exported(small(name), tmp_path, "cuda")
    assert not wrong(judged(tmp_path, "--part", "eager", "--no-kernel", CUDA_VISIBLE_DEVICES=""))


@pytest.mark.matrix
def test_everything_at_once_under_the_compilers(tmp_path):
    exported(DROPOUT, tmp_path)
    assert not wrong(judged(tmp_path))


@pytest.mark.matrix
def test_everything_at_once_under_the_compilers_without_a_kernel(tmp_path):
    exported(DROPOUT, tmp_path)
    assert not wrong(judged(tmp_path, "--no-kernel", **NO_COMPILER))


@pytest.mark.matrix
def test_a_triton_drop_in_everywhere_in_the_interpreter(tmp_path):
    exported(DROPOUT, tmp_path, kind="cuda")
    # Triton's interpreter patches the language while a kernel runs: two threads cannot run in it at once.
    assert not wrong(judged(tmp_path, "--part", "eager", known=("threads",), TRITON_INTERPRET="1"))


@pytest.mark.gpu
@pytest.mark.parametrize("name", IN_TRITON)
def test_a_triton_drop_in_everywhere_on_the_gpu(name, tmp_path):
    exported(small(name), tmp_path, "cuda")
    assert not wrong(judged(tmp_path, "--device", "cuda"))
