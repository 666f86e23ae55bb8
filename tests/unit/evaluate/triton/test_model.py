"""How a model may be defined, and what it may return: tensors that are there when it returns."""

from types import ModuleType

import pytest
import torch

from kernelwright.evaluate.triton.model import construct, load_entry, plain
from kernelwright.records.candidate import Candidate


class Later(torch.Tensor):
    """Could compute when it is looked at."""


def test_plain_tensors_pass_in_order():
    one, two, kept = torch.ones(1), torch.ones(2), torch.nn.Parameter(torch.ones(3))
    assert [t.numel() for t in plain((one, [two, kept]))] == [1, 2, 3]


def test_a_tensor_of_another_class_is_refused():
    with pytest.raises(TypeError, match="returned a Later, expected plain tensors"):
        plain((torch.ones(1), torch.ones(1).as_subclass(Later)))


@pytest.mark.parametrize(
    "text",
    [
        "class ModelNew(torch.nn.Identity): pass",
        "class Own(torch.nn.Identity): pass\nModelNew = Own",
        "from torch.nn import Identity as ModelNew",
        "def ModelNew(): return torch.nn.Identity()",
        "import functools\nModelNew = functools.partial(torch.nn.Identity, 3)",
        "ModelNew = torch.nn.Identity()",
        "class Model(torch.nn.Identity): pass",
    ],
)
def test_a_model_may_be_defined_in_any_way(tmp_path, text):
    entry = load_entry(tmp_path / "k.py", Candidate(language="python", source=f"import torch\n{text}\n"))
    assert isinstance(construct(entry, ModuleType("task")), torch.nn.Identity)


def test_models_are_built_under_one_seed():
    made = [construct(lambda: torch.nn.Linear(3, 3), ModuleType("task")) for _ in range(2)]
    assert torch.equal(made[0].weight, made[1].weight)
