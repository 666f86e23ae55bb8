"""The pattern of a mismatch: what is said holds for every wrong element, and for no other reason than its place."""

import pytest
import torch

from kernelwright.evaluate.verify import pattern
from kernelwright.evaluate.verify.compare import Expected, judge


def words(shape, *places):
    """The pattern of wrong elements at these slices."""
    mask = torch.zeros(shape, dtype=torch.bool)
    for place in places:
        mask[place] = True
    return pattern.where(pattern.collected([mask]), shape)


ALL = slice(None)


@pytest.mark.parametrize(
    ("shape", "places", "told"),
    [
        ((8, 96), [(ALL, slice(93, None))], ": only the last 3 of 96 along dimension 1"),
        ((8, 96), [(ALL, slice(0, 2))], ": only the first 2 of 96 along dimension 1"),
        ((8, 96), [(ALL, slice(31, None, 32))], ": only every 32nd index from 31 on along dimension 1"),
        ((4, 8, 16), [(2,)], ": only index 2 of 4 along dimension 0"),
        (
            (4, 8, 16),
            [(3, ALL, slice(12, None))],
            ": only the last 4 of 16 along dimension 2 and index 3 of 4 along dimension 0",
        ),
        ((1000,), [slice(990, None)], ": only the last 10 of 1000 along dimension 0"),
        ((16, 16), [(ALL, ALL)], ": all of them"),
        ((16, 16), [(3, 5)], ""),
        ((), [...], ": all of them"),
        ((7, 5), [(0, slice(3, None)), (1, ALL), (2, slice(0, 2))], ": only the first 3 of 7 along dimension 0"),
    ],
)
def test_each_pattern_has_its_words(shape, places, told):
    assert words(shape, *places) == told


def test_elements_without_a_pattern_have_no_words():
    draw = torch.Generator().manual_seed(1)
    mask = torch.rand(64, 64, generator=draw) < 0.5
    assert pattern.where(pattern.collected([mask]), mask.shape) == ""


def test_a_period_is_the_same_however_many_elements_are_wrong():
    mask = torch.zeros(pattern.MOST * 24, dtype=torch.bool)
    mask[1::2] = True
    assert (
        pattern.where(pattern.collected(mask.split(1 << 18)), mask.shape)
        == ": only every 2nd index from 1 on along dimension 0"
    )


def test_a_factor_and_a_constant_are_told_with_a_few_values():
    value = torch.arange(1.0, 13.0, dtype=torch.float64).reshape(3, 4)
    expected = Expected(value, 1.0, 0.0, 1e-6)
    _, scaled = judge((value * 1.0625).float(), expected)
    assert "12 of 12 elements are off: all of them; worst at [2, 3]: expected 12, got 12.75" in scaled.evidence
    assert "each is 1.0625 times what is expected" in scaled.evidence
    assert "also [0, 0]: expected 1, got 1.0625" in scaled.evidence
    _, zero = judge(torch.zeros(3, 4), expected)
    assert "each wrong element is 0" in zero.evidence
    _, shifted = judge((value + 2.0).float(), expected)
    assert "each differs by 2" in shifted.evidence


def test_nan_and_what_was_never_written_have_their_places():
    value = torch.ones(8, 96, dtype=torch.float64)
    got = value.float()
    got[:, 95] = float("nan")
    _, wrong = judge(got, Expected(value, 1.0, 0.0, 1e-6))
    assert wrong.because == "nonfinite"
    assert (
        "8 of 768 elements are not finite: only index 95 of 96 along dimension 1; first at [0, 95]: nan"
        in wrong.evidence
    )
    got.view(torch.uint8).view(8, 96, 4)[:, 90:] = 0xFF
    _, wrong = judge(got, Expected(value, 1.0, 0.0, 1e-6))
    assert wrong.because == "unwritten"
    assert "never written: only the last 6 of 96 along dimension 1" in wrong.evidence
