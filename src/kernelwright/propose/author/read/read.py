"""A task's graph as expressions, the operations among them that work on stored tensors, and what is stored between them.

What a product or a window made is stored (*held*) before it is read more than once: by two operations, by a window, at
places that are data, or by another product. Otherwise a network would be one expression, whose layers are computed once for
each time that the next one reads them. It is not held where pointwise operations make one value of it again (x * sigmoid(x)),
nor are the scores of attention, since one kernel makes both products.

An operation in place gives the tensor's every name its new value. Where memory that it writes to is read later as another
view, the task is refused: a value does not change when another one does. The export leaves no such writes.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from math import prod

from kernelwright.devices import kinds
from kernelwright.errors import ProposeError
from kernelwright.propose.author.fault import described
from kernelwright.propose.author.ir.expr import Call, Element, Load, Reduce, Scan, walk
from kernelwright.propose.author.ir.program import NARROW as HALVES
from kernelwright.propose.author.read.builder import FLOAT8, OPAQUE, Arguments, Builder, Result, Value, narrowed
from kernelwright.propose.author.read.dropout import DROPOUTS, UNDROPPED, dropped, drops, seed_of
from kernelwright.propose.author.read.losses import LOSSES
from kernelwright.propose.author.read.pointwise import POINTWISE
from kernelwright.propose.author.read.products import PRODUCTS
from kernelwright.propose.author.read.reductions import ORDERS, REDUCTIONS, SORTS, Sorting
from kernelwright.propose.author.read.views import VIEWS
from kernelwright.propose.author.read.windows import WINDOWS
from kernelwright.propose.author.read.writes import WRITES
from kernelwright.records.graph import ALIASES, OpGraph, OpNode, refs
from kernelwright.records.task import Target, Task
from kernelwright.records.tensor import TensorSpec

OPERATIONS: dict[str, Callable[[Builder, Arguments], Result]] = {
    **POINTWISE, **VIEWS, **REDUCTIONS, **LOSSES, **WINDOWS, **PRODUCTS, **ORDERS, **UNDROPPED, **WRITES,
}  # fmt: skip
"""Every operation that is read as an expression, by overload name."""
COMPARED = {"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne"}
AGAIN = {
    "max.other": "maximum.default", "min.other": "minimum.default", "multiply.Tensor": "mul.Tensor",
    "subtract.Tensor": "sub.Tensor", "divide.Tensor": "div.Tensor", "true_divide.Tensor": "div.Tensor",
    "negative.default": "neg.default", "absolute.default": "abs.default", "clip.default": "clamp.default",
    "special_expit.default": "sigmoid.default", "special_log1p.default": "log1p.default",
    **{f"{other}.{kind}": f"{name}.{kind}" for other, name in COMPARED.items() for kind in ("Tensor", "Scalar")},
}  # fmt: skip
"""What PyTorch has under a second name."""
OPERATIONS |= {f"aten.{other}": OPERATIONS[f"aten.{name}"] for other, name in AGAIN.items()}
HELD = ".held"
"""Ends the names of values that are stored."""


@dataclass(frozen=True)
class Stored:
    """An operation that reads stored tensors and stores its results."""

    node: OpNode
    inputs: tuple[tuple[str, Value], ...]
    """Tensor arguments by the name that the node knows them under."""
    results: tuple[TensorSpec, ...]
    why: str
    """Why it is no expression."""


@dataclass(frozen=True)
class Held:
    """A value that kernels store for others to read."""

    value: Value
    spec: TensorSpec


@dataclass(frozen=True)
class Ordered:
    """A sort, of which the first places are stored."""

    sorting: Sorting
    kept: Stored
    """The same as PyTorch's operation, for rows that no kernel sorts."""
    wanted: tuple[bool, ...]
    """Which of its results somebody reads."""


@dataclass
class Reading:
    """A graph that was read."""

    builder: Builder
    results: list[Value]
    """The task's outputs; the new values of its state are the last ones."""
    stored: list[Stored | Held | Ordered] = field(default_factory=list)
    """In order."""

    @property
    def kept(self) -> list[Stored]:
        """The operations that are no expressions."""
        return [step for step in self.stored if isinstance(step, Stored)]


