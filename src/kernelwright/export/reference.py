"""The reference, cut out of a task's text so that a drop-in can carry it along.

It keeps what `Model` and `get_init_inputs` need, and statements that define nothing (a setting of torch). The text is
parsed and never run.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.errors import ProposeError
from kernelwright.records.task import Task
from kernelwright.records.tensor import Scalar

CLASS = "Model"


@dataclass(frozen=True)
class Reference:
    """The parts of a task's source that its drop-in needs."""

    imports: tuple[str, ...]
    """Import statements of the module's top level."""
    body: str
    """What `Model` and `get_init_inputs` need, with them."""
    arguments: tuple[str, ...]
    """Names of the positional arguments of `Model.forward`."""
    names: frozenset[str]
    """Every identifier in `body`."""


def reference(source: str) -> Reference:
    """Cut the source into the parts that travel.

    Raises:
        ProposeError: it does not parse, or has no class `Model` with a `forward`.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ProposeError(f"the task's source does not parse: {error}") from error
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    kept = _needed([n for n in tree.body if n not in imports and not _left_behind(n)])
    return Reference(
        imports=tuple(ast.unparse(n) for n in imports),
        body=_text(source, kept),
        arguments=_forward(tree),
        names=frozenset().union(*(_defined(n) | _used(n) for n in kept)),
    )


def _defined(node: ast.stmt) -> set[str]:
    """Names that a top-level statement gives a meaning to."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _used(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _needed(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that the entry points need, directly or through others."""
    wanted = {CLASS, "get_init_inputs"}
    size = 0
    while size < len(wanted):
        size = len(wanted)
        wanted |= {name for n in nodes if _defined(n) & wanted for name in _used(n)}
    return [n for n in nodes if not _defined(n) or _defined(n) & wanted]


def _left_behind(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
        return True
    return isinstance(node, ast.FunctionDef) and node.name == "get_inputs"


def _text(source: str, nodes: Sequence[ast.stmt]) -> str:
    """The statements as they were written, comments inside them included."""
    lines = source.splitlines()
    parts = []
    wide = False
    for node in nodes:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)])
        before, wide = wide, isinstance(node, ast.ClassDef | ast.FunctionDef)
        parts.append("\n\n" * (before or wide) + "\n".join(lines[first - 1 : node.end_lineno]))
    return "\n".join(parts).strip("\n")


def _forward(tree: ast.Module) -> tuple[str, ...]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == CLASS:
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == "forward":
                    return tuple(a.arg for a in (*item.args.posonlyargs, *item.args.args))[1:]
    raise ProposeError(f"the task's source has no class {CLASS!r} with a method 'forward'")


def merged_imports(*groups: Sequence[str]) -> list[str]:
    """Import statements without repetition: `__future__` first, then in order."""
    unique = dict.fromkeys(line for group in groups for line in group)
    return sorted(unique, key=lambda line: (not line.startswith("from __future__"), line.startswith("from")))


def arguments(task: Task, found: Reference) -> list[str]:
    """Names of the arguments of `forward`: the reference's own where there are enough of them."""
    inputs = task.workload.inputs
    if len(found.arguments) >= len(inputs):
        return list(found.arguments[: len(inputs)])
    return [f"input_{n}" for n in range(len(inputs))]


def baked(task: Task, names: Sequence[str]) -> list[str]:
    """Conditions under which the numbers among the inputs are those that the kernel was written for."""
    pairs = zip(names, task.workload.inputs, strict=True)
    return [f"{name} == {spec.value!r}" for name, spec in pairs if isinstance(spec, Scalar)]


def tensors(task: Task, names: Sequence[str]) -> list[str]:
    """Expressions of every tensor that a kernel takes, in the order of the calling convention."""
    pairs = zip(names, task.workload.inputs, strict=True)
    inputs = [name for name, spec in pairs if not isinstance(spec, Scalar)]
    return inputs + [attribute(spec.name) for spec in task.workload.parameters]


def attribute(key: str) -> str:
    """A key of the state dict as an expression on `self`."""
    *path, leaf = key.split(".")
    if all(part.isidentifier() for part in path):
        return ".".join(["self", *path, leaf])
    return f'self.get_submodule("{".".join(path)}").{leaf}'
