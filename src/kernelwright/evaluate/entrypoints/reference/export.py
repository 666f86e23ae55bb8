"""The reference as data: its tensors, and torch.export's graph turned into an OpGraph. Runs inside the reference's process.

The graph stays as exported, not decomposed: `softmax.int` or `layer_norm` say more to an author than the dozen
operations below them. Where it has regions of its own (autocast, gradients), or writes to memory that is read as another view,
it is functionalised, which leaves operations whole but views. Assertion nodes are dropped.
"""

import operator
from collections.abc import Callable, Sequence
from math import isnan, prod

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils.flop_counter import flop_registry

from kernelwright.evaluate.triton.binding import held, place_of
from kernelwright.records.graph import UNTRACED, Argument, Infinity, Leaf, OpGraph, OpNode, Ref, Value
from kernelwright.records.tensor import ITEM_BYTES, Scalar, TensorSpec
from kernelwright.tracing import Called, functionalised, traced

_DROPPED = ("_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_constrain_range_for_size")


LITERAL = 64
"""Most elements of a tensor that are told one by one."""


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


def leaf_spec(name: str, leaf: object) -> TensorSpec | Scalar:
    """Of what the reference is called with.

    Raises:
        TypeError: it cannot be judged.
    """
    if isinstance(leaf, torch.Tensor):
        return spec_of(name, leaf)
    if isinstance(leaf, bool | int | float):
        return Scalar(name=name, value=leaf)
    raise TypeError(f"input {name!r} is a {type(leaf).__name__}; tensors, numbers and lists of them can be judged")


def graph(
    model: torch.nn.Module,
    inputs: tuple[list[object], dict[str, object]],
    specs: Sequence[TensorSpec | Scalar],
    called: Called | None = None,
) -> tuple[torch.export.ExportedProgram, OpGraph]:
    """Export `model` on positional and keyword `inputs`, and as data; names are those of the specs and the state_dict.

    Args:
        model: in the mode in which it is judged.
        inputs: what it is exported for.
        specs: of its inputs.
        called: where the inputs are the leaves of a call: calls the model with those.

    Raises:
        ShapeOfValuesError: a tensor within has a shape that depends on values.
        Exception: whatever torch.export says of data-dependent control flow and the like.
    """
    args, kwargs = inputs
    exported = traced(model, args, kwargs, called)
    found = described(model, exported, specs)
    if found is None or found.stale() is not None:
        exported = functionalised(exported)
        found = described(model, exported, specs, whole=True)
    assert found is not None
    # It would keep the inputs that it was made with, which may be gigabytes.
    exported._example_inputs = None
    return exported, found


def described(
    model: torch.nn.Module,
    exported: torch.export.ExportedProgram,
    specs: Sequence[TensorSpec | Scalar],
    *,
    whole: bool = False,
) -> OpGraph | None:
    """A program's graph as data; None where it is not `whole` yet: a node has a region, or a write of no plain form."""
    calls = [n for n in exported.graph.nodes if _kept(n)]
    if not whole and not all(map(_is_plain, calls)):
        return None
    names, constants = _placeholder_names(exported, specs), _constants(exported)
    names |= _named(model, constants)
    returned = next(n for n in exported.graph.nodes if n.op == "output").args[0]
    kinds = exported.graph_signature.output_specs
    nodes = [
        _literal(name, value)
        for name, value in constants.items()
        if name not in names and value.numel() <= LITERAL and not value.is_complex()
    ]
    nodes += [_node(n, names) for n in calls]
    nodes += [
        _written(spec, node, names) for spec, node in zip(kinds, returned, strict=True) if "MUTATION" in spec.kind.name
    ]
    return OpGraph(
        inputs=tuple(s.name for s in specs if isinstance(s, TensorSpec)),
        parameters=tuple(model.state_dict()),
        nodes=tuple(nodes),
        outputs=tuple(
            names.get(r.name, r.name) for s, r in zip(kinds, returned, strict=True) if s.kind.name == "USER_OUTPUT"
        ),
    )


