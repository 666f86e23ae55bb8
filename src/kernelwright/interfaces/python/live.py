"""Live modules and functions: into a task's text for the referee, and from a kernel's file back into a module.

The referee judges in processes that never unpickle, so that a task must be text. A class's own source is not enough: its
constructor's arguments, its globals and its closures stay behind. So the module is exported for the inputs handed in
(`torch.export`), and the ATen operations of the graph are written down as a `Model` with the same tensors under the same
names. Weights do not travel: the text draws others of the same shape, dtype and spread, and a kernel has to be right for
any. The author's source goes along as a description, for whoever writes the kernel.

These are the modules of the door that import torch; they are imported when a module is handed in, or asked for.
"""

import importlib.util
import inspect
import operator
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from kernelwright import calltree
from kernelwright.errors import TaskError
from kernelwright.interfaces.python.called import Call, has_signature, in_eval_mode
from kernelwright.interfaces.python.drawn import drawn
from kernelwright.pages import page
from kernelwright.records.task import WORDS, TaskSource
from kernelwright.tracing import functionalised, traced

FAULTS = (RuntimeError, TypeError, ValueError, LookupError, AttributeError, AssertionError)
"""What export, and the author's code under it, may raise."""
OF_VALUES = (GuardOnDataDependentSymNode, DataDependentOutputException)
WRAP = "Wrap the module in a function that takes tensors and numbers, and makes the rest itself"
INSTEAD = "Use torch.where, a mask or a fixed size, or write a task file, which is judged without a graph"
_ASSERTIONS = ("_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range")
_ARITHMETIC = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "//", operator.mod: "%"}
"""What sizes are worked out with."""
RESERVED = frozenset({"self", "torch", "nn", "device", "dtype"})
HOLD = (Path(__file__).parent / "parts/hold.py.txt").read_text(encoding="utf-8")
TEMPLATE = (Path(__file__).parent / "parts/module.py.txt").read_text(encoding="utf-8")


class Captured(NamedTuple):
    """A live module as a task."""

    source: TaskSource
    call: Call
    """How it is called, and what it gives back."""
    tensors: Mapping[str, torch.Tensor]
    """Its parameters, buffers and constants, by their names in the text."""
    device: str
    """`cpu` or `cuda`: where the inputs are."""


class _Tensor(NamedTuple):
    name: str
    tensor: torch.Tensor
    learned: bool


def capture(what: Callable[..., Any], inputs: object, kwargs: Mapping[str, object] | None = None) -> Captured:
    """A module in eval mode, or a function, as a task.

    Args:
        what: It takes and returns tensors, numbers, and whatever holds them: lists, dicts, dataclasses, named tuples, caches.
        inputs: Its arguments, or the one tensor that it takes, or a dict of keyword arguments; shapes, dtypes, numbers and
            constants are part of the task, and of tensors what their values are like.
        kwargs: Its keyword arguments beside those.

    Raises:
        TaskError: an input cannot be written down, or PyTorch cannot export it; with what to do.
    """
    what = getattr(what, "_orig_mod", what)  # what torch.compile wraps
    name = _name_of(what)
    call = _call_of(name, what, inputs, kwargs or {})
    exported = _export(_as_module(what), call, name)
    held = _tensors_of(exported)
    text = _text(name, exported, held, call)
    devices = {value.device.type for value in call.values if isinstance(value, torch.Tensor)}
    source = TaskSource(name=name, format="kernelbench", source=text, description=_find_source(what))
    return Captured(source, call, {one.name: one.tensor for one in held.values()}, devices.pop() if devices else "cpu")


def load(
    file: Path, task: TaskSource, tensors: Mapping[str, torch.Tensor] | None = None, call: Call | None = None
) -> nn.Module:
    """The module in a kernel's file, in eval mode; the file is run in this process.

    Args:
        file: As a run writes it: it defines `ModelNew`.
        task: What the kernel was written for; its text is run for the constructor's arguments.
        tensors: The weights to put in, by name; None: as the constructor makes them.
        call: Of a live module: what answers where the kernel's reference, a trace, does not.
    """
    space: dict[str, Any] = {"__name__": "kernelwright_task"}
    exec(compile(task.source, f"<{task.name}>", "exec"), space)  # noqa: S102  the caller's own task
    arguments = space["get_init_inputs"]() if "get_init_inputs" in space else []
    made = _import_file(file)
    if call is not None and isinstance(getattr(made, "Model", None), type):
        made.Model.forward = call.answering(made.Model.forward)
    model: nn.Module = made.ModelNew(*arguments)
    if tensors is not None:
        own = model.state_dict()
        # As the referee put them in: by name, or in order where the kernel calls them otherwise.
        by_name = own.keys() == tensors.keys()
        model.load_state_dict(tensors if by_name else dict(zip(own, tensors.values(), strict=True)))
        model.to(next((t.device for t in tensors.values()), "cpu"))
    return model.eval()


