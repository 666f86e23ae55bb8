"""Who does the work of a Python module on this machine's cores, and what becomes of one that leaves it to PyTorch."""

import asyncio

import pytest

from kernelwright import api
from kernelwright.interfaces.cli.main import invoke
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.tasks.table import read_task

TASK = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


def get_inputs():
    return [torch.randn(2048, 1024)]
"""
LIBRARY = TASK.replace("class Model(", "class ModelNew(")
QUICK = Policy(search_blocks=4, baselines=("eager",), search_seconds=0.5, library_calls="forbid")


@pytest.fixture
def task(tmp_path):
    (tmp_path / "task.py").write_text(TASK)
    return tmp_path / "task.py"


def test_check_refuses_it_where_that_is_forbidden(task, tmp_path, warm_referee, capsys):
    (tmp_path / "mine.py").write_text(LIBRARY)
    code = invoke(
        ["check", str(task), str(tmp_path / "mine.py"), "--library-calls", "forbid", "--quick"],
        warm_referee.suppliers(),
    )
    said = capsys.readouterr()
    assert code == 1
    assert "refused: library calls are forbidden, and it has 0 kernels of its own: PyTorch does it all" in said.out
    assert "work              0 kernels of its own" in said.out


@pytest.mark.matrix
def test_one_that_could_compute_by_itself_and_does_not_is_refused_too(task, warm_referee):
    referee = warm_referee.under(QUICK)
    admitted = asyncio.run(referee.admit(read_task(task), api.CPU))
    candidate = Candidate(language="python", source=f"import ctypes\n{LIBRARY}")
    found = asyncio.run(referee.evaluate(admitted, candidate, "search"))
    assert found.outcome == "refused"
    assert "PyTorch's own operators take" in found.reason
