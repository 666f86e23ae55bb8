"""Definitions that combine every part of the schemas are admitted: on a CPU, for a GPU that is not here, by shapes alone."""

import pytest

from definitions_combined import TOGETHER
from definitions_table import write_problem
from kernelwright.api import AdmissionRequest, admit
from kernelwright.records.policy import Policy

LARGE = {
    "paged_rows": {"num_pages": 1 << 24}, "ragged_means": {"total_q": 1 << 25}, "lengths_that_sum": {"total": 1 << 24},
    "quantised_blocks": {"N": 1 << 27}, "bias_or_none": {"M": 1 << 24}, "stored_of_each_kind": {"M": 1 << 24},
    "mixture": {"T": 1 << 25}, "has_a_model": {"M": 1 << 24},
}  # fmt: skip
"""Axes with which tensors take more than the 2 GiB from which on a device that is not here is asked by shapes alone."""


def refused(folder, target, warm_referee):
    request = AdmissionRequest((folder,), target, Policy(seeds=2), folder / "lines.jsonl", limit_s=60)
    found = admit(request, warm_referee.suppliers())
    assert len(found.tasks) > 7
    return {task.name: task.why for task in found.tasks if not task.fit}


@pytest.mark.matrix
@pytest.mark.parametrize("target", ["cpu", "sm_90"])
def test_all_are_admitted_at_every_workload(tmp_path, warm_referee, target):
    for one in TOGETHER:
        write_problem(tmp_path / one.name, one)
    assert refused(tmp_path, target, warm_referee) == {}


@pytest.mark.matrix
def test_what_is_beyond_memory_is_admitted_by_shapes_alone(tmp_path, warm_referee):
    for one in TOGETHER:
        if one.name in LARGE:
            first = {**one.workloads[0], "axes": {**one.workloads[0]["axes"], **LARGE[one.name]}}
            write_problem(tmp_path / one.name, one._replace(workloads=[first]))
    assert refused(tmp_path, "sm_90", warm_referee) == {}
