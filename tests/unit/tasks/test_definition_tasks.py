"""Definitions in JSON are tasks: every part of the schemas is read, and what cannot be represented says which part."""

import json

import pytest

from definitions_combined import TOGETHER
from definitions_table import (
    CHOICES,
    CUSTOM,
    LENGTHS,
    OFFSETS,
    STORED,
    TABLE,
    VAR,
    made,
    run,
    tensor,
    write_problem,
    write_trace_set,
)
from kernelwright.errors import TaskError
from kernelwright.tasks.definitions.stored import MOST_BYTES
from kernelwright.tasks.table import read_task


@pytest.mark.parametrize("one", [*TABLE, *TOGETHER], ids=lambda one: one.name)
def test_every_definition_is_drawn_in_its_shapes_and_dtypes_at_each_workload(tmp_path, one):
    torch = pytest.importorskip("torch")
    source = read_task(write_problem(tmp_path, one))
    assert [p.name for p in source.workloads.points] == [w["uuid"] for w in one.workloads]
    assert source.name == one.name
    for point in source.workloads.points:
        given, found, sizes = run(source, point)
        results = found if isinstance(found, tuple) else (found,)
        specs = [*one.definition["inputs"].values(), *one.definition["outputs"].values()]
        for each, spec in zip((*given, *results), specs, strict=True):
            if spec["shape"] is not None and each is not None:
                assert list(each.shape) == [int(a) if str(a).isdigit() else sizes[a] for a in spec["shape"]]
                assert each.dtype == getattr(torch, spec["dtype"])


@pytest.mark.parametrize("one", [OFFSETS, CUSTOM, STORED], ids=lambda one: one.name)
def test_a_data_set_and_a_folder_of_one_problem_are_the_same_task(tmp_path, one):
    problem, data_set = (
        read_task(write_problem(tmp_path / "sol", one)),
        read_task(write_trace_set(tmp_path / "fib", one)),
    )
    assert problem == data_set


def test_whole_numbers_are_what_names_and_constraints_say(tmp_path):
    pytest.importorskip("torch")
    source = read_task(write_problem(tmp_path / "offsets", OFFSETS))
    (_, indptr), _, sizes = run(source, source.workloads.points[1])
    assert indptr[0] == 0 and indptr[-1] == sizes["total"] and (indptr.diff() >= 0).all()
    source = read_task(write_problem(tmp_path / "choices", CHOICES))
    assert run(source, source.workloads.main)[0][1].max() < 8
    source = read_task(write_problem(tmp_path / "lengths", LENGTHS))
    (_, lengths), _, sizes = run(source, source.workloads.main)
    assert lengths.min() >= 1 and lengths.max() <= sizes["max_seq"]


def test_stored_inputs_are_in_the_text_and_no_other_sizes_are_drawn_from_them(tmp_path):
    pytest.importorskip("torch")
    source = read_task(write_problem(tmp_path, STORED))
    (_, weight), _, _ = run(source, source.workloads.main)
    assert weight.tolist() == list(range(1, 33)) and all(point.fixed for point in source.workloads.points)


BASE = TABLE[0].definition
UNFIT = {
    "lies in 'gone.safetensors'": {
        "given": {"x": {"type": "safetensors", "path": "gone.safetensors", "tensor_key": "x"}}
    },
    "lies in '../x.safetensors'": {
        "given": {"x": {"type": "safetensors", "path": "../x.safetensors", "tensor_key": "x"}}
    },
    "input x is float4_e2m1fn_x2": {"inputs": {"x": tensor(["M"], "float4_e2m1fn_x2")}},
    "input x is generated": {"given": {"x": {"type": "generated"}}},
    "names no custom_inputs_entrypoint": {"given": {"x": {"type": "custom"}}},
    "has the axis Q, which is none": {"inputs": {"x": tensor(["Q"])}},
    "is of the type fuzzy": {"axes": {"M": {"type": "fuzzy"}}},
    "no workload gives the size M": {"points": [{}]},
    "input 'x y' is no name": {"inputs": {"x y": tensor(["M"])}},
    "against CONSTRAINTS": {"constraints": ["M % 2 == 1"]},
}


@pytest.mark.parametrize("words", UNFIT)
def test_what_cannot_be_represented_says_which_part(tmp_path, words):
    change = {"axes": {"M": VAR}, "inputs": {"x": tensor(["M"])}, "points": [{"M": 4}], **UNFIT[words]}
    one = made("unfit", outputs={"y": tensor(["M"])}, reference="def run(x):\n    return x", **change)
    with pytest.raises(TaskError, match=words):
        read_task(write_problem(tmp_path, one))


def test_a_stored_input_that_is_too_large_is_refused_with_its_size(tmp_path):
    file = write_problem(tmp_path, STORED)
    head = json.dumps({"w": {"dtype": "F32", "shape": [1 << 20], "data_offsets": [0, 1 << 22]}}).encode()
    (tmp_path / "blobs/w.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + bytes(1 << 22))
    with pytest.raises(TaskError, match=f"4,194,304 bytes, at most {MOST_BYTES:,}"):
        read_task(file)


def test_a_list_of_definitions_holds_several_tasks_of_which_one_is_named(tmp_path):
    one = json.loads(write_problem(tmp_path, STORED).read_text())
    x = {"shape": ["M"], "dtype": "float32"}
    parts = {"axes": {"M": {"type": "var"}}, "inputs": {"x": x}, "outputs": {"y": x}, "workloads": [{"axes": {"M": 4}}]}
    other = {
        "name": "other",
        **parts,
        "reference": "def run(x):\n    return x * 2",
        "constraints": ["M in (4, 8) or M > 64"],
    }
    file = tmp_path / "apart" / "several.json"
    file.parent.mkdir()
    file.write_text(json.dumps([one, other]))
    found = read_task(file.with_name("several.json@other"))
    assert found.name == "other"
    assert [found.workloads.allows({"M": m}) for m in (4, 5, 65)] == [True, False, True]
    with pytest.raises(
        TaskError, match=r"list of 2 definitions, of which one is a task: write several.json@NAME; there are .*, other"
    ):
        read_task(file)
    with pytest.raises(TaskError, match="none of which is 'third'"):
        read_task(file.with_name("several.json@third"))
    file.write_text(json.dumps([other]))
    assert read_task(file).name == "other"


@pytest.mark.parametrize("text", ["{}", "[]", "[1]", "nothing", '{"name": 1}'])
def test_other_json_is_no_task(tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(TaskError) as error:
        read_task(tmp_path / "other.json")
    assert error.value.reason == "no_task"
