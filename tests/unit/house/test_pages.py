"""The pages that messages point to, what a wheel carries, and what its extras bring."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from kernelwright.pages import page

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_page_that_a_message_names_is_there():
    named = {name for file in SOURCES for name in re.findall(r"page\(['\"]([\w-]+\.md)", file.read_text("utf-8"))}
    assert len(named) > 5
    assert all((ROOT / "docs" / name).is_file() for name in named), named


SHOWN = [(page.name, ast.parse(block)) for page in sorted((ROOT / "docs").glob("*.md"))
         for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
         if "(Protocol):" in block]  # fmt: skip


def test_a_page_shows_every_method_of_a_protocol():
    there = {name: methods for file in SOURCES for name, methods in _protocols(ast.parse(file.read_text("utf-8")))}
    shown = [(page, name, methods) for page, tree in SHOWN for name, methods in _protocols(tree)]
    assert len(shown) > 3
    assert [(page, name) for page, name, methods in shown if there[name] != methods] == []


def _protocols(tree):
    """The protocols of a text, each with the names of its methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases):
            methods = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            yield node.name, {n.name for n in methods if not n.decorator_list}


def test_no_message_names_a_page_by_a_path_that_a_wheel_lacks():
    found = [f"{file.name}: {text}" for file in SOURCES for text in _messages(file) if "docs/" in text]
    assert found == []


def _messages(file):
    """Every string of a source but its docstrings."""
    tree = ast.parse(file.read_text("utf-8"))
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
    ]


def test_a_page_of_the_checkout_is_told_from_the_current_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert page("models.md") == "docs/models.md"
    monkeypatch.chdir(tmp_path)
    assert page("models.md") == str(ROOT / "docs" / "models.md")


def test_the_wheel_carries_the_pages():
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"] == {"docs": "kernelwright/docs"}


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_the_sdk_of_a_model_is_an_extra(sdk):
    project = PROJECT["project"]
    assert not any(need.startswith(sdk) for need in project["dependencies"])
    assert any(need.startswith(sdk) for need in project["optional-dependencies"][sdk])


def test_all_has_every_extra_but_the_developers():
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.fullmatch(r"kernelwright\[(.*)\]", everything)[1].split(","))
    assert named == extras.keys() - {"all", "dev", "docs"}
