"""Live modules and functions: into a task's text for the referee, and from a kernel's file back into a module.

The referee judges in processes that never unpickle, so that a task must be text. A class's own source is not enough: its
constructor's arguments, its globals and its closures stay behind. So the module is exported for the inputs handed in
(`torch.export`), and the ATen operations of the graph are written down as a `Model` with the same tensors under the same
names. Weights do not travel: the text draws others of the same shape, dtype and spread, and a kernel has to be right for
any. The author's source goes along as a description, for whoever writes the kernel.

This is the one module of the door that imports torch; it is imported when a module is handed in, or asked for.
"""

import importlib.util
import inspect
import operator
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from keyword import iskeyword
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree

from kernelwright.errors import TaskError
from kernelwright.pages import page
from kernelwright.records.task import WORDS, TaskSource

FAULTS = (RuntimeError, TypeError, ValueError, LookupError, AttributeError, AssertionError)
"""What export, and the author's code under it, may raise."""
OF_VALUES = (GuardOnDataDependentSymNode, DataDependentOutputException)
INSTEAD = "Use torch.where, a mask or a fixed size"
RESERVED = frozenset({"self", "torch", "nn", "device", "dtype"})
HOLD = '''\
def _hold(module, name, tensor, learned):
    """Register a tensor under the name that it had."""
    *path, leaf = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, nn.Module())
        module = module._modules[part]
    if learned:
        module.register_parameter(leaf, nn.Parameter(tensor, requires_grad=tensor.is_floating_point()))
    else:
        module.register_buffer(leaf, tensor)


'''
TEMPLATE = '''\
"""{name}, as PyTorch exported it for the inputs that were handed in."""

import torch
from torch import nn


{hold}class Model(nn.Module):
    def __init__(self):
        super().__init__()
{held}
    def forward({arguments}):
{body}


def get_inputs():
    return [{inputs}]
'''


class Captured(NamedTuple):
    """A live module as a task."""

    source: TaskSource
    tensors: Mapping[str, torch.Tensor]
    """Its parameters, buffers and constants, by their names in the text."""
    device: str
    """`cpu` or `cuda`: where the inputs are."""


class _Held(NamedTuple):
    name: str
    tensor: torch.Tensor
    learned: bool


def capture(what: Callable[..., Any], inputs: torch.Tensor | Sequence[object]) -> Captured:
    """A module in eval mode, or a function, as a task.

    Args:
        what: It takes tensors and numbers by position, and returns a tensor, or a tuple or list of tensors.
        inputs: Its arguments, or the one tensor that it takes; shapes, dtypes and numbers are part of the task, and of
            tensors what their values are like.

    Raises:
        TaskError: an input is no tensor and no number, or PyTorch cannot export it; with what to do.
    """
    what = getattr(what, "_orig_mod", what)  # what torch.compile wraps
    name = _name_of(what)
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    _check_inputs(name, inputs)
    exported = _exported(_as_module(what), tuple(inputs), name)
    held = _held(exported)
    text = _text(name, exported, held, inputs)
    devices = {value.device.type for value in inputs if isinstance(value, torch.Tensor)}
    source = TaskSource(name=name, format="kernelbench", source=text, description=_described(what))
    return Captured(source, {one.name: one.tensor for one in held.values()}, devices.pop() if devices else "cpu")


def load(file: Path, task: TaskSource, tensors: Mapping[str, torch.Tensor] | None = None) -> nn.Module:
    """The module in a kernel's file, in eval mode; the file is run in this process.

    Args:
        file: As a run writes it: it defines `ModelNew`.
        task: What the kernel was written for; its text is run for the constructor's arguments.
        tensors: The weights to put in, by name; None: as the constructor makes them.
    """
    space: dict[str, Any] = {"__name__": "kernelwright_task"}
    exec(compile(task.source, f"<{task.name}>", "exec"), space)  # noqa: S102  the caller's own task
    arguments = space["get_init_inputs"]() if "get_init_inputs" in space else []
    model: nn.Module = _imported(file).ModelNew(*arguments)
    if tensors is not None:
        own = model.state_dict()
        # As the referee put them in: by name, or in order where the kernel calls them otherwise.
        by_name = own.keys() == tensors.keys()
        model.load_state_dict(tensors if by_name else dict(zip(own, tensors.values(), strict=True)))
        model.to(next((t.device for t in tensors.values()), "cpu"))
    return model.eval()


