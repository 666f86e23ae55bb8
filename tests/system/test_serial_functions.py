"""Serial functions in several spellings: ports and further techniques are built and compute what the function computes.

All of them are `benchmarks/serial_functions.py`'s; here are a few of each kind of loop, and the rest belongs to the matrix.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(file.name for file in (ROOT / "tests" / "serial_functions").iterdir())
NO_WAY = {"any_negative.c.cpp", "argmin_abs.c.cpp"}
"""A return from within a loop; a best of which only the place is kept."""
SAMPLE = {"argmin_abs.b.c", "doitgen.c.cpp", "fdtd2d.c.c", "ranges.b.c", "scan_squares.c.cpp", "trisolv.b.c"}


@pytest.fixture(scope="module")
def judged():
    """The benchmark's judge of one file."""
    spec = importlib.util.spec_from_file_location("serial_functions", ROOT / "benchmarks" / "serial_functions.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["serial_functions"] = module
    spec.loader.exec_module(module)
    return module.judged


@pytest.mark.parametrize("name", [n if n in SAMPLE else pytest.param(n, marks=pytest.mark.matrix) for n in FILES])
def test_any_spelling_becomes_a_right_kernel(judged, name):
    found = judged(ROOT / "tests" / "serial_functions" / name, "cpu")
    assert found["port"] == ("no way" if name in NO_WAY else "right")
    assert set(found["steps"].values()) <= {"right"}
