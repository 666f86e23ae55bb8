"""Which files of the long matrix are due, in what order they run, and what is recorded of those that passed."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
KILLS, CARDS, CLOCK = "tests/system/test_kill.py", "tests/system/test_technique_cards.py", "tests/cheats/test_clock.py"


@pytest.fixture
def tree(tmp_path):
    """A repository with three files of the matrix and one that has no part in it."""
    for name in (KILLS, CARDS, CLOCK):
        fill(tmp_path / name, "@pytest.mark.matrix\n")
    fill(tmp_path / "tests/unit/test_a.py", "")
    fill(tmp_path / "src/a.py", "x = 1\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


@pytest.fixture
def matrix(tree, monkeypatch):
    spec = importlib.util.spec_from_file_location("matrix", ROOT / ".ci" / "matrix.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tree)
    monkeypatch.setattr(module, "TESTS", tree / "tests")
    monkeypatch.setattr(module, "RECORD", tree / "tests" / "matrix.json")
    return module


def fill(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def git(tree, *arguments):
    own = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", *own, *arguments], cwd=tree, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(tree):
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "a")


def record(tree, **dates):
    head = git(tree, "rev-parse", "HEAD")
    files = {name: {"commit": head, "date": date, "seconds": 9.0} for name, date in dates.items()}
    fill(tree / "tests" / "matrix.json", json.dumps({"files": files}))


def recorded(tree):
    file = tree / "tests" / "matrix.json"
    return json.loads(file.read_text())["files"] if file.exists() else {}


def test_what_passed_longest_ago_is_due_first_once_code_has_changed(matrix, tree, capsys):
    record(tree, **{KILLS: "2026-02-02", CARDS: "2026-01-01"})
    commit(tree)
    assert matrix.due(recorded(tree)) == [CLOCK]
    fill(tree / "docs" / "a.md", "words")
    commit(tree)
    matrix.changed.cache_clear()
    assert matrix.due(recorded(tree)) == [CLOCK], "no test reads the pages"
    fill(tree / "src" / "a.py", "x = 2\n")
    commit(tree)
    matrix.changed.cache_clear()
    assert matrix.main(["due"]) == 0
    assert capsys.readouterr().out.split() == [CLOCK, CARDS, KILLS]


def test_a_file_that_passed_is_recorded_at_once_and_one_that_failed_is_due_again(matrix, tree, monkeypatch):
    monkeypatch.setattr(matrix, "passed", {KILLS: 3.0}.get)
    assert matrix.main(["run", CARDS, KILLS]) == 1
    assert [(name, one["seconds"]) for name, one in recorded(tree).items()] == [(KILLS, 3.0)]
    assert matrix.due(recorded(tree)) == [CLOCK, CARDS]


def test_what_time_does_not_allow_is_named_and_no_failure(matrix, tree, monkeypatch, capsys):
    clock = iter([0.0, 0.0, 700.0, 700.0])
    monkeypatch.setattr(matrix, "time", type("Clock", (), {"monotonic": lambda: next(clock)}))
    monkeypatch.setattr(matrix, "passed", lambda name: 700.0)
    assert matrix.main(["run", "--seconds", "600"]) == 0
    said = capsys.readouterr().out
    assert "1 of 3 files that are due passed" in said
    assert said.count("left for the next run") == 2
    assert list(recorded(tree)) == [CLOCK]


def test_a_file_that_takes_long_is_begun_as_the_first_or_not_at_all(matrix, tree, monkeypatch, capsys):
    monkeypatch.setattr(matrix, "passed", lambda name: 9.0)
    dates = {KILLS: "2026-03-03", CARDS: "2026-02-02", CLOCK: "2026-01-01"}
    record(tree, **dates)
    fill(tree / "src" / "a.py", "x = 2\n")
    commit(tree)
    assert matrix.main(["run", "--longest", "5"]) == 0
    said = capsys.readouterr().out
    assert f"1 of 3: {CLOCK}: passed" in said
    assert [f"left for the next run: {name}" in said for name in (CARDS, KILLS)] == [True, True]


@pytest.mark.parametrize("seconds", ["0", "-120"])
def test_a_budget_that_is_spent_is_an_error(matrix, seconds, capsys):
    with pytest.raises(SystemExit):
        matrix.main(["run", "--seconds", seconds])
    assert "the matrix needs time" in capsys.readouterr().err


def test_a_tree_with_changes_is_not_recorded(matrix, tree, capsys):
    fill(tree / "src" / "a.py", "x = 3\n")
    assert matrix.main(["run"]) == 1
    assert "must be committed" in capsys.readouterr().err


def test_a_file_runs_by_its_marks(matrix, tree, capsys):
    fill(tree / KILLS, "import pytest\n@pytest.mark.matrix\ndef test_a():\n    assert 1\ndef test_b():\n    assert 0\n")
    fill(tree / CARDS, "import pytest\n@pytest.mark.matrix\n@pytest.mark.quiet\ndef test_a():\n    assert 0\n")
    fill(tree / "pytest.ini", "[pytest]\nmarkers =\n    matrix: a\n    quiet: b\n")
    assert matrix.passed(KILLS) > 0
    assert matrix.passed(CARDS) is None
    assert "assert 0" in capsys.readouterr().out


def test_ci_gives_the_matrix_at_least_ten_minutes():
    command = next(line for line in (ROOT / ".ci" / "run").read_text().splitlines() if "matrix.py run" in line)
    assert int(command.partition("--seconds ")[2].split()[0]) >= 600
