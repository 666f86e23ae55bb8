"""An AMD GPU that is not here, from a task to a kernel: compiled for it, found right, and no time claimed."""

import asyncio
import json

import pytest

from kernelwright.api import OptimizeRequest, RunConfig, optimize
from kernelwright.engine.budget import Budget
from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.tasks.kernel_file import parse_kernel
from kernelwright.tasks.table import read_task

TASK = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)

def get_inputs():
    return [torch.randn(64, 96)]

def get_init_inputs():
    return []
"""
WRONG = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, out):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(out + at, tl.load(x + at))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(x.numel() // 128,)](x, out)
        return out
"""
HOST = """
#include <cuda_runtime.h>
__global__ void k(const float* x, float* y) {}
extern "C" void kernel(const float* x, float* y, cudaStream_t stream) { k<<<1, 1, 0, stream>>>(x, y); }
"""


@pytest.fixture
def task(tmp_path):
    (tmp_path / "softmax.py").write_text(TASK)
    return tmp_path / "softmax.py"


@pytest.mark.matrix
def test_a_search_for_an_absent_amd_gpu_ends_with_a_verified_kernel(task, tmp_path):
    config = RunConfig(policy=Policy(seeds=1), budget=Budget(proposals=1), cache=False)
    found = optimize(OptimizeRequest(task, "gfx942", config, tmp_path / "runs"))
    assert found.summary.outcomes == {"verified": 1}
    assert (found.summary.target.kind, found.summary.target.present) == ("hip", False)
    assert found.summary.best.latency_us is None
    journal = next((tmp_path / "runs").glob("*/receipt.json")).read_text()
    evaluation = json.loads(journal)["claim"]["evaluation"]
    assert evaluation["build"]["compiler"].endswith("for gfx942")
    assert evaluation["build"]["kernels"][0]["registers"] > 0
    assert evaluation["how"].startswith("Triton's interpreter")
    assert "timing" not in evaluation


@pytest.mark.matrix
def test_what_is_wrong_or_not_for_amd_is_said(task):
    candidates = (Candidate(language="triton", source=WRONG), parse_kernel(HOST, ".cu"))

    async def judged():
        referee = Referee(Policy(seeds=1))
        try:
            admitted = await referee.admit(read_task(task), resolve_target("gfx90a"))
            return [await referee.evaluate(admitted, candidate) for candidate in candidates]
        finally:
            await referee.close()

    wrong, untrusted = asyncio.run(judged())
    assert wrong.outcome == "incorrect"
    assert (untrusted.outcome, untrusted.reason) == ("refused", "target gfx90a takes triton candidates, not cuda_host")
