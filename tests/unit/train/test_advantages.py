"""Advantages below zero have a weight of their own."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from kernelwright.train.engine.grpo import weighed  # noqa: E402


@pytest.mark.parametrize(
    ("negative", "expected"), [(1.0, [1.5, 0.0, -2.0]), (0.25, [1.5, 0.0, -0.5]), (0.0, [1.5, 0.0, 0.0])]
)
def test_only_advantages_below_zero_are_weighed(negative, expected):
    assert weighed(torch.tensor([1.5, 0.0, -2.0]), negative).tolist() == expected
