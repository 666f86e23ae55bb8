"""The OpGraph: what the reference computes, as ATen operations with shapes, bytes and flops.

A worker makes it (`evaluate.admit`); proposers and floors read it. It needs no torch.
"""

import re
from collections.abc import Iterable
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
CONVOLVING = r"conv|^_?(cudnn_rnn|lstm|gru|rnn)"
MULTIPLYING = rf"{FAMILIES['attention']}|{FAMILIES['contraction']}|bilinear$|^(inner|outer|addr|chain_matmul|cdist)"
"""Operations whose products are cuDNN's, and cuBLAS's."""

ASSERTING = frozenset(
    f"aten.{name}.default" for name in ("binary_cross_entropy", "bernoulli", "multinomial", "poisson", "bernoulli_")
)
"""Operations that trap a whole device outside their domain, beyond which nothing is tried there; on a host they raise."""


ALIASES = frozenset({
    "alias", "contiguous", "detach", "detach_", "dropout", "feature_dropout", "alpha_dropout", "to", "type_as",
    "view", "reshape", "_unsafe_view", "_reshape_alias", "flatten", "unflatten", "ravel", "unsqueeze", "squeeze",
    "expand", "broadcast_to", "expand_as", "view_as", "reshape_as", "broadcast_tensors", "meshgrid", "permute",
    "transpose", "swapaxes", "swapdims", "moveaxis", "movedim", "t", "numpy_T", "mT", "mH", "matrix_H", "adjoint",
    "slice", "select", "narrow", "unbind", "chunk", "split", "split_with_sizes", "tensor_split", "hsplit", "vsplit",
    "dsplit", "getitem", "unfold", "diagonal", "as_strided", "lift", "lift_fresh", "real", "imag", "view_as_real",
    "view_as_complex", "conj", "_conj", "positive", "resolve_conj", "resolve_neg", "atleast_1d", "atleast_2d",
    "atleast_3d",
})  # fmt: skip
"""Operations whose result may be their operand's memory."""
STATISTICS = ("running_mean", "running_var")
"""Arguments that a norm in training mode writes to."""

UNTRACED = "untraced.call.default"
"""The one operation of a reference that could not be traced: the whole of it."""


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

    @property
    def packet(self) -> str:
        """The operation without its overload, such as `mul`."""
        return self.op.split(".")[1] if self.op.count(".") > 1 else self.op

    @property
    def in_place(self) -> bool:
        """Whether it gives its first operand a new value, as `mul_` and `__iand__` do."""
        packet = self.packet
        own = packet.startswith("__i") or not packet.startswith("__")
        return packet.endswith("_") and own and packet != "detach_"

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the values that it takes, each once."""
        return tuple(dict.fromkeys(ref.ref for argument in self.arguments for ref in refs(argument.value)))

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of what it writes to beside its results."""
        if self.in_place:
            return tuple(ref.ref for ref in refs(self.arguments[0].value))
        if self.packet.endswith("_functional"):
            return ()
        if self.argument("training") or self.argument("use_input_stats"):
            return tuple(ref.ref for name in STATISTICS for ref in refs(self.argument(name)))
        return ()


def refs(value: Value) -> list[Ref]:
    """The references in an argument."""
    items = value if isinstance(value, tuple) else (value,)
    return [item for item in items if isinstance(item, Ref)]


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

    def has_products(self, *, convolution: bool) -> bool:
        """Whether an operation makes products as cuDNN does, or as cuBLAS; one that nobody traced may."""
        marks = re.compile(CONVOLVING if convolution else MULTIPLYING)
        return any(node.op == UNTRACED or marks.search(node.packet) for node in self.nodes)

    def owners(self, *, views: bool = False) -> dict[str, str]:
        """Names that stand for a tensor of another name: they changed it in place, or, with `views`, are its memory."""
        own: dict[str, str] = {}
        for node in self.nodes:
            for name in node.reads[:1] if node.in_place or (views and node.packet in ALIASES) else ():
                own[node.name] = own.get(name, name)
        return own

    def stale(self, state: Iterable[str] = ()) -> OpNode | None:
        """The first operation that writes to memory which is read later as another view; None: there is none.

        Where there is one, no value can stand for a tensor: what it is depends on when it is read.
        """
        own, memory = self.owners(), self.owners(views=True)
        last = dict.fromkeys((*self.outputs, *state), len(self.nodes))
        for place in reversed(range(len(self.nodes))):
            for name in self.nodes[place].reads:
                last.setdefault(name, place)
        known: dict[str, set[str]] = {}
        for place, node in enumerate(self.nodes):
            for name in node.reads:
                known.setdefault(memory.get(name, name), set()).add(name)
            for name in node.writes:
                others = (o for o in known[memory.get(name, name)] if own.get(o, o) != own.get(name, name))
                if any(last.get(other, -1) > place for other in others):
                    return node
            known.setdefault(memory.get(node.name, node.name), set()).add(node.name)
        return None

    @property
    def untraced(self) -> str:
        """Why the reference could not be traced: it is judged without knowing what it does. Empty where it could."""
        return next((str(node.argument("why")) for node in self.nodes if node.op == UNTRACED), "")

    def behind(self, name: str) -> tuple[OpNode, ...]:
        """A node and all nodes that it depends on, the last one first."""
        wanted, found = {name}, []
        for node in reversed(self.nodes):
            if node.name in wanted:
                found.append(node)
                wanted.update(node.reads)
        return tuple(found)

    @property
    def flops(self) -> int:
        """Arithmetic operations of the whole graph."""
        return sum(node.flops for node in self.nodes)
