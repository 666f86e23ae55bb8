"""A file's text as a module, and an instance of its class with the task's parameters in it.

Triton reads a kernel's source from its file, so the text must be one. Tunables are set in that text, not on the module,
so that kernels and their defaults see the same value.

Constructor arguments come from the task's `get_init_inputs`; how parameters go in, `binding.py` says. Tensors may be real
or fake, on any device.
"""

import ast
import importlib.util
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, cast

import numpy as np
import torch

from kernelwright import calltree
from kernelwright.evaluate.triton.fault import BuildError
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Scalar, TensorSpec

Entry = Callable[..., torch.nn.Module]
"""What makes a model when it is called with the constructor's arguments."""


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


def entry_of(module: ModuleType, candidate: Candidate) -> Entry:
    """What makes the candidate's model: a class, or whatever else under its name can be called as one.

    A text whose only model is called `Model`, as the reference is, means that one.

    Raises:
        BuildError: there is no such thing in the module.
    """
    entry = getattr(module, candidate.entry, None)
    if entry is None and candidate.entry == "ModelNew":
        entry = getattr(module, "Model", None)
    if isinstance(entry, torch.nn.Module):
        made = entry
        return lambda *_arguments, **_named: made
    if not callable(entry):
        raise BuildError(f"the file defines no class {candidate.entry!r}")
    return cast("Entry", entry)


def load_entry(path: Path, candidate: Candidate) -> Entry:
    """What makes the model in the candidate's text, which is written to `path` and imported.

    Raises:
        BuildError, SyntaxError, and whatever its code raises: as `load_module` and `entry_of`.
    """
    return entry_of(load_module(path, candidate.source, candidate.defines), candidate)


def model_of(candidate: Candidate, init: str) -> torch.nn.Module:
    """The candidate's model, built as the task whose text is `init` says, under the reference's seed; as `load_entry`."""
    task = load_module(private_path("task"), init)
    return construct(load_entry(private_path("kernel"), candidate), task)


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


class Function(torch.nn.Module):  # type: ignore[misc]
    """A task whose `Model` is a plain function."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.forward = function


def reference_of(task: ModuleType) -> torch.nn.Module:
    """The task's own model: of a class, of a module that is there already, or of a plain function."""
    given = task.Model
    if isinstance(given, torch.nn.Module):
        return given
    return construct(given, task) if isinstance(given, type) else Function(given)


def construct(entry: Entry, task: ModuleType) -> torch.nn.Module:
    """`entry(*get_init_inputs())` under the seed of the reference, in the mode that it comes in.

    Raises:
        BuildError: it makes no torch module.
    """
    seeded()
    arguments = task.get_init_inputs() if hasattr(task, "get_init_inputs") else []
    model = entry(**arguments) if isinstance(arguments, dict) else entry(*arguments)
    if not isinstance(model, torch.nn.Module):
        raise BuildError(f"{getattr(entry, '__name__', 'ModelNew')} is not a torch.nn.Module")
    return model


def seeded(seed: int = 0) -> None:
    """Everything that draws begins anew; under 0 models are built, so that equal code gives equal parameters."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def arguments_of(workload: Workload) -> list[torch.Tensor | bool | int | float]:
    """Uninitialised tensors of the workload's inputs, and its scalars, in order."""
    return [i.value if isinstance(i, Scalar) else empty(i) for i in workload.inputs]


def empty(spec: TensorSpec) -> torch.Tensor:
    """An uninitialised tensor of that spec; costs memory only where it is written."""
    return torch.empty(spec.shape, dtype=getattr(torch, spec.dtype))


def plain(result: object) -> tuple[torch.Tensor, ...]:
    """`flatten`, and every tensor is one already: none that computes only when it is looked at.

    Raises:
        TypeError: one is of another class.
    """
    tensors = flatten(result)
    for tensor in tensors:
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise TypeError(f"the model returned a {type(tensor).__name__}, expected plain tensors")
    return tensors


def call(model: Callable[..., object], workload: Workload, inputs: Sequence[object]) -> object:
    """What a model returns for these inputs, which are put together as the task's author does.

    Raises:
        TypeError: it is more than tensors, where the reference returns nothing else.
    """
    own = getattr(getattr(type(model), "forward", model), "__globals__", {})
    args, kwargs = calltree.arguments(workload.tree, inputs, own)
    result = model(*args, **kwargs)
    if workload.result is None and (more := _more_than_tensors(result)):
        raise TypeError(f"the model returned {more}, expected a tensor or a tuple of tensors as the reference returns")
    return result


def _more_than_tensors(result: object) -> str:
    """What kind of thing a result holds beside tensors; empty: nothing."""
    if isinstance(result, tuple | list):
        return next(filter(None, map(_more_than_tensors, result)), "")
    return "" if isinstance(result, torch.Tensor) else f"a {type(result).__name__}"


def written(own: Mapping[str, torch.Tensor], workload: Workload, inputs: Sequence[object]) -> tuple[torch.Tensor, ...]:
    """What forward left in the inputs and parameters whose new values are outputs too; `own` holds a model's tensors.

    What a model lacks is left out, and is an output too few.
    """
    given = {i.name: t for i, t in zip(workload.inputs, inputs, strict=False) if isinstance(t, torch.Tensor)}
    held = {**own, **given}
    return tuple(calltree.real(held[name].detach()) for name in workload.state if name in held)


def flatten(result: object) -> tuple[torch.Tensor, ...]:
    """The tensors that a model returned, in order (`calltree.tensors`)."""
    return calltree.tensors(result)
