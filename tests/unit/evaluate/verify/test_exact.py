"""Equality: bits where they are asked for, and steps where rounding decides."""

import pytest
import torch

from kernelwright.evaluate.verify.exact import Identical, Stepped, rounded, share_off
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.tensor import TensorSpec


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
def test_the_same_bits_pass(dtype):
    value = torch.randint(0, 2, (4, 5)).to(dtype)
    assert Identical(value).judge([value.clone()]) == (0.0, None)


def test_one_bit_is_told_with_its_place():
    value = torch.ones(2, 3)
    got = value.clone()
    got[1, 1] = torch.nextafter(got[1, 1], torch.tensor(2.0))
    error, wrong = Identical(value).judge([got])
    assert error == 1.0
    assert wrong.because == "value"
    assert "1 of 6 elements" in wrong.evidence
    assert "first at [1, 1]" in wrong.evidence


def test_the_sign_of_a_zero_is_a_bit():
    assert Identical(torch.zeros(3)).judge([-torch.zeros(3)])[1] is not None


def test_what_was_never_written_is_called_that():
    got = torch.full((3 * 4,), 0xFF, dtype=torch.uint8).view(torch.float32)
    assert Identical(torch.zeros(3)).judge([got])[1].because == "unwritten"


def test_nothing_is_equal_to_nothing():
    assert Identical(torch.zeros(0)).judge([torch.zeros(0)]) == (0.0, None)
    assert Stepped(torch.zeros(0, dtype=torch.int8), 0.0, 0.0).judge([torch.zeros(0, dtype=torch.int8)]) == (0.0, None)


def quantised(*changes):
    got = torch.arange(1000, dtype=torch.int32)
    for where, by in changes:
        got[where] += by
    return got


def test_a_step_on_an_edge_passes_and_two_steps_do_not():
    expected = Stepped(quantised(), 0.0, 0.001)
    assert expected.judge([quantised((7, 1), (900, -1), (901, 1))])[1] is None
    assert "by more than one" in expected.judge([quantised((7, 2))])[1].evidence
    assert expected.judge([quantised(*((i, 1) for i in range(4)))])[1] is not None


def test_a_reported_error_of_what_passes_is_within_what_is_allowed():
    expected = Stepped(quantised(), 0.0, 0.0)
    error, wrong = expected.judge([quantised((7, 1))])
    assert wrong is None
    assert error <= expected.allowed


def test_masks_are_steps_of_one():
    value = torch.zeros(1000, dtype=torch.bool)
    got = value.clone()
    got[:2] = True
    assert Stepped(value, 0.0, 0.0).judge([got])[1] is None
    got[:3] = True
    assert Stepped(value, 0.0, 0.0).judge([got])[1] is not None
    assert share_off(got, value) == pytest.approx(0.003)


@pytest.mark.parametrize(("count", "free"), [(4, 0), (255, 0), (256, 1), (512, 2), (100_000, 2)])
def test_what_is_free_is_a_share_and_nothing_of_a_few(count, free):
    value = torch.zeros(count, dtype=torch.int8)
    got = value.clone()
    got[:free] = 1
    assert Stepped(value, 0.0, 0.0).judge([got])[1] is None
    got[free] = 1
    assert Stepped(value, 0.0, 0.0).judge([got])[1] is not None


@pytest.mark.parametrize("rare", [False, True])
def test_most_of_the_rarer_of_true_and_false_must_be_right(rare):
    value = torch.full((10_000,), not rare)
    value[:150] = rare
    rule = Stepped(value, 0.001, 0.02)
    some, none = value.clone(), torch.full_like(value, not rare)
    some[:30] = not rare
    assert rule.judge([some])[1] is None
    assert rule.judge([none])[1].because == "value"


def graph(*operations):
    nodes = [
        OpNode(
            name=name, op=f"aten.{op}", arguments=tuple(Argument(name="self", value=Ref(ref=r)) for r in reads),
            result=(TensorSpec(name=name, shape=(4,), dtype=dtype),), bytes=0, flops=0,
        )
        for name, op, dtype, reads in operations
    ]  # fmt: skip
    return OpGraph(inputs=("x",), parameters=(), nodes=tuple(nodes), outputs=(nodes[-1].name,))


X = TensorSpec(name="x", shape=(4,), dtype="float32")


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([("a", "gt.Scalar", "bool", ["x"])], False),
        ([("a", "neg.default", "float32", ["x"]), ("b", "gt.Scalar", "bool", ["a"])], False),
        ([("a", "mm.default", "float32", ["x"]), ("b", "gt.Scalar", "bool", ["a"])], True),
        ([("a", "round.default", "float32", ["x"]), ("b", "to.dtype", "int8", ["a"])], True),
        ([("a", "mul.Tensor", "int64", ["x"]), ("b", "add.Tensor", "int64", ["a"])], False),
    ],
)  # fmt: skip
def test_only_behind_arithmetic_on_floats_does_rounding_decide(operations, expected):
    found = graph(*operations)
    assert rounded(found, found.outputs[0], [X]) == expected
