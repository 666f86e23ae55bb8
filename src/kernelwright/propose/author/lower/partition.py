"""Which operations become one kernel, and which stay as they were.

Each result is one expression over everything before it. The families are asked in turn. One takes the expression as it is,
or names parts that must be stored first; these become kernels of their own (`kernels.py`), and the expression reads their
buffers.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from kernelwright.errors import ProposeError
from kernelwright.propose.author.emit.scope import identifiers
from kernelwright.propose.author.ir.axes import Settler, Shape
from kernelwright.propose.author.ir.expr import Const, Element, Index, Kind, Load, Order, Reduce, walk
from kernelwright.propose.author.ir.positions import every, flattened, plus, quotient, remainder, times, within
from kernelwright.propose.author.ir.program import NARROW, Kept, Kernel, Program, Root, Scatter, Step, Tensor
from kernelwright.propose.author.lower.kernels import Families, Kernels
from kernelwright.propose.author.read.builder import Arguments, Value
from kernelwright.propose.author.read.read import Held, Ordered, Reading, Stored
from kernelwright.propose.author.read.writes import added
from kernelwright.propose.author.rules.algebra import rewritten
from kernelwright.propose.author.rules.split_reduction import at_position
from kernelwright.propose.author.rules.table import Rules
from kernelwright.records.task import Task
from kernelwright.records.tensor import DType, TensorSpec

PIECE = 2048
"""Elements of a long row that are sorted at a time."""
MANY = 512 * PIECE
"""Elements from which on more pieces are sorted than a large device sorts at once."""
LESS = 8
"""How many times fewer elements must be sorted where the groups that have them are looked for first."""


def partition(task: Task, reading: Reading, families: Families, rules: Rules) -> Program:
    """The task as a program.

    Raises:
        ProposeError: a part that no family has and that cannot stay as it was.
    """
    return _Partition(task, reading, families, rules).program()


class _Partition:
    def __init__(self, task: Task, reading: Reading, families: Families, rules: Rules) -> None:
        self.task = task
        self.reading = reading
        self.kernels = Kernels(task, Settler(reading.builder.axes), families, rules)
        self.rules = rules
        self.rewritten: dict[str, None] = {}
        """Names of rules of algebra that were used."""
        self.shared = self._shared() if rules.stores_shared else frozenset()
        """Reductions that more than one operation reads."""

    def program(self) -> Program:
        workload = self.task.workload
        specs = (*workload.tensors, *workload.parameters)
        names = identifiers([s.name for s in specs])
        arguments = tuple(_tensor(spec, name) for spec, name in zip(specs, names, strict=True))
        self.kernels.tensors = {t.name: t for t in arguments}
        self.kernels.taken = {t.identifier for t in arguments} | {"out"}
        many = len(workload.outputs) > 1
        outputs = tuple(_tensor(s, f"out{n}" if many else "out") for n, s in enumerate(workload.outputs))
        for step in self.reading.stored:
            if isinstance(step, Held):
                self._held(step)
            elif isinstance(step, Ordered):
                self._ordered(step)
            else:
                self._keep(step)
        roots = [self._root(value, tensor) for value, tensor in zip(self.reading.results, outputs, strict=True)]
        for place, root in enumerate(roots):
            whole = self._kept_whole(root)
            if whole is not None and whole not in outputs:
                self.kernels.buffers = [buffer for buffer in self.kernels.buffers if buffer != whole]
                outputs = (*outputs[:place], whole, *outputs[place + 1 :])
            else:
                self.kernels.emit(root)
        if not any(isinstance(step, Kernel) for step in self.kernels.steps):
            raise ProposeError(f"{self.task.name!r}: {_nothing(self.kernels.steps)}")
        name, kernels = identifiers([self.task.name])[0], self.kernels
        state = tuple(kernels.tensors[name] for name in workload.state)
        program = Program(
            name, arguments, outputs, tuple(kernels.buffers), tuple(kernels.steps), state, tuple(self.rewritten)
        )
        for rule in self.rules.programs:
            program = rule(program, self.task, kernels.families)
        return program

    def _shared(self) -> frozenset[str]:
        """Reductions that more than one operation reads."""
        values = [step.value for step in self.reading.stored if isinstance(step, Held)]
        readers: dict[str, set[str]] = {}
        for node in walk(*(self.kernels.settler.settle(value.expr) for value in (*values, *self.reading.results))):
            for child in node.children:
                if isinstance(child, Reduce):
                    readers.setdefault(child.key, set()).add(node.key)
        return frozenset(key for key, by in readers.items() if len(by) > 1)

    def _kept_whole(self, root: Root) -> Tensor | None:
        """The result of a step that is this very output."""
        given = {t.name for t in self.task.workload.tensors} | {p.name for p in self.task.workload.parameters}
        match root.expr:
            case Element(name=name, index=index, inside=None) if index == tuple(Index(a) for a in root.axes):
                found = self.kernels.tensors[name]
                same = found.shape == root.tensor.shape and found.dtype == root.tensor.dtype
                return found if same and name not in given else None
        return None

    def _root(self, value: Value, tensor: Tensor) -> Root:
        axes = self.reading.builder.axes.resolve(tuple(a for dim in value.shape for a in dim))
        shape = tuple(self.reading.builder.axes.size(dim) for dim in value.shape)
        if len(set(axes)) < len(axes) or shape != tensor.shape:
            raise ProposeError(f"output {tensor.name!r} of shape {list(tensor.shape)} takes a diagonal")
        root = Root(tensor, axes, self.kernels.settler.settle(value.expr))
        root, names = rewritten(root, self.kernels, self.rules.algebra, self.shared)
        self.rewritten |= dict.fromkeys(names)
        return root

    # Operations that stay.

    def _keep(self, kept: Stored) -> None:
        if self._scattered(kept):
            return
        inputs = {name: self._whole(value, name) for name, value in kept.inputs}
        results = []
        for spec in kept.results:
            tensor = _tensor(spec, self.kernels.fresh(spec.name))
            self.kernels.tensors[spec.name] = tensor
            results.append(tensor)
        self.kernels.steps.append(Kept(kept.node, inputs, tuple(results), kept.why))

    def _held(self, held: Held) -> None:
        tensor = _tensor(held.spec, self.kernels.fresh(held.spec.name))
        self.kernels.buffers.append(tensor)
        self.kernels.emit(self._root(held.value, tensor))
        self.kernels.tensors[held.spec.name] = tensor

    def _ordered(self, step: Ordered) -> None:
        """A sort as one kernel for all of its results, or PyTorch's where no kernel has rows of this length."""
        sorting, axes = step.sorting, self.reading.builder.axes
        (axis,) = axes.resolve(sorting.value.shape[sorting.dim])
        place = (axes.single(sorting.count),)
        shape = (*sorting.value.shape[: sorting.dim], place, *sorting.value.shape[sorting.dim + 1 :])
        order, arg = axes.resolve(_flat(shape)), self.kernels.settler.settle(sorting.value.expr)
        node = Order(arg, axis, place[0], Index(axis), sorting.descending, kind=arg.kind)
        roots: list[Root] = []
        for what, spec, wanted in zip(sorting.results, step.kept.results, step.wanted, strict=True):
            tensor = _tensor(spec, self.kernels.fresh(spec.name)) if wanted else None
            if tensor is not None:
                kind: Kind = arg.kind if what == "value" else "int"
                roots.append(Root(tensor, order, replace(node, what=what, kind=kind)))
        if not self._sorted(tuple(roots)):
            self._keep(step.kept)
            return
        self.kernels.buffers += [root.tensor for root in roots]
        self.kernels.tensors |= {root.tensor.name: root.tensor for root in roots}

    def _sorted(self, roots: tuple[Root, ...]) -> bool:
        """Add the kernels of a sort; of long rows a part is sorted at a time, of which the first places are sorted again."""
        while (left := self.kernels.emit_together(roots)) is not None:
            found = [r.expr for r in left if isinstance(r.expr, Order)]
            shorter = self._in_best_groups(found[0], left[0].axes) or self._first_of_parts(found[0], left[0].axes)
            if shorter is None:
                return False
            roots = tuple(replace(r, expr=_over(o, shorter)) for r, o in zip(left, found, strict=True))
        return True

    def _in_best_groups(self, node: Order, axes: Sequence[int]) -> Order | None:
        """The same places among groups of neighbours alone; None where that would not leave much less to sort.

        Elements that are among the n largest lie in the n groups that have the largest maxima, of equal ones in the first.
        """
        length, count = self.kernels.settler.size(node.axis), self.kernels.settler.size(node.place)
        rows = tuple(a for a in axes if a in node.arg.axes and a != node.place)
        many = length * prod(map(self.kernels.settler.size, rows)) >= MANY and 4 * count <= PIECE
        each = 1 << ((length // count).bit_length() // 2)
        left = length // each + count * each
        if not many or length % each or left * LESS > length or not node.descending or node.arg.kind != "float":
            return None
        group, inner, spot, together = map(
            self.kernels.settler.axes.single, (length // each, each, count, count * each)
        )
        best = Reduce("amax", at_position(node.arg, node.axis, plus(times(Index(group), each), Index(inner))), (inner,))
        first = replace(
            node, arg=self.kernels.store(best, (*rows, group)), axis=group, place=spot, position=Index(group)
        )
        chosen = self._places(replace(first, what="place", kind="int"), (*rows, spot))
        index = (*map(Index, rows), quotient(Index(together), each))
        of = Element(chosen.name, chosen.shape, index, "int")
        at = plus(times(of, each), remainder(Index(together), each))
        arg, position = (at_position(expr, node.axis, at) for expr in (node.arg, node.position))
        return replace(node, arg=arg, axis=together, position=position)

    def _places(self, node: Order, axes: tuple[int, ...]) -> Tensor:
        """A buffer for where the first elements of a row are."""
        name = self.kernels.fresh("part")
        tensor = Tensor(name, name, tuple(map(self.kernels.settler.size, axes)), "int64", (0,))
        self._sorted((Root(tensor, axes, node),))
        self.kernels.buffers.append(tensor)
        self.kernels.tensors[name] = tensor
        return tensor

    def _first_of_parts(self, node: Order, axes: Sequence[int]) -> Order | None:
        """The first places of each part of a row, as what is sorted in its stead."""
        length, count = self.kernels.settler.size(node.axis), self.kernels.settler.size(node.place)
        if length <= PIECE or 4 * count > PIECE:
            return None
        pieces = -(-length // PIECE)
        outer, inner, spot, together = map(self.kernels.settler.axes.single, (pieces, PIECE, count, pieces * count))
        at = plus(times(Index(outer), PIECE), Index(inner))
        inside = within(at, length, self.kernels.settler.size)
        arg, position = at_position(node.arg, node.axis, at, inside), at_position(node.position, node.axis, at)
        part = replace(node, arg=arg, axis=inner, place=spot, position=position, inside=inside, what="key", kind="int")
        keys = self.kernels.store(part, [*(a for a in axes if a != node.place), outer, spot])
        along = (*(a for a in axes if a in node.arg.axes), together)
        sizes = tuple(map(self.kernels.settler.size, along))
        element = Element(keys.name, sizes, tuple(map(Index, along)), "int") if isinstance(keys, Element) else keys
        return replace(node, arg=element, axis=together, position=Index(together), packed=True, inside=None)

    def _scattered(self, kept: Stored) -> bool:
        """Whether the operation adds to places that are data: a kernel sums up what goes there; what was there joins it."""
        builder, (spec, *_) = self.reading.builder, kept.results
        given = added(builder, Arguments(kept.node, dict(kept.inputs)))
        if given is None:
            return False
        empty = isinstance(given.target.expr, Const) and not given.target.expr.value
        summed = spec if empty and spec.dtype not in NARROW else spec.model_copy(update=_summed(spec))
        sums = _tensor(summed, self.kernels.fresh(summed.name))
        self.kernels.settler = Settler(builder.axes)  # what it knows is over axes of which two may be one now
        places = [self.kernels.settler.settle(place.expr) for place in given.places]
        inside = every([within(p, n, self.kernels.settler.size) for p, n in zip(places, spec.shape, strict=True)])
        axes = builder.axes.resolve(_flat(given.source.shape))
        value = self.kernels.settler.settle(given.source.expr)
        self.kernels.buffers.append(sums)
        self.kernels.emit(Root(sums, axes, value, Scatter(flattened(places, spec.shape), inside)))
        self.kernels.tensors[summed.name] = sums
        if summed != spec:
            found = builder.call("add", given.target, builder.tensor(summed))
            self.kernels.settler = Settler(builder.axes)
            self._held(Held(found, spec))
        return True

    def _whole(self, value: Value, name: str) -> Tensor:
        """The value as a tensor in memory: the very tensor that it is, or a buffer."""
        axes = self.reading.builder.axes
        shape = tuple(axes.size(dim) for dim in value.shape)
        match value.expr:
            case Load(name=stored, along=along) if axes.resolve(along) == axes.resolve(_flat(value.shape)):
                found = self.kernels.tensors[stored]
                if found.shape == shape and found.dtype == self._dtype_of(name, found.dtype):
                    return found
        dtype = {"float": self.kernels.float(), "int": "int64", "bool": "bool"}[value.expr.kind]
        spec = TensorSpec(name=name, shape=shape, dtype=self._dtype_of(name, dtype))
        tensor = _tensor(spec, self.kernels.fresh(name))
        self.kernels.buffers.append(tensor)
        self.kernels.emit(self._root(value, tensor))
        self.kernels.tensors[name] = tensor
        return tensor

    def _dtype_of(self, name: str, default: str) -> DType:
        """What the graph says that a node's result is."""
        node = next((n for n in self.task.graph.nodes if n.name == name and n.result), None)
        return node.result[0].dtype if node else default  # type: ignore[return-value]


def _summed(spec: TensorSpec) -> dict[str, str]:
    """What is told apart of the sums that are added to such a tensor: halves would lose what they add."""
    return {"name": f"{spec.name}.sums", "dtype": "float32" if spec.dtype in NARROW else spec.dtype}


def _flat(shape: Shape) -> tuple[int, ...]:
    return tuple(axis for dim in shape for axis in dim)


def _over(node: Order, shorter: Order) -> Order:
    """The same places of a shorter row."""
    return replace(shorter, place=node.place, what=node.what, kind=node.kind)


def _nothing(steps: Sequence[Step]) -> str:
    named = ", ".join(dict.fromkeys(f"{s.node.op} ({s.why})" for s in steps if isinstance(s, Kept)))
    return f"the built-in author has no kernel for {named}: PyTorch would do all of it. Use a language model for this task."


def _tensor(spec: TensorSpec, identifier: str) -> Tensor:
    return Tensor(spec.name, identifier, spec.shape, spec.dtype, (0,) * bool(spec.shape), spec.domain)
