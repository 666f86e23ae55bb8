"""The reference as data: its tensors, and torch.export's graph turned into an OpGraph. Runs inside the reference's process.

The graph stays as exported, not decomposed: `softmax.int` or `layer_norm` say more to an author than the dozen
operations below them. Assertion nodes are dropped. What a module returns is flattened before it is exported, so that an
output of the graph is one tensor, in the order of `model.flatten`.
"""

import dataclasses
import functools
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import flop_registry

from kernelwright.evaluate.triton.model import flatten
from kernelwright.records.graph import Argument, Infinity, Leaf, OpGraph, OpNode, Ref, Value
from kernelwright.records.tensor import ITEM_BYTES, Scalar, TensorSpec

_DROPPED = ("_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_constrain_range_for_size")


class ShapeOfValuesError(ValueError):
    """A tensor's shape depends on values: torch.export takes that, and no kernel is written for it."""


def spec_of(name: str, tensor: torch.Tensor) -> TensorSpec:
    """Shape and dtype.

    Raises:
        TypeError: values of this dtype cannot be judged.
    """
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in ITEM_BYTES:
        raise TypeError(f"{name!r} is {dtype}: tensors of {', '.join(ITEM_BYTES)} can be judged")
    return TensorSpec.model_validate({"name": name, "shape": tuple(int(s) for s in tensor.shape), "dtype": dtype})


def graph(
    model: torch.nn.Module, inputs: tuple[list[object], dict[str, object]], specs: Sequence[TensorSpec | Scalar]
) -> tuple[torch.export.ExportedProgram, OpGraph]:
    """Export `model` on positional and keyword `inputs`, and as data; names are those of the specs and the state_dict.

    Raises:
        ShapeOfValuesError: a tensor within has a shape that depends on values.
        Exception: whatever torch.export says of data-dependent control flow and the like.
    """
    args, kwargs = inputs
    for value in (*args, *kwargs.values()):
        _known(value)
    with _flattened(model):
        exported = torch.export.export(model, tuple(args), kwargs, strict=False)
    # It would keep the inputs that it was made with, which may be gigabytes.
    exported._example_inputs = None
    names = _placeholder_names(exported, specs)
    nodes = [_node(n, names) for n in exported.graph.nodes if _kept(n)]
    returned = next(n for n in exported.graph.nodes if n.op == "output").args[0]
    return exported, OpGraph(
        inputs=tuple(s.name for s in specs if isinstance(s, TensorSpec)),
        parameters=tuple(model.state_dict()),
        nodes=tuple(nodes),
        outputs=tuple(names.get(r.name, r.name) for r in returned),
    )


def _known(value: object) -> None:
    """Tell torch of every dataclass among the arguments; it takes each class once."""
    kind = type(value)
    if isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            _known(part)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        if kind not in pytree.SUPPORTED_NODES:
            torch.export.register_dataclass(kind)
        for field in dataclasses.fields(value):
            _known(getattr(value, field.name, None))


@contextmanager
def _flattened(model: torch.nn.Module) -> Iterator[None]:
    """For a while its forward returns plain tensors, as the export and the comparison count them."""
    own, forward = "forward" in model.__dict__, model.forward

    @functools.wraps(forward)
    def flat(*args: object, **kwargs: object) -> tuple[torch.Tensor, ...]:
        return flatten(forward(*args, **kwargs))

    model.forward = flat
    try:
        yield
    finally:
        del model.forward
        if own:
            model.forward = forward


def _placeholder_names(exported: torch.export.ExportedProgram, specs: Sequence[TensorSpec | Scalar]) -> dict[str, str]:
    signature = exported.graph_signature
    names = dict(signature.inputs_to_parameters) | dict(signature.inputs_to_buffers)
    users = list(signature.user_inputs)
    placeholders = [n for n in users if isinstance(n, str)]
    tensors = [s.name for s in specs if isinstance(s, TensorSpec)]
    names.update(zip(placeholders, tensors, strict=False))
    return names


def _kept(node: torch.fx.Node) -> bool:
    return node.op == "call_function" and not any(d in str(node.target) for d in _DROPPED)


