"""The OpGraph: what the reference computes, as ATen operations with shapes, bytes and flops.

A worker makes it (`evaluate.admit`); proposers and floors read it. It needs no torch.
"""

import re
from typing import Literal

from kernelwright.records.base import Record
from kernelwright.records.tensor import TensorSpec

FAMILIES = {
    "attention": r"attention",
    "convolution": r"conv",
    "contraction": r"^(b?mm|baddbmm|add(mm|mv|bmm)|matmul|linear|dot|vdot|mv|einsum|_scaled_mm)",
    "sorting": r"sort|topk|kthvalue|median|mode$|unique",
    "scan": r"^_?(log)?cum",
    "indexing": r"gather|scatter|index|embedding|take|bincount|histc",
    "pooling": r"pool",
    "loss": r"loss|cross_entropy|kl_div",
    "normalisation": r"_norm|softmax|^renorm",
    "reduction": r"^(nan)?(sum|mean)|^(prod|a?max|a?min|aminmax|arg(max|min)|any|all|std|var|norm|logsumexp)(_|$)|vector_norm",
}
"""Families of operations by their names in ATen, the most telling one first."""

ASSERTING = frozenset(
    f"aten.{name}.default" for name in ("binary_cross_entropy", "bernoulli", "multinomial", "poisson", "bernoulli_")
)
"""Operations that trap the whole device outside their domain: nothing beyond what was drawn is tried there."""


class Ref(Record):
    """The value of an earlier node, input or parameter, by name."""

    ref: str


class Infinity(Record):
    """An infinite literal, which JSON cannot spell."""

    infinity: Literal[1, -1]


Leaf = Ref | Infinity | bool | int | float | str | None
Value = Leaf | tuple[Leaf, ...]
"""An argument of an operation: a reference, a literal, or a list of them."""


class Argument(Record):
    """One argument of an operation under its name in the operator's schema."""

    name: str
    value: Value


class OpNode(Record):
    """One operation. `op` is the full overload name, such as `aten.mul.Tensor`."""

    name: str
    op: str
    arguments: tuple[Argument, ...]
    result: tuple[TensorSpec, ...]
    """One entry for each result; most operations have one."""
    bytes: int
    """Bytes read and written if this operation ran alone."""
    flops: int
    """Arithmetic operations, counting a transcendental as one."""

    def argument(self, name: str) -> Value:
        """The value given for `name`; None when the call left it out."""
        return next((a.value for a in self.arguments if a.name == name), None)


class OpGraph(Record):
    """Operations in execution order. Input and parameter names are those of the workload's specs."""

    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    nodes: tuple[OpNode, ...]
    outputs: tuple[str, ...]
    """Names of nodes (or of inputs passed through) that the reference returns, in order."""

    @property
    def family(self) -> str:
        """What kind of work this is: the first of FAMILIES that any operation belongs to, or `pointwise`.

        A serial function is one operation, which says its family itself.
        """
        said = next((node.op.split(".")[1] for node in self.nodes if node.op.startswith("serial.")), None)
        if said is not None:
            return said
        names = {node.op.split(".")[1] for node in self.nodes if node.op.count(".") > 1}
        return next(
            (family for family, marks in FAMILIES.items() if any(map(re.compile(marks).search, names))), "pointwise"
        )

    def behind(self, name: str) -> tuple[OpNode, ...]:
        """A node and all nodes that it depends on, the last one first."""
        wanted, found = {name}, []
        for node in reversed(self.nodes):
            if node.name in wanted:
                found.append(node)
                for argument in node.arguments:
                    values = argument.value if isinstance(argument.value, tuple) else (argument.value,)
                    wanted.update(v.ref for v in values if isinstance(v, Ref))
        return tuple(found)

    @property
    def flops(self) -> int:
        """Arithmetic operations of the whole graph."""
        return sum(node.flops for node in self.nodes)
