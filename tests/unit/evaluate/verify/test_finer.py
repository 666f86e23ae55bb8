"""Stretches that are small beside others, and means that were taken of too few terms."""

import torch

from kernelwright.evaluate.verify import compare, finer
from kernelwright.evaluate.verify.compare import Expected
from kernelwright.records.tensor import TensorSpec

SINGLE = TensorSpec(name="out", shape=(64, 1024), dtype="float32")
HALF = TensorSpec(name="out", shape=(512,), dtype="bfloat16")


def expected(wanted, spec, reduction=1):
    floor = compare.floor(spec, reduction)
    return Expected(
        wanted, compare.scale_of(wanted), 0.0, floor, finer=finer.allowed(spec, finer.NONE, 4.0, floor, reduction)
    )


def test_a_small_row_beside_large_ones_is_measured_against_itself():
    torch.manual_seed(0)
    wanted = torch.randn(64, 1024, dtype=torch.float64) * torch.logspace(-12, 8, 64, dtype=torch.float64)[:, None]
    rule, honest = expected(wanted, SINGLE), wanted.float()
    assert rule.judge([honest])[1] is None
    unread = honest.clone()
    unread[0] = 0
    assert "of their own root mean square" in rule.judge([unread])[1].evidence
    assert compare.largest_error(unread, wanted, rule.scale) <= rule.allowed, "which the largest error does not show"


def test_rows_that_are_nothing_at_all_may_be_nothing():
    wanted = torch.ones(64, 1024, dtype=torch.float64)
    wanted[3], wanted[4] = 0, 1e-40
    flushed = wanted.float()
    flushed[4] = 0
    assert expected(wanted, SINGLE).judge([flushed])[1] is None


def test_a_mean_of_a_sample_is_no_mean_however_coarse_its_dtype():
    torch.manual_seed(0)
    terms = torch.randn(512, 65536).sigmoid()
    wanted = terms.double().mean(1)
    rule = expected(wanted, HALF, 65536)
    assert rule.judge([terms.mean(1).bfloat16()])[1] is None
    assert rule.judge([terms.bfloat16().float().mean(1).bfloat16()])[1] is None, "terms may be rounded"
    sampled = terms[:, ::16].mean(1).bfloat16()
    assert "rounded once" in rule.judge([sampled])[1].evidence
    assert compare.largest_error(sampled, wanted, rule.scale) <= rule.allowed, "which the largest error does not show"
