"""The functions that Inductor's Triton kernels call, cut out of the installed PyTorch's own module of them.

They become part of the candidate under names of its own, so that nothing of Inductor is needed where it runs, and whatever
a version adds is there.
"""

import ast
import builtins
from collections.abc import Iterator

from kernelwright.propose.inductor.text import UnreadableError

PREFIX = "helper_"
MODULES = {"libdevice": "libdevice", "math": "tl_math", "tl_math": "tl_math", "tl": "tl", "triton": "triton"}
"""What a helper may name beside other helpers, and what the candidate calls it."""


class Helpers:
    """The module's functions and constants, by name."""

    def __init__(self, source: str) -> None:
        self._nodes = {name: node for node in ast.parse(source).body for name in _names(node)}

    def inlined(self, kernel: str) -> tuple[str, set[str]]:
        """A kernel that calls helpers by the names that they have in the candidate, and which it calls.

        Raises:
            UnreadableError: it calls what is not there.
        """
        called = _Called()
        tree = called.visit(ast.parse(kernel))
        if unknown := called.found - self._nodes.keys():
            raise UnreadableError(f"triton_helpers.{min(unknown)} is not to be found")
        return ast.unparse(tree), called.found

    def text(self, wanted: set[str]) -> list[str]:
        """The definitions of these helpers and of all that they need, each before its first use.

        Raises:
            UnreadableError: one of them needs what no candidate has.
        """
        needed: set[str] = set()
        waiting = set(wanted)
        while waiting:
            name = waiting.pop()
            needed.add(name)
            waiting |= self._needs(name) - needed
        ours = {name: f"{PREFIX}{name}" for name in needed}
        placed = [name for name in self._nodes if name in needed]
        return [ast.unparse(Renamed({**MODULES, **ours}).visit(self._fresh(name))) for name in placed]

    def _fresh(self, name: str) -> ast.AST:
        return ast.parse(ast.unparse(self._nodes[name])).body[0]

    def _needs(self, name: str) -> set[str]:
        node = self._nodes[name]
        own = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        own |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        free = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - own - MODULES.keys()
        here = free & self._nodes.keys()
        if unknown := {n for n in free - here if not hasattr(builtins, n)}:
            raise UnreadableError(f"triton_helpers.{name} needs {min(unknown)}")
        return here


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name


class _Called(ast.NodeTransformer):
    """`triton_helpers.maximum` by the name that it has in the candidate."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "triton_helpers":
            self.found.add(node.attr)
            return ast.copy_location(ast.Name(id=f"{PREFIX}{node.attr}", ctx=node.ctx), node)
        return node


class Renamed(ast.NodeTransformer):
    """Names of other modules and helpers as the candidate has them."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """See `ast.NodeVisitor`: what the function's own arguments are called stays."""
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        inner = Renamed({name: new for name, new in self._names.items() if name not in own})
        inner.generic_visit(node)
        node.name = self._names.get(node.name, node.name)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """See `ast.NodeVisitor`."""
        node.id = self._names.get(node.id, node.id)
        return node
