"""Definitions as users write them: odd, and legal or nearly so. What can be taken is, and what cannot says which part."""

import pytest

from definitions_combined import PAGED, SHUFFLED, SIGNED, SUMMED, TWO_OFFSETS, const, expr
from definitions_table import STORED, VAR, made, run, safetensors, tensor, write_problem
from kernelwright.errors import TaskError
from kernelwright.tasks.table import read_task

SAME = "def run(x):\n    return x"
PARTS = {"axes": {"M": VAR}, "inputs": {"x": tensor(["M"])}, "outputs": {"y": tensor(["M"])}, "points": [{"M": 4}]}
H = {"type": "const", "value": "3", "unit": "heads"}
ODD = {
    "numbers as words, and words that nobody knows": (
        {"axes": {"M": VAR, "H": H}, "inputs": {"x": tensor(["M", "H"])}, "outputs": {"y": tensor(["M", "H"])},
         "points": [{"M": "4", "H": 3, "Z": 9}], "beside": {"note": [1, {"of": None}]}}, [4, 3],
    ),
    "a module instead of a function": (
        {"reference": "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 2"}, [4],
    ),
    "a function by another name": ({"reference": "def _f(x, by=2):\n    return x * by\nrun = _f"}, [4]),
    "a number of results": (
        {"reference": "def run(x):\n    return [x.numel()]", "outputs": {"y": tensor(None, "int32")}}, [],
    ),
    "braces, quotes and other ends of lines": (
        {"reference": 'def run(x):\r\n    """{braces} \\\\ \'quotes\'"""\r\n    return {"y": x, "more": f"{1}\u2028"}'}, [4],
    ),
    "a name that is no file's": ({"name": '../up/"""\\'}, [4]),
    "constraints in words": ({"constraints": ["x is sorted", "M > 0 or x", "M in (1, 4)", "x[0] == 0", "0 < M <= 4"]}, [4]),
    "what comes from the future, and more arguments": (
        {"reference": "from __future__ import (\n    annotations,\n)\nfrom math import *\n"
         "def run(x: Tensor, /, eps: float = 1e-5, *rest) -> Tensor:\n    return x + eps"}, [4],
    ),
    "an axis that is zero first": ({"points": [{"M": 0}, {"M": 4}]}, [0]),
    "an input that no workload describes": ({"beside": {"inputs": {}}}, [4]),
    "an axis of results alone": (
        {"axes": {"M": VAR, "N": VAR}, "outputs": {"y": tensor(["N", "M"])}, "points": [{"M": 4, "N": 2}],
         "reference": "def run(x):\n    return x.expand(2, -1)"}, [2, 4],
    ),
}  # fmt: skip
UNFIT = {
    "input x is fp16, and not one of": {"inputs": {"x": tensor(["M"], "fp16")}},
    "axis M // 2, which is none of its axes: add an axis of the type expr": {"inputs": {"x": tensor(["M // 2"])}},
    "axis H is constant and has no value": {"axes": {"M": VAR, "H": {"type": "const"}}},
    "axis H is 8, and odd-0 gives 9": {"axes": {"M": VAR, "H": const(8)}, "points": [{"M": 4, "H": 9}]},
    "a follows from itself: b, a": {"axes": {"M": VAR, "a": expr("b"), "b": expr("a")}},
    "axis 'weight' has a name that a task's text has": {"axes": {"M": VAR, "weight": const(3)}},
    "it has no inputs": {"inputs": {}},
    "reference is not valid Python": {"reference": "def run(x)\n    return x"},
    r"reference defines no function run\(x\): add it": {"reference": "def forward(x):\n    return x"},
    r"reference is run\(x, y\), and its inputs are x": {"reference": "def run(x, y):\n    return x"},
    "lies in 'x.npy', which is no dense": {
        "given": {"x": {"type": "npy", "path": "x.npy"}},
        "files": {"x.npy": b"PK\x03\x04"},
    },
    r"lies in 'x.st' as float16\[3\], and is float32\[4\] in odd-0": {
        "given": {"x": {"type": "safetensors", "path": "x.st", "tensor_key": "x"}},
        "files": {"x.st": safetensors("x", "F16", [3], bytes(6))},
    },
}


def written(folder, change):
    return write_problem(folder, made(**{"name": "odd", "reference": SAME, **PARTS, **change}))


@pytest.mark.parametrize("what", ODD)
def test_what_is_odd_and_legal_is_read(tmp_path, what):
    pytest.importorskip("torch")
    change, shape = ODD[what]
    source = read_task(written(tmp_path, change))
    assert list(run(source, source.workloads.points[0])[1].shape) == shape


@pytest.mark.parametrize("words", UNFIT)
def test_what_cannot_be_taken_says_which_part_and_what_to_do(tmp_path, words):
    with pytest.raises(TaskError, match=words):
        read_task(written(tmp_path, UNFIT[words]))


def test_workloads_may_stand_in_the_definition(tmp_path):
    pytest.importorskip("torch")
    file = written(tmp_path, {"workloads": [{"axes": {"M": 7}}, {"axes": {"M": 2}}]})
    (tmp_path / "workload.jsonl").unlink()
    source = read_task(file)
    assert [run(source, point)[1].shape[0] for point in source.workloads.points] == [7, 2]


def test_an_order_of_arguments_is_taken_by_names(tmp_path):
    torch = pytest.importorskip("torch")
    change = {"inputs": {"a": tensor(["M"]), "b": tensor(["M"])}, "reference": "def run(b, a):\n    return a - 2 * b"}
    source = read_task(written(tmp_path, change))
    (a, b), found, _ = run(source, source.workloads.main)
    assert torch.equal(found, a - 2 * b)


@pytest.mark.parametrize("broken", ['{"axes": {"M": 8.5}}', '{"axes": {"M": 8}', "- M: 8"])
def test_a_workload_that_cannot_be_read_is_named(tmp_path, broken):
    file = write_problem(tmp_path, STORED)
    with (tmp_path / "workload.jsonl").open("a") as lines:
        lines.write(f'{{"metadata": {{"by": "us"}}}}\n\n{broken}\n')
    with pytest.raises(TaskError, match=r"workload.jsonl', line 5: "):
        read_task(file)


def test_constraints_and_names_bind_whole_numbers_whichever_way_they_are_written(tmp_path):
    pytest.importorskip("torch")
    of = {}
    for one in (PAGED, TWO_OFFSETS, SUMMED, SHUFFLED, SIGNED):
        source = read_task(write_problem(tmp_path / one.name, one))
        drawn, _, sizes = run(source, source.workloads.points[1])
        of[one.name] = sizes | dict(zip(one.definition["inputs"], drawn, strict=True))
    assert of["ragged_means"]["qo_indptr"][-1] == 50 and of["ragged_means"]["kv_indptr"][-1] == 9
    assert of["lengths_that_sum"]["lengths"].sum() == 5
    assert of["paged_rows"]["seq_lens"].max() <= of["paged_rows"]["most"]
    assert of["paged_rows"]["page_table"].max() < of["paged_rows"]["num_pages"]
    assert of["by_position_and_order"]["perm"].unique().numel() == 40
    assert of["by_position_and_order"]["position_ids"].max() < 24
    assert of["int8_product"]["a"].min() < 0 and of["int8_product"]["a"].max() > 16
