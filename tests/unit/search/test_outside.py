"""The strategy of kernels that come from outside: one at a time, each counted from the one before it."""

import pytest

from kernelwright.records.attempt import Expansion
from kernelwright.search.limits import Limits
from kernelwright.search.outside import DONE, Outside, OutsideConfig
from kernelwright.testing.samples import sample_attempt

SEED = Expansion(number=0, intent="seed")


@pytest.fixture
def outside():
    return Outside(OutsideConfig(), Limits(proposals=9))


def test_it_waits_until_the_one_before_is_closed(outside):
    assert outside.ask(4) == [SEED]
    assert outside.ask(4) == []
    assert outside.ask(0) == []


@pytest.mark.parametrize(
    ("outcome", "intent"),
    [
        ("measured", "improve"),
        ("verified", "improve"),
        ("compiled", "improve"),
        ("incorrect", "repair"),
        ("refused", "repair"),
    ],
)
def test_the_next_is_a_child_of_the_latest(outside, outcome, intent):
    outside.ask(1)
    outside.tell(sample_attempt(0, outcome), 0.0)
    outside.closed(SEED)
    assert outside.finished() is None
    assert outside.ask(1) == [Expansion(number=1, intent=intent, parents=(0,))]


def test_an_expansion_without_a_kernel_is_the_end(outside):
    outside.ask(1)
    outside.tell(sample_attempt(0), 0.0)
    outside.closed(SEED)
    (second,) = outside.ask(1)
    outside.closed(second)
    assert outside.finished() == DONE
    assert outside.ask(1) == []
