"""Expressions of sizes are arithmetic and comparisons, and nothing else."""

import pytest

from kernelwright.records.expression import holds, named_in, worth

SIZES = {"n": 12, "heads": 4}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n", 12),
        (7, 7),
        ("n // 5 + 2 * heads", 10),
        ("(n - 2) % heads", 2),
        ("n / heads", 3),
        ("2 ** heads", 16),
        ("-n + 13", 1),
        ("max(n, 2 * heads) - min(3, n, heads)", 9),
        ("abs(heads - n)", 8),
    ],
)
def test_worth(text, value):
    assert worth(text, SIZES) == value


@pytest.mark.parametrize(
    "text", ["m", "n / 5", "n // 0", "2 ** n ** n", "n if n else 1", "f(n)", "1.5 * n", "n +", "'n'", "n and 1"]
)
def test_anything_else_is_no_size(text):
    with pytest.raises(ValueError, match="is no number"):
        worth(text, SIZES)


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("n == heads * 3", True),
        ("1 <= heads < n", True),
        ("n % 8 == 0", False),
        ("n > 1 and heads != 4", False),
        ("n > 99 or heads in (4, 8)", True),
        ("n not in [heads * 3]", False),
        ("not n > 99 and n >= max(heads, 12)", True),
        ("n > 99 or heads > 99", False),
        ("True", True),
    ],
)
def test_holds(text, true):
    assert holds(text, SIZES) is true


@pytest.mark.parametrize(
    "text",
    [
        "n",
        "n == 'x'",
        "n in heads",
        "n == m",
        "not n",
        "n > 1 or m",
        "n > 1 or x",
        "max(n) > 1",
        "sum(n, 1) > 1",
        "n in (1, m)",
        "max(n, heads, key=n) > 1",
    ],
)
def test_anything_else_is_no_comparison(text):
    with pytest.raises(ValueError, match="is no comparison"):
        holds(text, SIZES)


def test_names():
    assert named_in("a * b // 2 == c") == {"a", "b", "c"}
    assert named_in("max(a, 2) in (b, 3) or not c") == {"a", "b", "c"}
    assert named_in("?") == frozenset()
