"""Searches replayed over a measured table: the command's figures and its page, from rows as the referee leaves them."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import graph_search  # noqa: E402
from campaign import written  # noqa: E402
from graph_tables import Landscape, measured  # noqa: E402
from graph_trajectories import Row, families, read_states  # noqa: E402

from kernelwright.records.technique import code_id  # noqa: E402


def judged(file, workload=""):
    """Every state of one task, with effects that were made up; on other sizes, others."""
    family = next(f for f in families(["histogram"], workload) if f.kind == "cpu")
    land = Landscape("histogram", other_sizes=bool(workload))
    rows = []
    for state in family.source.states:
        speedup = land.judged(state[1:]).speedup
        verdict = land.judged(state[1:]).model_copy(update={"device": "Made up", "latency_us": 100 / speedup[0]})
        rows.append(
            Row(
                task=family.task.name, language="cpp", state=state, sizes=family.task.sizes, seconds=0.0,
                code=code_id(family.source.code(state, family.task.sizes)), judged=verdict, device="Made up",
            )
        )  # fmt: skip
    file.write_text(written({"rows": [row.model_dump(mode="json") for row in rows]}))
    return file


@pytest.fixture
def called(tmp_path, monkeypatch, capsys):
    """Calls the command on a first and a second pass, and gives what it wrote."""

    def call(*more):
        first, second = judged(tmp_path / "first.json"), judged(tmp_path / "second.json", "small")
        given = ["measured", first, "--second", second, "--out", tmp_path / "out.json", "--budget", "8", *more]
        monkeypatch.setattr(sys, "argv", ["graph_search.py", *map(str, given)])
        graph_search.main()
        return json.loads((tmp_path / "out.json").read_text()), (tmp_path / "out.html").read_text()

    return call


def test_a_measured_table_is_replayed_and_shown(called):
    found, page = called("--seeds", "2")
    (table,) = found["tables"].values()
    assert found["device"] == "Made up"
    assert table["states"] == table["right"] == 4
    assert table["over naive"] >= 1.0
    assert set(found["mcgs over"]) == {"4", "8"}
    assert found["curves"]["enumerate"][-1] == found["curves"]["mcgs"][-1] == 1.0  # four states, eight evaluations
    assert found["second pass"]["evaluations"]["cold"] >= 1
    assert "<polyline" in page
    assert "histogram.cpp" in page


def test_a_table_with_a_state_missing_is_left_out(tmp_path):
    rows = read_states(judged(tmp_path / "rows.json"))
    assert [table.name for table in measured(rows)] == ["histogram.cpp"]
    assert list(measured(rows[1:])) == []
