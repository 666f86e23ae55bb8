"""The strategy of kernels that come from outside: one at a time, each counted from the one before it."""

import pytest

from kernelwright.records.attempt import ProposalRequest
from kernelwright.records.feedback import Feedback
from kernelwright.search.outside import DONE, Outside
from kernelwright.search.strategy import Limits
from kernelwright.testing.samples import sample_attempt

SEED = ProposalRequest(number=0, intent="seed")
FEEDBACK = Feedback(attempt=0, words="", works=False)


@pytest.fixture
def outside():
    return Outside(Limits(proposals=9))


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
    outside.tell(sample_attempt(0, outcome), FEEDBACK)
    outside.closed(SEED)
    assert outside.finished() is None
    assert outside.ask(1) == [ProposalRequest(number=1, intent=intent, parents=(0,))]


def test_an_expansion_without_a_kernel_is_the_end(outside):
    outside.ask(1)
    outside.tell(sample_attempt(0), FEEDBACK)
    outside.closed(SEED)
    (second,) = outside.ask(1)
    outside.closed(second)
    assert outside.finished() == DONE
    assert outside.ask(1) == []
