"""The bench on this machine's CPU with the real referee, killed in the middle and gone on with."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.bench.cells import read_cell
from kernelwright.bench.records import BenchPlan

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT_S = 1500.0
"""Of the whole test, on a machine that does other things as well."""
BRIEF = "[policy]\nfinal_baselines = []\nsearch_blocks = 4\nfinal_blocks = 4\n"
"""Few samples: what is compared here is what stands in the journals."""
NAIVE = """
extern "C" void naive(const float* x, float* y) {
    for (int row = 0; row < 64; ++row) {
        double sum = 0.0;
        float most = x[row * 64];
        for (int i = 1; i < 64; ++i) most = x[row * 64 + i] > most ? x[row * 64 + i] : most;
        for (int i = 0; i < 64; ++i) sum += __builtin_exp(double(x[row * 64 + i]) - most);
        for (int i = 0; i < 64; ++i) y[row * 64 + i] = float(__builtin_exp(double(x[row * 64 + i]) - most) / sum);
    }
}
"""


@pytest.fixture
def folder(tmp_path):
    """Two examples at small sizes, and a naive kernel for one."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "naive").mkdir()
    for name in ("softmax", "mse_loss"):
        text = (EXAMPLES / f"{name}.py").read_text().replace("4096, 4096", "64, 64")
        (tmp_path / "tasks" / f"{name}.py").write_text(text)
    (tmp_path / "naive" / "softmax.cpp").write_text(NAIVE)
    (tmp_path / "brief.toml").write_text(BRIEF)
    return tmp_path


def begin(folder):
    command = [
        sys.executable, "-m", "kernelwright", "bench", "tasks", "--strategies", "best_of_n,tritongym", "--budget", "2",
        "--target", "cpu", "--naive", "naive", "--run-dir", "bench", "--json", "--config", "brief.toml",
    ]  # fmt: skip
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def recorded(folder):
    """Steps of every cell that was begun, by name."""
    file = folder / "bench" / "plan.json"
    if not file.exists():
        return {}
    cells = BenchPlan.model_validate_json(file.read_text()).cells()
    found = {cell.name: read_cell(folder / "bench", cell, {}) for cell in cells}
    return {name: cell for name, cell in found.items() if cell.steps}


@pytest.mark.matrix
@pytest.mark.timeout(LIMIT_S)
def test_a_killed_bench_goes_on_with_its_half_finished_run(folder):
    first = begin(folder)
    while not any(cell.status == "pending" for cell in recorded(folder).values()):
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    before = recorded(folder)
    assert len(before) < 4

    second = begin(folder)
    out, err = second.communicate(timeout=LIMIT_S)
    assert second.returncode == 0, err
    told = json.loads(out)
    after = recorded(folder)
    assert all(after[name].steps[: len(cell.steps)] == cell.steps for name, cell in before.items())
    assert [cell["status"] for cell in told["cells"]] == ["done"] * 4
    assert all(cell["correct"] and cell["eager"] and cell["compile"] for cell in told["cells"])
    assert told == json.loads((folder / "bench" / "bench.json").read_text())
    assert [one["outcome"] for one in told["naive"]] == ["measured"]
    assert "softmax/" in err and "4/4" in err
    assert (folder / "bench" / "bench.html").read_text().startswith("<!doctype html>")
