"""The page of the API is what the docstrings say, and its examples and the README's run, before a scripted referee.

The real one is asked by the notebook (tests/system/test_notebook.py).
"""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import pytest

import kernelwright as kw
from kernelwright import api
from kernelwright.interfaces.python import door
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers

ROOT = Path(__file__).parents[3]


def blocks(page):
    """Every fenced block of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def executable(page):
    return [block for block in blocks(page) if not re.match(r"\w+ = (?:Callable|Annotated)\[", block)]


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("api_page", ROOT / ".ci" / "api_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    """A referee that finds everything right, and the reference for a kernel; runs go into an empty folder."""
    monkeypatch.chdir(tmp_path)
    evaluator = ScriptedEvaluator(outcomes=("measured",))
    parts = replace(
        scripted_suppliers(evaluator),
        wrap=lambda task, candidate, other: task.source.source.replace("class Model(", "class ModelNew("),
    )
    assert door.api is api  # its signatures are read before the name is another
    monkeypatch.setattr(api, "Suppliers", lambda: parts)
    return evaluator


def test_the_page_is_what_the_docstrings_say(script, tmp_path, monkeypatch, capsys):
    assert script.main(["--check"]) == 0
    monkeypatch.setattr(script, "PAGE", tmp_path / "api.md")
    assert script.main(["--check"]) == 1
    assert "python .ci/api_page.py" in capsys.readouterr().err
    assert script.main([]) == 0
    assert script.main(["--check"]) == 0


def test_the_page_has_every_name_of_the_door():
    titles = re.findall(r"^## `kw\.(\w+)`$", (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(titles) == [name for name in kw.__all__ if name != "__version__"]


def test_the_examples_of_the_page_run(scripted, capsys):
    space = {}
    for block in executable("docs/api.md"):
        exec(compile(block, "docs/api.md", "exec"), space)
    assert space["evaluation"].outcome == "measured"
    assert type(space["faster"]).__name__ == "ModelNew"
    out = capsys.readouterr().out
    assert "Softmax on cpu" in out
    assert "measured" in out
    assert len(scripted.calls) > 2


def test_the_ten_lines_of_the_readme_run(scripted, capsys):
    (lines,) = blocks("README.md")
    assert len(lines.splitlines()) <= 10
    exec(compile(lines, "README.md", "exec"), {})
    assert "against eager" in capsys.readouterr().out
