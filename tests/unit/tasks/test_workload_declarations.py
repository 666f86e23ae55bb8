"""AXES and WORKLOADS are read from a file's literals, and a task at one workload is a text of its own."""

import pytest

from kernelwright.errors import TaskError
from kernelwright.records.workloads import Part
from kernelwright.tasks.table import read_task
from kernelwright.tasks.workloads import at_point

BODY = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width=1):
        super().__init__()
        self.width = width

    def forward(self, x):
        return x * self.width


def get_inputs(batch, hidden, scale=1.0):
    return [torch.full((batch, hidden), scale)]


def get_init_inputs(width):
    return [width]
"""
AXES = 'AXES = {"batch": (1, 64), "hidden": (64, 8192, 64), "heads": 8, "width": "hidden // heads"}\n'


def task(folder, text, name="task.py"):
    (folder / name).write_text(text)
    return read_task(folder / name)


def run(source):
    space = {}
    exec(compile(source, "<task>", "exec"), space)
    return space


def at(source, number):
    workloads = source.workloads
    point = workloads.points[number]
    return at_point(source, Part(point=point, sizes=workloads.sizes(point.axes), among=1))


def test_a_file_without_workloads_has_one_and_is_the_same_task_as_before(tmp_path):
    found = task(tmp_path, BODY)
    assert found.workloads is None
    assert not {"workloads", "part"} & found.identity_fields().keys()


def test_axes_and_workloads_are_read(tmp_path):
    found = task(
        tmp_path,
        f'{AXES}WORKLOADS = [{{"batch": 1, "hidden": 4 * 1024, "weight": 3, "protected": True}}, '
        f'{{"batch": 64, "hidden": 64, "weight": 0, "scale": 2.5}}]\n{BODY}',
    ).workloads
    assert [axis.words for axis in found.axes] == ["1 to 64", "64 to 8192 in steps of 64", "8", "hidden // heads"]
    first, second = found.points
    assert (first.axes, first.weight, first.protected) == ({"batch": 1, "hidden": 4096}, 3, True)
    assert (second.values, second.weight, found.main) == ({"scale": 2.5}, 0, first)
    assert found.sizes(first.axes) == {"batch": 1, "hidden": 4096, "heads": 8, "width": 512}


def test_a_task_at_one_workload_calls_its_makers_with_the_axes_that_they_name(tmp_path):
    found = task(tmp_path, f'{AXES}WORKLOADS = [{{"batch": 3, "hidden": 128, "scale": 2.5}}]\n{BODY}')
    one = at(found, 0)
    space = run(one.source)
    assert space["get_inputs"]()[0].shape == (3, 128) and space["get_inputs"]()[0].max() == 2.5
    assert space["get_init_inputs"]() == [16]
    assert one.workloads is None and one.identity_fields() != found.identity_fields()


GLOBALS = """
import torch
ROWS, COLS = 4, 4
Model = torch.nn.Softmax(-1)


def get_inputs():
    return [torch.zeros(ROWS, COLS)]
"""


def test_where_no_maker_takes_an_axis_they_are_globals(tmp_path):
    found = task(tmp_path, f'{GLOBALS}\nWORKLOADS = [{{"ROWS": 2, "COLS": 8}}, {{"ROWS": 5, "COLS": 8}}]\n')
    assert run(at(found, 1).source)["get_inputs"]()[0].shape == (5, 8)
    assert [(axis.name, axis.varies) for axis in found.workloads.axes] == [("ROWS", True), ("COLS", False)]


def test_shapes_beside_a_reference_set_its_globals_in_capitals_too(tmp_path):
    (tmp_path / "shapes.py").write_text(
        '"""Shapes."""\nSHAPES = [{"rows": 2, "COLS": 8}, {"rows": 1 * 7, "COLS": 9}]\n'
    )
    found = task(tmp_path, GLOBALS, "reference.py")
    assert found.name == tmp_path.name
    assert [run(at(found, n).source)["get_inputs"]()[0].shape for n in (0, 1)] == [(2, 8), (7, 9)]


def test_a_shape_that_sets_nothing_is_named(tmp_path):
    (tmp_path / "shapes.py").write_text('SHAPES = [{"rows": 2, "extreme": True}]\n')
    with pytest.raises(TaskError, match="'extreme' is no global of the reference"):
        task(tmp_path, GLOBALS, "reference.py")


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("WORKLOADS = []", "WORKLOADS is no list of dicts"),
        ("WORKLOADS = [f()]", "WORKLOADS"),
        (f'{AXES}WORKLOADS = [{{"batch": 1}}]', "the axis hidden has no value"),
        (f'{AXES}WORKLOADS = [{{"batch": 65, "hidden": 64}}]', "the axis batch is 1 to 64, and not 65"),
        (f'{AXES}WORKLOADS = [{{"batch": 1, "hidden": 65}}]', "in steps of 64, and not 65"),
        (f'{AXES}WORKLOADS = [{{"batch": 1, "hidden": 64, "heads": 4}}]', "sets the axis heads, which is 8"),
        ('AXES = {"n": 1.5}\nWORKLOADS = [{"n": 1}]', "the axis n is 1.5"),
        ('AXES = {"n": (9, 1)}\nWORKLOADS = [{"n": 1}]', "9 to 1, which is empty"),
        ('AXES = {"n": (1, 9), "m": "n // k"}\nWORKLOADS = [{"n": 1}]', "'n // k' is no number"),
        ('WORKLOADS = [{"n": 1, "weight": -1}]', "greater than or equal to 0"),
    ],
)
def test_what_cannot_be_taken_is_said_with_its_line_and_the_form(tmp_path, declared, words):
    with pytest.raises(TaskError, match=words) as error:
        task(tmp_path, f"{declared}\n{BODY}")
    assert ", line " in str(error.value) and "AXES is a literal dict" in str(error.value)
