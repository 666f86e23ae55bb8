"""Parameters of a matrix keep their values and get the markers of their lanes; no lane leaves out a test of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from lanes import sampled

HOOK = Path(__file__).parents[2] / "conftest.py"


def marks(parameter):
    return {mark.name for mark in parameter.marks}


def test_what_is_no_sample_belongs_to_the_matrix_and_what_is_quiet_runs_alone():
    cases = sampled(["a", "b"], lambda name: name == "a", lambda name: name == "b")
    assert [case.values for case in cases] == [("a",), ("b",)]
    assert [marks(case) for case in cases] == [set(), {"matrix", "quiet"}]


def test_a_case_may_have_several_arguments():
    cases = sampled([("a", 1), ("a", 2)], lambda name, number: number == 1)
    assert [case.values for case in cases] == [("a", 1), ("a", 2)]
    assert [marks(case) for case in cases] == [set(), {"matrix"}]


def lane(folder, *options):
    (folder / "conftest.py").write_text(HOOK.read_text("utf-8"))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    quiet: x\n    matrix: y\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_quiet_lane_reads_the_files_of_quiet_tests_alone(tmp_path):
    (tmp_path / "test_loud.py").write_text("raise RuntimeError('read')\n")
    (tmp_path / "test_alone.py").write_text("import pytest\n@pytest.mark.quiet\ndef test_a():\n    assert True\n")
    status, told = lane(tmp_path, "-m", "quiet and not matrix")
    assert status == 0, told
    assert "1 passed" in told
    assert lane(tmp_path, "-m", "not quiet and not matrix")[0] == pytest.ExitCode.INTERRUPTED


def test_a_quiet_test_that_its_lane_would_not_find_is_an_error(tmp_path):
    (tmp_path / "test_it.py").write_text("from pytest import mark\n@mark.quiet\ndef test_a():\n    assert True\n")
    status, told = lane(tmp_path, "-m", "not quiet and not matrix")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "test_it.py" in told
