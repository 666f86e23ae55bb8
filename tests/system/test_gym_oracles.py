"""The oracles of `tasks/gym`: each is right for a GPU that is not here, a wrong twin is refused, and Gluon is compiled."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from kernelwright.bench.runner import oracle_of
from kernelwright.evaluate.over_workloads import OverWorkloads
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Policy
from kernelwright.records.reasons import reason_of
from kernelwright.records.task import Target
from kernelwright.tasks.kernel_file import parse_text
from kernelwright.tasks.kernelbench import read_kernelbench
from lanes import sampled

ROOT = Path(__file__).parents[2]
GYM = ROOT / "tasks" / "gym"
H200 = Target(kind="cuda", arch="sm_90", present=False)
NAMES = sorted(file.stem for file in GYM.glob("*.py"))
IN_EVERY_RUN = ("gluon_row_sum",)
TWINS = {
    "packed_triangle": ("row * (row - 1) // 2", "row * (row + 1) // 2"),
    "rms_norm": ("tl.sum(value * value) / columns", "tl.sum(value * value) / BLOCK"),
    "restarting_sum": ("tl.where(flag_b != 0, sum_b, sum_a + sum_b)", "sum_a + sum_b"),
}
"""What the twin has instead: places that overlap, a mean over lanes that are not there, a flag that is not seen."""


@pytest.fixture
def judge(warm_referee):
    """Judges a kernel on the smallest of a task's workloads alone."""

    def judge(name, text):
        source = read_kernelbench(GYM / f"{name}.py")
        few = source.workloads.model_copy(update={"points": source.workloads.points[-1:]})
        judge = OverWorkloads(warm_referee.under(Policy()), Policy(), drawn=0)

        async def both():
            task = await judge.admit(source.model_copy(update={"workloads": few}), H200)
            return await judge.evaluate(task, parse_text(text, "cuda"), "verify")

        return asyncio.run(both())

    return judge


@pytest.mark.parametrize("name", sampled(NAMES, lambda name: name in IN_EVERY_RUN))
def test_an_oracle_is_right(judge, name):
    found = judge(name, oracle_of(GYM / f"{name}.py", H200).read_text())
    if name.startswith("gluon_"):
        assert found.outcome == "compiled", reason_of(found)
    else:
        assert is_right(found), reason_of(found)


@pytest.mark.parametrize("name", sampled(TWINS, lambda name: name == "packed_triangle"))
def test_its_wrong_twin_is_refused(judge, name):
    right, wrong = TWINS[name]
    text = oracle_of(GYM / f"{name}.py", H200).read_text()
    assert right in text
    found = judge(name, text.replace(right, wrong))
    assert found.outcome in ("incorrect", "crashed"), found.outcome


@pytest.mark.matrix
def test_gluon_that_does_not_compile_is_refused(judge):
    text = oracle_of(GYM / "gluon_softmax.py", H200).read_text()
    found = judge(
        "gluon_softmax", text.replace("gl.BlockedLayout([4], [32], [4], [0])", "gl.BlockedLayout([4], [32], [2], [0])")
    )
    assert found.outcome == "build_failed", found.outcome


def test_every_task_has_its_oracle_and_several_shapes():
    for name in NAMES:
        assert oracle_of(GYM / f"{name}.py", H200) is not None, name
        assert len(read_kernelbench(GYM / f"{name}.py").workloads.points) > 1, name


def test_what_was_proved_is_what_is_there():
    rows = json.loads((ROOT / "benchmarks" / "results" / "gym-sm_90.json").read_text())["rows"]
    parts = Counter(row["part"] for row in rows)
    assert {row["task"] for row in rows} <= set(NAMES)
    assert all(row["outcome"] == ("compiled" if row["part"] == "DSL" else "verified") for row in rows)
    assert parts["DSL"] >= 6