def read(task: Task) -> Reading:
    """Every operation that an output depends on.

    Raises:
        ProposeError: an operation works in place on what others see, its results are not known, or the task changes its
            inputs, or changes its state unseen.
    """
    workload = task.workload
    if task.graph.untraced:
        raise ProposeError(f"{task.name!r} has no graph that the built-in author could read: {task.graph.untraced}")
    if {*workload.changes} - {*workload.state} or {*workload.state} - {p.name for p in workload.parameters}:
        raise ProposeError(
            f"{task.name!r} writes to its inputs, or to state that nobody compares, which the built-in author cannot write"
        )
    if (node := task.graph.stale(workload.state)) is not None:
        raise ProposeError(f"{node.op} ({node.name}) writes to memory that is read later as another view")
    return _Reader(task).read()


def live(graph: OpGraph, state: Iterable[str] = ()) -> list[OpNode]:
    """The operations that an output or the state depends on, in order."""
    own = graph.owners()
    wanted = {own.get(name, name) for name in (*graph.outputs, *state)}
    kept: list[OpNode] = []
    for node in reversed(graph.nodes):
        if not wanted.isdisjoint(own.get(name, name) for name in (node.name, *node.writes)):
            kept.append(node)
            wanted |= {own.get(name, name) for name in node.reads}
    return kept[::-1]


def _builder(target: Target) -> Builder:
    """With the floats of eight bits that the target has.

    NVIDIA rounds to one kind from compute capability 8.9 on; AMD's are others, or not in Triton for all devices. C++ has the
    bits of both, and rounds as PyTorch does since 2.12: before, what is too large was no number.
    """
    if kinds()[target.kind].gpu:
        return Builder(rounds=FLOAT8[:1] if target.capability >= 89 else ())
    saturates = tuple(map(int, version("torch").split(".")[:2])) >= (2, 12)
    return Builder(rounds=FLOAT8, opaque=[one for one in OPAQUE if one not in FLOAT8]) if saturates else Builder()


