"""Tasks whose drop-ins are tried: as files beside their tasks, and what became of each circumstance in a process of its own.

The sources are wrapped as the author writes them, without a search; `drop_in_kernels.py` has those that it cannot write.
`benchmarks/drop_ins.py` runs the whole matrix and writes its counts down.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from drop_in_kernels import KERNELS

from kernelwright.export.model_new import wrap
from kernelwright.propose.author.designs import DESIGNS
from kernelwright.records.candidate import Candidate
from kernelwright.tasks.table import read_task

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
MODULES = [
    "decayed_scan", "embedding_layer_norm", "focal_loss", "group_norm_silu", "rotary_positions", "rotary_scores",
]  # fmt: skip
PRODUCTS = ["attention", "conv_bn_relu", "expert_router", "int8_product", "swiglu_mlp", "transformer_layer"]
"""Modules that the author writes for a GPU alone."""
IN_CPP = [f"examples/{n}.py" for n in EXAMPLES] + [f"tasks/own/{n}.py" for n in OWN]
IN_CPP += [f"tasks/fsr/{n}.py" for n in FSR] + [f"tasks/modules/{n}.py" for n in MODULES]
IN_TRITON = [*IN_CPP, *(f"tasks/modules/{n}.py" for n in PRODUCTS)]
LANGUAGE = {"cpu": "cpp", "cuda": "triton"}
NO_COMPILER = {"CXX": "no-such-compiler"}


def small(name):
    """A task's text at its smallest size; of an example rows and columns that are quick."""
    if name.startswith("examples/"):
        return re.sub(r"(?m)^(\w+, \w+) = \d+, \d+$", r"\1 = 24, 96", (ROOT / name).read_text())
    return read_task(Path(f"{ROOT / name}@small")).source


def exported(text, folder, kind="cpu", source=None):
    """The task and its drop-in as files."""
    found = case(text, "task", kind)
    written = Candidate(language="cpp", source=source, entry="kernel") if source else _by_author(found.task, kind)
    (folder / "task.py").write_text(text)
    text = wrap(found.task, written)
    assert "class ModelNew(_Guarded, Model)" in text, "a drop-in without guards"
    (folder / "exported.py").write_text(text)


def by_hand(name, folder):
    """The same of a kernel that a person wrote."""
    exported(small(f"tasks/{name}"), folder, source=KERNELS[name])


def _by_author(task, kind):
    design = DESIGNS[LANGUAGE[kind]](task)
    return next(design.write(design.default).points())


def judged(folder, *flags, **environment):
    """What became of each circumstance."""
    script = Path(__file__).with_name("drop_in_matrix.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder / "task.py"), str(folder / "exported.py"), *flags], cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **environment}, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(done.stderr[-3000:])
    return json.loads(done.stdout.splitlines()[-1])


def wrong(report):
    """The circumstances in which a drop-in did what its reference does not."""
    return {name: told for name, told in report.items() if not told["right"]}
