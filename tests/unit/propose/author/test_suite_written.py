"""How much of the project's own suite the author writes, and that nothing in its code was made for one task of it."""

import re
from pathlib import Path

import pytest
from author_cases import case

from kernelwright.errors import ProposeError
from kernelwright.propose.author.search.designs import cpp_design, triton_design

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[4]
TASKS = sorted([*(ROOT / "tasks" / "own").glob("*.py"), *(ROOT / "tasks" / "fsr").glob("*.py")])
AUTHOR = sorted((ROOT / "src/kernelwright/propose/author").rglob("*.py"))
WRITTEN = {"cuda": 50, "cpu": 50}


def written(kind, design):
    names = []
    for path in TASKS:
        found = case(path.read_text().replace('SIZES["medium"]', 'SIZES["small"]'), path.stem, kind)
        try:
            made = design(found.task)
            made.write(made.default)
        except ProposeError:
            continue
        names.append(path.stem)
    return names


@pytest.mark.parametrize(("kind", "design"), [("cuda", triton_design), ("cpu", cpp_design)])
def test_most_of_the_suite_is_written(kind, design):
    assert len(TASKS) == 55
    assert len(written(kind, design)) >= WRITTEN[kind]


def test_no_task_is_named_in_the_authors_code():
    names = {path.stem for path in TASKS if "_" in path.stem}
    known = {
        "log_softmax",
        "log_sum_exp",
        "layer_norm",
        "group_norm",
        "rms_norm",
        "huber_loss",
        "pairwise_distance",
    }  # PyTorch's names
    for path in AUTHOR:
        words = set(re.findall(r"\w+", path.read_text()))
        assert not words & (names - known), path


def test_no_shape_of_a_task_is_in_the_authors_code():
    sizes = {int(n) for path in TASKS for n in re.findall(r'": (\d{3,})', path.read_text())}
    odd = {n for n in sizes if n & (n - 1)}
    for path in AUTHOR:
        assert not {int(n) for n in re.findall(r"\b\d+\b", path.read_text())} & odd, path
