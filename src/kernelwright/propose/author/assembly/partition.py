"""Which operations become one kernel, and which stay as they were.

Each result is one expression over everything before it. The families are asked in turn. One takes the expression as it is,
or names parts that must be stored first; these become kernels of their own, and the expression reads their buffers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod

from kernelwright.errors import ProposeError
from kernelwright.propose.author.algebra.table import rewritten
from kernelwright.propose.author.assembly.layouts import laid_out
from kernelwright.propose.author.assembly.moments import of_row, of_stretch, squared_distances, stretches
from kernelwright.propose.author.assembly.shares import (
    at_position,
    beside_each_other,
    cut_axis,
    innermost,
    nothing_outside,
    shared_along,
    shares_of_product,
    shares_of_rows,
)
from kernelwright.propose.author.assembly.tiles import over_tiles
from kernelwright.propose.author.assembly.together import together
from kernelwright.propose.author.families.family import Family, Match
from kernelwright.propose.author.families.product.plan import rounds_factors
from kernelwright.propose.author.families.strided.plan import stride
from kernelwright.propose.author.plan.builder import Arguments, Shape, Value
from kernelwright.propose.author.plan.expr import (
    Call,
    Const,
    Element,
    Expr,
    Index,
    Kind,
    Load,
    Order,
    Reduce,
    rebuild,
    walk,
)
from kernelwright.propose.author.plan.lower import identifiers
from kernelwright.propose.author.plan.plan import Tensor
from kernelwright.propose.author.plan.positions import flattened, plus, times, within
from kernelwright.propose.author.plan.program import Kept, Kernel, Part, Program, Root, Scatter, Step, heavies
from kernelwright.propose.author.plan.read import Held, Ordered, Reading, Stored
from kernelwright.propose.author.plan.settle import Settler
from kernelwright.propose.author.plan.sides import sides
from kernelwright.records.task import Task
from kernelwright.records.tensor import DType, TensorSpec

MOST_KERNELS = 1024
"""Kernels of one program: more than any network needs that is worth reading."""
LONG_ROW, LONG_APART = 1 << 15, 1 << 10
"""Elements of a row from which on no program holds it, where they lie together and where they lie apart."""
PIECE = 2048
"""Elements of a long row that are sorted at a time."""
GAIN = 1.25
"""How many times less two kernels must take by estimate than one."""
SCATTERS = ("aten.scatter_add_.default", "aten.scatter_add.default")
Families = Sequence[Family]


def partition(task: Task, reading: Reading, families: Families) -> Program:
    """The task as a program.

    Raises:
        ProposeError: a part that no family has and that cannot stay as it was.
    """
    return _Partition(task, reading, families).program()


@dataclass
class _Partition:
    task: Task
    reading: Reading
    families: Families
    tensors: dict[str, Tensor] = field(default_factory=dict)
    buffers: list[Tensor] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    stored: dict[str, Expr] = field(default_factory=dict)
    """What is read in place of an expression that has been stored."""
    shares: dict[tuple[str, tuple[int, ...]], Expr] = field(default_factory=dict)
    """Long reductions as reductions over stored shares."""
    rules: dict[str, None] = field(default_factory=dict)
    several: frozenset[str] = frozenset()
    """Reductions that more than one operation reads."""

    def program(self) -> Program:
        workload = self.task.workload
        specs = (*workload.tensors, *workload.parameters)
        self.settler = Settler(self.reading.builder.axes)
        names = identifiers([s.name for s in specs])
        arguments = tuple(_tensor(spec, name) for spec, name in zip(specs, names, strict=True))
        self.tensors = {t.name: t for t in arguments}
        self.taken = {t.identifier for t in arguments} | {"out"}
        many = len(workload.outputs) > 1
        outputs = tuple(_tensor(s, f"out{n}" if many else "out") for n, s in enumerate(workload.outputs))
        self.several = self._read_in_several_ways()
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
                self.buffers = [buffer for buffer in self.buffers if buffer != whole]
                outputs = (*outputs[:place], whole, *outputs[place + 1 :])
            else:
                self._emit(root)
        if not any(isinstance(step, Kernel) for step in self.steps):
            raise ProposeError(f"{self.task.name!r}: {_nothing(self.steps)}")
        name, steps, buffers = identifiers([self.task.name])[0], together(self.steps, self.families), self.buffers
        if self.task.target.kind != "cpu":
            steps, buffers = laid_out(steps, buffers, self.families, partial(rounds_factors, self.task))
        state = tuple(self.tensors[name] for name in workload.state)
        return Program(name, arguments, outputs, tuple(buffers), tuple(steps), state, tuple(self.rules))

    def _read_in_several_ways(self) -> frozenset[str]:
        """Reductions that more than one operation reads: a GPU's kernels store those of products in any case."""
        if self.task.target.kind == "cpu":
            return frozenset()
        values = [step.value for step in self.reading.stored if isinstance(step, Held)]
        readers: dict[str, set[str]] = {}
        for node in walk(*(self.settler.settle(value.expr) for value in (*values, *self.reading.results))):
            for child in node.children:
                if isinstance(child, Reduce):
                    readers.setdefault(child.key, set()).add(node.key)
        return frozenset(key for key, by in readers.items() if len(by) > 1)

    def _kept_whole(self, root: Root) -> Tensor | None:
        """The result of a step that is this very output."""
        given = {t.name for t in self.task.workload.tensors} | {p.name for p in self.task.workload.parameters}
        match root.expr:
            case Element(name=name, index=index, inside=None) if index == tuple(Index(a) for a in root.axes):
                found = self.tensors[name]
                same = found.shape == root.tensor.shape and found.dtype == root.tensor.dtype
                return found if same and name not in given else None
        return None

    def _root(self, value: Value, tensor: Tensor) -> Root:
        expr, rules = rewritten(self.settler.settle(value.expr), self.settler.size, self.several)
        self.rules |= dict.fromkeys(rules)
        axes = self.reading.builder.axes.resolve(tuple(a for dim in value.shape for a in dim))
        shape = tuple(self.reading.builder.axes.size(dim) for dim in value.shape)
        if len(set(axes)) < len(axes) or shape != tensor.shape:
            raise ProposeError(f"output {tensor.name!r} of shape {list(tensor.shape)} takes a diagonal")
        return Root(tensor, axes, expr)

    # Operations that stay.

    def _keep(self, kept: Stored) -> None:
        if self._scattered(kept):
            return
        inputs = {name: self._whole(value, name) for name, value in kept.inputs}
        results = []
        for spec in kept.results:
            tensor = _tensor(spec, self._fresh(spec.name))
            self.tensors[spec.name] = tensor
            results.append(tensor)
        self.steps.append(Kept(kept.node, inputs, tuple(results), kept.why))

    def _held(self, held: Held) -> None:
        tensor = _tensor(held.spec, self._fresh(held.spec.name))
        self.buffers.append(tensor)
        self._emit(self._root(held.value, tensor))
        self.tensors[held.spec.name] = tensor

    def _ordered(self, step: Ordered) -> None:
        """A sort as one kernel for all of its results, or PyTorch's where no kernel has rows of this length."""
        sorting, axes = step.sorting, self.reading.builder.axes
        (axis,) = axes.resolve(sorting.value.shape[sorting.dim])
        place = (axes.single(sorting.count),)
        shape = (*sorting.value.shape[: sorting.dim], place, *sorting.value.shape[sorting.dim + 1 :])
        order, arg = axes.resolve(_flat(shape)), self.settler.settle(sorting.value.expr)
        node = Order(arg, axis, place[0], Index(axis), sorting.descending, kind=arg.kind)
        roots: list[Root] = []
        for what, spec, wanted in zip(sorting.results, step.kept.results, step.wanted, strict=True):
            tensor = _tensor(spec, self._fresh(spec.name)) if wanted else None
            if tensor is not None:
                kind: Kind = arg.kind if what == "value" else "int"
                roots.append(Root(tensor, order, replace(node, what=what, kind=kind)))
        if not self._sorted(tuple(roots)):
            self._keep(step.kept)
            return
        self.buffers += [root.tensor for root in roots]
        self.tensors |= {root.tensor.name: root.tensor for root in roots}

    def _sorted(self, roots: tuple[Root, ...]) -> bool:
        """Add the kernels of a sort; of long rows a part is sorted at a time, of which the first places are sorted again."""
        while True:
            part = self._part(*roots)
            family, match = self._asked(part)
            if match.plan is not None:
                self.steps.append(Kernel(family.name, part, match.plan))
                return True
            changed = {node.key: self._store(node, roots[0].axes) for node in match.store}
            if not changed:
                found = [r.expr for r in roots if isinstance(r.expr, Order)]
                shorter = self._first_of_parts(found[0], roots[0].axes)
                if shorter is None:
                    return False
                roots = tuple(replace(r, expr=_over(o, shorter)) for r, o in zip(roots, found, strict=True))
            else:
                roots = tuple(replace(r, expr=_replaced(r.expr, changed)) for r in roots)

    def _first_of_parts(self, node: Order, axes: Sequence[int]) -> Order | None:
        """The first places of each part of a row, as what is sorted in its stead."""
        length, count = self.settler.size(node.axis), self.settler.size(node.place)
        if length <= PIECE or 4 * count > PIECE:
            return None
        pieces = -(-length // PIECE)
        outer, inner, spot, together = map(self.settler.axes.single, (pieces, PIECE, count, pieces * count))
        at = plus(times(Index(outer), PIECE), Index(inner))
        inside = within(at, length, self.settler.size)
        arg, position = at_position(node.arg, node.axis, at, inside), at_position(node.position, node.axis, at)
        part = replace(node, arg=arg, axis=inner, place=spot, position=position, inside=inside, what="key", kind="int")
        keys = self._store(part, [*(a for a in axes if a != node.place), outer, spot])
        along = (*(a for a in axes if a in node.arg.axes), together)
        sizes = tuple(map(self.settler.size, along))
        element = Element(keys.name, sizes, tuple(map(Index, along)), "int") if isinstance(keys, Element) else keys
        return replace(node, arg=element, axis=together, position=Index(together), packed=True, inside=None)

    def _scattered(self, kept: Stored) -> bool:
        """Whether the operation adds to places of an empty tensor, as a kernel of ours does."""
        if kept.node.op not in SCATTERS:
            return False
        given = Arguments(kept.node, dict(kept.inputs))
        target, index, source = (given.tensor(name) for name in ("self", "index", "src"))
        if not isinstance(target.expr, Const) or target.expr.value:
            return False
        builder, dim = self.reading.builder, int(given.number("dim", 0)) % len(index.shape)
        sizes = [builder.axes.size(d) for d in index.shape]
        if sizes != [builder.axes.size(d) for d in source.shape]:
            return False
        (index, source), shape = builder.aligned([index, source])
        self.settler = Settler(builder.axes)  # what it knows is over axes of which two may be one now
        place, value = self.settler.settle(index.expr), self.settler.settle(source.expr)
        (spec,) = kept.results
        tensor = _tensor(spec, self._fresh(spec.name))
        axes = builder.axes.resolve(tuple(a for d in shape for a in d))
        index_of = [self.settler.settle(builder.position(d)) for d in shape]
        index_of[dim] = place
        scatter = Scatter(flattened(index_of, spec.shape), within(place, spec.shape[dim], self.settler.size))
        root = Root(tensor, axes, value, scatter)
        self.buffers.append(tensor)
        self._emit(root)
        self.tensors[spec.name] = tensor
        return True

    def _whole(self, value: Value, name: str) -> Tensor:
        """The value as a tensor in memory: the very tensor that it is, or a buffer."""
        axes = self.reading.builder.axes
        shape = tuple(axes.size(dim) for dim in value.shape)
        match value.expr:
            case Load(name=stored, along=along) if axes.resolve(along) == axes.resolve(_flat(value.shape)):
                found = self.tensors[stored]
                if found.shape == shape and found.dtype == self._dtype_of(name, found.dtype):
                    return found
        dtype = {"float": self._float(), "int": "int64", "bool": "bool"}[value.expr.kind]
        spec = TensorSpec(name=name, shape=shape, dtype=self._dtype_of(name, dtype))
        tensor = _tensor(spec, self._fresh(name))
        self.buffers.append(tensor)
        self._emit(self._root(value, tensor))
        self.tensors[name] = tensor
        return tensor

    def _dtype_of(self, name: str, default: str) -> DType:
        """What the graph says that a node's result is."""
        node = next((n for n in self.task.graph.nodes if n.name == name and n.result), None)
        return node.result[0].dtype if node else default  # type: ignore[return-value]

    def _float(self) -> DType:
        """What results that kernels leave for others are stored as."""
        dtypes = {t.dtype for t in (*self.task.workload.tensors, *self.task.workload.outputs) if t.floating}
        return dtypes.pop() if len(dtypes) == 1 else "float32"

    def _wider(self, node: Expr) -> bool:
        """Whether the task may have more digits of what became of a product than its own tensors have."""
        made = any(n.result and n.result[0].dtype == "float32" for n in self.task.graph.nodes)
        return made and any(inner.axes == node.axes for inner in heavies(node))

    # Kernels.

    def _emit(self, root: Root) -> None:
        """The kernels that make a root, the last of them its own."""
        for _ in range(MOST_KERNELS):
            if len(self.steps) > MOST_KERNELS:
                break
            root = replace(root, expr=self._split(replace(root, expr=_replaced(root.expr, self.stored))))
            part = self._part(root)
            family, match = self._asked(part)
            if match.plan is not None:
                self.steps.append(Kernel(family.name, part, match.plan))
                return
            if root.expr in match.store and root.expr.axes == set(root.axes):
                raise ProposeError(f"{self.task.name!r}: {family.name} neither makes {root.expr!r:.200} nor says how")
            changed = {node.key: self._store(node, root.axes) for node in match.store}
            root = replace(root, expr=_replaced(root.expr, changed))
        raise ProposeError(f"{self.task.name!r}: more than {MOST_KERNELS} kernels, one after the other")

    def _asked(self, part: Part) -> tuple[Family, Match]:
        for family in self.families:
            match = family.match(part)
            if match is not None:
                return family, match
        raise ProposeError(f"{self.task.name!r}: no family of kernels has {part.roots[0].expr!r:.200}")

    def _store(self, node: Expr, order: Sequence[int]) -> Expr:
        """A buffer with the expression's value, as it is read."""
        if node.key in self.stored:
            return self.stored[node.key]
        axes = (*(a for a in order if a in node.axes), *sorted(node.axes - set(order)))
        sizes = tuple(self.settler.size(a) for a in axes)
        name = self._fresh("part")
        narrow = len(axes) > 1 and not isinstance(node, Reduce) and not self._wider(node)
        dtype: DType = {"float": self._float() if narrow else "float32", "int": "int64", "bool": "bool"}[node.kind]
        tensor = Tensor(name, name, sizes, dtype, (0,) * bool(axes))
        self.buffers.append(tensor)
        self._emit(Root(tensor, axes, node))
        self.tensors[name] = tensor
        element = Element(name, sizes, tuple(Index(a) for a in axes), node.kind)
        self.stored[node.key] = element
        return element

    def _split(self, root: Root) -> Expr:
        """The root with every long reduction of few rows cut into shares, and those of products into their tiles'."""
        root = replace(root, expr=self._tiled(root))
        ready = [h for h in innermost(root.expr) if h.op != "prod"]
        for node in ready:
            axes = tuple(a for a in root.axes if a in node.axes)
            if (node.key, axes) not in self.shares and not self._moments(node, axes, root.expr):
                self.shares[node.key, axes] = self._along_sides(node, axes) or self._shared_out(node, axes)
        changed: dict[str, Expr] = {}
        for part in walk(root.expr):
            axes = tuple(a for a in root.axes if a in part.axes)
            if (part.key, axes) in self.shares:
                changed[part.key] = self.shares[part.key, axes]
        return _replaced(root.expr, changed)

    def _tiled(self, root: Root) -> Expr:
        if self.task.target.kind == "cpu":
            return root.expr
        found = over_tiles(self._part(root), self.settler.axes.single, self._estimated)
        changed = {one.node.key: Reduce(one.node.op, self._store(one.tile, one.order), one.across) for one in found}
        return _replaced(root.expr, changed)

    def _part(self, *roots: Root) -> Part:
        return Part(roots, {a: self.settler.size(a) for r in roots for a in r.every_axis}, dict(self.tensors))

    def _moments(self, node: Reduce, of_root: tuple[int, ...], expr: Expr) -> bool:
        """Whether the sum and the squared distances from its mean are now made of those of stretches, read once."""
        spread = squared_distances(node, expr) if node.op == "sum" else None
        axes = (*of_root, *sorted(node.axes - set(of_root)))
        sizes = {a: self.settler.size(a) for a in (*axes, *node.over)}
        reads = sorted((n for n in walk(node.arg) if isinstance(n, Element)), key=lambda e: -prod(e.sizes))
        if spread is None or not reads or self.task.target.kind == "cpu":
            return False
        apart = {a: stride(reads[0], a, sizes) or 0 for a in (*node.over, *axes)}
        over = sorted(node.over, key=lambda a: -apart[a])
        dense, beside = apart[over[-1]] == 1, bool(axes) and apart[axes[-1]] == 1
        long = prod(sizes[a] for a in node.over) > (LONG_ROW if dense else LONG_APART)
        if not long or not (dense or beside):
            return False
        cut = stretches(over, prod(sizes[a] for a in axes), dense, self.settler.size, self.settler.axes.single)
        if cut is None:
            return False
        stored = self._store_both(of_stretch(node.arg, cut), beside_each_other(axes, cut.across, dense))
        if stored is None:
            return False
        totals, squares = stored
        whole = Reduce("sum", totals, cut.across)
        assert isinstance(spread.arg, Call) and isinstance(spread.arg.args[0], Call)
        centre = _replaced(spread.arg.args[0].args[1], {node.key: whole})
        self.shares[node.key, of_root] = whole
        self.shares[spread.key, of_root] = of_row(totals, squares, centre, cut)
        return True

    def _store_both(self, nodes: tuple[Reduce, Reduce], axes: tuple[int, ...]) -> tuple[Element, Element] | None:
        """Buffers with two reductions of the same rows, from one kernel; None where no family makes both at once."""
        shape = tuple(map(self.settler.size, axes))
        names = [self._fresh("part") for _ in nodes]
        roots = tuple(
            Root(Tensor(name, name, shape, "float32", (0,) * bool(axes)), axes, node)
            for name, node in zip(names, nodes, strict=True)
        )
        part = self._part(*roots)
        family, match = self._asked(part)
        if match.plan is None:
            return None
        self.buffers += [root.tensor for root in roots]
        self.steps.append(Kernel(family.name, part, match.plan))
        self.tensors |= {root.tensor.name: root.tensor for root in roots}
        first, second = (Element(name, shape, tuple(map(Index, axes))) for name in names)
        return first, second

    def _along_sides(self, node: Reduce, axes: tuple[int, ...]) -> Expr | None:
        """A reduction over windows as one over all sides but the last, and one over that, where two kernels take less."""
        found = None if self.task.target.kind == "cpu" else sides(node, self.settler.axes.single)
        if found is None:
            return None
        order = (*axes, *sorted(found.first.axes - {*axes, found.place}), found.place)
        room, tensor = self._room("sides", found.first, order)
        both = self._estimated(found.first, order), self._estimated(found.second(room), axes, tensor)
        if self._estimated(node, axes) < GAIN * sum(both):
            return None
        stored = self._store(found.first, order)
        return found.second(stored) if isinstance(stored, Element) else None

    def _room(self, name: str, node: Expr, order: Sequence[int]) -> tuple[Element, Tensor]:
        """A buffer for an expression's value, and how it is read."""
        axes = (*(a for a in order if a in node.axes), *sorted(node.axes - set(order)))
        sizes = tuple(map(self.settler.size, axes))
        return Element(name, sizes, tuple(map(Index, axes))), Tensor(name, name, sizes, "float32", (0,) * bool(axes))

    def _estimated(self, node: Reduce, order: Sequence[int], *more: Tensor) -> float:
        """Microseconds of the kernel that stores a reduction; 0 where no kernel does so at once."""
        element, tensor = self._room("result", node, order)
        root = Root(tensor, tuple(a for i in element.index for a in i.axes), node)
        tensors = self.tensors | {t.name: t for t in more}
        family, match = self._asked(Part((root,), {a: self.settler.size(a) for a in root.every_axis}, tensors))
        return 0.0 if match.plan is None else family.cost(match.plan, family.default(match.plan))

    def _shared_out(self, node: Reduce, axes: Sequence[int]) -> Expr:
        """A long reduction of few rows as one over the shares of many programs, which are stored first."""
        sizes = {a: self.settler.size(a) for a in (*axes, *node.over)}
        cpu = self.task.target.kind == "cpu"
        axis = cut_axis(node, axes, sizes) if not cpu else max(node.over, key=self.settler.size)
        length = sizes[axis]
        shares = max(shares_of_rows(node, axes, axis, sizes, cpu), self._of_product(node, length))
        if shares < 2:
            return node
        each = -(-length // shares)
        share = self.settler.axes.single(-(-length // each))
        inner = self.settler.axes.fresh([each])[0]
        at = plus(times(Index(share), each), Index(inner[0])) if inner else Index(share)
        inside = within(at, length, self.settler.size)
        arg = at_position(node.arg, axis, at, inside)
        if inside is not None:
            arg = nothing_outside(node, arg, inside, self.tensors)
        over = (*(a for a in node.over if a != axis), *inner)
        dense = shared_along(node, sizes)
        partial = self._store(Reduce(node.op, arg, over, node.kind), beside_each_other(axes, (share,), dense))
        return Reduce(node.op, partial, (share,), node.kind)

    def _of_product(self, node: Reduce, length: int) -> int:
        return 0 if self.task.target.kind == "cpu" else shares_of_product(node, length, self.settler.size)

    def _fresh(self, wanted: str) -> str:
        plain = identifiers([wanted])[0]
        name, at = plain, 2
        while name in self.taken:
            name, at = f"{plain}{at}", at + 1
        self.taken.add(name)
        return name


def _flat(shape: Shape) -> tuple[int, ...]:
    return tuple(axis for dim in shape for axis in dim)


def _over(node: Order, shorter: Order) -> Order:
    """The same places of a shorter row."""
    return replace(shorter, place=node.place, what=node.what, kind=node.kind)


def _replaced(expr: Expr, changed: Mapping[str, Expr]) -> Expr:
    """The expression with buffers in place of what was stored, from the outside in."""
    done: dict[str, Expr] = {}

    def visit(node: Expr) -> Expr:
        if node.key in changed:
            return changed[node.key]
        if node.key not in done:
            children = tuple(visit(child) for child in node.children)
            same = all(a is b for a, b in zip(children, node.children, strict=True))
            found = node if same else rebuild(node, children)
            # What was stored may have read what was stored before it.
            done[node.key] = changed.get(found.key, found)
        return done[node.key]

    return visit(expr)


def _nothing(steps: Sequence[Step]) -> str:
    named = ", ".join(dict.fromkeys(f"{s.node.op} ({s.why})" for s in steps if isinstance(s, Kept)))
    return f"the built-in author has no kernel for {named}: PyTorch would do all of it. Use a language model for this task."


def _tensor(spec: TensorSpec, identifier: str) -> Tensor:
    return Tensor(spec.name, identifier, spec.shape, spec.dtype, (0,) * bool(spec.shape), spec.domain)
