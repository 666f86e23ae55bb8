"""What a model may return: tensors that are there when it returns."""

import pytest
import torch

from kernelwright.evaluate.triton.model import plain


class Later(torch.Tensor):
    """Could compute when it is looked at."""


def test_plain_tensors_pass_in_order():
    one, two, kept = torch.ones(1), torch.ones(2), torch.nn.Parameter(torch.ones(3))
    assert [t.numel() for t in plain((one, [two, kept]))] == [1, 2, 3]


def test_a_tensor_of_another_class_is_refused():
    with pytest.raises(TypeError, match="returned a Later, expected plain tensors"):
        plain((torch.ones(1), torch.ones(1).as_subclass(Later)))
