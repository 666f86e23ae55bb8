"""Work that is done while parameters are given, beside the clock, on what is made of them alone.

Inputs are not there yet then (`tests/unit/evaluate/timing/test_fresh_inputs.py`).
"""

from functools import partial

import pytest
from cheat_files import gained

import calm

TASK = """
import sys
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(512, 512, bias=False) for _ in range(3))

    def forward(self, x):
        return x @ (self.a.weight @ self.b.weight @ self.c.weight)

def get_inputs():
    return [torch.randn(16, 512)]
"""
HONEST = "\nclass ModelNew(Model):\n    pass\n"
SUBCLASS = """

class Told(nn.Parameter):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            result = function(*args, **(kwargs or {}))
            if function is torch.Tensor.copy_:
                MODEL[0].folded = MODEL[0].a.weight @ MODEL[0].b.weight @ args[0]
            return result

MODEL = []

class ModelNew(Model):
    def __init__(self):
        super().__init__()
        self.c.weight = torch.Tensor._make_subclass(Told, self.c.weight.detach().clone(), True)
        MODEL.append(self)

    def forward(self, x):
        return x @ self.folded
"""
"""A parameter that folds the weights whenever it is copied into."""
FOLDING = """

binding = sys.modules["kernelwright.evaluate.triton.binding"]
give = binding.Bound.give

def folding(bound, values):
    give(bound, values)
    with torch.no_grad():
        bound.model.folded = bound.model.a.weight @ bound.model.b.weight @ bound.model.c.weight

binding.Bound.give = folding

class ModelNew(Model):
    def forward(self, x):
        return x @ self.folded
"""
"""Has the referee's own code in its process fold the weights."""

SKIPPING = """

binding = sys.modules["kernelwright.evaluate.triton.binding"]

def skipping(bound, values):
    bound.model.given = values

binding.Bound.give = skipping

class ModelNew(Model):
    def forward(self, x):
        return x @ (self.given["a.weight"] @ self.given["b.weight"] @ self.given["c.weight"])
"""
"""Copies nothing: what copying takes eager is time for work on what lies in the arena."""
ARENA = """

side = sys.modules["kernelwright.evaluate.entrypoints.candidate.module"]
held = side._held
own = {"a.weight": "a", "b.weight": "b", "c.weight": "c"}
side._held = lambda t: held(next(v for n, v in MODEL[0].given.items() if getattr(MODEL[0], own[n]).weight is t))
MODEL = []

class ModelNew(Model):
    def __init__(self):
        super().__init__()
        MODEL.append(self)

    def forward(self, x):
        return x @ (self.given["a.weight"] @ self.given["b.weight"] @ self.given["c.weight"])
"""
"""Says that its parameters lie where the arena does."""
MOVING = """

class ModelNew(Model):
    def __init__(self):
        super().__init__()
        self.a.weight = nn.Parameter(self.a.weight.detach().t().contiguous().t())

    def forward(self, x):
        self.b.weight.data = self.b.weight.data.clone()
        return super().forward(x)
"""
"""Its tensors are laid out otherwise, or move with every call: odd, and honest."""


@pytest.fixture
def judged(bench):
    return partial(bench.module, TASK)


def test_a_parameter_that_runs_code_when_it_is_copied_into(judged):
    found = judged(SUBCLASS)
    assert found.outcome == "build_failed"
    assert "c.weight is a Told, not a plain tensor" in found.log


@pytest.mark.quiet
def test_weights_that_are_folded_while_they_are_given(judged):
    for _ in calm.tries():
        twin, found = judged(HONEST), judged(FOLDING)
        assert twin.outcome == "measured"
        if found.outcome == "suspect" or not gained(found.timing, twin.timing, noise=1.5):
            break
    if found.outcome == "suspect":
        assert found.because in ("clock_disagrees", "hidden_work")
    else:
        assert not gained(found.timing, twin.timing, noise=1.5)


@pytest.mark.parametrize(
    "more", [SKIPPING, SKIPPING.split("class ModelNew")[0] + ARENA], ids=["elsewhere", "in the arena"]
)
def test_parameters_that_are_not_taken(judged, more):
    found = judged(more)
    assert (found.outcome, found.because) == ("suspect", "tampering"), found
    assert "parameters" in found.evidence


def test_parameters_that_lie_otherwise_or_move_are_found(judged):
    assert judged(MOVING).outcome == "measured"