def _node(node: torch.fx.Node, names: dict[str, str]) -> OpNode:
    arguments = _arguments(node, names)
    value = node.meta.get("val")
    results = [value] if isinstance(value, torch.Tensor) else list(value) if isinstance(value, list | tuple) else []
    try:
        specs = [spec_of(f"{node.name}.{i}" if len(results) > 1 else node.name, t) for i, t in enumerate(results)]
    except GuardOnDataDependentSymNode:
        # The graph knows the author's line, which no frame of this call has.
        raise ShapeOfValuesError(f"{node.target}\n  {node.meta.get('stack_trace', '').strip()}") from None
    read = [n.meta.get("val") for n in node.all_input_nodes]
    sources = [spec_of("source", t) for t in read if isinstance(t, torch.Tensor)]
    return OpNode(
        name=node.name,
        op="getitem" if node.target is operator.getitem else str(node.target),
        arguments=tuple(arguments),
        result=tuple(specs),
        bytes=sum(s.nbytes for s in [*sources, *specs]),
        flops=_flops(node, sources, specs),
    )


def _arguments(node: torch.fx.Node, names: dict[str, str]) -> list[Argument]:
    schema = getattr(node.target, "_schema", None)
    formal = [a.name for a in schema.arguments] if schema else []
    positional = [(formal[i] if i < len(formal) else f"arg{i}", a) for i, a in enumerate(node.args)]
    return [Argument(name=k, value=_value(v, names)) for k, v in [*positional, *node.kwargs.items()]]


def _value(value: object, names: dict[str, str]) -> Value:
    if isinstance(value, list | tuple):
        return tuple(_leaf(v, names) for v in value)
    return _leaf(value, names)


def _leaf(value: object, names: dict[str, str]) -> Leaf:
    if isinstance(value, torch.fx.Node):
        return Ref(ref=names.get(value.name, value.name))
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return Infinity(infinity=1 if value > 0 else -1)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value).removeprefix("torch.")


def _flops(node: torch.fx.Node, sources: list[TensorSpec], results: list[TensorSpec]) -> int:
    packet = getattr(node.target, "overloadpacket", None)
    if packet in flop_registry:
        values = [a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in node.args]
        return int(flop_registry[packet](*values, **node.kwargs, out_val=node.meta["val"]))
    return max((prod(s.shape) for s in [*sources, *results]), default=0)


class Watch:
    """An exported module that gives back what its nodes of these names compute, in this order.

    A comparator that asks which values an output of positions picks must know them where they are no input of the task.
    """

    def __init__(self, module: torch.nn.Module, nodes: Sequence[str]) -> None:
        self._module, self._nodes = module, tuple(nodes)

    def results(self, *arguments: object) -> tuple[torch.Tensor, ...]:
        """Run once.

        Raises:
            KeyError: there is no such node.
        """
        watching = _Watching(self._module, self._nodes)
        watching.run(*arguments)
        return tuple(watching.seen[name] for name in self._nodes)


class _Watching(torch.fx.Interpreter):  # type: ignore[misc]
    def __init__(self, module: torch.nn.Module, nodes: tuple[str, ...]) -> None:
        super().__init__(module)
        self.nodes = frozenset(nodes)
        self.seen: dict[str, torch.Tensor] = {}

    def run_node(self, n: torch.fx.Node) -> object:
        """As the interpreter does, keeping what was asked for."""
        if "_assert_tensor_metadata" in str(n.target):
            # It asserts the dtype of the exported run, and this one may be in double precision.
            return None
        result: object = super().run_node(n)
        if n.name in self.nodes and isinstance(result, torch.Tensor):
            self.seen[n.name] = result
        return result


def tied(model: torch.nn.Module) -> list[tuple[str, str]]:
    """Names that share all of their memory with an earlier one, as tied weights do."""
    seen: dict[tuple[int, tuple[int, ...], tuple[int, ...]], str] = {}
    found = []
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
        if tensor.numel() and place in seen:
            found.append((name, seen[place]))
        seen.setdefault(place, name)
    return found
