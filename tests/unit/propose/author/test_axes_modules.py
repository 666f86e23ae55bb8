"""The author's Triton over a task's axes, in the interpreter: right at workloads and drawn sizes, by the kernel at each."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lanes import sampled

NAMES = ("softmax", "rms_norm", "cross_entropy", "gated", "without_arguments", "columns", "pool", "scan", "linear")
HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sampled(NAMES, lambda name: name == "without_arguments"))
def test_a_module_over_axes_is_right_and_its_kernels_serve_all_sizes(name, tmp_path):
    done = subprocess.run(
        [sys.executable, str(HERE / "axes_interpreted.py"), name, str(tmp_path)],
        env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
