"""C++ functions that call the standard library's algorithms: their kernels for a CPU, and for a GPU on the host, are right.

A few run with the rest of the tests, and all in the matrix.
"""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from serial_functions import judged  # noqa: E402 -- a program beside the package

FOLDER = ROOT / "tests" / "serial_algorithms"
NO_WAY = {"tern"}
"""The call comes only sometimes, so that no loop may come before it."""
NAMES = sorted(file.stem for file in FOLDER.iterdir() if file.stem not in NO_WAY)
SAMPLE = {("rows", "cpu"), ("scan", "cpu"), ("soft", "cpu"), ("twostep", "cuda")}


def case(*what):
    """A function's parameter: of the matrix unless in the sample."""
    return pytest.param(*what, marks=[] if what in SAMPLE else [pytest.mark.matrix])


@pytest.mark.parametrize(("name", "kind"), [case(name, kind) for name in NAMES for kind in ("cpu", "cuda")])
def test_an_algorithm_is_the_loop_that_it_stands_for(name, kind):
    found = judged(FOLDER / f"{name}.cpp", kind)
    assert found["port"] == "right"
    assert set(found["steps"].values()) <= {"right"}


@pytest.mark.parametrize("name", NO_WAY)
def test_a_call_that_may_not_come_stays(name):
    assert judged(FOLDER / f"{name}.cpp", "cpu")["port"].startswith("no way")
