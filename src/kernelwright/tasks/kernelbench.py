"""Reader of KernelBench-format files: `Model`, `get_inputs`, `get_init_inputs`, as they are.

Decides whether a file can be such a task, by its syntax tree alone: the text is never run here. An
optional module-level literal states domains that cannot be inferred from the inputs, by position:

    DOMAINS = {0: "probability", 1: ("index", 10)}
"""

import ast
import warnings
from pathlib import Path

from kernelwright.errors import TaskError
from kernelwright.records.task import DeclaredDomain, TaskSource
from kernelwright.records.tensor import Domain
from kernelwright.tasks.text import read_text

_NEEDED = {
    "Model": "a class `Model(nn.Module)` whose `forward` is the reference",
    "get_inputs": "a function `get_inputs()` that returns the list of forward's arguments",
}


def read_kernelbench(path: Path) -> TaskSource:
    """The task in a file, not yet run.

    Raises:
        TaskError: missing, not a file, not UTF-8, not Python, or without `Model` or `get_inputs`.
    """
    source = read_text(path, "task")
    tree = _parse(source, path)
    defined = {name for node in tree.body for name in _names(node)}
    missing = [name for name in _NEEDED if name not in defined]
    if missing:
        name = missing[0]
        # A file with neither is no task that somebody got wrong.
        reason = "no_task" if len(missing) == len(_NEEDED) else "unreadable"
        raise TaskError(f"task {str(path)!r} defines no `{name}`: add {_NEEDED[name]}", reason)
    return TaskSource(name=path.stem, format="kernelbench", source=source, domains=_domains(tree, path))


def _parse(source: str, path: Path) -> ast.Module:
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(source)
    except SyntaxError as error:
        where = f"line {error.lineno}: {(error.text or '').strip()}" if error.lineno else "the file"
        raise TaskError(f"task {str(path)!r} is not valid Python ({error.msg}), {where}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise TaskError(f"task {str(path)!r} is not valid Python ({error})") from None


def _names(node: ast.stmt) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [t.id for t in targets if isinstance(t, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _domains(tree: ast.Module, path: Path) -> tuple[DeclaredDomain, ...]:
    assignments = (node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))
    values = [node.value for node in assignments if node.value is not None and "DOMAINS" in _names(node)]
    if not values:
        return ()
    try:
        declared = ast.literal_eval(values[-1])
        return tuple(_domain(position, value) for position, value in sorted(declared.items()))
    except (ValueError, TypeError, AttributeError):
        names = ", ".join(Domain)
        raise TaskError(
            f"task {str(path)!r}, line {values[-1].lineno}: DOMAINS must be a literal such as "
            f'{{0: "probability", 1: ("index", 10)}}, from input positions to one of {names}'
        ) from None


def _domain(position: int, value: str | tuple[str, int]) -> DeclaredDomain:
    name, bound = (value, None) if isinstance(value, str) else value
    return DeclaredDomain(position=position, domain=Domain(name), bound=bound)
