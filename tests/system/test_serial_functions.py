"""Serial functions in several spellings: ports and further techniques are built and compute what the function computes.

All of them are `benchmarks/serial_functions.py`'s; here are a few of each kind of loop, and the rest belongs to the matrix.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(file.name for file in (ROOT / "tests" / "serial_functions").iterdir())
NO_WAY = {
    # how often it passes is known only after it
    "compact.b.c",
    # one pass needs another's values
    *("adler.a.c", "adler.b.c", "kahan.a.c", "kahan.b.c", "kahan.c.c", "compact.c.cpp"),
    *("floyd.a.c", "floyd.c.cpp", "needleman.c.c"),
    # what can be shared out is too little for how often it is run
    "floyd.b.c",
}
SAMPLE = {"argmin_abs.b.c", "doitgen.c.cpp", "fdtd2d.c.c", "ranges.b.c", "scan_squares.c.cpp", "trisolv.b.c"}


@pytest.fixture(scope="module")
def judged():
    """The benchmark's judge of one file."""
    spec = importlib.util.spec_from_file_location("serial_functions", ROOT / "benchmarks" / "serial_functions.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["serial_functions"] = module
    spec.loader.exec_module(module)
    return module.judged


def case(name):
    """A file's parameter: of the matrix unless in the sample."""
    marks = [] if name in SAMPLE else [pytest.mark.matrix]
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [case(name) for name in FILES])
def test_any_spelling_becomes_a_right_kernel(judged, name):
    found = judged(ROOT / "tests" / "serial_functions" / name, "cpu")
    assert found["port"] == ("no way" if name in NO_WAY else "right")
    assert set(found["steps"].values()) <= {"right"}