def _import_file(file: Path) -> Any:  # noqa: ANN401  a module whose names its author chose
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
    module.forward = what if has_signature(what) else lambda *inputs: what(*inputs)
    return module


def _name_of(what: Callable[..., Any]) -> str:
    named = type(what) if isinstance(what, nn.Module) else what
    return re.sub(r"\W+", "_", str(getattr(named, "__name__", type(named).__name__))).strip("_") or "task"


def _find_source(what: Callable[..., Any]) -> str:
    """The author's source where Python can find it, as in a file or a notebook's cell; it is only read."""
    try:
        text = textwrap.dedent(inspect.getsource(type(what) if isinstance(what, nn.Module) else what))
    except (OSError, TypeError):
        return ""
    return text if len(text) <= WORDS else ""


def _call_of(name: str, what: Callable[..., Any], inputs: object, kwargs: Mapping[str, object]) -> Call:
    named: Mapping[str, object] = inputs if isinstance(inputs, Mapping) else {}
    args = inputs if isinstance(inputs, list | tuple) else () if named else (inputs,)
    try:
        call = Call(what, args, {**named, **kwargs})
    except TypeError as error:
        if not args and not named and not kwargs:
            raise TaskError(f"{name} needs example inputs ({error}): inputs=(torch.randn(64, 512),)") from error
        raise TaskError(f"{name} cannot be called so: {error}. {WRAP}") from error
    tensors = [id(value) for value in call.values if isinstance(value, torch.Tensor)]
    if not tensors:
        raise TaskError(f"{name} needs example inputs, at least one tensor: inputs=(torch.randn(64, 512),)")
    if len(set(tensors)) < len(tensors):
        raise TaskError(
            f"{name} is given one tensor twice, so that PyTorch would take its inputs for one. Hand in another tensor, "
            "or wrap the module in a function with fewer inputs: lambda x: attention(x, x, x)"
        )
    return call


def _own_fault(call: Call) -> str:
    """What the module itself raises on these inputs, without an export; nothing where it takes them."""
    try:
        with torch.no_grad():
            call(call.values)
    except FAULTS as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
    return ""


def _export(module: nn.Module, call: Call, name: str) -> torch.export.ExportedProgram:
    try:
        with in_eval_mode(module):
            exported = traced(module, call.values, {}, call)
        if any(isinstance(node.target, torch._ops.HigherOrderOperator) for node in exported.graph.nodes):
            exported = functionalised(exported)
    except (*OF_VALUES, *FAULTS) as error:
        if isinstance(error, OF_VALUES) or "FakeTensor" in str(error):
            raise TaskError(
                f"torch.export cannot trace {name}: its control flow or a number in Python depends on values. {INSTEAD}"
            ) from error
        said = str(error).strip().partition("\n")[0]
        if own := _own_fault(call):
            raise TaskError(f"{name} itself raises on these inputs: {own}. Hand in inputs=(…) that it takes") from error
        raise TaskError(f"{name} cannot be exported ({type(error).__name__}: {said}). {_fix()}") from error
    shapes = (getattr(node.meta.get("val"), "shape", ()) for node in exported.graph.nodes)
    if any(isinstance(size, torch.SymInt) for shape in shapes for size in shape):
        raise TaskError(f"torch.export cannot trace {name}: the shape of a tensor depends on values. {INSTEAD}")
    return _with_free_sizes(module, call, exported)


def _with_free_sizes(
    module: nn.Module, call: Call, exported: torch.export.ExportedProgram
) -> torch.export.ExportedProgram:
    """The same program with every size free that can be, so that the task's text is right at other sizes too; or as it is."""
    told = call.result
    try:
        with in_eval_mode(module):
            found = traced(module, call.values, {}, call, symbolic=True)
        if any(isinstance(node.target, torch._ops.HigherOrderOperator) for node in found.graph.nodes):
            found = functionalised(found)
    except Exception:  # noqa: BLE001  (the author's code with symbols for sizes: then none is free)
        found = exported
    same = call.result == told and _operations(found) == _operations(exported)
    call.result = told
    return found if same and not calltree.tells_sizes(told) else exported


def _operations(exported: torch.export.ExportedProgram) -> list[str]:
    """What a program calls, but what only sizes are worked out with."""
    calls = (node for node in exported.graph.nodes if node.op == "call_function")
    return [str(n.target) for n in calls if not _is_of_sizes(n) and "_assert" not in str(n.target)]


def _is_of_sizes(node: torch.fx.Node) -> bool:
    return isinstance(node.meta.get("val"), calltree.SYMBOLS) or "sym_constrain" in str(node.target)


