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
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("readme_table", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "README", tmp_path / "README.md")
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    places = [f"<!-- {name}:begin -->\nold\n<!-- {name}:end -->\n" for name in ("headline", "results", "field")]
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
    assert text.count(won) == 1
    assert text.count("| softmax |") == 1
    assert script.NOTHING in text, "no row is faster than both baselines: there is no headline"
    assert "Example CPU; numerics strict; gcc 12.2.0, torch 2.13.0; commit `0123456789ab`, 2026-01-01." in text


def test_a_changed_figure_is_noticed(script, tmp_path):
    path = tmp_path / "examples-cpu.json"
    path.write_text(json.dumps(RESULTS))
    script.main([])
    path.write_text(json.dumps(RESULTS | {"rows": [ROW | {"latency_us": 7300.0}]}))
    assert script.main(["--check"]) == 1


def test_without_results_it_says_so(script, tmp_path):
    script.main([])
    assert (tmp_path / "README.md").read_text().count(script.NOTHING) == 3


def test_passes_over_the_field_become_a_table_by_family(script, tmp_path):
    def row(task, family, compiled, **more):
        return {
            "task": task,
            "family": family,
            "outcome": "measured",
            "eager": [3.0, 2.9, 3.1, "faster"],
            "compile": compiled,
            **more,
        }

    rows = [
        row("field/operators/relu", "element-wise", [1.0, 0.99, 1.01, "inconclusive"], copy_share=0.97, tflops=0.1),
        row("field/operators/mm", "product", [4.0, 3.9, 4.1, "faster"], tflops=150.0),
        {"task": "field/chains/x", "family": "chain", "outcome": "incorrect"},
        row("field/chains/y", "chain", [0.5, 0.49, 0.51, "slower"], commit="abd"),
    ]
    versions = {"python": "3", "torch": "2", "triton": "1", "driver": "9", "numpy": "2"}
    found = {"device": "a GPU", "versions": versions, "commit": "abc", "date": "today", "rows": rows}
    (tmp_path / "author-field-nvidia-h200.json").write_text(json.dumps(found))
    script.main([])
    text = (tmp_path / "README.md").read_text()
    assert "| element-wise | 1 | 1 | 1.00× | 1.00× | 1.00× | 0 | 1 | 0 | 97% |  |" in text
    assert "| product | 1 | 1 | 4.00× | 3.00× | 3.00× | 1 | 0 | 0 |  | 150 |" in text
    assert "| **all operators** | 2 | 2 | 2.00× | 1.73× | 1.00× | 1 | 1 | 0 | 97% | 75 |" in text
    assert "| **all chains** | 2 | 1 | 0.50× | 0.50× | 0.50× | 0 | 0 | 1 |  |  |" in text
    assert "a GPU; numerics as-is; python 3, torch 2, triton 1, driver 9; " in text
    assert "; 3 tasks at commit `abc`, 1 task at commit `abd`, today." in text


def test_an_unknown_field_is_refused(script, tmp_path):
    (tmp_path / "examples-cpu.json").write_text(json.dumps(RESULTS | {"speed": 1}))
    with pytest.raises(ValueError, match="speed"):
        script.main([])


def test_lost_marks_are_named(script, tmp_path):
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(SystemExit, match="headline:begin"):
        script.main([])


def row(task, eager, compiled, verdicts=("faster", "faster")):
    speedups = ({"median": v, "low": v - 0.01, "high": v + 0.01} for v in (eager, compiled))
    eager, compiled = speedups
    return {
        "task": task, "target": "cpu", "latency_us": 2640.0, "speedup_eager": eager, "speedup_compile": compiled,
        "verdict_eager": verdicts[0], "verdict_compile": verdicts[1],
    }  # fmt: skip


def results(script, device, *rows):
    given = {"device": device, "versions": {}, "commit": "abc", "date": "today", "rows": rows}
    return script.Results.model_validate(given)


def test_the_headline_is_the_clearest_win_over_both_baselines(script):
    here = results(
        script, "a CPU", row("first", 9.0, 0.99, ("faster", "inconclusive")), row("softmax", 1.1, 1.9),
        row("cross_entropy", 3.1, 1.5), row("copy", 4.0, 1.2),
    )  # fmt: skip
    lines = script.headline([here, results(script, "a GPU", row("softmax", 2.2, 1.2))]).splitlines()
    assert lines[0].startswith("| task | on | one call |")
    assert lines[2].startswith("| cross_entropy | a CPU | 2.64 ms | 3.10× (3.09 to 3.11), faster | 1.50× ")
    assert lines[3].startswith("| softmax | a GPU | 2.64 ms | 2.20×")


def test_without_a_win_over_both_there_is_no_headline(script):
    assert script.headline([results(script, "a CPU", row("x", 2.0, 0.9, ("faster", "slower")))]) == script.NOTHING


def test_what_is_committed_has_a_win_over_both_on_each_device(script):
    found = [script.read(path) for path in sorted((SCRIPT.parent / "results").glob("examples-*.json"))]
    assert found and all(script.clearest(each) is not None for each in found)
