"""Perf against an expert's kernel that the same referee judged, and what a pass costs."""

import pytest
from samples_of_bench import cell, plan

from kernelwright.bench.metrics import per_pass, perf, perf_at
from kernelwright.bench.records import Naive
from kernelwright.bench.runner import oracle_of
from kernelwright.bench.summary import summarize_bench
from kernelwright.records.task import Target
from kernelwright.testing.samples import sample_ratio

ORACLES = {"a": 2.0, "b": 4.0, "c": 1.0}


def test_perf_counts_a_failure_as_nought_and_no_figure_as_nothing():
    cells = [cell("a", 3.0), cell("b"), cell("c", 1.0, eager=None), cell("d", 9.0)]
    found = perf(cells, ORACLES)
    assert (found.value, found.tasks) == (pytest.approx((1.5 + 0.0) / 2), 2)
    assert perf(cells, {}) is None


def test_perf_at_k_is_of_the_fastest_right_one_so_far():
    cells = [cell("a", 4.0, (None, 1.0, 4.0)), cell("b", 2.0, (2.0, 1.0, None)), cell("c", None, (None, None, None))]
    found = {one.k: one.share.value for one in perf_at(cells, ORACLES)}
    assert found == {1: pytest.approx(0.5 / 3), 2: pytest.approx((0.5 + 0.5) / 3), 3: pytest.approx((2.0 + 0.5) / 3)}


def test_an_attempt_that_is_right_and_untimed_is_neither_fast_nor_a_failure():
    verified = cell("a", None, (None,))
    steps = (verified.steps[0].model_copy(update={"right": True}),)
    assert perf_at([verified.model_copy(update={"steps": steps})], ORACLES) == ()


def test_what_a_pass_costs_has_failures_in_it():
    cells = [cell(name, 2.0 if name in "ab" else None, usd=1.0) for name in "abc"]
    assert per_pass(cells, "usd").value == pytest.approx(1.5)
    assert per_pass(cells, "usd").low is None, "a draw of three tasks may hold no right one"
    assert per_pass(cells[2:], "usd") is None
    assert per_pass([*cells, cell("d", 2.0, unpriced=True)], "usd") is None
    many = [cell(f"t{n}", None if n % 4 == 0 else 2.0, usd=1.0) for n in range(24)]
    found = per_pass(many, "usd")
    assert found.value == pytest.approx(24 / 18)
    assert found.low < found.value < found.high


def oracle(task, speedup):
    return Naive(task=task, key="k", file=f"{task}.py", outcome="measured",
                 eager=sample_ratio(speedup) if speedup else None)  # fmt: skip


def test_an_oracle_without_a_time_is_named_and_so_is_a_device_that_is_not_here():
    cells = [cell("a", 2.0), cell("b", 2.0)]
    told = summarize_bench("x", plan(), cells, ((), (oracle("a", 2.0), oracle("b", None))))
    assert "without a time, and so in no Perf: 1 oracle" in told.labels
    assert told.arms[0].figures.perf.tasks == 1
    away = plan().model_copy(update={"target": Target(kind="cuda", arch="sm_90", present=False)})
    assert "sm_90 is not here: nothing was timed, and there is no Perf" in summarize_bench("x", away, cells).labels


def test_an_oracle_lies_beside_the_task_of_any_size(tasks):
    cpu = Target(kind="cpu", arch="native", present=True)
    (tasks / "oracles").mkdir()
    (tasks / "oracles" / "a.cpp").write_text("")
    assert oracle_of(tasks / "a.py@large", cpu).name == "a.cpp"
    assert oracle_of(tasks / "c.py", cpu) is None
