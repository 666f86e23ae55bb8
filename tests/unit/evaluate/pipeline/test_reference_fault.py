"""What a reference did wrong, as its author is told."""

import pytest

from kernelwright.evaluate.pipeline.reference_fault import gone, raised
from kernelwright.evaluate.sandbox.candidate_process import ChildRaisedError
from kernelwright.evaluate.sandbox.child import ChildGoneError
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
    return str(raised(SOURCE, error, Policy()))


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
    words = str(gone(SOURCE, ChildGoneError("killed by SIGKILL", ""), Policy(memory_bytes=8 << 30)))
    assert "ended (killed by SIGKILL), as processes do where memory runs out" in words
    assert "8 GiB (memory_bytes under [policy]" in words


def test_another_signal_says_what_is_not_allowed():
    words = str(gone(SOURCE, ChildGoneError("killed by SIGSEGV", "in _write"), Policy()))
    assert words.startswith(
        "the reference of 'mine' ended (killed by SIGSEGV). A reference may not write to its inputs"
    )
    assert words.endswith("in _write")
