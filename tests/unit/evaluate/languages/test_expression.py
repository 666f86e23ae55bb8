"""Arithmetic of launch plans: what it computes, and that hostile text costs nothing and reaches nothing."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.evaluate.languages.cuda.expression import RecipeError, number, whole
from kernelwright.records.tensor import TensorSpec

NAMES = {"in0": TensorSpec(name="x", shape=(3, 50), dtype="float16"), "BLOCK": 128, "scalar0": 0.5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil_div(in0.numel, BLOCK * 4)", 1),
        ("in0.shape[1] + in0.shape[-2]", 53),
        ("in0.ndim * in0.itemsize + in0.nbytes", 304),
        ("round_up(in0.numel, 64) >> 2", 48),
        ("next_power_of_2(in0.shape[1])", 64),
        ("next_power_of_2(1) + next_power_of_2(64)", 65),
        ("min(BLOCK, 7, 3) if BLOCK > 64 else 1", 3),
        ("-7 // 2", -4),
        ("-7 % 4", 1),
        ("(1 << 40) == 2 * (1 << 39)", 1),
        (" BLOCK ", 128),
    ],
)
def test_integers(text, value):
    assert whole(text, NAMES) == value


def test_fractions_are_numbers_but_no_integers():
    assert number("1.0 / in0.shape[1] + scalar0", NAMES) == 0.52
    with pytest.raises(RecipeError, match="use // or ceil_div"):
        whole("in0.numel / 2", NAMES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("9 ** 9 ** 9", "not understood"),
        ("1 << 64", "a shift by 64"),
        ("(1 << 62) * 4", "64 bits"),
        ("1e308 * 10", "64 bits"),
        ("9" * 300, "64 bits"),
        ("1" + " + 1" * 90, "too many parts"),
        ("1" * 401, "401 characters"),
        ("(" * 300, "no expression"),
        ("-" * 350 + "1", "too many parts"),
        ("1 / 0", "division by zero"),
        ("ceil_div(1, 0)", "by zero"),
        ("ceil_div(1)", "takes 2 arguments"),
        ("min()", "some arguments"),
        ("BLOCKS", "unknown name 'BLOCKS'; known are in0, BLOCK"),
        ("in0", "a tensor where a number is needed"),
        ("in0 + 1", "is a tensor"),
        ("in0.shape[2]", "no shape\\[2\\]"),
        ("in0.shape", "not understood"),
        ("BLOCK.numel", "a number, no tensor"),
        ("scalar0 % 2", "only integers"),
        ("__import__('os').system('true')", "not understood"),
        ("open('/etc/passwd')", "not understood"),
        ("().__class__", "not understood"),
        ("'a' * 9", "not understood"),
        ("[1] * 9", "not understood"),
        ("(lambda: 1)()", "not understood"),
        ("x := 3", "no expression"),
        ("min(*[1])", "not understood"),
        ("pow(9, 9)", "no function 'pow'"),
        ("", "no expression"),
        ("1\0", "no expression"),
    ],
)
def test_what_is_no_arithmetic_is_refused(text, said):
    with pytest.raises(RecipeError, match=said):
        whole(text, NAMES)


@given(st.text(alphabet="0123456789()+-*/%<>.,[]:= abcinBLOCKshapemdvr_", max_size=400))
def test_no_text_breaks_it_or_takes_long(text):
    start = time.process_time()
    try:
        value = whole(text, NAMES)
    except RecipeError as error:
        assert len(str(error)) < 2000
    else:
        assert -(1 << 63) < value < 1 << 63
    assert time.process_time() - start < 5
