"""A directory of tasks with a real referee: one that hangs, one that dies, one without end of memory; the rest go on."""

import pytest
from bad_input import AFFINE

from kernelwright.api import AdmissionRequest, admit
from kernelwright.records.policy import Policy

FORWARD = "return x * 3 + 1"
TASKS = {
    "a_hangs": AFFINE.replace(FORWARD, "while True: pass"),
    "b_dies": AFFINE.replace(FORWARD, "import ctypes; ctypes.string_at(8)"),
    "c_eats": AFFINE.replace(FORWARD, "return x + sum(torch.ones(1 << 28).sum() for y in [torch.ones(1 << 36)])"),
    "d_fit": AFFINE,
    "e_random": AFFINE.replace(FORWARD, "return x + torch.randn_like(x)"),
}
REASONS = {"a_hangs": "slow", "b_dies": "dies", "c_eats": "raises", "d_fit": None, "e_random": "random"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tasks").mkdir()
    for name, source in TASKS.items():
        (tmp_path / "tasks" / f"{name}.py").write_text(source)
    return tmp_path


def test_no_task_stops_the_rest_and_a_second_pass_is_free(folder, warm_referee):
    request = AdmissionRequest(
        (folder / "tasks",), "cpu", policy=Policy(seeds=2), lines=folder / "lines.jsonl", limit_s=8
    )
    found = admit(request, warm_referee.suppliers())
    assert {task.name: task.reason for task in found.tasks} == REASONS
    (fit,) = (task for task in found.tasks if task.fit)
    assert {"reference", "depends on x", "zeros fails", "duration", "redundancy"} <= {c.name for c in fit.checks}
    before = (folder / "lines.jsonl").read_bytes()
    again = admit(request, warm_referee.suppliers())
    assert again.tasks == found.tasks
    assert (folder / "lines.jsonl").read_bytes() == before
