"""Where a result is looked at: everywhere alike, and so often that what is left out is met."""

import random
from math import prod

import pytest
import torch

from kernelwright.evaluate.verify.places import BLOCK, STRETCH, STRIPE, STRIPES, WINDOW, WINDOWS, sample, stripes

LARGE = 16 * STRIPES * STRIPE + 12345


@pytest.fixture
def chance():
    return random.Random(3)


@pytest.mark.parametrize("numel", [0, 1, STRIPES * STRIPE])
def test_a_small_result_is_looked_at_altogether(numel, chance):
    assert stripes(numel, chance) == ((0, numel),)


def test_stripes_lie_within_a_large_result_and_hold_as_much_each_time(chance):
    for _ in range(200):
        parts = stripes(LARGE, chance)
        assert sum(count for _, count in parts) == STRIPES * STRIPE
        assert all(first >= 0 and first + count <= LARGE for first, count in parts)


def test_edges_are_looked_at_as_often_as_the_middle(chance):
    spots = torch.tensor([0, 1, LARGE // 3, LARGE // 2, LARGE - 2, LARGE - 1])
    rounds, seen = 4000, torch.zeros(len(spots))
    for _ in range(rounds):
        seen += sum(((first <= spots) & (spots < first + count)).int() for first, count in stripes(LARGE, chance)) > 0
    expected = STRIPES * STRIPE / LARGE
    # Five standard deviations of a share of so many rounds.
    assert (seen / rounds - expected).abs().max() < 5 * (expected * (1 - expected) / rounds) ** 0.5


def survives(left_out, chance, rounds=3000):
    """Share of calls in which no stripe meets what was left out, stretches of (first, count)."""
    alive = 0
    for _ in range(rounds):
        parts = stripes(LARGE, chance)
        alive += not any(a < b + n and b < a + m for a, m in parts for b, n in left_out)
    return alive / rounds


def test_leaving_a_part_out_survives_as_seldom_as_the_page_says(chance):
    size = LARGE * 12 // 100
    assert survives([(0, size)], chance, 200) == 0, "whole shares lie in a contiguous part of a thirty-second"
    assert survives([(LARGE - LARGE // 32, LARGE // 32)], chance, 200) == 0
    thin = [(LARGE * i // STRIPES + 1000, LARGE // STRIPES // 100) for i in range(STRIPES)]
    share = STRIPES * STRIPE / LARGE
    assert survives(thin, chance) == pytest.approx((1 - 0.01 - share) ** STRIPES, abs=0.02)


# --- random outputs -----------------------------------------------------------------------------------------------

SHAPES = [(64, 16384), (70000,), (8, 16, 64, 64), (1, 100000, 1, 3), (3, 100000), (2, 2, 2, 2, 4096), (300, 300, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_sample_holds_what_it_says(shape, chance):
    numel, found = prod(shape), sample(shape, chance)
    assert found.count == STRETCH + prod(found.block) + WINDOWS * WINDOW
    assert all(first >= 0 and first + count <= numel for first, count in found.parts)
    assert prod(found.block) <= BLOCK
    assert len(found.block) == sum(d > 1 for d in shape) or prod(found.block) == BLOCK
    assert len(found.parts) < 800, "every piece has its price"


def test_a_block_is_a_product_of_indices_of_each_dimension(chance):
    shape = (6, 50, 400)
    found = sample(shape, chance)
    flat = torch.arange(prod(shape))
    block = torch.cat([flat.narrow(0, *part) for part in found.parts])[STRETCH:][: prod(found.block)]
    where = torch.stack(torch.unravel_index(block, shape)).view(3, *found.block)
    for dim in range(3):
        index = where[dim].movedim(dim, 0).reshape(found.block[dim], -1)
        assert (index == index[:, :1]).all()
        assert (index[: found.runs[dim], 0].diff() == 1).all()
        assert len(index[:, 0].unique()) == found.block[dim] > 1


@pytest.mark.parametrize("shape", [(), (5,), (64, 64), (0, 3), (128, 128)])
def test_a_small_output_is_taken_as_it_is(shape, chance):
    found = sample(shape, chance)
    assert found.parts == ((0, prod(shape)),)
    assert (found.stretch, found.windows) == (prod(shape), 0)
    assert found.block == found.runs == tuple(d for d in shape if d > 1)
