"""The tables of results come from committed files and from nowhere else."""

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
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(module, "PLACES", {"README.md": ("headline",), "page.md": ("results", "field")})
    for name, places in module.PLACES.items():
        marked = [f"<!-- {place}:begin -->\nold\n<!-- {place}:end -->\n" for place in places]
        (tmp_path / name).write_text("a\n" + "b\n".join(marked) + "c\n")
    return module


def test_write_then_check(script, tmp_path, capsys):
    (tmp_path / "examples-cpu.json").write_text(json.dumps(RESULTS))
    assert script.main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "README.md differs" in said
    assert "page.md differs from benchmarks/results: run python benchmarks/readme_table.py" in said
    assert script.main([]) == 0
    assert script.main(["--check"]) == 0
    text = (tmp_path / "page.md").read_text()
    assert text.startswith("a\n")
    assert text.endswith("c\n")
    assert "old" not in text
    won = "| mse_loss | cpu | 7.29 ms | 3.10× (3.05 to 3.16), faster | 0.90× (0.88 to 0.93), slower |"
    assert text.count(won) == 1
    assert text.count("| softmax |") == 1
    assert script.NOTHING in (tmp_path / "README.md").read_text(), "examples alone make no headline"
    assert "Example CPU; numerics strict; gcc 12.2.0, torch 2.13.0; commit `0123456789ab`, 2026-01-01." in text


def test_a_changed_figure_is_noticed(script, tmp_path):
    path = tmp_path / "examples-cpu.json"
    path.write_text(json.dumps(RESULTS))
    script.main([])
    path.write_text(json.dumps(RESULTS | {"rows": [ROW | {"latency_us": 7300.0}]}))
    assert script.main(["--check"]) == 1


def test_without_results_it_says_so(script, tmp_path):
    script.main([])
    assert (tmp_path / "README.md").read_text().count(script.NOTHING) == 1
    assert (tmp_path / "page.md").read_text().count(script.NOTHING) == 2


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
    text = (tmp_path / "page.md").read_text()
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
    with pytest.raises(SystemExit, match=r"README.md: .*headline:begin"):
        script.main([])


def passed(target, *rows):
    return {"device": f"a {target}", "target": target, "rows": rows}


def row(task, eager, compiled, verdict):
    sides = {"eager": [eager, eager, eager, verdict], "compile": [compiled, compiled, compiled, verdict]}
    return {"task": task, "family": "f", "outcome": "measured", **sides}


def test_the_headline_has_a_line_for_each_set_of_tasks(script):
    wrong = {"task": "field/operators/c", "family": "f", "outcome": "incorrect"}
    fast = row("field/operators/a", 2.0, 1.0, "faster"), row("field/operators/b", 8.0, 4.0, "faster")
    slow = row("own/a", 3.0, 0.5, "slower")
    level = passed("cuda", row("level1/a", 4.0, 2.0, "inconclusive")) | {"name": "level 1", "problems": 100}
    given = [level], [passed("cuda", *fast, wrong), passed("cuda")], [passed("cuda", slow), passed("cpu", slow)]
    lines = script.headline(*given).splitlines()
    assert lines[0].startswith("| tasks | on | reached | right |")
    assert lines[2] == "| KernelBench level 1 | a cuda | 1 of 100 | 1 | 4.00× | 2.00× | 0 | 1 | 0 | search |"
    assert lines[3] == "| our single operators | a cuda | 3 | 2 | 4.00× | 2.00× | 2 | 0 | 0 | finals |"
    assert lines[-1] == "| our small suite | a cpu | 1 | 1 | 3.00× | 0.50× | 0 | 0 | 1 | finals |"
    assert len(lines) == 7


def test_without_a_pass_there_is_no_headline(script):
    assert script.headline([], [], [passed("cuda")]) == script.NOTHING


def test_what_is_committed_makes_a_headline_with_every_kind():
    text = (SCRIPT.parents[1] / "README.md").read_text().split("<!-- headline:begin -->")[1]
    names = [each.split(" | ")[0] for each in text.split("<!-- headline:end -->")[0].strip().splitlines()[2:]]
    assert names[0] == "| KernelBench level 1, as shipped"
    assert names[-4:] == ["| our single operators", "| our fused chains", "| our whole networks", "| our small suite"]
