"""Tasks that cannot be judged: refused with the reason and the cure, in one message; the next task is admitted."""

import pytest
from bad_input import AFFINE

from kernelwright.errors import TaskError


def written(forward="return x * 3 + 1", inputs="torch.randn(64, 64)", init="", before="", argument="x"):
    return f"""
import torch
import torch.nn as nn
{before}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init or "pass"}
    def forward(self, {argument}):
        {forward}
def get_inputs():
    return [{inputs}]
"""


BAD = {
    "a syntax error": (AFFINE + "\ndef broken(:\n", "SyntaxError"),
    "no Model": (AFFINE.replace("class Model", "class Modell"), "no attribute 'Model'"),
    "a Model that is none": (
        written(before="class Other: pass").replace("(nn.Module)", "(Other)"),
        "neither a torch.nn.Module nor a function",
    ),
    "no inputs": (AFFINE.replace("get_inputs", "get_outputs"), "no attribute 'get_inputs'"),
    "inputs that raise": (written(inputs="torch.randn(64, -64)"), "negative dimension"),
    "a forward that raises": (written("return x @ torch.ones(3)"), "size mismatch"),
    "inputs of another kind": (written(inputs="iter([1])"), "is or holds a list_iterator"),
    "a result of another kind": (written("return {'y': str(x)}"), "has no elements, or is no tensor"),
    "randomness": (written("return x + torch.randn_like(x)"), "not deterministic"),
    "randomness beside dropout": (
        written("return self.drop(x), x + torch.rand_like(x)", init="self.drop = nn.Dropout(0.5)"),
        'COMPARATORS = {1: "statistical"}',
    ),
    "zeros that pass": (written("return torch.softmax(x * 0, 0) * 0"), "does not depend on input 'x'"),
    "a constant that passes": (written("return torch.relu(x) * 1e-30 + 1"), "does not depend on input 'x'"),
    "the input itself": (written("return torch.sqrt(x).square()", inputs="torch.rand(64, 64)"), "the input itself would pass"),
    "an input that does not matter": (
        written("return x * 3 + 1", inputs="torch.randn(64, 64), torch.randn(64, 64)", argument="x, unused"),
        "does not depend on input 'unused'; remove it",
    ),
    "a state that grows": (
        written("self.register_buffer(f'b{len(self._buffers)}', x.sum())\n        return x * 3 + 1"),
        "register them in __init__",
    ),
    "no number": (written("return (x - x) / 0"), "NaN on its own inputs: output 0 is NaN at [0, 0]"),
    "an exit": (written("import os; os._exit(0)"), "exited with status 0"),
    "a crash": (written("import ctypes; ctypes.string_at(8)"), "SIGSEGV"),
    "a task of another shape each time": (
        written(inputs="torch.randn(torch.initial_seed() % 1000 % 7 + 60, 64)"),
        "shape",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_task_is_refused_in_one_message(asked, name):
    source, reason = BAD[name]
    with pytest.raises(TaskError) as caught:
        asked.admit(source, name)
    message = str(caught.value)
    assert reason in message
    assert repr(name) in message
    assert len(message) < 1200


BROUGHT = {
    "a dict": (written("return {'y': x * 3}"), ()),
    "dropout": (written("return self.drop(x)", init="self.drop = nn.Dropout(0.5)"), ()),
    "a sample without signs": (written("return torch.relu(x)", inputs="torch.rand(64, 64)"), ()),
    "an input written in place": (written("return x.mul_(3).add_(1)"), ("x",)),
    "a state that changes": (
        written("self.count += 1\n        return x * 3 + self.count", init="self.register_buffer('count', torch.zeros(1))"),
        ("count",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROUGHT)
def test_what_people_bring_is_admitted(asked, name):
    source, changes = BROUGHT[name]
    assert asked.admit(source, name).workload.changes == changes


def test_and_the_next_is_admitted(asked):
    assert asked.admit(AFFINE).workload.outputs[0].shape == (64, 64)
