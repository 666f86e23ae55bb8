"""On a device: the tiers that work there, the flaws that they show, and whose kernels took the time."""

import pytest

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.records.candidate import Candidate

pytestmark = pytest.mark.gpu

COLUMNWISE = """
import torch
import triton
import triton.language as tl


@triton.jit
def squares(p, t, out, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, rows, BLOCK):
        r = (start + tl.arange(0, BLOCK)) * columns + i
        d = tl.load(p + r) - tl.load(t + r)
        total += d * d
    tl.store(out + i, tl.sum(total))


class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        rows, columns = predictions.shape
        parts = torch.empty(columns, device=predictions.device)
        squares[(columns,)](predictions, targets, parts, rows, columns, 1024)
        return parts.sum() / predictions.numel()
"""


def profiled(gpu, name, source):
    return gpu.wait(gpu.referee.profile(gpu.task(name), Candidate(language="triton", source=source)))


def test_ceilings_are_those_of_a_gpu(gpu):
    found = profiled(gpu, "mse", COLUMNWISE).ceilings
    assert found.origin == "measured"
    assert found.read_gbps and found.copy_gbps and 0.5 < found.read_gbps / found.copy_gbps < 2
    assert found.fp32_tflops and found.bf16_tflops and found.bf16_tflops > 2 * found.fp32_tflops
    assert found.launch_us and 0.3 < found.launch_us < 20


def test_a_trace_needs_no_privilege_and_tells_own_kernels_from_atens(gpu):
    found = profiled(gpu, "mse", COLUMNWISE)
    assert found.tier in ("trace", "counters"), found.notes
    mine = [k for k in found.kernels if k.own]
    assert [k.name for k in mine] == ["squares"]
    assert any(not k.own for k in found.kernels), "the sum is ATen's"
    assert 0 < found.own_share < 1
    assert mine[0].launches == 1
    assert mine[0].registers
    assert mine[0].occupancy_theoretical


def test_counters_see_that_access_is_uncoalesced(gpu):
    found = profiled(gpu, "mse", COLUMNWISE)
    if found.tier != "counters":
        pytest.skip(f"no GPU counters here: {found.notes}")
    (mine,) = [k for k in found.kernels if k.own]
    missing = [name for name, value in mine.counters.model_dump().items() if value is None]
    assert not missing, "every metric has a name that exists on this chip"
    assert mine.counters.load_bytes_per_sector < 8
    assert "uncoalesced" in [f.bottleneck for f in diagnose(found).findings]


def test_a_candidate_that_does_not_run_has_a_profile_of_the_lowest_tier(gpu):
    found = profiled(gpu, "mse", "raise SystemExit(0)")
    assert found.tier == "compiler"
    assert found.notes
