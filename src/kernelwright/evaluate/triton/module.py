"""A file's text as a module: written to a private folder, its tunables set, its class found.

Triton reads a kernel's source from its file, so the text must be one. Tunables are set in that text, not on the module,
so that kernels and their defaults see the same value.
"""

import ast
import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from kernelwright.evaluate.triton.fault import BuildError
from kernelwright.records.candidate import Candidate, Define


class Integer(NamedTuple):
    """A name bound to an integer literal at module level."""

    name: str
    value: int
    node: ast.expr
    """The literal's place in the text."""


def private_path(name: str) -> Path:
    """Where to write a file that nobody else reads: `name`.py in a new folder under TMPDIR."""
    return Path(tempfile.mkdtemp(prefix="kernelwright-")) / f"{name}.py"


def load_module(path: Path, text: str, defines: Sequence[Define] = ()) -> ModuleType:
    """Write `text` with its tunables set to `path` and import it; raises whatever its code raises.

    Raises:
        BuildError: a tunable is not a module-level integer of the file.
        SyntaxError: the text is not Python.
    """
    path.write_text(define(text, defines) if defines else text, encoding="utf-8")
    name = f"{path.parent.name.replace('-', '_')}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BuildError(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def entry_of(module: ModuleType, candidate: Candidate) -> type:
    """The candidate's class.

    Raises:
        BuildError: there is no such class in the module.
    """
    entry = getattr(module, candidate.entry, None)
    if not isinstance(entry, type):
        raise BuildError(f"the file defines no class {candidate.entry!r}")
    return entry


def define(text: str, defines: Sequence[Define]) -> str:
    """`text` with the module-level integers named in `defines` given their new values.

    `NAME = 1`, `NAME: tl.constexpr = 1` and `NAME = tl.constexpr(1)` are all understood; everything
    else in the text stays as it is, line for line.

    Raises:
        BuildError: a name is not assigned an integer at module level.
    """
    values = {d.name: d.value for d in defines}
    places = [i for i in integers(text) if i.name in values]
    missing = values.keys() - {i.name for i in places}
    if missing:
        raise BuildError(f"no module-level integer named {', '.join(sorted(missing))} to set")
    lines = text.encode().splitlines(keepends=True)  # ast counts columns in bytes
    for name, _, node in sorted(places, key=lambda i: (i.node.lineno, i.node.col_offset), reverse=True):
        line, value = lines[node.lineno - 1], str(values[name]).encode()
        lines[node.lineno - 1] = line[: node.col_offset] + value + line[node.end_col_offset :]
    return b"".join(lines).decode()


def integers(text: str) -> list[Integer]:
    """The integers that the module binds to names, in order.

    Raises:
        SyntaxError: the text is not Python.
    """
    found: list[Integer] = []
    for statement in ast.parse(text).body:
        for name, value in _bindings(statement):
            node = _argument(value)
            number = _number(node)
            if number is not None:
                found.append(Integer(name, number, node))
    return found


def _bindings(statement: ast.stmt) -> list[tuple[str, ast.expr]]:
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return [(statement.target.id, statement.value)] if isinstance(statement.target, ast.Name) else []
    if isinstance(statement, ast.Assign):
        return [(t.id, statement.value) for t in statement.targets if isinstance(t, ast.Name)]
    return []


def _argument(value: ast.expr) -> ast.expr:
    """What stands inside of `tl.constexpr(…)`, or the value itself."""
    wrapped = isinstance(value, ast.Call) and ast.unparse(value.func).endswith("constexpr")
    return value.args[0] if isinstance(value, ast.Call) and wrapped and value.args else value


def _number(node: ast.expr) -> int | None:
    try:
        number = ast.literal_eval(node)
    except ValueError:
        return None
    return number if type(number) is int and node.lineno == node.end_lineno else None