class _Reader:
    """Reads one graph, node after node."""

    def __init__(self, task: Task) -> None:
        self.task, self.builder = task, _builder(task.target)
        self.nodes = live(task.graph, task.workload.state)
        self.own = task.graph.owners()
        self.place = {node.name: n for n, node in enumerate(self.nodes)}
        self.users: dict[str, list[OpNode]] = {}
        """Who reads a tensor, under any of its names, in order."""
        for node in self.nodes:
            for name in dict.fromkeys(self._owner(name) for name in node.reads):
                self.users.setdefault(name, []).append(node)
        known = {spec.name: spec for spec in (*task.workload.tensors, *task.workload.parameters)}
        known |= {node.name: node.result[0] for node in self.nodes if node.result}
        self.shapes = {name: spec.shape for name, spec in known.items()}
        self.types = {name: spec.dtype for name, spec in known.items()}
        self.values: dict[str, Result] = {}
        self.stored: list[Stored | Held | Ordered] = []
        self.costly: set[str] = set()
        """Results that products or windows are part of, and that are not stored."""
        self.packs = not kinds()[task.target.kind].gpu
        """Whether products compute each element of their factors once, as they pack them: they look into joins."""
        self.repeated = REPEATED if self.packs else {*REPEATED, *JOINS}

    def read(self) -> Reading:
        """Every live operation, and then what the task returns."""
        workload = self.task.workload
        for spec in (*workload.tensors, *workload.parameters):
            self.values[spec.name] = self.builder.tensor(spec)
        for node in self.nodes:
            self._take(node)
        names = (*self.task.graph.outputs, *workload.state)
        return Reading(self.builder, [_single(self.values[name], name) for name in names], self.stored)

    def _take(self, node: OpNode) -> None:
        result = self._result(node)
        self.values[node.name] = result
        if node.in_place:
            for name in node.writes:
                if result is not self.values[name]:
                    self._overwrite(name, result, node)
        self._hold(node)

    def _result(self, node: OpNode) -> Result:
        if node.op in SORTS:
            return self._sorted(node)
        if (
            _as_a_function(node) in DROPOUTS
            and self.task.target.kind == "cuda"
            and drops(given := Arguments(node, self.values))
        ):
            return self._dropped(node, given)
        rule = OPERATIONS.get(_as_a_function(node))
        if rule is None:
            return self._kept(node, KEPT.get(node.packet.removesuffix("_"), "no family of kernels has it"))
        given = Arguments(node, self.values)
        if node.packet != "getitem" and (opaque := next((n for n in node.reads if self._is_opaque(n)), None)):
            why = f"it reads numbers of type {self.types[opaque]}, which no kernel of the author does"
            return self._kept(node, why)
        try:
            found = rule(self.builder, given)
        except ProposeError as error:
            return self._kept(node, str(error))
        except Exception as error:  # noqa: BLE001 (a fault in the reading of one operation leaves that one to PyTorch)
            return self._kept(node, described(error, f"{node.op} ({node.name})"))
        for name, value in given.changed.items():
            self._overwrite(name, value, node)
        return (
            narrowed(self.builder, found, node.result[0].dtype) if isinstance(found, Value) and node.result else found
        )

    def _is_opaque(self, name: str) -> bool:
        """Whether the name's elements have a type that is only stored, and are there as a tensor."""
        value = self.values.get(name)
        return self.types.get(name) in self.builder.opaque and isinstance(value, Value) and isinstance(value.expr, Load)

    def _dropped(self, node: OpNode, given: Arguments) -> Result:
        """A dropout, with its seed among what is stored."""
        draw = seed_of(node)
        self.stored.append(Stored(draw, (), draw.result, "a seed is PyTorch's to draw"))
        seed = self.builder.tensor(draw.result[0])
        found = dropped(self.builder, given, seed, DROPOUTS[_as_a_function(node)])
        return narrowed(self.builder, found, node.result[0].dtype)

    def _overwrite(self, name: str, result: Result, node: OpNode) -> None:
        """Every name of a tensor stands for its new value from now on."""
        owner = self._owner(name)
        inputs = {spec.name for spec in self.task.workload.tensors}
        parameters = {spec.name for spec in self.task.workload.parameters} - {*self.task.workload.state}
        if owner in inputs | parameters:
            raise ProposeError(f"{node.op} ({node.name}) changes a tensor that others may see")
        self._put(owner, result)

    def _owner(self, name: str) -> str:
        return self.own.get(name, name)

    def _put(self, owner: str, result: Result) -> None:
        for name in (owner, *(alias for alias, of in self.own.items() if of == owner)):
            self.values[name] = result

    def _kept(self, node: OpNode, why: str) -> Result:
        if node.writes and not (node.in_place and node.result):
            raise ProposeError(f"{node.op} ({node.name}): {why}, and it changes a tensor that others may see")
        unknown = next((name for name in node.reads if name not in self.values), None)
        if unknown is not None:
            raise ProposeError(f"{node.op} ({node.name}) reads {unknown!r}, which is no tensor that the author knows")
        kept = self._as_it_was(node.model_copy(update={"op": _as_a_function(node)}), why)
        self.stored.append(kept)
        return self._results(kept)

    def _results(self, kept: Stored) -> Result:
        found = tuple(self.builder.tensor(spec) for spec in kept.results)
        return found if len(found) > 1 else found[0]

    def _as_it_was(self, node: OpNode, why: str) -> Stored:
        if not node.result:
            raise ProposeError(f"{node.op} ({node.name}): {why}")
        inputs = tuple((name, _single(self.values[name], name)) for name in node.reads)
        many = len(node.result) > 1
        results = tuple(
            spec.model_copy(update={"name": f"{node.name}.{n}" if many else node.name})
            for n, spec in enumerate(node.result)
        )
        return Stored(node, inputs, results, why)

    def _sorted(self, node: OpNode) -> Result:
        """The results of a sort: kernels store what somebody reads of them."""
        try:
            sorting = SORTS[node.op](self.builder, Arguments(node, self.values))
        except ProposeError as error:
            return self._kept(node, str(error))
        counted = sorting.value.expr.kind == "int"
        if counted and (sorting.results[0] == "place" or node.result[0].dtype == "int64"):
            return self._kept(node, "a sort of numbers that may have 64 bits")
        kept = self._as_it_was(node, "rows that are too long for one program")
        taken = {a.value for user in self._readers(node) for a in user.arguments if "getitem" in user.op}
        every = len(node.result) < 2
        self.stored.append(Ordered(sorting, kept, tuple(every or n in taken for n in range(len(node.result)))))
        return self._results(kept)

    # What is stored before others read it.

    def _hold(self, node: OpNode) -> None:
        value = self.values[node.name]
        made = _as_a_function(node) in self.repeated or any(name in self.costly for name in node.reads)
        if not isinstance(value, Value):
            return
        again = (made or _combines(value)) and (self._read_again(node, value, made) or self._picked(node))
        if again or self._multiplied(node, value) or self._is_a_narrow_factor(node, value):
            spec = TensorSpec(name=f"{node.name}{HELD}", shape=node.result[0].shape, dtype=node.result[0].dtype)
            self.stored.append(Held(value, spec))
            self._put(self._owner(node.name), self.builder.tensor(spec))
        elif made:
            self.costly.add(node.name)

    def _read_again(self, node: OpNode, value: Value, made: bool) -> bool:
        """Whether others would compute the value more than once if it were not stored."""
        users = self._readers(node)
        if any(_as_a_function(user) in WINDOWS and not _is_one_window(user) for user in users):
            return True
        if not made or not users or _are_weights(value):
            return False
        parts = any(len(user.result) > 1 and user.packet in ALIASES for user in users)
        if parts or any(_as_a_function(user) in {*PRODUCTS, *JOINS} for user in users):
            return True
        return len(users) > 1 and not self._rejoins(node)

    def _picked(self, node: OpNode) -> bool:
        """Whether others take elements at places that are data, as many as there are or more: each would be reduced anew."""
        picking = [
            user for user in self._readers(node) if _as_a_function(user) in PICKS and _picks_from(user, node.name)
        ]
        return bool(picking) and sum(prod(user.result[0].shape) for user in picking) >= prod(node.result[0].shape) > 0

    def _multiplied(self, node: OpNode, value: Value) -> bool:
        """Whether a product reads each element so often that to compute it as it is read costs more than to store it."""
        if self.packs or _combines(value) or not _computes(value):
            return False
        products = [user for user in self._readers(node) if _as_a_function(user) in {*PRODUCTS, *CONVOLUTIONS}]
        return any(self._times(node.name, user) >= OFTEN for user in products)

    def _is_a_narrow_factor(self, node: OpNode, value: Value) -> bool:
        """Whether a product on a GPU reads halves that are made of something wider: tensor cores are fastest with 16 bits."""
        if self.packs or not node.result or node.result[0].dtype not in HALVES:
            return False
        names = {one.name.removesuffix(HELD) for one in walk(value.expr) if isinstance(one, Load | Element)}
        if all(self.types.get(name, "float16") in HALVES for name in names):
            return False
        products = [user for user in self._readers(node) if _as_a_function(user) in {*PRODUCTS, *CONVOLUTIONS}]
        return any(node.name not in _added(product) for product in products)

    def _times(self, name: str, product: OpNode) -> float:
        """How often a product's tiles read each element of a factor.

        A matrix of M by K is read for each of N columns, which is the root of what the sizes of the result and of the other
        factor come to over its own; so is what a convolution's filters read, and that once for each place of their window.
        """
        added = _added(product)
        if name in added:
            return 0
        others = [self.shapes[other] for other in product.reads if other not in {name, *added}]
        columns = math.sqrt(
            prod(product.result[0].shape) * max(map(prod, others), default=1) / max(1, prod(self.shapes[name]))
        )
        window = prod(others[0][2:]) if others and _as_a_function(product) in CONVOLUTIONS else 1
        return window * math.ceil(columns / math.sqrt(window) / TILE) if columns >= NARROW else 0

    def _rejoins(self, node: OpNode) -> bool:
        """Whether all that is made of the value is pointwise until it is one value again: then one kernel makes both."""
        made, outside = {node.name}, {*self.task.graph.outputs, *self.task.workload.state}
        for user in self.nodes[self.place[node.name] + 1 :]:
            if made.isdisjoint(user.reads):
                continue
            alike = bool(user.result) and user.result[0].shape == node.result[0].shape and not user.writes
            if not alike or user.op not in {*POINTWISE, *COPIES}:
                return False
            made.add(user.name)
            open_ends = {m for m in made if m in outside or any(r.name not in made for r in self.users.get(m, ()))}
            if open_ends <= {user.name}:
                return True
        return False

    def _readers(self, node: OpNode) -> list[OpNode]:
        """Who reads what this operation made, until another one changes it in place."""
        readers: list[OpNode] = []
        for user in self.users.get(self._owner(node.name), []):
            if self.place[user.name] > self.place[node.name]:
                readers.append(user)
                if self._owner(node.name) in map(self._owner, user.writes):
                    break
        return readers


