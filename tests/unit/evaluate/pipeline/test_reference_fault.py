"""What a reference did wrong, as its author is told."""

import traceback

import pytest
import torch

from kernelwright.evaluate.entrypoints.reference import export
from kernelwright.evaluate.entrypoints.reference.task_file import executed
from kernelwright.evaluate.pipeline.admit import _gone, _raised
from kernelwright.evaluate.pipeline.untraced import untraced_words
from kernelwright.evaluate.sandbox.child import ChildGoneError
from kernelwright.evaluate.sandbox.process import ChildRaisedError
from kernelwright.records.policy import Policy
from kernelwright.records.task import TaskSource

SOURCE = TaskSource(name="mine", format="kernelbench", source="import torch\nimport nosuch\nx = torch.fnord(1)\n")
FRAMES = """Traceback (most recent call last):
  File "/usr/lib/python/kernelwright/entrypoints/session.py", line 29, in serve
    said = handlers[type(question.command)](question.command)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "<task>", line {}, in <module>
{}
"""


def told(line, exception):
    error = ChildRaisedError(exception.partition(":")[0], FRAMES.format(line, exception))
    return str(_raised(SOURCE, error, Policy()))


def test_a_missing_package_is_named_with_its_cure():
    words = told(2, "ModuleNotFoundError: No module named 'nosuch.deep'")
    assert words == (
        "the reference of 'mine' imports 'nosuch.deep', which is not installed for this Python: pip install nosuch, or "
        "leave the import out"
    )


def test_an_exception_is_told_with_its_line_and_without_our_frames():
    words = told(3, "AttributeError: module 'torch' has no attribute 'fnord'")
    assert words == (
        "the reference of 'mine' raised in line 3 (x = torch.fnord(1)): "
        "AttributeError: module 'torch' has no attribute 'fnord'"
    )


def test_missing_constructor_arguments_name_where_they_come_from():
    words = told(2, "TypeError: Model.__init__() missing 1 required positional argument: 'd'")
    assert words.endswith("argument: 'd'. Return them, in a list, from a function get_init_inputs() in the task's file")


def test_an_exception_of_several_lines_is_kept_whole():
    assert told(3, "ValueError: first\nsecond").endswith("ValueError: first\nsecond")


@pytest.mark.parametrize("exception", ["MemoryError", "RuntimeError: [enforce fail] can't allocate memory: 9 bytes"])
def test_too_little_memory_names_the_setting(exception):
    words = told(3, exception)
    assert "16 GiB (memory_bytes under [policy]" in words
    assert "make the inputs smaller" in words


def test_a_process_that_the_system_killed_names_the_cause_and_the_setting():
    words = str(_gone(SOURCE, ChildGoneError("killed by SIGKILL", ""), Policy(memory_bytes=8 << 30)))
    assert "ended (killed by SIGKILL), as processes do where memory runs out" in words
    assert "8 GiB (memory_bytes under [policy]" in words


def test_another_signal_says_what_is_not_allowed():
    words = str(_gone(SOURCE, ChildGoneError("killed by SIGSEGV", "in _write"), Policy()))
    assert words.startswith(
        "the reference of 'mine' ended (killed by SIGSEGV). A reference may not write to its inputs"
    )
    assert words.endswith("in _write")


TRACED = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        {}
"""


def untraced(line):
    """What is told of a model that torch.export is really asked for, with this line in it."""
    source = TRACED.format(line)
    model, x = executed(source).Model(), torch.rand(4, 4) + 1
    model(x)
    with pytest.raises(Exception) as caught:
        export.graph(model, ([x], {}), [export.spec_of("x", x)])
    log = "".join(traceback.format_exception(caught.value))
    return untraced_words(SOURCE.model_copy(update={"source": source}), type(caught.value).__name__, log)


@pytest.mark.parametrize(
    "line",
    [
        "return y[x > 0].relu()",
        "return torch.nonzero(y)",
        "return torch.masked_select(y, x > 0).sum()",
        "return y.unique()",
    ],
)
def test_a_shape_that_depends_on_values_is_named_with_its_line_and_cure(line):
    assert untraced(line) == (
        f"torch.export cannot trace it: the shape of a tensor depends on values, in line 7 ({line})"
    )


@pytest.mark.parametrize(
    "line",
    [
        "return y if x.sum() > 0 else -y",
        "return y * float(x.max())",
        "return y if torch.equal(x, x) else -y",
        "return y[: int(x[0, 0].item())]",
    ],
)
def test_control_flow_that_depends_on_values_is_named_with_its_line_and_cure(line):
    assert untraced(line) == (
        f"torch.export cannot trace it: its control flow or a number in Python depends on values, in line 7 ({line})"
    )


ADVICE = """{}
For more information, run with TORCH_LOGS="dynamic"
For C++ stack trace, run with TORCHDYNAMO_EXTENDED_DEBUG_CPP=1

The following call raised this error:
  File "<task>", line 3, in forward

The error above occurred when calling torch.export.export. If you would like to view some more information about this \
error, you can replace your `export()` call with `draft_export()`."""


def test_an_older_torch_wraps_a_guard_on_values_in_an_error_of_the_user():
    error = "torch._dynamo.exc.UserError: Could not guard on data-dependent expression Eq(u0, 1)"
    log = FRAMES.format(3, ADVICE.format(error))
    assert untraced_words(SOURCE, "UserError", log) == (
        "torch.export cannot trace it: its control flow or a number in Python depends on values, in line 3 "
        "(x = torch.fnord(1))"
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Unsupported", "torch.export cannot trace it, in line 3 (x = torch.fnord(1)): Unsupported: generator"),
        ("ValueError", "the reference of 'mine' raised in line 3 (x = torch.fnord(1)): ValueError: generator"),
    ],
)
def test_pytorchs_advice_to_its_developers_is_left_out_and_what_it_raised_is_not(name, said):
    log = FRAMES.format(3, ADVICE.format(f"{name}: generator"))
    raised = str(_raised(SOURCE, ChildRaisedError(name, log), Policy()))
    assert said in (raised, untraced_words(SOURCE, name, log))
