"""The suite: its list is complete, every task can be read at every size, and the referee admits a sample of it.

`benchmarks/suite_admission.py` admits all of it; what it found is in benchmarks/results.
"""

import json
import tomllib
from pathlib import Path

import pytest

from kernelwright import api
from kernelwright.tasks.files import sizes_of, with_size
from kernelwright.tasks.kernel_file import read_kernel
from kernelwright.tasks.table import read_task

ROOT = Path(__file__).parents[2]
SUITE = tomllib.loads((ROOT / "tasks" / "suite.toml").read_text())
FILES = [entry["file"] for entry in SUITE["task"]]
SAMPLE = (
    "fsr/reverse_array",
    "fsr/histogram",
    "fsr/top_k",
    "own/add_rms_norm",
    "own/row_argmin",
    "own/dequantise_groups",
)


def test_the_list_names_every_file_once():
    folders = ("fsr", "own")  # tasks/modules is what people bring, and has tests of its own
    there = {str(path.relative_to(ROOT / "tasks")) for name in folders for path in (ROOT / "tasks" / name).glob("*.py")}
    assert sorted(FILES) == sorted(there)
    assert sum(file.startswith("fsr/") for file in FILES) == 20
    assert sum(file.startswith("own/") for file in FILES) >= 20


@pytest.mark.parametrize("file", FILES)
def test_a_task_is_read_at_every_size(file):
    path = ROOT / "tasks" / file
    plain = read_task(path)
    assert list(sizes_of(plain.source)) == SUITE["suite"]["sizes"]
    texts = {size: read_task(with_size(path, size)).source for size in SUITE["suite"]["sizes"]}
    assert texts["medium"] == plain.source
    for size, text in texts.items():
        assert text == plain.source.replace('SIZE = SIZES["medium"]', f'SIZE = SIZES["{size}"]')


@pytest.mark.parametrize("kernel", sorted((ROOT / "tasks/fsr/naive").glob("*.cu")), ids=lambda path: path.stem)
def test_a_naive_kernel_has_a_task_and_a_launch_plan(kernel):
    assert (ROOT / "tasks" / "fsr" / f"{kernel.stem}.py").exists()
    assert read_kernel(kernel).language == "cuda"


@pytest.mark.parametrize(
    "results", sorted((ROOT / "benchmarks/results").glob("suite-admission-*.json")), ids=lambda p: p.stem
)
def test_the_results_say_that_what_was_examined_is_fit(results):
    rows = json.loads(results.read_text())["rows"]
    examined = {f"{row['task']}.py" for row in rows}
    assert examined <= set(FILES)
    assert {name for name in FILES if name.startswith("fsr/")} <= examined, "at least the twenty of FSR's list"
    assert [row["task"] for row in rows if not row["fit"]] == []


def test_all_of_it_is_fit_on_a_cpu():
    rows = json.loads((ROOT / "benchmarks/results/suite-admission-amd-epyc.json").read_text())["rows"]
    assert {f"{row['task']}.py" for row in rows} == set(FILES)


def test_a_sample_is_admitted_at_its_small_size(tmp_path, warm_referee):
    paths = tuple(with_size(ROOT / "tasks" / f"{name}.py", "small") for name in SAMPLE)
    found = api.admit(api.AdmissionRequest(paths, "cpu", lines=tmp_path / "admission.jsonl"), warm_referee.suppliers())
    assert {task.name: task.message for task in found.tasks} == {f"{Path(name).name}@small": "" for name in SAMPLE}
