"""Reader of KernelBench-format files: `Model`, `get_inputs`, `get_init_inputs`, as they are.

The syntax tree alone says whether a file can be such a task; the text is never run here. Optional module-level literals
state by position what cannot be inferred: domains of inputs, comparators of outputs:

    DOMAINS = {0: "probability", 1: ("index", 10)}
    COMPARATORS = {0: ("set", {"of": "scores", "dim": -1}), 1: "statistical"}

`AXES` and `WORKLOADS` say at which sizes it is judged (`tasks/workloads.py`).
"""

import ast
import warnings
from pathlib import Path

from pydantic import ValidationError

from kernelwright.errors import TaskError
from kernelwright.records.base import first_fault
from kernelwright.records.comparator import DeclaredComparator
from kernelwright.records.task import DeclaredDomain, TaskSource
from kernelwright.records.tensor import Domain
from kernelwright.tasks.files import at_size, read_text, split_size
from kernelwright.tasks.neighbours import with_neighbours
from kernelwright.tasks.workloads import declared_workloads, shapes_beside

_NEEDED = {
    "Model": "a class `Model(nn.Module)` whose `forward` is the reference",
    "get_inputs": "a function `get_inputs()` that returns the list of forward's arguments",
}


def read_kernelbench(path: Path) -> TaskSource:
    """The task in a file, or with `FILE@SIZE` the one at a size that it lists; not yet run.

    Raises:
        TaskError: missing, not a file, not UTF-8, not Python, without `Model` or `get_inputs`, or it imports a module of its
            folder that cannot be written into it.
    """
    file, size = sized = split_size(path)
    text = with_neighbours(read_text(file, "task"), file)
    found = parse_kernelbench(text, sized.name, path)
    if size:
        return parse_kernelbench(at_size(text, size, file), sized.name, path)
    beside = None if found.workloads else shapes_beside(text, file)
    return found.model_copy(update={"name": file.resolve().parent.name, "workloads": beside}) if beside else found


def parse_kernelbench(source: str, name: str, path: Path) -> TaskSource:
    """The task in a text that came from `path`.

    Raises:
        TaskError: as `read_kernelbench`.
    """
    tree = _parse(source, path)
    defined = {name for node in tree.body for name in _names(node)}
    missing = [needed for needed in _NEEDED if needed not in defined]
    if missing:
        # A file with neither is no task that somebody got wrong.
        reason = "no_task" if len(missing) == len(_NEEDED) else "unreadable"
        raise TaskError(f"task {str(path)!r} defines no `{missing[0]}`: add {_NEEDED[missing[0]]}", reason)
    return TaskSource(
        name=name,
        format="kernelbench",
        source=source,
        domains=_domains(tree, path),
        comparators=_comparators(tree, path),
        workloads=declared_workloads(tree, path),
    )


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


def _literal(tree: ast.Module, name: str) -> tuple[dict[int, object], int] | None:
    """What a module-level literal says by position, and its line; None where there is none."""
    assignments = (node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))
    values = [node.value for node in assignments if node.value is not None and name in _names(node)]
    if not values:
        return None
    try:
        declared = ast.literal_eval(values[-1])
    except (ValueError, TypeError):
        declared = None
    return declared if isinstance(declared, dict) else {-1: None}, values[-1].lineno


def _domains(tree: ast.Module, path: Path) -> tuple[DeclaredDomain, ...]:
    found = _literal(tree, "DOMAINS")
    if found is None:
        return ()
    try:
        return tuple(_domain(position, value) for position, value in sorted(found[0].items()))
    except (ValueError, TypeError):
        names = ", ".join(Domain)
        raise TaskError(
            f"task {str(path)!r}, line {found[1]}: DOMAINS must be a literal such as "
            f'{{0: "probability", 1: ("index", 10)}}, from input positions to one of {names}'
        ) from None


def _domain(position: int, value: object) -> DeclaredDomain:
    name, bound = (value, None) if isinstance(value, str) else _pair(value)
    return DeclaredDomain.model_validate({"position": position, "domain": name, "bound": bound})


def _comparators(tree: ast.Module, path: Path) -> tuple[DeclaredComparator, ...]:
    found = _literal(tree, "COMPARATORS")
    if found is None:
        return ()
    try:
        return tuple(_comparator(position, value) for position, value in sorted(found[0].items()))
    except (ValueError, TypeError) as error:
        raise TaskError(
            f"task {str(path)!r}, line {found[1]}: COMPARATORS must be a literal such as "
            f'{{0: "exact", 1: ("set", {{"of": "x", "dim": -1}}), 2: "statistical"}}, from output positions to one of '
            f"calibrated, exact, set, statistical ({_reason(error)})"
        ) from None


def _comparator(position: int, value: object) -> DeclaredComparator:
    kind, options = (value, {}) if isinstance(value, str) else _pair(value)
    if not isinstance(options, dict):
        raise TypeError(f"{options!r} is no dict")
    return DeclaredComparator.model_validate({"position": position, "comparator": {"kind": kind, **options}})


def _pair(value: object) -> tuple[object, object]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{value!r} is neither a name nor a pair")
    return value[0], value[1]


def _reason(error: Exception) -> str:
    return first_fault(error)[1] if isinstance(error, ValidationError) else str(error)
