"""What foreign exceptions become."""

import pytest

from kernelwright.evaluate.triton.fault import LOG_CHARACTERS, Boundary, UnsupportedError, clip
from kernelwright.evaluate.triton.model import load_module, private_path


def run(tmp_path, text, kinds=None):
    path = tmp_path / "kernel.py"
    with Boundary(path, kinds) as boundary:
        load_module(path, text)
    return boundary.fault


def test_frames_of_the_candidate_and_the_message(tmp_path):
    fault = run(tmp_path, "def f():\n    import json; json.loads('{')\nf()\n")
    assert fault.kind == "build"
    lines = fault.log.splitlines()
    assert lines[:2] == ["kernel.py:3 in <module>: f()", "kernel.py:2 in f: import json; json.loads('{')"]
    assert lines[2].startswith("JSONDecodeError:")
    assert str(tmp_path) not in fault.log


def test_the_kind_comes_from_the_cause(tmp_path):
    text = "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('outer') from e\n"
    assert run(tmp_path, text, {ZeroDivisionError: "unsupported"}).kind == "unsupported"
    assert "outer" in run(tmp_path, text).log


def test_our_own_errors_carry_their_kind(tmp_path):
    with Boundary(tmp_path / "kernel.py") as boundary:
        raise UnsupportedError("not here")
    assert (boundary.fault.kind, boundary.fault.log) == ("unsupported", "not here")


@pytest.mark.parametrize(
    ("file", "kind"), [("triton/runtime/interpreter.py", "unsupported"), ("triton/language/semantic.py", "run")]
)
def test_what_breaks_inside_the_interpreter_is_no_fault_of_the_kernel(tmp_path, file, kind):
    with Boundary(tmp_path / "kernel.py") as boundary:
        boundary.default = "run"
        exec(compile("import numpy; numpy.linalg.inv('no matrix')", f"/x/{file}", "exec"), {})
    assert boundary.fault.kind == kind


def test_an_exit_is_not_swallowed(tmp_path):
    with pytest.raises(SystemExit):
        run(tmp_path, "raise SystemExit(0)\n")


def test_a_long_text_is_clipped_in_the_middle():
    text = clip("\n".join(f"line {i}" for i in range(1000)))
    assert text.startswith("line 0\n")
    assert text.endswith("line 999")
    assert "940 lines left out" in text
    assert len(clip("x" * 10**6)) < LOG_CHARACTERS + 10


def test_private_paths_differ():
    assert private_path("kernel") != private_path("kernel")
