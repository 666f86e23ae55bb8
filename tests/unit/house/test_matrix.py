"""Which tests of the long matrix a change calls for, and what is recorded of a full pass."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STRATEGIES = ROOT / "tests" / "system" / "test_strategies_over_http.py"
CARDS = ROOT / "tests" / "system" / "test_technique_cards.py"
KILLS = ROOT / "tests" / "system" / "test_kill.py"


@pytest.fixture(scope="module")
def matrix():
    spec = importlib.util.spec_from_file_location("matrix", ROOT / ".ci" / "matrix.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def source(name):
    return ROOT / "src" / "kernelwright" / name


@pytest.mark.parametrize(
    ("test", "file", "called"),
    [
        (KILLS, source("engine/loop.py"), True),
        (KILLS, source("interfaces/cli/main.py"), False),
        (KILLS, ROOT / "tests" / "system" / "zygote.py", True),
        (CARDS, source("evaluate/worker.py"), True),
        (CARDS, source("knowledge/techniques/cards/split-k/task.py"), True),
        (CARDS, source("bench/plan.py"), False),
        (STRATEGIES, ROOT / "tests" / "mock_llm" / "writer.py", True),
        (STRATEGIES, ROOT / "docs" / "strategy.md", False),
    ],
)
def test_a_change_calls_for_the_tests_that_import_it_or_start_it(matrix, test, file, called):
    assert file.exists()
    assert matrix.depends(test, {file}) == called


def test_only_what_fits_into_the_time_is_run_and_the_rest_is_named(matrix, tmp_path, monkeypatch, capsys):
    known = {"files": {"tests/system/test_kill.py": {"commit": "", "seconds": 40.0}}}
    monkeypatch.setattr(matrix, "RECORD", tmp_path / "matrix.json")
    (tmp_path / "matrix.json").write_text(json.dumps(known))
    assert matrix.main(["due", "--seconds", "50"]) == 0
    told = capsys.readouterr()
    assert told.out == "tests/system/test_kill.py\n"
    assert f"want of time: {CARDS.relative_to(ROOT)}" in told.err


@pytest.fixture
def committed(matrix, tmp_path, monkeypatch):
    monkeypatch.setattr(matrix, "RECORD", tmp_path / "matrix.json")
    monkeypatch.setattr(matrix, "ROOT", tmp_path)
    monkeypatch.setattr(matrix, "matrix_files", lambda: [tmp_path / "tests/system/test_kill.py"])
    monkeypatch.setattr(matrix, "git", lambda verb, *_: {"status": "", "rev-parse": "abc", "diff": ""}[verb])
    return tmp_path / "matrix.json"


def test_a_file_that_passed_is_recorded_at_once_and_one_that_failed_is_due_again(matrix, committed, monkeypatch):
    monkeypatch.setattr(matrix, "passed", {"tests/system/test_kill.py": 3.0}.get)
    assert matrix.main(["run", "tests/system/test_technique_cards.py", "tests/system/test_kill.py"]) == 1
    ((name, one),) = json.loads(committed.read_text())["files"].items()
    assert (name, one["commit"], one["seconds"]) == ("tests/system/test_kill.py", "abc", 3.0)
    assert matrix.main(["run", "tests/system/test_kill.py"]) == 0


def test_without_time_nothing_is_run_and_all_is_named(matrix, committed, capsys):
    assert matrix.main(["run", "--seconds", "0", "tests/system/test_kill.py"]) == 1
    assert "no time is left for 1" in capsys.readouterr().out
    assert not committed.exists()


def test_a_tree_with_changes_is_not_recorded(matrix, committed, monkeypatch, capsys):
    monkeypatch.setattr(matrix, "git", lambda *_: " M a")
    assert matrix.main(["run"]) == 1
    assert "must be committed" in capsys.readouterr().err


def test_what_is_started_exists(matrix):
    started = {name for names in matrix.STARTED.values() for name in names}
    assert {matrix.PROGRAM, *matrix.STARTED, *started} <= matrix.graph().modules
