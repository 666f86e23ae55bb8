"""Modules that lie beside a task's file and that it imports: they are written into it, so that the task is one text.

A task runs in a sandbox that sees no folder of the user's, and its text is what is hashed, stored and sent. What is written
in, at the place of the import, are the neighbour's own statements that the imported names need; nothing is run. Python's own
and installed modules are left alone, and so is what lies outside the task's folder.
"""

import ast
import importlib.util
import sys
from pathlib import Path

from kernelwright.errors import TaskError
from kernelwright.tasks.files import read_text

CURE = "put all into one file, or hand the module itself to kernelwright.optimize(module, inputs)"


class Joiner:
    """Writes the neighbours of one task into its text, each statement once."""

    def __init__(self, task: Path) -> None:
        self._task, self._root = task, task.parent.resolve()
        self._written: set[tuple[Path, int]] = set()
        self._names: dict[str, Path] = {}
        """What was written in, by name."""
        self._later = False
        """A neighbour's annotations are not evaluated."""

    def joined(self, source: str) -> str:
        """The task's text with all that it imports from its folder.

        Raises:
            TaskError: a module is imported in a way in which it cannot be written in, or a name would have two meanings.
        """
        nodes = _parsed(source)
        imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom) and self._file(n, self._task)]
        own = {name for node in nodes if node not in imports for name in _defined(node)}
        lines = source.splitlines()
        texts = [(node, self._written_in(node, self._task)) for node in imports]
        for node, text in reversed(texts):
            lines[node.lineno - 1 : node.end_lineno] = [text]
        if twice := sorted(own & self._names.keys()):
            raise TaskError(
                f"task {str(self._task)!r} and {self._names[twice[0]].name} beside it both define {', '.join(twice)}: {CURE}"
            )
        first = ["from __future__ import annotations"] if self._later else []
        return "\n".join([*first, *lines]) + "\n" if imports else source

    def _file(self, node: ast.Import | ast.ImportFrom, importer: Path) -> Path | None:
        """The file in the folder that an import means; None of what is installed."""
        level = 0 if isinstance(node, ast.Import) else node.level
        folder = importer.resolve().parents[level - 1] if level else self._root
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for name in names:
            file = folder.joinpath(*name.split(".")).with_suffix(".py") if name else folder
            if file.is_file() and file.resolve().is_relative_to(self._root) and (level or not _installed(name)):
                return file
        return None

    def _written_in(self, node: ast.Import | ast.ImportFrom, importer: Path) -> str:
        """What stands in the place of an import."""
        file = self._file(node, importer)
        if file is None:
            return ast.unparse(node)
        if isinstance(node, ast.Import) or any(alias.name == "*" for alias in node.names):
            raise TaskError(
                f"task {str(self._task)!r} needs {file.name} of its folder as a whole: write `from {file.stem} import NAME`, "
                f"or {CURE}"
            )
        texts = self._needed(file, {alias.name for alias in node.names})
        aliases = (alias for alias in node.names if alias.asname not in (None, alias.name))
        return "\n".join([*texts, *(f"{alias.asname} = {alias.name}" for alias in aliases)])

    def _needed(self, file: Path, wanted: set[str]) -> list[str]:
        """The statements of a neighbour that these names need, in order."""
        text = read_text(file, "module")
        nodes, lines, found = _parsed(text), text.splitlines(), []
        self._later |= any(isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in nodes)
        nodes = [n for n in nodes if not isinstance(n, ast.ImportFrom) or n.module != "__future__"]
        size = 0
        while size < len(wanted):
            size = len(wanted)
            wanted = wanted | {name for node in nodes if _defined(node) & wanted for name in _used(node)}
        for at, node in enumerate(nodes):
            if not _defined(node) & wanted or (file, at) in self._written:
                continue
            self._written.add((file, at))
            if isinstance(node, ast.Import | ast.ImportFrom):
                found.append(self._written_in(node, file))
                continue
            self._names |= dict.fromkeys(_defined(node), file)
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            found += ["", *lines[first - 1 : node.end_lineno]]
        return found


def with_neighbours(source: str, path: Path) -> str:
    """The text of a task's file with what it imports from its folder; as `Joiner.joined`."""
    return Joiner(path).joined(source)


def _parsed(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # the reader tells


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _used(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _installed(module: str) -> bool:
    package = module.split(".")[0]
    if package in sys.stdlib_module_names:
        return True
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    return found is not None and found.origin is not None and "site-packages" in Path(found.origin).parts
