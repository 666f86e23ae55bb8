"""Random results of timed calls, each on other inputs: an honest kernel passes, a lazy one is refused over the contest."""

import random

import pytest
import torch

from kernelwright.evaluate.verify import places
from kernelwright.evaluate.verify.statistical import Pairs

pytestmark = pytest.mark.usefixtures("seeded")

SHAPE = (64, 64)
LARGE = (40, 1000)


def dropped(values, mask=None):
    kept = torch.rand(values.shape) < 0.75 if mask is None else mask
    return torch.where(kept, values / 0.75, 0.0)


def as_read(values, sample):
    return torch.cat([values.flatten(), sample.of(values)])


def paired(candidate, reference, count=60, shape=SHAPE, false_alarm=1e-4):
    sample = places.sample(shape, random.Random(3))
    pairs = Pairs(false_alarm, sample)
    for _ in range(count):
        values = torch.randn(shape)
        assert pairs.add(as_read(candidate(values), sample), as_read(reference(values), sample)) is None
    return pairs.wrong()


@pytest.mark.parametrize("shape", [SHAPE, LARGE, (50,), ()])
def test_timed_calls_of_an_honest_kernel_pass(shape):
    assert paired(dropped, dropped, shape=shape) is None
    assert paired(lambda v: v, lambda v: v, shape=shape) is None


def test_timed_calls_whose_tails_rounding_leaves_pass():
    """A GELU far below zero: nothing, or a number by which nothing is told."""

    def with_tails(tail):
        return lambda values: dropped(torch.where(values < -0.25, tail * values, values + 1.0))

    assert paired(with_tails(1e-7), with_tails(0.0)) is None
    assert paired(with_tails(1e-2), with_tails(0.0)) is not None


def test_timed_calls_that_drop_nothing_or_always_the_same_are_refused():
    mask = torch.rand(SHAPE) < 0.75
    assert "timed calls" in paired(lambda v: v, dropped).evidence
    assert paired(lambda v: dropped(v, mask), dropped) is not None


@pytest.mark.parametrize(
    "repeated",
    [
        lambda: (torch.rand(1000) < 0.75).expand(LARGE),
        lambda: (torch.rand(7, 1000) < 0.75).repeat(6, 1)[:40],
        lambda: (torch.rand(40, 1) < 0.75).expand(LARGE),
        lambda: (torch.rand(12345) < 0.75).repeat(4)[:40000].view(LARGE),
    ],
    ids=["every row", "every seventh row", "every column", "at a distance that is no multiple of a row"],
)
def test_timed_calls_whose_chance_comes_twice_within_a_result_are_refused(repeated):
    assert paired(lambda v: dropped(v, repeated()), dropped, shape=LARGE) is not None


def test_more_calls_than_are_kept_are_told_by_those_that_are():
    def one_mask(v):
        return dropped(v, (torch.rand(64) < 0.75).expand(SHAPE))

    assert paired(one_mask, dropped, count=300) is not None


def test_few_timed_calls_say_nothing():
    assert paired(lambda v: v, dropped, count=3) is None


def test_a_timed_result_that_is_not_finite_is_refused_at_once():
    sample = places.sample(SHAPE, random.Random(3))
    infinite = as_read(torch.full(SHAPE, float("inf")), sample)
    assert Pairs(1e-4, sample).add(infinite, infinite * 0).because == "nonfinite"


def test_the_rate_of_false_alarms_is_the_stated_one():
    alarms = sum(paired(dropped, dropped, count=20, shape=(16, 8), false_alarm=0.1) is not None for _ in range(40))
    assert alarms <= 12, "four are expected; more than twelve come up once in ten thousand times"


def test_so_many_calls_as_tell_what_comes_twice_in_some_of_them_are_enough():
    sample = places.sample((50,), random.Random(3))
    pairs = Pairs(1e-4, sample)
    for count in range(128):
        assert not pairs.enough, count
        pairs.add(as_read(torch.randn(50), sample), as_read(torch.randn(50), sample))
    assert pairs.enough
