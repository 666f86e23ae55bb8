"""Serial functions in several spellings: ports and further techniques are built and compute what the function computes.

All of them are `benchmarks/serial_functions.py`'s; here are a few of each kind of loop, and the rest belongs to the matrix.
"""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from serial_functions import judged  # noqa: E402 -- a program beside the package

FILES = sorted(file.name for file in (ROOT / "tests" / "serial_functions").iterdir())
NO_WAY = {
    # Welford's mean needs the one before, and the rows are walked by a pointer to where another one ended
    "layer_norm.b.c",
}
SAMPLE = {"adler.a.c", "argmin_abs.b.c", "doitgen.c.cpp", "floyd.c.cpp", "kahan.b.c", "ranges.b.c", "trisolv.b.c"}
SAMPLE |= {"scan_squares.c.cpp"}


def case(name):
    """A file's parameter: of the matrix unless in the sample."""
    marks = [] if name in SAMPLE else [pytest.mark.matrix]
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [case(name) for name in FILES])
def test_any_spelling_becomes_a_right_kernel(name):
    found = judged(ROOT / "tests" / "serial_functions" / name, "cpu")
    assert found["port"].partition(":")[0] == ("no way" if name in NO_WAY else "right")
    assert set(found["steps"].values()) <= {"right"}
