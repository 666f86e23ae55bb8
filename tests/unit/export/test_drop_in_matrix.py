"""Drop-ins of the examples and of our tasks in every circumstance: right, or what the reference does.

The sources are wrapped as the author writes them, without a search; `drop_in_kernels.py` has those that it cannot write.
`drop_in_matrix.py` is what runs in a process of its own.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from drop_in_kernels import KERNELS

from kernelwright.export.model_new import wrap
from kernelwright.propose.author.plan.lower import lower
from kernelwright.propose.author.schedule.cpp import cpp_default
from kernelwright.propose.author.schedule.triton import triton_default
from kernelwright.propose.author.source.cpp import write_cpp
from kernelwright.propose.author.source.triton import write_triton
from kernelwright.records.candidate import Candidate

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "tests" / "unit" / "propose" / "author"))
from author_cases import case  # noqa: E402

EXAMPLES = ["cross_entropy", "gelu_bias_residual", "layer_norm", "mse_loss", "rms_norm", "softmax"]
OWN = [
    "add_rms_norm", "gelu_tanh", "huber_loss", "kl_divergence", "log_softmax", "log_sum_exp", "row_variance",
    "scale_shift_clip", "swiglu",
]  # fmt: skip
FSR = [
    "categorical_cross_entropy", "dot_product", "layer_norm", "matrix_copy", "mean_square_error",
    "monte_carlo_integration", "reduction", "relu", "sigmoid",
]  # fmt: skip
WRITTEN = [f"examples/{n}.py" for n in EXAMPLES]
WRITTEN += [f"tasks/own/{n}.py" for n in OWN] + [f"tasks/fsr/{n}.py" for n in FSR]
NO_COMPILER = {"CXX": "no-such-compiler"}
DROPOUT = """import torch
from torch import nn


class Model(nn.Module):
    scale = 2.0

    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.drop = nn.Dropout(0.5)
        self.factors = [1.5, 2]
        self.register_buffer("mask", torch.ones(features), persistent=False)
        self.eval()

    def forward(self, x, factor=2.0, *, shift=None):
        return self.drop(self.norm(x)) * factor * self.scale * self.factors[0]


def get_inputs():
    return [torch.randn(6, 40)]


def get_init_inputs():
    return [40]
"""


def small(text):
    """The task's smallest size; of an example rows and columns that are quick."""
    text = re.sub(r'SIZES\["medium"\]', 'SIZES["small"]', text)
    return re.sub(r"(?m)^(\w+, \w+) = \d+, \d+$", r"\1 = 24, 96", text)


def exported(text, folder, kind="cpu", source=None):
    """The task and its drop-in as files."""
    found = case(text, "task", kind)
    if source is None:
        plan = lower(found.task)
        written = write_cpp(plan, cpp_default(plan)) if kind == "cpu" else triton(found.task, plan)
    else:
        written = Candidate(language="cpp", source=source, entry="kernel")
    (folder / "task.py").write_text(text)
    (folder / "exported.py").write_text(wrap(found.task, written))


def triton(task, plan):
    return next(write_triton(task, plan, triton_default(plan)).points())


def judged(folder, *flags, **environment):
    """What became of each circumstance."""
    script = Path(__file__).with_name("drop_in_matrix.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder / "task.py"), str(folder / "exported.py"), *flags], cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **environment}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def wrong(report):
    return {name: told for name, told in report.items() if not told["right"]}


def test_a_module_with_everything_that_a_trace_may_depend_on(tmp_path):
    exported(DROPOUT, tmp_path)
    report = judged(tmp_path, "--quick")
    assert not wrong(report)
    assert {
        "train",
        "set_norm.eps",
        "set_drop.p",
        "hook_forward_norm",
        "fake",
        "vmap",
        "torch.float16",
    } <= report.keys()
    assert report["train"]["kernel"] == 0
    assert report["rows_3_again"]["kernel"] == 1


def test_a_hook_of_the_module_itself_hears_two_results_and_may_change_them(tmp_path):
    exported(small((ROOT / "tasks" / "own" / "add_rms_norm.py").read_text()), tmp_path)
    assert not wrong(judged(tmp_path, "--quick"))


@pytest.mark.matrix
@pytest.mark.parametrize("name", WRITTEN)
def test_right_or_the_reference_everywhere(name, tmp_path):
    exported(small((ROOT / name).read_text()), tmp_path)
    assert not wrong(judged(tmp_path))


@pytest.mark.matrix
@pytest.mark.parametrize("name", KERNELS)
def test_right_or_the_reference_around_a_kernel_that_somebody_wrote(name, tmp_path):
    exported(small((ROOT / "tasks" / name).read_text()), tmp_path, source=KERNELS[name])
    assert not wrong(judged(tmp_path))


@pytest.mark.matrix
@pytest.mark.parametrize("name", WRITTEN)
def test_the_reference_everywhere_without_a_compiler(name, tmp_path):
    exported(small((ROOT / name).read_text()), tmp_path)
    assert not wrong(judged(tmp_path, "--quick", "--no-kernel", **NO_COMPILER))


@pytest.mark.matrix
@pytest.mark.parametrize("name", WRITTEN)
def test_a_triton_drop_in_is_the_reference_everywhere_without_a_gpu(name, tmp_path):
    exported(small((ROOT / name).read_text()), tmp_path, kind="cuda")
    assert not wrong(judged(tmp_path, "--quick", "--no-kernel", CUDA_VISIBLE_DEVICES=""))


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
    assert not wrong(judged(tmp_path, "--quick", TRITON_INTERPRET="1"))


@pytest.mark.gpu
@pytest.mark.parametrize("name", WRITTEN)
def test_a_triton_drop_in_everywhere_on_the_gpu(name, tmp_path):
    exported(small((ROOT / name).read_text()), tmp_path, kind="cuda")
    assert not wrong(judged(tmp_path, "--device", "cuda"))
