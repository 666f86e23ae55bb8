"""The reference of a definition as a part of a task's text, where names of ours stand beside it.

Imports from the future must come first, names that a task's text has itself are called otherwise, and what `run` takes is
compared with the inputs: by name where it has their names, by position else.
"""

import ast
import warnings
from collections.abc import Sequence
from io import StringIO
from token import NAME
from tokenize import generate_tokens
from typing import NamedTuple

OURS = {"Model", "get_inputs", "get_init_inputs", "AXES", "CONSTRAINTS", "WORKLOADS"}
"""A task's text defines these itself."""
_OTHERWISE = "{}_of_reference"
_CALLED = "\n\n\ndef run(*inputs):\n    return Model()(*inputs)"
"""Of a reference that is a module instead."""


class Reference(NamedTuple):
    """A reference that can stand in a task's text."""

    future: str
    """Its imports from the future."""
    text: str
    arguments: str
    """What `run` is called with."""


def as_part(text: str, inputs: Sequence[str]) -> Reference:
    """A reference beside names of ours.

    Raises:
        ValueError: it is no Python, has no `run`, or takes something else than the inputs.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"its reference is not valid Python ({error})") from None
    bound = {name for node in ast.walk(tree) for name in _bound(node)}
    if not {"run", "*"} & bound:
        if "Model" not in bound:
            raise ValueError(f"its reference defines no function run({', '.join(inputs)}): add it")
        text += _CALLED
    arguments = _arguments(tree, inputs)
    future = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    rows = text.split("\n")
    for node in future:
        rows[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    renamed = _renamed("\n".join(rows), OURS & bound)
    return Reference("".join(f"{ast.unparse(node)}\n" for node in future), renamed.strip(), arguments)


def _bound(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [each.asname or each.name for each in names]
    return []


def _arguments(tree: ast.Module, inputs: Sequence[str]) -> str:
    """By name where `run` has the names of all inputs.

    Raises:
        ValueError: it takes fewer or more than there are.
    """
    by_position = ", ".join(inputs)
    runs = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run"]
    if not runs:
        return by_position
    told = runs[-1].args
    taken = [each.arg for each in (*told.posonlyargs, *told.args, *told.kwonlyargs)]
    if not told.posonlyargs and set(taken) == set(inputs):
        return ", ".join(f"{name}={name}" for name in inputs)
    least = len(taken) - len(told.defaults) - sum(each is not None for each in told.kw_defaults)
    if least > len(inputs) or (len(taken) < len(inputs) and not told.vararg):
        raise ValueError(f"its reference is run({', '.join(taken)}), and its inputs are {by_position}: give run those")
    return by_position


def _renamed(text: str, names: set[str]) -> str:
    """Names are called otherwise wherever they are no attribute's."""
    rows, places, before = text.split("\n"), [], ""
    for token in generate_tokens(StringIO(text).readline) if names else ():
        if token.type == NAME and token.string in names and before != ".":
            places.append((token.start, token.string))
        before = token.string
    for (row, column), name in reversed(places):
        line = rows[row - 1]
        rows[row - 1] = line[:column] + _OTHERWISE.format(name) + line[column + len(name) :]
    return "\n".join(rows)