def _tensors_of(exported: torch.export.ExportedProgram) -> dict[str, _Tensor]:
    """The tensors that the module holds, by placeholder. Views of a larger one are copied."""
    found: dict[str, _Tensor] = {}
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR") and spec.target is not None:
            tensor = exported.state_dict.get(spec.target, exported.constants.get(spec.target))
            if isinstance(tensor, torch.Tensor):
                held = _Tensor(spec.target, tensor.detach().contiguous(), spec.kind.name == "PARAMETER")
                found[spec.arg.name] = held
    return found


def _text(name: str, exported: torch.export.ExportedProgram, held: Mapping[str, _Tensor], call: Call) -> str:
    inputs = call.values
    writer = _Writer(name, held, _working_dtype((*inputs, *(one.tensor for one in held.values()))))
    given = [node for node in exported.graph.nodes if node.op == "placeholder" and node.name not in held]
    if len(given) != len(inputs):
        raise TaskError(f"{name} holds an object that is no tensor and is used in forward. {_fix()}")
    taken = {node.name for node in exported.graph.nodes}
    arguments = [writer.input(node, said, taken) for node, (said, _) in zip(given, call.leaves, strict=True)]
    lines = [line for node in exported.graph.nodes if (line := writer.line(node))]
    body = [*writer.opening(zip(arguments, inputs, strict=True)), *lines]
    body.append(f"return {_return_value(name, exported, writer, call)}")
    registered = [f"_hold(self, {one.name!r}, {drawn(one.tensor)}, {one.learned})" for one in held.values()]
    return TEMPLATE.format(
        name=name,
        hold=HOLD if held else "",
        held="".join(f"        {line}\n" for line in registered),
        arguments=", ".join(["self", *arguments]),
        body="\n".join(f"        {line}" for line in body),
        inputs=", ".join(drawn(value) if isinstance(value, torch.Tensor) else repr(value) for value in inputs),
    )


def _return_value(name: str, exported: torch.export.ExportedProgram, writer: "_Writer", call: Call) -> str:
    """The returned expression: tensors, in a list where the module returns a list of them."""
    (output,) = next(node for node in reversed(exported.graph.nodes) if node.op == "output").args
    if not output or not all(isinstance(value, torch.fx.Node) for value in output):
        raise TaskError(f"{name} returns no tensor, or one that depends on no input. {_fix()}")
    if exported.graph_signature.buffers_to_mutate or exported.graph_signature.user_inputs_to_mutate:
        raise TaskError(f"{name} changes its inputs or buffers, which a kernel may not. {_fix()}")
    values = ", ".join(writer.value(value) for value in output)
    if call.result == call.listed:
        return f"[{values}]"
    return f"({values},)" if len(output) > 1 or call.result == {"tuple": [0]} else values


class _Writer:
    """Writes a graph's nodes as Python."""

    def __init__(self, name: str, held: Mapping[str, _Tensor], dtype: torch.dtype | None) -> None:
        self._name = name
        self._dtype = dtype
        self._used: set[str] = set()
        self._tensors = [(_attribute(one.name), one.tensor) for one in held.values()]
        self._names = {placeholder: _attribute(one.name) for placeholder, one in held.items()}

    def opening(self, inputs: Iterable[tuple[str, object]]) -> list[str]:
        """What the lines written so far need to be said before them: of which tensor they take the device and the dtype."""
        tensors = [(name, value) for name, value in (*inputs, *self._tensors) if isinstance(value, torch.Tensor)]
        found = {"device": tensors[0][0], "dtype": next((n for n, t in tensors if t.dtype == self._dtype), "")}
        return [f"{word} = {name}.{word}" for word, name in found.items() if word in self._used]

    def input(self, node: torch.fx.Node, said: str, taken: set[str]) -> str:
        """The name of an argument of `forward`: what it is called, or that with a line behind it."""
        name = re.sub(r"\W", "_", said)
        while name in RESERVED | taken or not name.isidentifier() or iskeyword(name):
            name = f"{name}_" if name.isidentifier() else f"input_{name}"
        taken.add(name)
        self._names[node.name] = name
        return name

    def line(self, node: torch.fx.Node) -> str:
        """The statement of an operation; empty for what is none."""
        if node.op in ("placeholder", "output") or any(word in str(node.target) for word in _ASSERTIONS):
            return ""
        name = self._names[node.name] = f"{node.name}_" if node.name in RESERVED else node.name
        if node.op == "call_function" and node.target is operator.getitem:
            return f"{name} = {self.value(node.args[0])}[{self.value(node.args[1])}]"
        if node.target is torch.ops.aten.sym_size.int:
            return f"{name} = {self.value(node.args[0])}.size({node.args[1]})"
        if _is_of_sizes(node) and node.target in _ARITHMETIC:
            left, right = map(self.value, node.args)
            return f"{name} = {left} {_ARITHMETIC[node.target]} {right}"
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


def _fix() -> str:
    return f"Write a task file with Model and get_inputs instead, and hand in its path ({page('task.md')})"
