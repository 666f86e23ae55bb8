"""Drop-ins of the examples and of our tasks in every circumstance: right, or what the reference does.

The sources are wrapped as the author writes them, without a search. `drop_in_matrix.py` is what runs in a process of its own.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.export.model_new import wrap
from kernelwright.propose.author.plan.lower import lower
from kernelwright.propose.author.schedule.cpp import cpp_default
from kernelwright.propose.author.source.cpp import write_cpp

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
EVERY = [f"examples/{n}.py" for n in EXAMPLES] + [f"tasks/own/{n}.py" for n in OWN] + [f"tasks/fsr/{n}.py" for n in FSR]
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


def judged(text, folder, *flags, **environment):
    found = case(text, "task")
    plan = lower(found.task)
    (folder / "task.py").write_text(text)
    (folder / "exported.py").write_text(wrap(found.task, write_cpp(plan, cpp_default(plan))))
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
    report = judged(DROPOUT, tmp_path, "--quick")
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


@pytest.mark.matrix
@pytest.mark.parametrize("name", EVERY)
def test_right_or_the_reference_everywhere(name, tmp_path):
    assert not wrong(judged(small((ROOT / name).read_text()), tmp_path))


@pytest.mark.matrix
def test_everything_at_once_under_the_compilers(tmp_path):
    assert not wrong(judged(DROPOUT, tmp_path))
