"""The walk in docs/architecture.md is short, and each of its stations is called by one before it, or handed over to.

From a station, calls are followed through names that its module defines or imports and through methods of `self`; the last
step may be any attribute by the next station's name. What processes send each other, the records of `jobs` and `messages`,
leads from whoever makes one to whoever takes it.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "kernelwright"
ROW = re.compile(r"^\| (\d+) \| `([\w/.]+)` \| `([\w.]+)` \|", re.MULTILINE)
WALK = (ROOT / "docs" / "architecture.md").read_text().partition("## A walk through the code")[2].partition("\n## ")[0]
WAYS = [[(file, name) for _, file, name in ROW.findall(way)] for way in WALK.split("The way of a ")[1:]]
MESSAGES = re.compile(r"evaluate/(jobs\.py|sandbox/messages/)")
BETWEEN = 3
"""Functions that may stand between two stations: the walk shows stations, not every step."""

Node = tuple[str, str]
"""A file below the package, and a function or class in it by its qualified name."""


@cache
def trees() -> dict[str, ast.Module]:
    """Every module, by its file."""
    files = (file for file in SOURCE.rglob("*.py") if "cards" not in file.parts)
    return {str(file.relative_to(SOURCE)): ast.parse(file.read_text()) for file in files}


def definitions(tree, prefix=""):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name, node
            yield from definitions(node, f"{prefix}{node.name}.")


@cache
def nodes() -> dict[Node, ast.AST]:
    """Every function and class."""
    return {(file, name): node for file, tree in trees().items() for name, node in definitions(tree)}


@cache
def names_in(file: str) -> dict[str, Node]:
    """What a module's names stand for, of what the package defines."""
    found = {name: (file, name) for known, name in nodes() if known == file and "." not in name}
    for node in ast.walk(trees()[file]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kernelwright"):
            path = "/".join(node.module.split(".")[1:])
            for alias in node.names:
                found[alias.asname or alias.name] = (f"{path}.py", alias.name)
    return found


@cache
def mentioned(node: Node) -> tuple[set[str], set[str], set[str]]:
    """What a function or class names: names, attributes of `self`, and all attributes."""
    names, own, attributes = set(), set(), set()
    for part in ast.walk(nodes()[node]):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.Attribute):
            attributes.add(part.attr)
            if isinstance(part.value, ast.Name) and part.value.id == "self":
                own.add(part.attr)
    return names, own, attributes


@cache
def named(node: Node) -> frozenset[Node]:
    """Functions and classes that one names, by what its module says the names are."""
    file, owner = node[0], node[1].rpartition(".")[0]
    names, own, _ = mentioned(node)
    found = {names_in(file).get(name) for name in names} | {(file, f"{owner}.{name}") for name in own}
    return frozenset(node for node in found if node in nodes())


@cache
def around(start: Node) -> frozenset[Node]:
    """A station, and what it calls until there would be too much between it and the next."""
    known = edge = {start}
    for _ in range(BETWEEN):
        edge = {after for node in edge for after in named(node)} - known
        known = known | edge
    return frozenset(known)


def leads(start: Node, end: Node) -> bool:
    """Whether one station calls the other, or sends it what it takes."""
    reach = around(start)
    called = end in reach or any(end[1].rpartition(".")[2] in mentioned(node)[2] for node in reach)
    sent, taken = ({node for node in near if MESSAGES.search(node[0])} for near in (reach, around(end)))
    return called or bool(sent & taken)


def test_both_ways_are_short_and_numbered():
    assert len(WAYS) == 2
    for way, text in zip(WAYS, WALK.split("The way of a ")[1:], strict=True):
        assert [int(number) for number, _, _ in ROW.findall(text)] == list(range(1, len(way) + 1))
        assert 5 < len(way) <= 15


@pytest.mark.parametrize(
    ("before", "station"), [(way[:number], station) for way in WAYS for number, station in enumerate(way)]
)
def test_a_station_is_called_by_one_before_it_or_takes_what_that_sends(before, station):
    assert station in nodes()
    assert not before or any(leads(one, station) for one in before)


def test_what_nobody_calls_is_no_next_station():
    judge = ("engine/cached_evaluator.py", "CachedEvaluator.judge")
    assert leads(judge, ("evaluate/referee.py", "Referee.evaluate"))
    assert not leads(judge, ("engine/opening.py", "new_card"))
    assert not leads(("evaluate/pipeline/evaluate.py", "evaluate_candidate"), ("search/strategy.py", "Strategy.tell"))
