"""The README's results come from committed files and from nowhere else."""

import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "readme_table.py"
SPEEDUP = {"median": 3.1, "low": 3.05, "high": 3.16}
ROW = {
    "task": "mse_loss",
    "target": "cpu",
    "latency_us": 7290.4,
    "speedup_eager": SPEEDUP,
    "speedup_compile": {"median": 0.9, "low": 0.88, "high": 0.93},
    "verdict_eager": "faster",
    "verdict_compile": "slower",
}
RESULTS = {
    "device": "Example CPU",
    "versions": {"torch": "2.13.0", "gcc": "12.2.0"},
    "commit": "0123456789abcdef",
    "date": "2026-01-01",
    "rows": [ROW, ROW | {"task": "softmax"}],
}


@pytest.fixture
def script(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("readme_table", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "README", tmp_path / "README.md")
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    places = [f"<!-- {name}:begin -->\nold\n<!-- {name}:end -->\n" for name in ("headline", "results")]
    (tmp_path / "README.md").write_text("a\n" + "b\n".join(places) + "c\n")
    return module


def test_write_then_check(script, tmp_path, capsys):
    (tmp_path / "examples-cpu.json").write_text(json.dumps(RESULTS))
    assert script.main(["--check"]) == 1
    assert "run python benchmarks/readme_table.py" in capsys.readouterr().err
    assert script.main([]) == 0
    assert script.main(["--check"]) == 0
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("a\n")
    assert text.endswith("c\n")
    assert "old" not in text
    won = "| mse_loss | cpu | 7.29 ms | 3.10× (3.05 to 3.16), faster | 0.90× (0.88 to 0.93), slower |"
    assert text.count(won) == 2
    assert text.count("| softmax |") == 1
    assert "Example CPU; numerics strict; gcc 12.2.0, torch 2.13.0; commit `0123456789ab`, 2026-01-01." in text


def test_a_changed_figure_is_noticed(script, tmp_path):
    path = tmp_path / "examples-cpu.json"
    path.write_text(json.dumps(RESULTS))
    script.main([])
    path.write_text(json.dumps(RESULTS | {"rows": [ROW | {"latency_us": 7300.0}]}))
    assert script.main(["--check"]) == 1


def test_without_results_it_says_so(script, tmp_path):
    script.main([])
    assert (tmp_path / "README.md").read_text().count(script.NOTHING) == 2


def test_an_unknown_field_is_refused(script, tmp_path):
    (tmp_path / "examples-cpu.json").write_text(json.dumps(RESULTS | {"speed": 1}))
    with pytest.raises(ValueError, match="speed"):
        script.main([])


def test_lost_marks_are_named(script, tmp_path):
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(SystemExit, match="headline:begin"):
        script.main([])
