"""The figures of an admitted task, and its warnings, from a real reference."""

import pytest

from kernelwright.errors import TaskError
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.pipeline.examine import examine
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

CPU = Target(kind="cpu", arch="native", present=True)
TASK = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, y):
        {before}
        return {result}

def get_inputs():
    return [torch.randn({shape}), torch.randn({shape})]
"""


def examined(backend, result, before="pass", shape="256, 256"):
    text = TASK.format(result=result, before=before, shape=shape)
    source = TaskSource(name="task", format="kernelbench", source=text)
    session = admit.open_session(backend, source, CPU, Policy(seeds=2), 1)
    try:
        return {check.name: check for check in examine(session, backend.clock).checks}
    finally:
        session.close()


def warned(found):
    return {name for name, check in found.items() if check.status == "warned"}


def test_a_sound_task_has_a_figure_for_everything(backend):
    found = examined(backend, "(torch.tanh(x).cumsum(0) * y).softmax(-1).cumsum(1) + x", shape="512, 512")
    assert warned(found) == set()
    assert {"reference", "depends on x", "depends on y", "zeros fails", "duration", "redundancy"} <= found.keys()
    assert "times what is allowed" in found["depends on y"].figure
    assert "range of output 0" in found


def test_a_call_too_short_for_the_clock_is_a_warning(backend):
    found = examined(backend, "x + y", shape="2, 2")
    assert "duration" in warned(found)
    assert "Make its inputs larger" in found["duration"].figure


def test_a_result_that_hardly_varies_is_a_warning(backend):
    found = examined(backend, "x * 1e-6 + y * 1e-6 + 1")
    assert {"range of output 0", "a constant fails", "ones fails"} <= warned(found)


def test_work_that_nothing_needs_is_a_warning(backend):
    found = examined(backend, "x + y", before="dead = torch.exp(x)")
    assert "no output needs aten.exp.default" in found["redundancy"].figure


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("x + torch.randn_like(x) + y", "random"),
        ("x + (y - y) / (y - y)", "not_finite"),
        ("torch.exp(x)", "ignores_input"),
        ("x @ y.new_ones(3)", "raises"),
    ],
)
def test_refusals_carry_their_class(backend, result, reason):
    with pytest.raises(TaskError) as caught:
        examined(backend, result, shape="8, 8")
    assert caught.value.reason == reason
