"""The reference, cut out of a task's text, and the class `ModelNew` that every exported file ends with.

Of the text it keeps what `Model` and `get_init_inputs` need, and statements that define nothing (a setting of torch). A
`Model` that is a function becomes a class that calls it, since a drop-in inherits from it. The text is parsed and never run.

`ModelNew` inherits from the reference: parameters are made alike and in the same order, and whatever the kernel is not for
goes to the reference's own `forward`. A candidate that is judged has the plain class (`drop_in`); what a person gets has the
guarded one (`guarded`), whose runtime is the text of `parts/guard.py.txt`. The file around it defines what they call: `_run`
and `_fits`, or `_run` and `_unlike`.
"""

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.errors import ProposeError
from kernelwright.export import calls
from kernelwright.export.results import put_together
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
    signature: str
    """All its parameters as they were written, without `self`."""
    passed: str
    """The same as a call hands them on."""
    defaults: dict[str, str]
    """Default values, as expressions; a parameter that takes what is left over has the empty tuple or dictionary."""
    names: frozenset[str]
    """Every identifier in `body`."""


def reference(source: str) -> Reference:
    """Cut the source into the parts that travel.

    Raises:
        ProposeError: it does not parse, or has no `Model` that is a function or a class with a `forward`.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ProposeError(f"the task's source does not parse: {error}") from error
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    kept = _needed([n for n in tree.body if n not in imports and not _left_behind(n)])
    model = _model(tree, CLASS)
    forward = _forward(model)
    signature, passed = _signature(forward), _passed(forward)
    is_class = isinstance(model, ast.ClassDef)
    wrapped = "" if is_class else f"\n\n\n{part('as_class').format(signature=signature, passed=passed)}".rstrip("\n")
    return Reference(
        imports=tuple(ast.unparse(n) for n in imports),
        body=_text(source, kept) + wrapped,
        arguments=tuple(a.arg for a in (*forward.posonlyargs, *forward.args))[1:],
        signature=signature,
        passed=passed,
        defaults=_defaults(forward),
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


def _model(tree: ast.Module, name: str) -> ast.ClassDef | ast.FunctionDef | None:
    """What the module's top level last gave this name to, also by way of another name."""
    for node in reversed(tree.body):
        match node:
            case ast.ClassDef() | ast.FunctionDef() if node.name == name:
                return node
            case ast.Assign(targets=[ast.Name(id=given)], value=ast.Name(id=other)) if given == name:
                before = tree.body[: tree.body.index(node)]
                return _model(ast.Module(body=before, type_ignores=[]), other)
    return None


def _forward(model: ast.ClassDef | ast.FunctionDef | None) -> ast.arguments:
    """The parameters of a call, `self` the first of them."""
    if isinstance(model, ast.FunctionDef):
        given = copy.deepcopy(model.args)
        (given.posonlyargs or given.args).insert(0, ast.arg(arg="self"))
        return given
    for item in model.body if model is not None else ():
        if isinstance(item, ast.FunctionDef) and item.name == "forward":
            return item.args
    raise ProposeError(
        f"the task's source has neither a class {CLASS!r} with a method 'forward' of its own nor a function {CLASS!r}"
    )


def _signature(given: ast.arguments) -> str:
    """The parameters without `self`, and without annotations, which may name what does not travel."""
    bare = copy.deepcopy(given)
    for argument in ast.walk(bare):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    (bare.posonlyargs or bare.args).pop(0)
    return ast.unparse(bare)


def _passed(given: ast.arguments) -> str:
    parts = [a.arg for a in (*given.posonlyargs, *given.args)][1:]
    parts += [f"*{given.vararg.arg}"] if given.vararg else []
    parts += [f"{a.arg}={a.arg}" for a in given.kwonlyargs]
    parts += [f"**{given.kwarg.arg}"] if given.kwarg else []
    return ", ".join(parts)


