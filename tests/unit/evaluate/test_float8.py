"""Floats of eight bits: arithmetic saturates and keeps values where they are, and steps are in the order of values."""

import pytest
import torch

from kernelwright.evaluate import float8, pieces
from kernelwright.evaluate.entrypoints.reference.domains import evidence, with_domain, with_signs
from kernelwright.evaluate.timing.input_synthesis import InputSynthesis
from kernelwright.evaluate.timing.structure import learnt
from kernelwright.evaluate.verify import distributions
from kernelwright.evaluate.verify.exact import Stepped, share_off
from kernelwright.evaluate.verify.meaning import Given
from kernelwright.records.tensor import Domain, TensorSpec

DTYPES = sorted(float8.FLOAT8, key=str)
named = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def spec(dtype, shape=(64, 32), domain=Domain.REAL):
    return TensorSpec(name="x", shape=shape, dtype=str(dtype).removeprefix("torch."), domain=domain)


def finite(dtype):
    every = torch.arange(256).to(torch.uint8).view(dtype)
    return every[every.float().isfinite()]


@named
def test_steps_are_in_the_order_of_values(dtype):
    values = finite(dtype)
    order = values.float().argsort()
    steps = float8.steps(values)[order]
    assert set(steps.diff().tolist()) == {0, 1}, "both zeros are one step"


@named
def test_what_is_too_large_becomes_the_largest(dtype):
    most = torch.finfo(dtype).max
    stored = float8.stored(torch.tensor([1e9, -1e9, 1.0, float("nan")]), dtype).float()
    assert stored[:3].tolist() == [most, -most, 1.0]
    assert bool(stored[3].isnan())


@named
@pytest.mark.parametrize("distribution", distributions.DISTRIBUTIONS, ids=lambda one: one.name)
def test_every_distribution_gives_finite_values(dtype, distribution):
    x = torch.randn(64, 32).to(dtype)
    changed = distributions.apply(distribution, x, Given(spec(dtype), torch.Generator().manual_seed(1)))
    assert changed.dtype == dtype
    assert pieces.all_finite(changed)
    assert not torch.equal(float8.bits(changed), float8.bits(x))


@named
def test_fresh_inputs_are_mixed_of_what_was_drawn_and_scaled(dtype):
    drawn, child = torch.randn(3, 64, 32).to(dtype), torch.zeros(64, 32).to(dtype)
    InputSynthesis().mix(child, drawn, spec(dtype), learnt(drawn, spec(dtype)))
    assert pieces.all_finite(child)
    assert 0.3 < child.float().std() < 1.7
    InputSynthesis().vary(child, drawn[0], spec(dtype))
    ratio = child.float() / drawn[0].float()
    assert 0.3 < ratio[ratio.isfinite()].min() <= ratio[ratio.isfinite()].max() < 1.9


@named
def test_a_domain_is_learnt_and_signs_are_added(dtype):
    x = torch.rand(64, 32).to(dtype)
    assert with_domain(spec(dtype), [evidence(x)]).domain is Domain.NON_NEGATIVE
    signed = with_signs(x, 3.0)
    assert bool((signed.float() < 0).any())
    assert pieces.all_finite(signed)


@named
def test_a_parameter_is_randomised_within_its_dtype(dtype):
    most = torch.full((64,), torch.finfo(dtype).max).to(dtype)
    changed = distributions.random_parameter(most, spec(dtype, (64,)), torch.Generator().manual_seed(1))
    assert changed.dtype == dtype
    assert pieces.all_finite(changed)


@named
def test_a_step_on_an_edge_passes_and_two_do_not(dtype):
    value = torch.randn(1000).to(dtype)
    expected = Stepped(value, 0.0, 0.001)
    bytes_of = value.clone().view(torch.uint8)
    bytes_of[:2] += 1
    assert expected.judge([bytes_of.view(dtype)])[1] is None
    bytes_of[0] += 1
    assert "more than one step" in expected.judge([bytes_of.view(dtype)])[1].evidence


@named
def test_all_values_an_ulp_too_large_are_refused_and_so_are_zeros(dtype):
    value = torch.randn(1000).to(dtype)
    expected = Stepped(value, 0.0, 0.05)
    assert expected.judge([(value.view(torch.uint8) + 1).view(dtype)])[1] is not None
    assert expected.judge([torch.zeros(1000).to(dtype)])[1] is not None
    assert share_off(value, value.double()) == 0.0


@named
def test_what_was_never_written_or_is_nan_is_told_as_both(dtype):
    got = torch.full((8,), 0xFF, dtype=torch.uint8).view(dtype)
    wrong = Stepped(torch.zeros(8).to(dtype), 0.0, 0.0).judge([got])[1]
    assert wrong.because == "nonfinite", "in eight bits a NaN has the bytes of memory that was never written"
    assert "8 of 8 elements are not finite, as memory is that was never written" in wrong.evidence
