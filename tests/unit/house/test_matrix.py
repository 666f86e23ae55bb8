"""Which tests of the long matrix a change calls for, and what is recorded of a full pass."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STRATEGIES = ROOT / "tests" / "system" / "test_strategies_over_http.py"
CARDS = ROOT / "tests" / "system" / "test_technique_cards.py"
KILLS = ROOT / "tests" / "system" / "test_kill.py"
XML = "<testsuites><testsuite>{}</testsuite></testsuites>"
CASE = '<testcase classname="tests.system.test_kill" name="test_a" time="1.5">{}</testcase>'


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
    known = {"commit": "", "files": {"tests/system/test_kill.py": {"seconds": 40.0}}}
    monkeypatch.setattr(matrix, "RECORD", tmp_path / "matrix.json")
    (tmp_path / "matrix.json").write_text(json.dumps(known))
    assert matrix.main(["due", "--seconds", "50"]) == 0
    told = capsys.readouterr()
    assert told.out == "tests/system/test_kill.py\n"
    assert f"want of time: {CARDS.relative_to(ROOT)}" in told.err


@pytest.mark.parametrize(
    ("told", "clean", "recorded"), [("", "", True), ("<failure/>", "", False), ("", " M a", False)]
)
def test_a_full_pass_is_recorded_with_its_commit_and_counts(matrix, tmp_path, monkeypatch, told, clean, recorded):
    monkeypatch.setattr(matrix, "RECORD", tmp_path / "matrix.json")
    monkeypatch.setattr(matrix, "git", lambda verb, *_: {"status": clean, "rev-parse": "abc"}[verb])
    (tmp_path / "lane.xml").write_text(XML.format(CASE.format(told) * 2))
    assert matrix.main(["record", str(tmp_path / "lane.xml")]) == (0 if recorded else 1)
    assert (tmp_path / "matrix.json").exists() == recorded
    if recorded:
        found = json.loads((tmp_path / "matrix.json").read_text())
        assert (found["commit"], found["tests"], found["skipped"]) == ("abc", 2, 0)
        assert found["files"] == {"tests/system/test_kill.py": {"tests": 2, "seconds": 3.0}}


def test_what_is_started_exists(matrix):
    started = {name for names in matrix.STARTED.values() for name in names}
    assert {matrix.PROGRAM, *matrix.STARTED, *started} <= matrix.graph().modules
