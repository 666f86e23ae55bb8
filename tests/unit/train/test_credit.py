"""Credit is exact on small groups, and what is unknown counts in nobody's."""

import pytest

from kernelwright.train.credit import by_prefix, flat, kevin, own, trloo


def test_a_turn_earns_its_own_and_discounted_later_rewards():
    assert kevin([[0.0, 0.3, 1.3]], 0.4) == [[pytest.approx(0.328), pytest.approx(0.82), 1.3]]
    assert own([[0.0, 1.0]], 0.4) == [[0.0, 1.0]]


def test_the_mean_of_trloo_leaves_the_sample_out_and_sums_to_zero():
    found = trloo([[1.0], [0.0], [2.0]], 1.0)
    assert found == [[0.0], [-1.5], [1.5]]
    assert trloo([[1.0], [None], [2.0]], 1.0) == [[-1.0], [None], [1.0]]
    assert trloo([[5.0]], 1.0) == [[0.0]]


def test_an_unknown_reward_has_no_return_and_adds_nothing_to_earlier_ones():
    assert kevin([[1.0, None, 2.0]], 0.5) == [[1.5, None, 2.0]]


def test_groups_without_spread_are_flat():
    assert flat([[0.0, 0.0], [0.0, None]])
    assert flat([[None]])
    assert not flat([[0.0], [0.3]])


def test_a_token_earns_by_how_much_it_changes_what_its_beginning_has_earned():
    replies = [[1, 2, 3, 9], [1, 2, 4, 9], [1, 5, 6, 9], [1, 5, 6, 9]]
    assert by_prefix(replies, [1.0, 0.0, 1.0, 1.0]) == [
        [0.0, -0.25, 0.5, 0.0],
        [0.0, -0.25, -0.5, 0.0],
        [0.0, 0.25, 0.0, 0.0],
        [0.0, 0.25, 0.0, 0.0],
    ]


def test_a_reply_s_tokens_together_earn_what_it_is_above_the_mean():
    replies, returns = [[7, 1, 1], [7, 2], [7, 2, 3, 4], [8]], [1.0, 0.0, 0.5, 0.0]
    for credit, value in zip(by_prefix(replies, returns), returns, strict=True):
        assert sum(credit) in (
            pytest.approx(value - 0.375),
            pytest.approx(0.25 - 0.375),
        )  # one ends where another goes on


def test_what_is_unknown_earns_no_token_anything():
    assert by_prefix([[1, 2], [1, 3]], [None, 1.0]) == [[0.0, 0.0], [0.0, 0.0]]
    assert by_prefix([[1, 2]], [None]) == [[0.0, 0.0]]
