"""What makes kernels of one root: of what must be stored before it, and of shares where a long reduction is cut.

The families are asked in turn. What a partition stores is known here by its expression, so that nothing is stored twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from kernelwright.errors import ProposeError
from kernelwright.knowledge.hardware import architectures, hardware
from kernelwright.propose.author.assembly.folded import folded
from kernelwright.propose.author.assembly.moments import (
    Stretches,
    grouped,
    of_group,
    of_row,
    of_stretch,
    squared_distances,
    stretches,
)
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
from kernelwright.propose.author.assembly.tile_moments import of_tiles, pays
from kernelwright.propose.author.assembly.tiles import over_tiles
from kernelwright.propose.author.families.family import Family, Match
from kernelwright.propose.author.families.strided.plan import stride
from kernelwright.propose.author.plan.expr import Call, Const, Element, Expr, Index, Reduce, rebuild, walk
from kernelwright.propose.author.plan.lower import identifiers
from kernelwright.propose.author.plan.plan import Tensor
from kernelwright.propose.author.plan.positions import plus, times, within
from kernelwright.propose.author.plan.program import SHARED_BYTES, Kernel, Part, Root, Step, heavies
from kernelwright.propose.author.plan.settle import Settler
from kernelwright.propose.author.plan.sides import sides
from kernelwright.records.task import Target, Task
from kernelwright.records.tensor import DType

MOST_KERNELS = 1024
"""Kernels of one program: more than any network needs that is worth reading."""
LONG_ROW, LONG_APART = 1 << 15, 1 << 10
"""Elements of a row from which on no program holds it, where they lie together and where they lie apart."""
HOPPER = 90
"""Compute capability from which on the hardware itself copies blocks of a matrix (TMA)."""
GAIN = 1.25
"""How many times less two kernels must take by estimate than one."""
Families = Sequence[Family]
Moments = tuple[Element, Element, Stretches]
"""Sum and squared distances of parts of rows as they are read, and what these parts are."""


@dataclass
class Kernels:
    """The kernels of a program so far, and the buffers between them."""

    task: Task
    settler: Settler
    families: Families
    tensors: dict[str, Tensor] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    """Identifiers in use."""
    buffers: list[Tensor] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    stored: dict[str, Expr] = field(default_factory=dict)
    """What is read in place of an expression that has been stored."""
    shares: dict[tuple[str, tuple[int, ...]], Expr] = field(default_factory=dict)
    """Long reductions as reductions over stored shares."""

    def _float(self) -> DType:
        """What results that kernels leave for others are stored as."""
        dtypes = {t.dtype for t in (*self.task.workload.tensors, *self.task.workload.outputs) if t.floating}
        return dtypes.pop() if len(dtypes) == 1 else "float32"

    def _wider(self, node: Expr) -> bool:
        """Whether the task may have more digits of what became of a product than its own tensors have."""
        made = any(n.result and n.result[0].dtype == "float32" for n in self.task.graph.nodes)
        return made and any(inner.axes == node.axes for inner in heavies(node))

    def _emit(self, root: Root) -> None:
        """The kernels that make a root, the last of them its own."""
        for _ in range(MOST_KERNELS):
            if len(self.steps) > MOST_KERNELS:
                break
            root = replace(root, expr=self._split(replace(root, expr=replaced(root.expr, self.stored))))
            part = self._part(root)
            family, match = self._asked(part)
            if match.plan is not None:
                self.steps.append(Kernel(family.name, part, match.plan))
                return
            if root.expr in match.store and root.expr.axes == set(root.axes):
                raise ProposeError(f"{self.task.name!r}: {family.name} neither makes {root.expr!r:.200} nor says how")
            changed = {node.key: self._store(node, root.axes) for node in match.store}
            root = replace(root, expr=replaced(root.expr, changed))
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
                shared = self._along_sides(node, axes) or self._folded(node, axes, root.expr)
                self.shares[node.key, axes] = shared or self._shared_out(node, axes)
        changed: dict[str, Expr] = {}
        for part in walk(root.expr):
            axes = tuple(a for a in root.axes if a in part.axes)
            if (part.key, axes) in self.shares:
                changed[part.key] = self.shares[part.key, axes]
        return replaced(root.expr, changed)

    def _tiled(self, root: Root) -> Expr:
        if self.task.target.kind == "cpu":
            return root.expr
        found = over_tiles(self._part(root), self.settler.axes.single, self._estimated)
        changed = {one.node.key: Reduce(one.node.op, self._store(one.tile, one.order), one.across) for one in found}
        return replaced(root.expr, changed)

    def _part(self, *roots: Root) -> Part:
        return self._of(roots, dict(self.tensors))

    def _of(self, roots: tuple[Root, ...], tensors: dict[str, Tensor]) -> Part:
        sizes = {a: self.settler.size(a) for r in roots for a in r.every_axis}
        target = self.task.target
        return Part(roots, sizes, tensors, _shared_bytes(target), target.capability >= HOPPER)

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
        found = self._of_tiles(node, over, axes, dense) or self._of_stretches(node, over, axes, dense)
        if found is None:
            return False
        totals, squares, cut = found
        whole = Reduce("sum", totals, cut.across)
        assert isinstance(spread.arg, Call) and isinstance(spread.arg.args[0], Call)
        centre = replaced(spread.arg.args[0].args[1], {node.key: whole})
        self.shares[node.key, of_root] = whole
        self.shares[spread.key, of_root] = of_row(totals, squares, centre, cut)
        return True

    def _of_stretches(self, node: Reduce, over: Sequence[int], axes: tuple[int, ...], dense: bool) -> Moments | None:
        """Sum and squared distances of the stretches of rows along axes, from one reading."""
        rows = prod(map(self.settler.size, axes))
        cut = stretches(over, rows, dense, self.settler.size, self.settler.axes.single)
        if cut is None:
            return None
        stored = self._store_both(of_stretch(node.arg, cut), beside_each_other(axes, cut.across, dense))
        return (*stored, cut) if stored else None

    def _of_tiles(self, node: Reduce, over: Sequence[int], axes: tuple[int, ...], dense: bool) -> Moments | None:
        """The same of the tiles of the product that made what is read, where that takes less than to read it."""
        kernel, size_of = self._made_by(node), self.settler.size
        found = of_tiles(kernel, replace(node, over=tuple(over)), size_of, self.settler.axes.single) if kernel else None
        if kernel is None or found is None:
            return None
        roots = self._two(found.nodes, found.axes)
        part = replace(self._part(found.root, *roots), tensors=kernel.part.tensors)
        family = next(f for f in self.families if f.name == kernel.family)
        match = family.match(part)
        if match is None or match.plan is None or not pays(family, kernel, match.plan, roots):
            self.taken -= {root.tensor.identifier for root in roots}
            return None
        self.steps[self.steps.index(kernel)] = Kernel(family.name, part, match.plan)
        count = prod(size_of(a) for a in node.over)
        return self._grouped((*self._read(roots, found.read), found.cut), count, axes, dense)

    def _grouped(self, found: Moments, count: int, axes: tuple[int, ...], dense: bool) -> Moments:
        """Moments of groups of a row's stretches, where one program would have too many to put together."""
        totals, squares, cut = found
        over = grouped(cut, prod(map(self.settler.size, axes)), self.settler.size)
        rest = cut.across[: len(cut.across) - len(over)]
        each = count // prod(map(self.settler.size, rest))
        nodes = of_group(totals, squares, each, replace(cut, across=over))
        stored = self._store_both(nodes, beside_each_other(axes, rest, dense)) if over else None
        return (*stored, Stretches((), rest, Const(float(each)))) if stored else found

    def _made_by(self, node: Reduce) -> Kernel | None:
        """The kernel that made the one buffer that is read."""
        names = {n.name for n in walk(node.arg) if isinstance(n, Element)}
        made = [s for s in self.steps if isinstance(s, Kernel) and names == {t.name for t in s.part.writes}]
        return made[0] if len(made) == 1 else None

    def _store_both(self, nodes: tuple[Reduce, Reduce], axes: tuple[int, ...]) -> tuple[Element, Element] | None:
        """Buffers with two reductions of the same rows, from one kernel; None where no family makes both at once."""
        roots = self._two(nodes, axes)
        part = self._part(*roots)
        family, match = self._asked(part)
        if match.plan is None:
            return None
        self.steps.append(Kernel(family.name, part, match.plan))
        return self._read(roots, axes)

    def _two(self, nodes: tuple[Reduce, Reduce], axes: tuple[int, ...]) -> tuple[Root, Root]:
        """Two reductions of the same rows as roots of one kernel."""
        shape = tuple(map(self.settler.size, axes))
        names = [self._fresh("part") for _ in nodes]
        first, second = (Tensor(name, name, shape, "float32", (0,) * bool(axes)) for name in names)
        return Root(first, axes, nodes[0]), Root(second, axes, nodes[1])

    def _read(self, roots: tuple[Root, Root], axes: tuple[int, ...]) -> tuple[Element, Element]:
        """How their buffers are read along axes; they are the program's from now on."""
        self.buffers += [root.tensor for root in roots]
        self.tensors |= {root.tensor.name: root.tensor for root in roots}
        sizes, index = tuple(map(self.settler.size, axes)), tuple(map(Index, axes))
        first, second = (Element(root.tensor.name, sizes, index) for root in roots)
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

    def _folded(self, node: Reduce, axes: tuple[int, ...], expr: Expr) -> Expr | None:
        """A reduction of rows at odd places as one of several rows together, and one of what that leaves of each.

        What is read once more for another reduction, as for the place of a maximum, is read once by one kernel.
        """
        again = any(isinstance(n, Reduce) and n != node and node in walk(n.arg) for n in walk(expr))
        if self.task.target.kind == "cpu" or not axes or again:
            return None
        found = folded(node, axes[-1], self.settler.size, self.settler.axes.single, self.tensors)
        if found is None:
            return None
        stored = self._store(found.first, (*axes[:-1], found.place))
        return found.second(stored, axes[-1]) if isinstance(stored, Element) else None

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
        family, match = self._asked(self._of((root,), tensors))
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


def replaced(expr: Expr, changed: Mapping[str, Expr]) -> Expr:
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


def _shared_bytes(target: Target) -> int:
    """Most shared memory that a block may have there; sm_90's where no sheet has the architecture."""
    return hardware(target.arch).shared_bytes_block if target.arch in architectures() else SHARED_BYTES
