"""Advantages below zero have a weight of their own, tokens a credit, and the rate falls with the time."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from kernelwright.train.engine.grpo import weighed, with_credit  # noqa: E402
from kernelwright.train.engine.watch import rate_share  # noqa: E402


@pytest.mark.parametrize(
    ("negative", "expected"), [(1.0, [1.5, 0.0, -2.0]), (0.25, [1.5, 0.0, -0.5]), (0.0, [1.5, 0.0, 0.0])]
)
def test_only_advantages_below_zero_are_weighed(negative, expected):
    assert weighed(torch.tensor([1.5, 0.0, -2.0]), negative).tolist() == expected


def test_tokens_earn_beside_their_reply_s_advantage():
    found = with_credit(torch.tensor([1.0, -1.0]), [[0.5], [0.0, -0.25]], 3)
    assert found.tolist() == [[1.5, 1.0, 1.0], [-1.0, -1.25, -1.0]]


def test_what_tokens_earn_below_zero_is_weighed_too():
    found = weighed(with_credit(torch.tensor([1.0, -1.0]), [[-1.5], [2.0, -0.5]], 2), 0.5)
    assert found.tolist() == [[-0.25, 1.0], [1.0, -0.75]]


def test_the_rate_rises_from_the_first_step_on_and_falls_with_the_time():
    assert [rate_share(step, 4, 0.0) for step in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert rate_share(0, 0, 0.0) == 1.0
    assert [rate_share(9, 0, spent) for spent in (0.25, 1.0, 1.5)] == [0.75, 0.0, 0.0]
