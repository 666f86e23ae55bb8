"""Positions are right by what they pick, values without an order by what they are."""

import torch

from kernelwright.evaluate.verify.exact import Tied, Unordered
from kernelwright.records.comparator import Ties

PICKED = torch.tensor([[1.0, 5.0, 5.0, 2.0], [3.0, 3.0, 0.0, 3.0]], dtype=torch.float64)


def tied(value, rule, picked=PICKED, allowed=0.0):
    return Tied(torch.tensor(value), lambda: picked, rule, 0.0, allowed)


def right(expected, got):
    return expected.judge([torch.tensor(got)])[1] is None


def test_either_of_two_equal_largest_is_right():
    expected = tied([1, 0], Ties(of="x", dim=1))
    assert right(expected, [1, 0])
    assert right(expected, [2, 3])
    assert not right(expected, [0, 0])


def test_a_position_outside_is_named():
    for outside in (4, -1):
        _, wrong = tied([1, 0], Ties(of="x", dim=1)).judge([torch.tensor([outside, 0])])
        assert "outside 0 to 3" in wrong.evidence


def test_a_position_in_the_flattened_tensor():
    expected = tied(1, Ties(of="x", dim=None))
    assert right(expected, 2)
    assert not right(expected, 3)
    assert not right(expected, 8)


def test_a_kept_dimension_and_narrow_integers_mean_the_same():
    expected = tied([[1], [0]], Ties(of="x", dim=-1))
    assert expected.judge([torch.tensor([[2], [1]], dtype=torch.int32)])[1] is None


def test_several_positions_must_be_distinct_where_that_is_asked_for():
    rule = Ties(of="x", dim=1, distinct=True)
    expected = tied([[1, 2], [0, 1]], rule)
    assert right(expected, [[2, 1], [3, 0]])
    _, wrong = expected.judge([torch.tensor([[1, 1], [0, 1]])])
    assert "come twice" in wrong.evidence


def test_the_order_counts_unless_nobody_promised_it():
    value, swapped = [[1, 3], [0, 2]], [[3, 1], [2, 0]]
    assert not right(tied(value, Ties(of="x", dim=1)), swapped)
    assert right(tied(value, Ties(of="x", dim=1, ordered=False)), swapped)


def test_computed_values_that_are_equal_within_tolerance_are_ties():
    picked = torch.tensor([[1.0, 1.0 + 1e-9, 0.5]], dtype=torch.float64)
    assert right(tied([1], Ties(of="n", dim=1), picked, 1e-6), [0])
    assert not right(tied([1], Ties(of="n", dim=1), picked, 1e-6), [2])
    assert not right(tied([1], Ties(of="x", dim=1), picked), [0])


def test_values_in_any_order():
    expected = Unordered(torch.tensor([[3.0, 2.0], [9.0, 1.0]], dtype=torch.float64), 1, 0.0, 1e-6)
    assert right(expected, [[2.0, 3.0], [9.0, 1.0]])
    assert not right(expected, [[2.0, 9.0], [3.0, 1.0]]), "each row for itself"
    assert not right(expected, [[2.0, 2.0], [9.0, 1.0]])
    assert expected.judge([torch.full((2, 2), float("nan"))])[1].because == "nonfinite"