def _imported(file: Path) -> Any:  # noqa: ANN401  a module whose names its author chose
    spec = importlib.util.spec_from_file_location(f"kernelwright_kernel_{file.parent.name.replace('-', '_')}", file)
    if spec is None or spec.loader is None:
        raise TaskError(f"kernel {str(file)!r} is no Python file")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def _as_module(what: Callable[..., Any]) -> nn.Module:
    """A function as a module's `forward`: export takes nothing else."""
    if isinstance(what, nn.Module):
        return what
    module = nn.Module()
    module.forward = what if _has_signature(what) else lambda *inputs: what(*inputs)
    return module


def _has_signature(what: Callable[..., Any]) -> bool:
    """Functions that are written in C, such as `torch.relu`, have none."""
    try:
        inspect.signature(what)
    except ValueError:
        return False
    return True


def _name_of(what: Callable[..., Any]) -> str:
    named = type(what) if isinstance(what, nn.Module) else what
    return re.sub(r"\W+", "_", str(getattr(named, "__name__", type(named).__name__))).strip("_") or "task"


def _described(what: Callable[..., Any]) -> str:
    """The author's source where Python can find it, as in a file or a notebook's cell; it is only read."""
    try:
        text = textwrap.dedent(inspect.getsource(type(what) if isinstance(what, nn.Module) else what))
    except (OSError, TypeError):
        return ""
    return text if len(text) <= WORDS else ""


def _check_inputs(name: str, inputs: Sequence[object]) -> None:
    if not any(isinstance(value, torch.Tensor) for value in inputs):
        raise TaskError(f"{name} needs example inputs, at least one tensor: inputs=(torch.randn(64, 512),)")
    for at, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor | bool | int | float):
            raise TaskError(
                f"input {at} of {name} is a {type(value).__name__}; tensors and numbers can be judged. "
                "Wrap the module in a function that takes those and makes the rest itself"
            )
    tensors = [id(value) for value in inputs if isinstance(value, torch.Tensor)]
    if len(set(tensors)) < len(tensors):
        raise TaskError(
            f"{name} is given one tensor twice, so that PyTorch would take its inputs for one. Hand in another tensor, "
            "or wrap the module in a function with fewer inputs: lambda x: attention(x, x, x)"
        )


def _exported(module: nn.Module, inputs: tuple[object, ...], name: str) -> torch.export.ExportedProgram:
    try:
        with _in_eval_mode(module), torch.no_grad(), warnings.catch_warnings(action="ignore"):
            exported = torch.export.export(module, inputs, strict=False)
    except OF_VALUES as error:
        raise TaskError(
            f"torch.export cannot trace {name}: its control flow or a number in Python depends on values. {INSTEAD}"
        ) from error
    except FAULTS as error:
        said = str(error).strip().partition("\n")[0]
        raise TaskError(f"{name} cannot be exported ({type(error).__name__}: {said}). {_fix()}") from error
    shapes = (getattr(node.meta.get("val"), "shape", ()) for node in exported.graph.nodes)
    if any(isinstance(size, torch.SymInt) for shape in shapes for size in shape):
        raise TaskError(f"torch.export cannot trace {name}: the shape of a tensor depends on values. {INSTEAD}")
    return exported


@contextmanager
def _in_eval_mode(module: nn.Module) -> Iterator[None]:
    training = [one for one in module.modules() if one.training]
    module.eval()
    try:
        yield
    finally:
        for one in training:
            one.training = True


def _held(exported: torch.export.ExportedProgram) -> dict[str, _Held]:
    """The tensors that the module holds, by placeholder. Views of a larger one are copied."""
    found: dict[str, _Held] = {}
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR") and spec.target is not None:
            tensor = exported.state_dict.get(spec.target, exported.constants.get(spec.target))
            if isinstance(tensor, torch.Tensor):
                held = _Held(spec.target, tensor.detach().contiguous(), spec.kind.name == "PARAMETER")
                found[spec.arg.name] = held
    return found


def _text(
    name: str, exported: torch.export.ExportedProgram, held: Mapping[str, _Held], inputs: Sequence[object]
) -> str:
    writer = _Writer(name, held, _working_dtype((*inputs, *(one.tensor for one in held.values()))))
    arguments = [
        writer.input(node) for node in exported.graph.nodes if node.op == "placeholder" and node.name not in held
    ]
    if len(arguments) != len(inputs):
        raise TaskError(f"{name} holds an object that is no tensor and is used in forward. {_fix()}")
    lines = [line for node in exported.graph.nodes if (line := writer.line(node))]
    body = [*writer.opening(zip(arguments, inputs, strict=True)), *lines]
    body.append(f"return {_returned(name, exported, writer)}")
    registered = [f"_hold(self, {one.name!r}, {drawn(one.tensor)}, {one.learned})" for one in held.values()]
    return TEMPLATE.format(
        name=name,
        hold=HOLD if held else "",
        held="".join(f"        {line}\n" for line in registered),
        arguments=", ".join(["self", *arguments]),
        body="\n".join(f"        {line}" for line in body),
        inputs=", ".join(drawn(value) if isinstance(value, torch.Tensor) else repr(value) for value in inputs),
    )