def _defaults(given: ast.arguments) -> dict[str, str]:
    positional = [*given.posonlyargs, *given.args]
    pairs = [*zip(reversed(positional), reversed(given.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None]
    found = {a.arg: ast.unparse(d) for a, d in pairs}
    found |= {given.vararg.arg: "()"} if given.vararg else {}
    return found | ({given.kwarg.arg: "{}"} if given.kwarg else {})


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
    numbers = [(name, spec.value) for name, spec in pairs if isinstance(spec, Scalar)]
    return [f"type({name}) is {type(value).__name__} and {name} == {value!r}" for name, value in numbers]


def extras(found: Reference, inputs: int) -> list[str]:
    """Conditions under which the parameters beyond the task's inputs are what they are by default."""
    beyond = found.arguments[inputs:] + tuple(n for n in found.defaults if n not in found.arguments)
    written = [(name, found.defaults.get(name, "")) for name in beyond]
    return [f"{name} is {d}" if d in ("None", "True", "False") else f"type({name}) is type({d}) and {name} == {d}"
            if d else "False" for name, d in written]  # fmt: skip


def attribute(key: str) -> str:
    """A key of the state dict as an expression on `self`."""
    *path, leaf = key.split(".")
    if all(part.isidentifier() for part in path):
        return ".".join(["self", *path, leaf])
    return f'self.get_submodule("{".".join(path)}").{leaf}'


PARTS = Path(__file__).parent / "parts"
GUARD_IMPORTS = (
    "import hashlib", "import importlib.metadata", "import importlib.util", "import inspect", "import json", "import logging",
    "import math", "import os", "import platform", "import threading", "import torch", "from pathlib import Path",
    "from torch._subclasses.fake_tensor import FakeTensor",
    "from torch._subclasses.functional_tensor import FunctionalTensor",
)  # fmt: skip


def drop_in(task: Task, found: Reference, over: bool = False) -> str:
    """The plain class for one task; `over` axes, the constructor's arguments are compared with those at a call's sizes."""
    conditions = ["self._as_written", *_conditions(task, found), "_fits(*tensors)"]
    # A task may leave the function out: its Model takes no arguments then.
    given = "get_init_inputs" in found.names
    alone = "list(args) == list(get_init_inputs())" if given else "not args"
    return put_together(task.workload.result) + part("plain").format(
        as_written="[list(args)]" if over else alone,
        conditions=" and ".join([*conditions, *["_made_at(*self._as_written, tensors)"] * over]),
        **_shared(task, found),
    )


def guarded(task: Task, found: Reference) -> str:
    """The class that lets the kernel answer only where it must give what the reference would."""
    conditions = " and ".join(_conditions(task, found))
    words = "arguments that are not the numbers that the kernel was made for"
    baked_in = f"        as_made = {conditions}\n" if conditions else ""
    unless = f' or ("" if as_made else "{words}")' if conditions else ""
    return put_together(task.workload.result) + part("guarded").format(
        baked=baked_in, unless=unless, **_shared(task, found)
    )


def part(name: str) -> str:
    """A section of an exported file."""
    return (PARTS / f"{name}.py.txt").read_text(encoding="utf-8")


def fits_exactly(
    names: Sequence[str], shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str], dense: Sequence[str] = ()
) -> str:
    """The function `_fits` of kernels that are for these shapes alone; those named in `dense` must be dense and row-major."""
    packed = ", ".join(f"{name}.is_contiguous()" for name in dense)
    checks = [dtypes_are(dtypes), f"shapes = [tuple(t.shape) for t in tensors] == {list(shapes)!r}"]
    return fits(names, names[0], checks, f"shapes and dtypes{f' and all([{packed}])' if dense else ''}")


def fits(names: Sequence[str], first: str, checks: Sequence[str], holds: str) -> str:
    """The function `_fits`: tensors lie where the one named `first` does, on a GPU, and what the checks work out `holds`."""
    lines = [
        f"def _fits({', '.join(names)}):",
        '    """Whether the kernels are for these tensors; they have no backward."""',
        f"    tensors = {as_tuple(list(names))}",
        "    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):",
        "        return False",
        f'    here = INTERPRETED or {first}.device.type == "cuda"',
        f"    alike = all(t.device == {first}.device for t in tensors)",
        *(f"    {check}" for check in checks),
        f"    return here and alike and {holds}",
    ]
    return "\n".join(lines) + "\n"


def dtypes_are(dtypes: Sequence[str]) -> str:
    """The check of `_fits` that tensors have these dtypes."""
    return f"dtypes = [t.dtype for t in tensors] == [{', '.join(f'torch.{dtype}' for dtype in dtypes)}]"


def as_tuple(items: list[str]) -> str:
    """A tuple of these expressions."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _shared(task: Task, found: Reference) -> dict[str, str]:
    names, form, _ = _called(task, found)
    pairs = zip(names, task.workload.inputs, strict=True)
    inputs = [name for name, spec in pairs if not isinstance(spec, Scalar)]
    tensors = as_tuple(inputs + [attribute(spec.name) for spec in task.workload.parameters])
    plain = task.workload.tree is not None or found.arguments[: len(names)] == tuple(names)
    own = as_tuple(inputs)
    return {
        "inputs": f"{own} if {' and '.join(form)} else ()" if form else own,
        "signature": found.signature if plain else ", ".join(names),
        "passed": found.passed if plain else ", ".join(names),
        "tensors": f"{tensors} if {' and '.join(form)} else ()" if form else tensors,
        "given": "" if task.workload.result is None else "_as_given(",
        "close": "" if task.workload.result is None else ")",
    }


def _conditions(task: Task, found: Reference) -> list[str]:
    names, form, beyond = _called(task, found)
    return [*form, *baked(task, names), *beyond]


def _called(task: Task, found: Reference) -> tuple[list[str], list[str], list[str]]:
    """The leaves of a call as expressions, when it has the task's form, and when all that is not given is as by default."""
    if task.workload.tree is None:
        names = arguments(task, found)
        return names, [], extras(found, len(names))
    names, form, given = calls.leaves(task.workload.tree, found.signature)
    rest = replace(found, arguments=tuple(n for n in found.arguments if n not in given),
                   defaults={n: d for n, d in found.defaults.items() if n not in given})  # fmt: skip
    return names, form, extras(rest, 0)
