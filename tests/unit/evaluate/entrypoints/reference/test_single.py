"""Arithmetic that errs by chance as single precision does: what changes within it lies on an edge."""

import pytest
import torch

from kernelwright.evaluate.entrypoints.reference.rounding import Single

EPSILON = 2.0**-23


def moves(forward, *args):
    wanted = forward(*args)
    with Single():
        found = forward(*args)
    return (found - wanted).abs() / wanted.abs()


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x * 3 + 1,
        torch.tanh,
        lambda x: x.float().double() @ x.T,
        lambda x: torch.softmax(x, -1),
        lambda x: x / 3,
    ],
)
def test_results_move_by_ulps_of_single_precision(forward):
    found = moves(forward, torch.rand(16, 16, dtype=torch.float64) + 0.5)
    assert EPSILON / 2 < float(found.mean()) < 20 * EPSILON


def test_a_sum_of_many_moves_as_one_accumulator_of_them_does():
    x = torch.rand(64, 2048, dtype=torch.float64)
    assert float(moves(lambda x: x.sum(1), x).max()) < 20 * EPSILON
    signed = x - x.mean(1, keepdim=True)
    with Single():
        apart = (signed.sum(1) - signed.sum(1)).abs()
    assert float(apart.max()) > 100 * EPSILON, "where terms cancel, what is left of them is noise"


@pytest.mark.parametrize(
    "forward", [lambda x: x > 0.5, lambda x: torch.relu(x), lambda x: x[:, :4].amax(1), lambda x: x.T]
)
def test_what_compares_and_chooses_rounds_nothing(forward):
    x = torch.rand(16, 16, dtype=torch.float64)
    with Single():
        found = forward(x)
    assert torch.equal(found, forward(x))


def test_what_is_changed_in_its_place_is_changed_once():
    x = torch.ones(4, dtype=torch.float64)
    with Single():
        x.add_(1)
    assert x.tolist() == [2.0] * 4
