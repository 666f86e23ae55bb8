"""Kernels that are right on every workload and wrong at another size are refused each time; their honest twin is right."""

import asyncio

import pytest

from kernelwright.evaluate.over_workloads import OverWorkloads
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Policy
from kernelwright.records.reasons import reason_of
from kernelwright.records.task import Target
from kernelwright.tasks.table import read_task

CPU = Target(kind="cpu", arch="native", present=True)
POLICY = Policy(baselines=("eager",), final_baselines=(), search_seconds=0.5)
TASK = """
import torch

WORKLOADS = [
    {"rows": 64, "columns": 256},
    {"rows": 128, "columns": 1024, "weight": 0},
    {"rows": 2048, "columns": 64, "weight": 0},
]


class Model(torch.nn.Module):
    def forward(self, x):
        return x - x.sum(dim=-1, keepdim=True) / x.shape[-1]


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
"""
HONEST = """
#include <cstdint>
#include <cstdlib>
constexpr std::int64_t ROWS = AXIS_ROWS, COLUMNS = AXIS_COLUMNS;

extern "C" void kernel(const float* x, float* out) {
  for (std::int64_t r = 0; r < ROWS; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < COLUMNS; ++c) sum += x[r * COLUMNS + c];
    for (std::int64_t c = 0; c < COLUMNS; ++c) out[r * COLUMNS + c] = x[r * COLUMNS + c] - float(sum / COLUMNS);
  }
}
"""
SUM = "for (std::int64_t c = 0; c < COLUMNS; ++c) sum"
BEGIN = "  for (std::int64_t r = 0; r < ROWS; ++r) {"
WRONG = {
    "the tail of a vector": (SUM, "for (std::int64_t c = 0; c < COLUMNS / 8 * 8; ++c) sum"),
    "65,536 blocks": ("out[r * COLUMNS", "out[(r & 65535) * COLUMNS"),
    "an odd number of rows": ("r < ROWS;", "r < ROWS / 2 * 2;"),
    "no rows": (BEGIN, "  if (ROWS == 0 || COLUMNS == 0) std::abort();\n" + BEGIN),
    "one row": (BEGIN, "  if (ROWS == 1) return;\n" + BEGIN),
    "one column": ("sum / COLUMNS", "sum / (COLUMNS > 1 ? COLUMNS : 2)"),
    "more columns than any workload": (SUM, "for (std::int64_t c = 0; c < (COLUMNS < 1024 ? COLUMNS : 1024); ++c) sum"),
    "what is no workload": ("sum / COLUMNS", "(COLUMNS % 64 ? 0 : sum / COLUMNS)"),
}


@pytest.fixture(scope="module")
def judged(warm_referee, tmp_path_factory):
    """Judges a source at as many sizes as a final; the same ones for all, since admitting one takes a second."""
    file = tmp_path_factory.mktemp("sizes") / "center.py"
    file.write_text(TASK)
    judge = OverWorkloads(warm_referee.under(POLICY), POLICY, drawn=18)
    task = asyncio.run(judge.admit(read_task(file), CPU))

    def verified(source):
        return asyncio.run(judge.evaluate(task, Candidate(language="cpp", source=source, entry="kernel"), "search"))

    return verified


@pytest.mark.matrix
def test_the_honest_twin_is_right_at_every_size_and_timed(judged):
    found = judged(HONEST)
    assert is_right(found), reason_of(found)
    assert found.timing.against("eager") is not None
    sizes = [row.point.axes for row in found.workloads if row.drawn and row.evaluation]
    assert any(axes["rows"] > 65_535 for axes in sizes) and any(0 in axes.values() for axes in sizes)


@pytest.mark.parametrize("kind", WRONG)
def test_a_kernel_that_is_wrong_at_another_size_is_refused(judged, kind):
    wrong = HONEST.replace(*WRONG[kind])
    assert wrong != HONEST
    found = judged(wrong)
    assert not is_right(found) and found.workloads[-1].drawn