def _returned(name: str, exported: torch.export.ExportedProgram, writer: "_Writer") -> str:
    """The returned expression, in the structure that the module returns."""
    (output,) = next(node for node in reversed(exported.graph.nodes) if node.op == "output").args
    shape = _pytree.tree_unflatten(list(range(len(output))), exported.call_spec.out_spec)
    flat = (0,) if shape == 0 else shape
    known = isinstance(flat, tuple | list) and list(flat) == list(range(len(output)))
    if not known or not all(isinstance(value, torch.fx.Node) for value in output) or not output:
        raise TaskError(f"{name} must return a tensor, or a tuple or list of tensors. {_fix()}")
    if exported.graph_signature.buffers_to_mutate or exported.graph_signature.user_inputs_to_mutate:
        raise TaskError(f"{name} changes its inputs or buffers, which a kernel may not. {_fix()}")
    values = [writer.value(value) for value in output]
    return (
        values[0]
        if shape == 0
        else (f"[{', '.join(values)}]" if isinstance(shape, list) else f"({', '.join(values)},)")
    )


class _Writer:
    """Writes a graph's nodes as Python."""

    def __init__(self, name: str, held: Mapping[str, _Held], dtype: torch.dtype | None) -> None:
        self._name = name
        self._dtype = dtype
        self._used: set[str] = set()
        self._of_held = [(_attribute(one.name), one.tensor) for one in held.values()]
        self._names = {placeholder: _attribute(one.name) for placeholder, one in held.items()}

    def opening(self, inputs: Iterable[tuple[str, object]]) -> list[str]:
        """What the lines written so far need to be said before them: of which tensor they take the device and the dtype."""
        tensors = [(name, value) for name, value in (*inputs, *self._of_held) if isinstance(value, torch.Tensor)]
        found = {"device": tensors[0][0], "dtype": next((n for n, t in tensors if t.dtype == self._dtype), "")}
        return [f"{word} = {name}.{word}" for word, name in found.items() if word in self._used]

    def input(self, node: torch.fx.Node) -> str:
        """The name of an argument of `forward`."""
        self._names[node.name] = f"{node.name}_" if node.name in RESERVED or iskeyword(node.name) else node.name
        return self._names[node.name]

    def line(self, node: torch.fx.Node) -> str:
        """The statement of an operation; empty for what is none."""
        if node.op in ("placeholder", "output") or "_assert_tensor_metadata" in str(node.target):
            return ""
        name = self._names[node.name] = f"{node.name}_" if node.name in RESERVED else node.name
        if node.op == "call_function" and node.target is operator.getitem:
            return f"{name} = {self.value(node.args[0])}[{self.value(node.args[1])}]"
        if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
            raise TaskError(
                f"{self._name} does what cannot be written down as operations of PyTorch ({node.target}). {_fix()}"
            )
        if _changes_nothing(node):
            return f"{name} = {self.value(node.args[0])}"
        given = [self.value(value) for value in node.args]
        given += [f"{key}={self.value(value)}" for key, value in node.kwargs.items()]
        return f"{name} = torch.ops.{node.target}({', '.join(given)})"

    def value(self, value: object) -> str:
        """An argument as Python.

        Raises:
            TaskError: it is of a kind that no task can hold, such as a size that depends on values.
        """
        match value:
            case torch.fx.Node():
                return self._names[value.name]
            case torch.device():
                return self._word("device")
            case torch.dtype() if value == self._dtype:
                return self._word("dtype")  # not its name: the referee also runs this in fp64
            case torch.dtype() | torch.layout() | torch.memory_format():
                return str(value)
            case float() if value != value or value in (float("inf"), float("-inf")):
                return f'float("{value}")'
            case bool() | int() | float() | str() | None:
                return repr(value)
            case list() | tuple():
                return f"[{', '.join(self.value(one) for one in value)}]"
        raise TaskError(f"{self._name} computes with {value!r}, which no task can hold. {_fix()}")

    def _word(self, word: str) -> str:
        self._used.add(word)
        return word


def _working_dtype(values: Iterable[object]) -> torch.dtype | None:
    """The dtype of the first floating tensor."""
    tensors = (value for value in values if isinstance(value, torch.Tensor))
    return next((tensor.dtype for tensor in tensors if tensor.is_floating_point()), None)