KEPT = {
    **dict.fromkeys(
        ("lstm", "gru", "rnn_tanh", "rnn_relu"),
        "a recurrent layer of many steps or with a projection, which PyTorch has as one operation",
    ),
    **dict.fromkeys(
        ("scatter_reduce", "scatter", "scatter_add", "index_add", "index_reduce", "index_copy", "index_fill", "put"),
        "it writes to positions that are data, of which two may be one",
    ),
}
"""Why an operation is PyTorch's, for some that are asked for."""
COPIES = tuple(
    f"aten.{n}"
    for n in ("clone.default", "detach.default", "alias.default", "_to_copy.default", "to.dtype", "to.device")
)
"""Operations that give the value itself."""
JOINS = ("aten.cat.default", "aten.concat.default", "aten.stack.default")
"""Operations whose results are their inputs side by side: whoever reads one looks into all of its inputs."""
CONVOLUTIONS = tuple(op for op in WINDOWS if "conv" in op)
PICKS = tuple(f"aten.{n}" for n in ("index.Tensor", "gather.default", "index_select.default", "embedding.default"))
"""Operations that take elements at places that are data."""
ADDED = ("bias", "attn_mask")
"""Arguments of products that are no factors."""
TILE = 128
"""Columns of a product that one program makes of what it reads."""
OFTEN, NARROW = 3, 32
"""Times that an element is read, and columns that there are, from which on its value is stored before it is multiplied."""
REPEATED = frozenset({*PRODUCTS, *WINDOWS})
"""Operations that read each element many times."""


