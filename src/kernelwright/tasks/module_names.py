"""Which names a Python module defines, read from its syntax tree. Nothing is run."""

import ast

_DYNAMIC = {"exec", "eval", "globals", "vars", "locals", "setattr", "__dict__", "modules", "__getattr__"}
"""What may define a name that no statement does."""


def surely_lacks(source: str, wanted: set[str]) -> bool:
    """Whether it is certain that a module has none of these names once it was imported."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    met = {name for node in nodes for name in _met(node)}
    return met.isdisjoint({"*", *wanted, *_DYNAMIC})


def made(source: str) -> list[str]:
    """The classes that a module defines at its top, or its functions where it has no class; none of what cannot be read."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    return classes or [node.name for node in body if isinstance(node, ast.FunctionDef)]


def _met(node: ast.AST) -> tuple[str, ...]:
    """Names that a node may define, or defines others with."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return (name,)
        case ast.Name(id=name, ctx=ast.Store()):
            return (name,)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return (name,) if name in _DYNAMIC else ()
        case ast.alias(name=name, asname=other):
            return (other or name.partition(".")[0], name)
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return (name,)
    return ()
