"""Tasks at the field's sizes: how many there are, that each is read at both of its sizes, and that the small ones are fit.

`benchmarks/field.py` admits all of them on a GPU at full size.
"""

from pathlib import Path

import pytest

from kernelwright import api
from kernelwright.tasks.files import sizes_of, with_size
from kernelwright.tasks.table import read_task
from lanes import sampled

FIELD = Path(__file__).parents[2] / "tasks" / "field"
FILES = sorted(str(path.relative_to(FIELD)) for path in FIELD.rglob("*.py"))
SAMPLE = ("operators/leaky_relu.py", "operators/batch_norm1d_training.py", "chains/plain_bias_relu_sum.py")


def test_there_are_operators_chains_and_networks():
    counts = {folder: sum(f.startswith(folder) for f in FILES) for folder in ("operators", "chains", "networks")}
    assert counts["operators"] >= 100
    assert counts["chains"] == 40
    assert counts["networks"] == 10


def test_every_task_is_read_at_both_sizes():
    for file in FILES:
        full, small = (read_task(with_size(FIELD / file, size)).source for size in ("full", "small"))
        assert sizes_of(full) == ("full", "small")
        assert small == full.replace('SIZE = SIZES["full"]', 'SIZE = SIZES["small"]')


@pytest.mark.parametrize("file", sampled(FILES, lambda file: file in SAMPLE))
def test_a_small_task_is_fit(file, tmp_path, warm_referee):
    request = api.AdmissionRequest((with_size(FIELD / file, "small"),), "cpu", lines=tmp_path / "report.jsonl")
    found = api.admit(request, warm_referee.suppliers())
    assert found.all_fit, found.tasks
