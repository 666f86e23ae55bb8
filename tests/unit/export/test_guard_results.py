"""How a drop-in compares its kernel with Model at new sizes, whatever Model's result is made of."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import kernelwright.export

TEXT = (Path(kernelwright.export.__file__).parent / "parts" / "guard.py.txt").read_text()
Pair = namedtuple("Pair", "one two")


@dataclass
class Features:
    y: torch.Tensor
    x: torch.Tensor
    stage: str = "c4"


@pytest.fixture
def agree():
    begin, end = TEXT.index("def _tensors_in"), TEXT.index("def _counted")
    space = {"torch": torch}
    exec(TEXT[begin:end], space)
    return space["_agree"]


FORMS = [
    lambda a, b: Features(a, b), lambda a, b: Pair(a, b), lambda a, b: {"y": a, "x": [b, None, 3]},
    lambda a, b: OrderedDict(last=a, hidden=(b,)), lambda a, b: (a, b),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_results_of_any_form_are_compared_tensor_by_tensor(agree, form):
    a, b = torch.rand(3), torch.rand(2, 2)
    assert agree(form(a, b), form(a.clone(), b.clone()))
    assert not agree(form(a, b), form(a, b + 1))


def test_another_number_of_tensors_is_no_agreement(agree):
    assert not agree((torch.ones(2),), (torch.ones(2), torch.ones(2)))