def _is_plain(node: torch.fx.Node) -> bool:
    """Whether it is a function of tensors, or an operation in place of which there is such a function."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return not isinstance(node.target, torch._ops.HigherOrderOperator)
    packet = node.target.overloadpacket.__name__
    function = getattr(torch.ops.aten, packet.removesuffix("_"), None)
    return not schema.is_mutable or (function is not None and node.target._overloadname in function.overloads())


def _constants(exported: torch.export.ExportedProgram) -> dict[str, torch.Tensor]:
    """Tensors that are no parameters, by placeholder: attributes of the module, and what forward makes of Python's numbers."""
    targets = exported.graph_signature.inputs_to_lifted_tensor_constants
    found = {name: exported.constants.get(target) for name, target in targets.items()}
    return {name: value for name, value in found.items() if isinstance(value, torch.Tensor)}


def _named(model: torch.nn.Module, constants: dict[str, torch.Tensor]) -> dict[str, str]:
    """Placeholders of what the module holds under a name of its own."""
    own = {place_of(tensor): name for name, tensor in held(model).items()}
    return {name: own[place_of(value)] for name, value in constants.items() if place_of(value) in own}


def _literal(name: str, value: torch.Tensor) -> OpNode:
    """A few numbers that stand in forward, as an operation without operands."""
    numbers = Argument(name="values", value=tuple(_leaf(v, {}) for v in value.reshape(-1).tolist()))
    return OpNode(name=name, op="constant", arguments=(numbers,), result=(spec_of(name, value),), bytes=0, flops=0)


def _written(spec: torch.export.graph_signature.OutputSpec, value: torch.fx.Node, names: dict[str, str]) -> OpNode:
    """The last of a functionalised graph: an input's or a buffer's new value."""
    target = names.get(spec.target, spec.target)
    arguments = (Argument(name="self", value=Ref(ref=target)), Argument(name="src", value=_leaf(value, names)))
    result = spec_of(target, value.meta["val"])
    return OpNode(
        name=f"{value.name}.written", op="aten.copy_.default", arguments=arguments, result=(result,), bytes=2 * result.nbytes,
        flops=0,
    )  # fmt: skip


NAMED = (
    "binary_cross_entropy", "bernoulli", "multinomial", "poisson", "scaled_dot_product_attention", "multihead_attention",
    "softmax", "logsumexp", "cross_entropy", ".exp(", "dropout", "rrelu",
)  # fmt: skip
"""Operations that the referee must know of, by which a source that cannot be traced is searched."""


def untraced(
    source: str, inputs: Sequence[TensorSpec | Scalar], parameters: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> OpGraph:
    """The graph of a reference that cannot be traced: one operation, behind those that its text names."""
    plain = source.lower().replace("_", "")
    named = [name for name in NAMED if name.replace("_", "") in plain]
    before = [
        OpNode(name=f"named{i}", op=f"aten.{name.strip('.(')}.default", arguments=(), result=(), bytes=0, flops=0)
        for i, name in enumerate(named)
    ]
    tensors = [s for s in inputs if isinstance(s, TensorSpec)]
    read = tuple(Ref(ref=name) for name in (*(t.name for t in (*tensors, *parameters)), *(n.name for n in before)))
    call = OpNode(
        name="call",
        op=UNTRACED,
        arguments=(Argument(name="reads", value=read),),
        result=tuple(o.model_copy(update={"name": f"call.{i}"}) for i, o in enumerate(outputs)),
        bytes=sum(t.nbytes for t in (*tensors, *parameters, *outputs)),
        flops=0,
    )
    parts = [
        OpNode(
            name=f"call_{i}",
            op="getitem",
            arguments=(Argument(name="arg0", value=Ref(ref="call")), Argument(name="arg1", value=i)),
            result=(o.model_copy(update={"name": f"call_{i}"}),),
            bytes=0,
            flops=0,
        )
        for i, o in enumerate(outputs)
    ]
    return OpGraph(
        inputs=tuple(t.name for t in tensors),
        parameters=tuple(p.name for p in parameters),
        nodes=(*before, call, *parts),
        outputs=tuple(part.name for part in parts),
    )


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
    if isinstance(value, float) and isnan(value):
        return "nan"  # which JSON cannot spell either
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
        self.results: Callable[..., tuple[torch.Tensor, ...]] = self._results
        """Takes the leaves of a call."""

    def _results(self, *arguments: object) -> tuple[torch.Tensor, ...]:
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
