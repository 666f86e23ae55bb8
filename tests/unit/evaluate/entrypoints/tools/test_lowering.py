"""What PyTorch's compiler writes for modules whose constructor does not work on fake tensors."""

from itertools import product

import pytest

from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource
from lanes import sampled

TARGETS = [Target(kind="cpu", arch="native", present=True), Target(kind="cuda", arch="sm_90", present=False)]
MODULE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {}
        self.linear = torch.nn.Linear(64, 64){}
    def forward(self, x):
        return torch.tanh(self.linear(x)) + x
def get_inputs():
    return [torch.randn(8, 64{})]
"""
HALVES = ", dtype=torch.bfloat16"
SOURCES = {
    "converts its parameters": MODULE.format("", ".to(torch.bfloat16)", HALVES),
    "asks for a value": MODULE.format("self.rates = [x.item() for x in torch.linspace(0, 1, 3)]", "", ""),
    "does neither": MODULE.format("", "", ""),
}


@pytest.fixture(scope="module")
def service():
    service = EvaluationService(note=lambda _: None)
    yield service
    service.close()


@pytest.mark.parametrize(
    ("name", "target"),
    sampled(product(SOURCES, TARGETS), lambda name, target: (target.kind == "cpu") == ("value" in name)),
)
def test_a_text_is_written_for_a_module_that(service, name, target):
    source = TaskSource(name="task", format="kernelbench", source=SOURCES[name])
    found = service.lower(source, target, Policy(), {})
    assert found.missing == ""
    assert "tanh" in found.text
    assert bool(found.kernels) is (target.kind == "cuda")


def test_a_constructor_that_raises_is_told_as_it_raised(service):
    source = MODULE.format("raise ValueError('no such size')", "", "")
    found = service.lower(TaskSource(name="task", format="kernelbench", source=source), TARGETS[0], Policy(), {})
    assert found.missing == "ValueError: no such size"
