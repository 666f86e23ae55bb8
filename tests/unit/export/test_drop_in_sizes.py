"""Drop-ins at sizes that they were not judged at: by the kernel, right, counted, and checked first where that is wanted."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from other_sizes_cases import CASES, Drawn, tried

from lanes import sampled

LISTED = [(family, name) for family, cases in CASES.items() for name in cases]


@pytest.mark.parametrize(("family", "name"), LISTED)
def test_a_kernel_in_cpp_answers_at_other_sizes(family, name, tmp_path):
    drawn, right, served = tried(CASES[family][name], tmp_path, "cpu", 6)
    assert drawn.axes, "no size is free"
    assert right == 6
    assert served == ["rule"] * 6


INTERPRETED = """
import sys
from other_sizes_cases import CASES, tried
family, name, folder = sys.argv[1:]
drawn, right, served = tried(CASES[family][name], folder, "sm_90", 2)
assert drawn.axes and right == 2 and served == ["rule"] * 2, (drawn.axes, right, served)
"""


@pytest.mark.parametrize("family", sampled(CASES, [*CASES][::3].__contains__))
def test_a_kernel_in_triton_answers_at_other_sizes_in_the_interpreter(family, tmp_path):
    name = next(iter(CASES[family]))
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED, family, name, str(tmp_path)],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": here}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return Drawn(CASES["rows"]["rms_norm"], tmp_path_factory.mktemp("rows"))


def called(drawn, sizes):
    """By what one call at these sizes was served."""
    return drawn.answers(sizes, random.Random(1))


def test_the_first_call_at_a_new_size_is_the_reference_and_the_next_the_kernel(rows):
    rows.new.check_new_sizes(True)
    first, again = called(rows, [2, 9]), called(rows, [2, 9])
    assert first == (True, "rule"), "the kernel was run to be compared"
    assert again == (True, "rule")
    assert rows.new.stats()["reference"] == {rows.made._NEW_SHAPES: 1}


def test_a_kernel_that_is_wrong_at_a_size_never_answers_there(rows, monkeypatch, caplog):
    rows.new.check_new_sizes(True)
    monkeypatch.setattr(rows.made, "_runner", lambda tensors: lambda given: torch.zeros_like(given[0]))
    assert [called(rows, [5, 3])[0] for _ in range(2)] == [True, True]
    assert "fails there" in caplog.text
    assert called(rows, [5, 3])[1] == "shapes that the kernel was not made for"


def test_a_kernel_that_cannot_be_launched_at_a_size_never_answers_there(rows, monkeypatch):
    def broken(tensors):
        raise RuntimeError("out of shared memory")

    rows.new.check_new_sizes(True)
    monkeypatch.setattr(rows.made, "_runner", broken)
    assert called(rows, [7, 3])[0]
    assert called(rows, [7, 3])[1] == "shapes that the kernel was not made for"


@pytest.mark.parametrize("sizes", [[0, 3], [1 << 20, 1]])
def test_sizes_out_of_range_are_the_references(rows, sizes):
    _, low, _, high = rows.axes[0]
    assert not low <= sizes[0] <= high
    assert "a size of" in called(rows, sizes)[1]


def test_what_served_is_shown(rows):
    assert "by table" in repr(rows.new)
    assert rows.new.stats()["kernel"] == rows.new.stats()["table"] + rows.new.stats()["rule"]


def test_the_kernel_stays_in_a_graph_of_any_size(rows):
    rows.new.check_new_sizes(False)
    compiled = torch.compile(rows.new, dynamic=True, fullgraph=True, backend="eager")
    with torch.no_grad():
        for sizes in ([3, 5], [4, 6], [11, 2]):
            inputs, before = rows.inputs(sizes, random.Random(2)), rows.new.stats()["kernel"]
            assert torch.allclose(compiled(*inputs), rows.made.Model.forward(rows.new, *inputs), atol=1e-5)
            assert rows.new.stats()["kernel"] == before + 1


def test_an_exported_program_has_the_kernel_at_any_size(rows):
    rows.new.check_new_sizes(False)
    auto = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    with torch.no_grad():
        program = torch.export.export(rows.new, (torch.randn(3, 5, 48),), dynamic_shapes=(auto,), strict=False).module()
        other = torch.randn(8, 4, 48)
        before = rows.new.stats()["rule"]
        assert torch.allclose(program(other), rows.made.Model.forward(rows.new, other), atol=1e-5)
    assert rows.new.stats()["rule"] == before + 1