def _picks_from(node: OpNode, name: str) -> bool:
    """Whether the named value is what an operation of PICKS takes elements of."""
    return any(ref.ref == name for argument in ("self", "weight") for ref in refs(node.argument(argument)))


def _is_one_window(node: OpNode) -> bool:
    """Whether it is an adaptive mean with one result for each channel, which reads every element once."""
    size = node.argument("output_size")
    return "adaptive_avg_pool" in node.op and isinstance(size, list | tuple) and set(size) == {1}


def _as_a_function(node: OpNode) -> str:
    """The overload that gives as a new tensor what this one gives."""
    return node.op.replace(f".{node.packet}.", f".{node.packet[:-1]}.", 1) if node.in_place else node.op


def _added(product: OpNode) -> set[str]:
    """What a product adds: no factors."""
    added = {ref.ref for one in ADDED for ref in refs(product.argument(one))}
    return added | {ref.ref for ref in refs(product.argument("self"))} if "add" in product.packet else added


def _combines(value: Value) -> bool:
    """Whether several elements make one of the value's."""
    return any(isinstance(n, Reduce | Scan) for n in walk(value.expr))


def _computes(value: Value) -> bool:
    """Whether the value is more than elements of tensors, of which some may be filled in or converted."""
    return any(isinstance(n, Call) and n.kind == "float" and n.op not in ("where", "float") for n in walk(value.expr))


def _are_weights(value: Value) -> bool:
    """Whether this is a softmax, as attention has it."""
    match value.expr:
        case Call(op="div", args=(Call(op="exp"), Reduce(op="sum"))):
            return True
    return False


def _single(result: Result, name: str) -> Value:
    if isinstance(result, Value):
        return result
    raise ProposeError(f"{name!r} is several results at once")
