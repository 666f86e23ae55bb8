"""Workloads as a chart, in words and as CSV: protected and slowest first, drawn sizes counted, names kept on one line."""

import csv
import io

from kernelwright.records.evaluation import Crashed, WorkloadResult
from kernelwright.records.workloads import WorkloadPoint
from kernelwright.report.charts.workloads import COLUMNS, describe_workloads, table, workloads
from kernelwright.testing.samples import sample_measured


def row(n, found, **more):
    drawn = more.pop("drawn", False)
    return WorkloadResult(
        point=WorkloadPoint(name=more.pop("name", "w"), axes={"n": n}, **more), drawn=drawn, evaluation=found
    )


ROWS = (
    row(1, sample_measured(0.5), weight=2),
    row(64, sample_measured(2.0)),
    row(256, sample_measured(0.9), protected=True),
    row(7, sample_measured(9.0), weight=0, drawn=True),
    WorkloadResult(point=WorkloadPoint(name="zero", axes={"n": 0}, weight=0), drawn=True, skipped="no such size"),
)


def test_the_words_say_mean_worst_protected_and_where_it_crosses():
    said = describe_workloads(ROWS)
    assert "over 3 workloads" in said and "the worst 0.50× at n=1" in said
    assert "slower on the protected n=256" in said and "Right at 1 drawn sizes" in said
    assert "it crosses 1× between n=1 and 64" in said and "between n=64 and 256" in said


def test_the_chart_has_a_row_for_each_that_counts_the_protected_first():
    drawn = str(workloads(ROWS, 500))
    assert drawn.index("n=256 (protected)") < drawn.index("n=1<") < drawn.index("n=64<") and "n=7" not in drawn


def test_csv_has_a_line_for_each_workload_and_baseline():
    lines = list(
        csv.DictReader(io.StringIO(table((*ROWS, row(9, Crashed(stage="verify", reason="SIGSEGV"), name="a\nb")))))
    )
    assert tuple(lines[0]) == COLUMNS
    assert [(line["axes"], line["outcome"]) for line in lines][:2] == [("n=9", "crashed"), ("n=256", "measured")]
    assert lines[0]["workload"] == "a b" and lines[0]["speedup"] == ""
    assert {line["outcome"] for line in lines if line["axes"] == "n=0"} == {"not judged"}
    assert [float(line["speedup"]) for line in lines if line["axes"] == "n=64"] == [2.0, 1.0]
