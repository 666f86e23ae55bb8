"""Serial functions as strangers wrote them, of many fields and in many styles: kernels for a CPU, and for a GPU on the host.

All were written before a look at how they fare. A few run with the rest of the tests, and all in the matrix.
"""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from serial_functions import judged  # noqa: E402 -- a program beside the package

FOLDER = ROOT / "tests" / "serial_fresh"
NO_WAY = {
    # A copy of a std::array.
    ("bbox.cpp", "cuda"): "nobody knows how long a is",
    ("complex_mix.cpp", "cpu"): "z.real may do anything",
    ("complex_mix.cpp", "cuda"): "z.real may do anything",
    ("lower_bounds.cpp", "cuda"): "a GPU has no lower_bound",
    # What is best depends on what else the pass before computed.
    ("not_best.cpp", "cpu"): "goes from one pass to the next",
    ("not_best.cpp", "cuda"): "goes from one pass to the next",
}
NOT_READ = {"aos_energy.c", "aos_move.cpp"}
"""Arrays of structures."""
NAMES = sorted(file.name for file in FOLDER.iterdir() if file.name not in NOT_READ)
SAMPLE = {
    ("last_more.cpp", "cpu"),
    ("three_bests.cpp", "cpu"),
}
SAMPLE |= {("not_best.cpp", "cpu"), ("last_hit.c", "cuda")}


def case(*what):
    """A function's parameter: of the matrix unless in the sample."""
    return pytest.param(*what, marks=[] if what in SAMPLE else [pytest.mark.matrix])


@pytest.mark.parametrize(("name", "kind"), [case(name, kind) for name in NAMES for kind in ("cpu", "cuda")])
def test_a_strangers_function_becomes_a_right_kernel_or_none(name, kind):
    found = judged(FOLDER / name, kind)
    if why := NO_WAY.get((name, kind)):
        assert found["port"].startswith("no way") and why in found["port"]
    else:
        assert found["port"] == "right"
    assert set(found["steps"].values()) <= {"right"}


@pytest.mark.parametrize("name", sorted(NOT_READ))
def test_an_array_of_structures_is_not_read(name):
    assert judged(FOLDER / name, "cpu")["port"].startswith("not read")