def _changes_nothing(node: torch.fx.Node) -> bool:
    """A conversion to the dtype that a value has: written down, it would round the fp64 reference."""
    if node.target is not torch.ops.aten.to.dtype or len(node.args) > 2 or node.kwargs:
        return False
    return bool(node.all_input_nodes[0].meta["val"].dtype == node.args[1])


def _attribute(name: str) -> str:
    expression = "self"
    for part in name.split("."):
        plain = part.isidentifier() and not iskeyword(part)
        expression = f"{expression}.{part}" if plain else f'getattr({expression}, "{part}")'
    return expression


FEWEST_CLASSES, MOST_CLASSES = 2, 16
GLANCE = 1024
"""Values that are looked at before all are."""


def drawn(tensor: torch.Tensor) -> str:
    """The expression; it uses nothing but `torch` and makes its tensor on the default device."""
    here = tensor.detach().cpu()
    return next((text for text in _simple(here) if _makes(text, here)), None) or _random(here)


def _simple(tensor: torch.Tensor) -> Iterator[str]:
    """Expressions that might be the tensor itself, by a glance at its first values."""
    if tensor.numel() == 0:
        return
    shape, dtype, glance = tuple(tensor.shape), tensor.dtype, tensor.flatten()[:GLANCE]
    values = glance.unique()
    if values.numel() == 1:
        yield f"torch.full({shape}, {_number(values.item())}, dtype={dtype})"
    if dtype != torch.bool and torch.equal(glance, torch.arange(glance.numel(), dtype=dtype)):
        yield f"torch.arange({tensor.numel()}, dtype={dtype}).reshape({shape})"
    values = tensor.unique() if tensor.dim() >= 2 and values.numel() <= 2 else values
    if tensor.dim() >= 2 and values.numel() == 2:
        yield from _triangles(shape, dtype, (_number(values[0].item()), _number(values[1].item())))


def _triangles(shape: tuple[int, ...], dtype: torch.dtype, values: tuple[str, str]) -> Iterator[str]:
    """One value in a triangle, the other one elsewhere: the masks of attention."""
    for inside, outside in (values, values[::-1]):
        for side in ("tril", "triu"):
            for diagonal in (0, -1, 1):
                where = f"torch.ones({shape}, dtype=torch.bool).{side}({diagonal})"
                yield f"torch.full({shape}, {outside}, dtype={dtype}).masked_fill({where}, {inside})"


def _makes(text: str, tensor: torch.Tensor) -> bool:
    with torch.device("cpu"):
        return bool(torch.equal(eval(text, {"torch": torch}), tensor))


def _random(tensor: torch.Tensor) -> str:
    shape, dtype = tuple(tensor.shape), tensor.dtype
    if dtype == torch.bool:
        return f"torch.rand({shape}) < {tensor.double().mean().item():.6g}"
    if not tensor.is_floating_point():
        low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, 0)
        return f"torch.randint({low}, {high + 1}, {shape}, dtype={dtype})"
    text = _floats(tensor.double(), shape)
    return text if dtype == torch.float32 else f"{text}.to({dtype})"


def _floats(values: torch.Tensor, shape: tuple[int, ...]) -> str:
    if values.numel() == 0 or not bool(values.isfinite().all()):
        return f"torch.randn({shape})"
    low, high = values.min().item(), values.max().item()
    if low >= 0 and values.dim() and torch.allclose(values.sum(-1), values.new_ones(()), atol=1e-3):
        return f"torch.softmax(torch.randn({shape}), -1)"
    if (classes := _classes(values)) is not None:
        return f"torch.tensor({classes})[torch.randint(0, {len(classes)}, {shape})]"
    if low >= 0:
        return f"(torch.rand({shape}) * {high:.6g})"
    return f"(torch.randn({shape}) * {values.std().item():.6g} + {values.mean().item():.6g})"


def _classes(values: torch.Tensor) -> list[float] | None:
    """The few whole values that occur; None where there are many, or others."""
    glance = values.flatten()[:GLANCE]
    if not bool((glance == glance.round()).all()):
        return None
    found: list[float] = values.unique().tolist()
    few = FEWEST_CLASSES <= len(found) <= MOST_CLASSES
    return found if few and all(value.is_integer() for value in found) else None


def _number(value: bool | int | float) -> str:
    return repr(value) if value == value and value not in (float("inf"), float("-inf")) else f'float("{value}")'


def _fix() -> str:
    return f"Write a task file with Model and get_inputs instead, and hand in its path ({page('task.md')})"
