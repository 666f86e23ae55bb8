"""The reference as data: torch.export's graph turned into an OpGraph. Runs inside the reference's process.

The graph stays as exported, not decomposed: `softmax.int` or `layer_norm` say more to an author than the dozen
operations below them. Assertion nodes are dropped.
"""

import operator
from collections.abc import Sequence
from math import prod

import torch
from torch.utils.flop_counter import flop_registry

from kernelwright.records.graph import Argument, Infinity, Leaf, OpGraph, OpNode, Ref, Value
from kernelwright.records.tensor import Scalar, TensorSpec

_DROPPED = ("_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_constrain_range_for_size")


def graph(
    model: torch.nn.Module, inputs: Sequence[object], specs: Sequence[TensorSpec | Scalar]
) -> tuple[torch.export.ExportedProgram, OpGraph]:
    """Export `model` on `inputs`, and as data; names are those of the input specs and of the state_dict.

    Raises:
        Exception: whatever torch.export says of data-dependent control flow and the like.
    """
    exported = torch.export.export(model, tuple(inputs), strict=False)
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


def _placeholder_names(exported: torch.export.ExportedProgram, specs: Sequence[TensorSpec | Scalar]) -> dict[str, str]:
    signature = exported.graph_signature
    names = dict(signature.inputs_to_parameters) | dict(signature.inputs_to_buffers)
    users = list(signature.user_inputs)
    placeholders = [n for n in users if isinstance(n, str)]
    tensors = [s.name for s in specs]
    names.update(zip(placeholders, tensors, strict=False))
    return names


def _kept(node: torch.fx.Node) -> bool:
    return node.op == "call_function" and not any(d in str(node.target) for d in _DROPPED)


def _node(node: torch.fx.Node, names: dict[str, str]) -> OpNode:
    arguments = _arguments(node, names)
    value = node.meta.get("val")
    results = [value] if isinstance(value, torch.Tensor) else list(value) if isinstance(value, list | tuple) else []
    specs = [_spec(f"{node.name}.{i}" if len(results) > 1 else node.name, t) for i, t in enumerate(results)]
    read = [n.meta.get("val") for n in node.all_input_nodes]
    sources = [_spec("source", t) for t in read if isinstance(t, torch.Tensor)]
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


def _spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return TensorSpec.model_validate({"name": name, "shape": tuple(int(s) for s in tensor.shape), "dtype": dtype})


def _flops(node: torch.fx.Node, sources: list[TensorSpec], results: list[TensorSpec]) -> int:
    packet = getattr(node.target, "overloadpacket", None)
    if packet in flop_registry:
        values = [a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in node.args]
        return int(flop_registry[packet](*values, **node.kwargs, out_val=node.meta["val"]))
    return max((prod(s.shape) for s in [*sources, *results]), default=0)
