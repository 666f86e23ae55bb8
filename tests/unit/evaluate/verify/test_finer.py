"""Stretches that are small beside others, and means that were taken of too few terms."""

import pytest
import torch

from kernelwright.evaluate.verify import compare, finer
from kernelwright.evaluate.verify.compare import Expected
from kernelwright.records.tensor import TensorSpec

SINGLE = TensorSpec(name="out", shape=(64, 1024), dtype="float32")
HALF = TensorSpec(name="out", shape=(512,), dtype="bfloat16")


def expected(wanted, spec, reduction=1):
    floor = compare.floor(spec, reduction)
    allowed = finer.allowed(spec, finer.NONE, 4.0, floor, finer.Sums(reduction, sampled=spec == HALF))
    lines = finer.lines_of(spec, reduction * spec.numel)
    return Expected(wanted, compare.scale_of(wanted), 0.0, floor, finer=allowed, lines=lines)


def refused(rule, got):
    """Why a result is refused that the largest error lets pass."""
    assert compare.largest_error(got, rule.value, rule.scale) <= rule.allowed, "which the largest error does not show"
    return rule.judge([got])[1].evidence


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


@pytest.mark.parametrize("rows", [slice(0, 8), slice(3, 60, 4)])
def test_rows_of_zeros_may_hold_what_doubles_round_and_small_rows_may_not(rows):
    torch.manual_seed(0)
    wanted = torch.randn(64, 1024, dtype=torch.float64)
    wanted[rows] = 0
    rule, mixed = expected(wanted, SINGLE), wanted.float()
    mixed[rows] = 5e-15 * torch.randn(1024)
    assert rule.judge([mixed])[1] is None
    mixed[rows] = 1e-12
    assert refused(rule, mixed)
    wanted[rows] = 5e-13
    assert refused(expected(wanted, SINGLE), mixed)


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


