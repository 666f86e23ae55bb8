"""Recurrent layers and cells as the operations of their steps: PyTorch has each as one operation, of which nothing is read.

The graph is rewritten before it is read, so that a step's product is a kernel like any other, and the next step reads what
this one stored. A layer of more steps than a program should have kernels stays PyTorch's. To add a cell: a function from what
the input comes to, what the state comes to, and the state; and its row in `CELLS`.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

from kernelwright.devices import kinds
from kernelwright.records.graph import Argument, OpNode, Ref, Value, refs
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

MOST_STEPS, MOST_ON_GPU = 32, 4
"""Of all layers, both ways and all cells. Each has two to four kernels, and cuDNN has one for a whole layer."""
State = tuple[str, ...]
"""Names of what a step leaves to the next one; the first is its result."""


def unrolled(task: Task) -> Task:
    """The task with its recurrent operations taken apart, where that is not too much; itself where it has none."""
    most = MOST_ON_GPU if kinds()[task.target.kind].gpu else MOST_STEPS
    if sum(map(_length, task.graph.nodes)) > most:
        return task
    nodes: list[OpNode] = []
    parts: dict[str, Sequence[str]] = {}
    known = {s.name: s for s in (*task.workload.tensors, *task.workload.parameters)}
    for node in task.graph.nodes:
        known |= {node.name: node.result[0]} if len(node.result) == 1 else {}
        steps = _Steps(node, known)
        if node.op == "getitem" and (whole := node.reads[0]) in parts:
            nodes.append(_alias(node, parts[whole][int(str(node.arguments[1].value))]))
        elif (results := steps.results()) is None:
            nodes.append(node)
        else:
            nodes += steps.nodes
            parts[node.name] = results
            nodes += [_alias(node, results[0])] if len(node.result) == 1 else []
    return task.model_copy(update={"graph": task.graph.model_copy(update={"nodes": tuple(nodes)})}) if parts else task


def _length(node: OpNode) -> int:
    """How many steps an operation has: places of its result by states that it leaves; 0 of what is not recurrent."""
    kind = node.packet.removesuffix("_cell")
    if kind not in CELLS:
        return 0
    if node.packet != kind or len(node.result) < 2:
        return 1
    return node.result[0].shape[1 if node.argument("batch_first") else 0] * node.result[1].shape[0]


def _alias(node: OpNode, of: str) -> OpNode:
    own = (Argument(name="self", value=Ref(ref=of)),)
    return node.model_copy(update={"op": "aten.alias.default", "arguments": own})


class _Steps:
    """The operations that one node becomes."""

    def __init__(self, node: OpNode, known: Mapping[str, TensorSpec]) -> None:
        self.node, self.shapes = node, {name: spec.shape for name, spec in known.items()}
        self.nodes: list[OpNode] = []

    def results(self) -> State | None:
        """Names of its results, with `nodes` before them; None of what is not taken apart."""
        kind = self.node.packet.removesuffix("_cell")
        if kind not in CELLS or not {*self.node.reads} <= {*self.shapes}:
            return None
        if self.node.op.endswith("_cell.default"):
            return self._cell(kind)
        return self._layers(kind) if self.node.op.endswith(".input") else None

    def made(self, op: str, shape: Sequence[int], /, **arguments: Value) -> str:
        """A further operation, by its name."""
        name = f"{self.node.name}.{len(self.nodes)}"
        given = tuple(Argument(name=key, value=value) for key, value in arguments.items())
        spec = self.node.result[0].model_copy(update={"name": name, "shape": tuple(shape)})
        self.nodes.append(
            OpNode(name=name, op=f"aten.{op}", arguments=given, result=(spec,), bytes=0, flops=prod(shape))
        )
        self.shapes[name] = spec.shape
        return name

    def call(self, op: str, *operands: str) -> str:
        """A pointwise operation on tensors of one shape."""
        named = dict(zip(("self", "other"), (Ref(ref=o) for o in operands), strict=False))
        return self.made(op, self.shapes[operands[0]], **named)

    def gate(self, of: str, number: int, width: int) -> str:
        """One of the parts that lie side by side."""
        shape = (*self.shapes[of][:-1], width)
        return self.made("narrow.default", shape, self=Ref(ref=of), dim=-1, start=number * width, length=width)

    def linear(self, x: str, weight: str, bias: str | None) -> str:
        """A product with a matrix of weights."""
        added: dict[str, Value] = {} if bias is None else {"bias": Ref(ref=bias)}
        shape = (*self.shapes[x][:-1], self.shapes[weight][0])
        return self.made("linear.default", shape, input=Ref(ref=x), weight=Ref(ref=weight), **added)

    def _cell(self, kind: str) -> State:
        x, state, weights = self._named("input")[0], self._named("hx"), [*self._named("w_ih"), *self._named("w_hh")]
        biases = [next(iter(self._named(name)), None) for name in ("b_ih", "b_hh")]
        inner, outer = (self.linear(v, w, b) for v, w, b in zip((x, state[0]), weights, biases, strict=True))
        return CELLS[kind](self, inner, outer, tuple(state))

    def _layers(self, kind: str) -> State | None:
        (x,), states, held = self._named("input"), self._named("hx"), self._named("params")
        ways, layers = 1 + bool(self._flag("bidirectional")), int(str(self._flag("num_layers")))
        each = 2 + 2 * bool(self._flag("has_biases"))
        first = bool(self._flag("batch_first"))
        dropped = self._flag("train") and self._flag("dropout")
        if dropped or len(held) != each * ways * layers:
            return None
        x, last = self._turned(x) if first else x, []
        for layer in range(layers):
            found = []
            for way in range(ways):
                number = layer * ways + way
                weights = held[number * each : (number + 1) * each]
                own = tuple(
                    self.made("select.int", self.shapes[s][1:], self=Ref(ref=s), dim=0, index=number) for s in states
                )
                steps, state = self._walked(kind, x, own, weights, backward=bool(way))
                found.append(self._stacked(steps))
                last.append(state)
            x = found[0] if ways == 1 else self._joined(found)
        return (self._turned(x) if first else x, *(self._stacked(list(each)) for each in zip(*last, strict=True)))

    def _walked(
        self, kind: str, x: str, state: State, weights: Sequence[str], *, backward: bool
    ) -> tuple[list[str], State]:
        """What one layer gives at each place, and the state behind its last step."""
        inner_weight, weight, *biases = weights
        inner_bias, bias = biases or (None, None)
        inner = self.linear(x, inner_weight, inner_bias)
        found = {}
        for at in sorted(range(self.shapes[x][0]), reverse=backward):
            here = self.made("select.int", self.shapes[inner][1:], self=Ref(ref=inner), dim=0, index=at)
            state = CELLS[kind](self, here, self.linear(state[0], weight, bias), state)
            found[at] = state[0]
        return [found[at] for at in sorted(found)], state

    def _stacked(self, names: Sequence[str]) -> str:
        tensors = tuple(Ref(ref=name) for name in names)
        return self.made("stack.default", (len(names), *self.shapes[names[0]]), tensors=tensors, dim=0)

    def _joined(self, names: Sequence[str]) -> str:
        *rest, width = self.shapes[names[0]]
        return self.made("cat.default", (*rest, width * len(names)), tensors=tuple(Ref(ref=n) for n in names), dim=-1)

    def _turned(self, x: str) -> str:
        one, other, *rest = self.shapes[x]
        return self.made("transpose.int", (other, one, *rest), self=Ref(ref=x), dim0=0, dim1=1)

    def _named(self, argument: str) -> list[str]:
        return [ref.ref for ref in refs(self.node.argument(argument))]

    def _flag(self, argument: str) -> Value:
        return self.node.argument(argument)


def _lstm(s: _Steps, inner: str, outer: str, state: State) -> State:
    gates, width = s.call("add.Tensor", inner, outer), s.shapes[state[0]][-1]
    ins, forget, new, out = (s.gate(gates, number, width) for number in range(4))
    kept = s.call("mul.Tensor", s.call("sigmoid.default", forget), state[1])
    gained = s.call("mul.Tensor", s.call("sigmoid.default", ins), s.call("tanh.default", new))
    cell = s.call("add.Tensor", kept, gained)
    return s.call("mul.Tensor", s.call("sigmoid.default", out), s.call("tanh.default", cell)), cell


def _gru(s: _Steps, inner: str, outer: str, state: State) -> State:
    width = s.shapes[state[0]][-1]
    (reset, update, new), (reset_too, update_too, new_too) = (
        [s.gate(gates, number, width) for number in range(3)] for gates in (inner, outer)
    )
    forget = s.call("sigmoid.default", s.call("add.Tensor", reset, reset_too))
    keep = s.call("sigmoid.default", s.call("add.Tensor", update, update_too))
    found = s.call("tanh.default", s.call("add.Tensor", new, s.call("mul.Tensor", forget, new_too)))
    return (s.call("add.Tensor", s.call("mul.Tensor", s.call("sub.Tensor", state[0], found), keep), found),)


def _plain(function: str) -> Callable[[_Steps, str, str, State], State]:
    return lambda s, inner, outer, state: (s.call(function, s.call("add.Tensor", inner, outer)),)


CELLS: dict[str, Callable[[_Steps, str, str, State], State]] = {
    "lstm": _lstm, "gru": _gru, "rnn_tanh": _plain("tanh.default"), "rnn_relu": _plain("relu.default"),
}  # fmt: skip
"""A step: what the input and the state come to, and the state before it, become the state behind it."""
