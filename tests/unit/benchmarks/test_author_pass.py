"""The pass over the author's kernels: whose turn it is, what a row keeps, and what the table counts."""

import asyncio
import importlib
from pathlib import Path

import pytest

from kernelwright.records.evaluation import BuildFailed
from kernelwright.testing.samples import sample_measured, sample_task

BENCH = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """Imports a module of the bench by its name."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


@pytest.fixture
def work(bench):
    """One task in its first step; the referee finds what the test puts into `found`."""

    class Told:
        def __init__(self):
            self.found = {}

        async def admit(self, source, target):
            return sample_task()

        async def evaluate(self, task, candidate, effort):
            return self.found[effort]

    task = sample_task()
    row = {"task": "t", "family": "f", "steps": []}
    return bench("author_rows").Work(Told(), task.source, task.target, "default", row, 2, 4000.0, beside=False)


def test_a_row_has_the_figures_over_both_and_the_source(bench, work):
    work.referee.found = {"search": sample_measured()}
    asyncio.run(bench("author_rows").judged(work))
    assert work.row["steps"] == ["default"] and work.row["outcome"] == "measured"
    assert work.row["eager"][0] > 0 and "std::abs" in work.row["source"]


def test_a_kernel_that_does_not_build_keeps_its_reason_and_is_not_timed(bench, work):
    work.referee.found = {"search": BuildFailed(log="at 7:3: " + 1000 * "x" + " no such axis")}
    asyncio.run(bench("author_rows").judged(work))
    assert work.row["outcome"] == "build_failed" and "source" not in work.row
    assert work.row["why"].startswith("at 7:3") and work.row["why"].endswith("no such axis")
    assert work.row["tries"][0]["source"]


def test_a_later_step_that_fails_takes_nothing_away(bench, work):
    rows = bench("author_rows")
    work.referee.found = {"search": sample_measured()}
    asyncio.run(rows.judged(work))
    work.step = "tries"
    rows.missed(work, "not judged", "no memory")
    assert work.row["outcome"] == "measured" and work.row["steps"] == ["default", "tries"]


def test_the_table_counts_what_was_timed_by_family_and_names_the_rest(bench, work):
    work.referee.found = {"search": sample_measured()}
    asyncio.run(bench("author_rows").judged(work))
    declined = {"task": "u", "family": "f", "steps": ["default"], "outcome": "not written", "why": "it is random"}
    told = bench("author_families").table([{**work.row, "compile": [0.5, 0.4, 0.6, "slower"]}, declined], 3)
    assert "u: not written: it is random" in told and "2 of 3 tasks tried" in told
    assert next(line for line in told.splitlines() if line.startswith("all")).split()[1:5] == ["2", "1", "1", "0.50x"]


def test_a_schedule_that_is_wrong_at_another_size_counts_as_not_near_its_best(bench):
    shares = (0.9, 0.5, 0.0, None)
    rows = [{"task": "t", "family": "f", "schedule": {}, "second": {"share": share}} for share in shares]
    told = bench("author_families").table([*rows, {"task": "u", "family": "f", "schedule": {}}], 5)
    assert "another size: within 15% of its best at 1 of 4 tasks" in told


def test_a_second_size_says_why_its_kernel_has_no_time_and_is_judged_alone_where_memory_was_full(bench, work):
    work.referee.found = {"search": sample_measured()}
    asyncio.run(bench("author_rows").judged(work))
    work.step, work.referee.found = "second", {"search": BuildFailed(log="CUDA out of memory")}
    asyncio.run(bench("author_rows").judged(work))
    assert work.row["second"] == {"tuned": 0.0, "best": 0.0, "share": None, "why": "CUDA out of memory"}
    assert bench("author").full(work.row)
    work.row["second"]["why"] = "wrong"
    assert not bench("author").full(work.row)


def test_every_family_comes_before_any_comes_twice(bench):
    suite = bench("suite")
    tasks = suite.by_turns(suite.field())
    families = [task.family for task in tasks]
    count = len(set(families))
    assert len(set(families[:count])) == count
    assert sorted(tasks) == sorted(suite.field())


def test_no_family_of_the_field_is_without_tasks(bench):
    suite = bench("suite")
    assert {*suite.FIELD_FAMILIES, *suite.FIELD_FOLDERS.values()} == {task.family for task in suite.field()}


@pytest.mark.parametrize(
    ("layer", "expected"),
    [("nn.Linear(32, 48)", 2 * 8 * 32 * 48), ("nn.ReLU()", 0), ("nn.Conv1d(8, 4, 3)", 2 * 4 * 8 * 3 * 30)],
)
def test_a_task_s_arithmetic_is_counted_without_memory(bench, layer, expected):
    text = f"""
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}
    def forward(self, x):
        return self.layer(x)
def get_inputs():
    return [torch.rand(8, 32)]
def get_init_inputs():
    return []
"""
    assert bench("task_flops").flops(text) == expected


def test_a_step_that_ends_before_a_verdict_is_in_its_row(bench, work):
    work.row |= {"outcome": "measured", "tries": [{"step": "default"}]}
    bench("author_rows").missed(work, "not judged", "no time")
    assert work.row["outcome"] == "measured"
    assert work.row["tries"][1:] == [{"step": "default", "outcome": "not judged", "why": "no time"}]
