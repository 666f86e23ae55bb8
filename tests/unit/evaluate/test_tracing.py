"""The one export: a gradient within forward is read whole; a task's module can be found by those who import it by name."""

import sys

import torch

from kernelwright.evaluate.entrypoints.reference.task_file import executed
from kernelwright.tracing import functionalised, traced


class Force(torch.nn.Module):
    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            (found,) = torch.autograd.grad((x**3).sum(), x)
        return found


class Within(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.force = Force()

    def forward(self, x):
        with torch.no_grad():
            y = x * 2
        return self.force(y) + 1


def test_a_gradient_within_forward_has_no_region_left():
    x = torch.randn(4, 4)
    for module in (Force(), Within()):
        exported = functionalised(traced(module, (x,), {}))
        assert all(isinstance(node.target, str) or "aten" in str(node.target) for node in exported.graph.nodes)
        torch.testing.assert_close(exported.module()(x)[0], module(x))


def test_a_task_is_found_by_the_name_of_its_module():
    task = executed("import torch\nSCALE = 2.0\n\n@torch.no_grad()\ndef Model(x):\n    return x * SCALE\n")
    assert sys.modules[task.Model.__module__] is task