def blocks(down, across):
    """Magnitudes of 1 and 1e-9 in tiles, so that every stretch of 256 elements of a row or a column has both."""
    tiles = (
        1e-9 ** torch.randint(0, 2, (64 // down, 1024 // across), generator=torch.Generator().manual_seed(3)).double()
    )
    return tiles.repeat_interleave(down, 0).repeat_interleave(across, 1)


@pytest.mark.parametrize(("down", "across"), [(64, 16), (64, 1), (1, 16), (16, 16)])
def test_small_columns_and_tiles_beside_large_ones_count_as_well(down, across):
    torch.manual_seed(0)
    small = blocks(down, across)
    wanted = torch.randn(64, 1024, dtype=torch.float64) * small
    rule, honest = expected(wanted, SINGLE), wanted.float()
    assert rule.judge([honest])[1] is None
    skipped = torch.where(small < 1, 0.0, wanted).float()
    assert "not what they should be even roughly" in refused(rule, skipped)


def test_a_row_whose_sum_is_small_beside_its_neighbours_must_be_added_up():
    torch.manual_seed(0)
    gain = torch.exp(8 * torch.randn(512, dtype=torch.float64))
    spec = TensorSpec(name="out", shape=(512,), dtype="float32")
    terms = torch.randn(512, 1024, dtype=torch.float64).abs()
    wanted = terms.sum(1) * gain
    rule = expected(wanted, spec, 1024)
    assert rule.judge([(terms.float().sum(1) * gain.float())])[1] is None
    least = 1e-7 * rule.scale
    sampled = torch.where(wanted < least, terms[:, ::16].sum(1) * 16 * gain, wanted).float()
    for skipped in (torch.where(wanted < least, 0.0, wanted).float(), sampled):
        assert "even roughly" in refused(rule, skipped)


def test_what_a_function_loses_where_it_vanishes_is_scattered_and_passes():
    torch.manual_seed(0)
    x = 10 * torch.randn(64, 1024, dtype=torch.float64)
    plain = torch.log(1 + torch.exp(x.float()))
    wanted = torch.nn.functional.softplus(x)
    assert ((plain - wanted).abs() > wanted / 2).double().mean() > 0.03, "one of thirty elements is nothing"
    assert expected(wanted, SINGLE).judge([plain])[1] is None


def test_among_zeros_a_few_elements_far_above_the_others_are_no_measure_of_them():
    wanted = torch.zeros(1 << 18, dtype=torch.float64)
    wanted[1::4096] = 1.0
    wanted[0] = 1e9
    assert compare.scale_of(wanted) == pytest.approx(1e-3 * 1e9 / 512, rel=0.01), "by the root mean square"
    wanted[0] = 1.0
    assert compare.scale_of(wanted) == 1.0


def test_half_an_ulp_is_that_of_the_true_value_and_none_where_it_is_zero():
    wanted = torch.tensor([0.0, 1.0, -2.0, 3.0, 2.0**-1030], dtype=torch.float64).repeat(8)
    near = wanted.bfloat16().clone()
    assert finer.figures(near, wanted, 1.0, finer.ALONG).averaged == 0
    near[0::5] = torch.finfo(torch.bfloat16).eps / 8
    assert finer.figures(near, wanted, 1.0, finer.ALONG).averaged > 0


def many(wanted, in_turn=0, reduction=1):
    spec = TensorSpec(name="out", shape=tuple(wanted.shape), dtype="float32" if in_turn else "bfloat16")
    floor = compare.floor(spec, reduction, in_turn=in_turn)
    allowed = finer.allowed(spec, finer.NONE, 4.0, floor, finer.Sums(reduction, in_turn=in_turn))
    return Expected(wanted, compare.scale_of(wanted), 0.0, floor, finer=allowed)


def test_many_elements_in_half_precision_may_not_all_be_some_ulps_off():
    x = torch.randn(64, 256).bfloat16()
    rule, single, s = many(torch.tanh(x.double())), torch.tanh(x.float()), x.float().square()
    assert rule.judge([single.bfloat16()])[1] is None
    assert rule.judge([(single + 2**-9).bfloat16()])[1] is None, "a quarter of an ulp"
    for wrong in (x.float() * (27 + s) / (27 + 9 * s), single * 1.017):
        error, why = rule.judge([wrong.clamp(-1.05, 1.05).bfloat16()])
        assert error <= rule.allowed, "no single one tells"
        assert why is not None
        assert "on average" in why.evidence


@pytest.mark.parametrize(
    "honest",
    [
        lambda x: x * torch.sigmoid(x),
        lambda x: x / (1 + torch.exp(-x)),
        lambda x: (x.float() * torch.sigmoid(x).float()).bfloat16(),
        lambda x: x * (0.5 * torch.tanh(0.5 * x) + 0.5),
    ],
)
def test_some_roundings_more_than_one_pass(honest):
    x = torch.randn(64, 256).bfloat16()
    assert many(x.double() * torch.sigmoid(x.double())).judge([honest(x)])[1] is None


def test_half_of_the_columns_is_no_sum_of_exponentials_though_one_accumulator_may_be_as_wrong_in_one_row():
    x = torch.rand(512, 1 << 15)
    reduction = x.shape[1]
    rule = many(torch.logsumexp(x.double(), 1), compare.walk(reduction), reduction)
    in_turn = torch.exp(x).cumsum(1, dtype=torch.float32)[:, -1].log()
    assert rule.judge([in_turn])[1] is None
    half = torch.logsumexp(x[:, ::2], 1) + torch.log(torch.tensor(2.0))
    assert rule.judge([half])[1] is not None


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_rows_of_calls_are_held_to_their_averages_too(dtype):
    wanted = torch.randn(4, 4096).double()
    near = wanted.to(getattr(torch, dtype))
    fine = finer.Finer(averaged=0.375 * torch.finfo(near.dtype).eps)
    assert compare.all_within(near, wanted, 1.0, fine)
    off = near.clone()
    off[2] = (wanted[2] * (1 + 2 * torch.finfo(near.dtype).eps)).to(near.dtype)
    assert not compare.all_within(off, wanted, 1.0, fine)


def _sums(x, block, line):
    """Running sums over blocks; with `line` they lie on one between two ends of a block."""
    parts = x.view(-1, block).double()
    before = parts.sum(1).cumsum(0) - parts.sum(1)
    inside = parts.mean(1, keepdim=True).expand_as(parts) if line else parts
    return (before[:, None] + inside.cumsum(1)).flatten().float()


@pytest.mark.parametrize("apart", [1, 4])
def test_steps_of_a_running_sum_tell_a_line_from_its_partial_results(apart):
    x = torch.rand(1 << 16, generator=torch.Generator().manual_seed(1))
    right, lines = x.double().cumsum(0), finer.Lines(scan=(1 << 16, apart))
    laid = [values.repeat_interleave(apart) for values in (_sums(x, 64, False), _sums(x, 64, True), x.cumsum(0), right)]
    honest, line, eager, wanted = laid
    may = finer.of_scan(SINGLE, finer.Finer(steps=finer.steps_of(eager, wanted, lines)), 4)
    assert finer.steps_of(honest, wanted, lines) <= may.steps / 4
    assert finer.steps_of(line, wanted, lines) > 4 * may.steps
