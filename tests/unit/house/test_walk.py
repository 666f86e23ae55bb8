"""The walk in docs/architecture.md names files and functions that exist, and is short."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| (\d+) \| `([\w/.]+)` \| `([\w.]+)` \|", re.MULTILINE)
WALK = (ROOT / "docs" / "architecture.md").read_text().partition("## A walk through the code")[2].partition("\n## ")[0]
WAYS = [ROW.findall(way) for way in WALK.split("The way of a ")[1:]]


def names(tree, prefix=""):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name
            yield from names(node, f"{prefix}{node.name}.")


def test_both_ways_are_short_and_numbered():
    assert len(WAYS) == 2
    for way in WAYS:
        assert [int(number) for number, _, _ in way] == list(range(1, len(way) + 1))
        assert 5 < len(way) <= 15


@pytest.mark.parametrize(("file", "name"), sorted({(file, name) for way in WAYS for _, file, name in way}))
def test_a_station_exists(file, name):
    assert name in set(names(ast.parse((ROOT / "src/kernelwright" / file).read_text())))
