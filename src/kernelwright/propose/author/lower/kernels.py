"""What makes kernels of one root: of what must be stored before it, and of reductions that the rules cut in two.

The families are asked in turn. What a partition stores is known here by its expression, so that nothing is stored twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelwright.errors import ProposeError
from kernelwright.knowledge.hardware import architectures, hardware
from kernelwright.propose.author.emit.scope import Names, identifiers
from kernelwright.propose.author.families.family import Family, Match
from kernelwright.propose.author.ir.axes import Settler
from kernelwright.propose.author.ir.expr import Element, Expr, Index, Reduce, replaced, walk
from kernelwright.propose.author.ir.program import SHARED_BYTES, Kernel, Part, Root, Step, Tensor, heavies
from kernelwright.propose.author.rules.rule import Cut, Rule, Site, stored_axes
from kernelwright.propose.author.rules.table import Rules
from kernelwright.records.task import Target, Task
from kernelwright.records.tensor import DType

MOST_KERNELS = 1024
"""Kernels of one program: more than any network needs that is worth reading."""
HOPPER = 90
"""Compute capability from which on the hardware itself copies blocks of a matrix (TMA)."""
Families = Sequence[Family]


@dataclass
class Kernels:
    """The kernels of a program so far, and the buffers between them."""

    task: Task
    settler: Settler
    families: Families
    rules: Rules
    tensors: dict[str, Tensor] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    """Identifiers in use."""
    buffers: list[Tensor] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    stored: dict[str, Element] = field(default_factory=dict)
    """What is read in place of an expression that has been stored."""
    cuts: dict[tuple[str, tuple[int, ...]], Expr] = field(default_factory=dict)
    """What has taken the place of reductions, by their keys and the root's axes that they run over."""

    @property
    def kernels(self) -> list[Kernel]:
        """The steps that are ours."""
        return [step for step in self.steps if isinstance(step, Kernel)]

    def size(self, axis: int) -> int:
        """Elements along an axis."""
        return self.settler.size(axis)

    def new_axis(self, length: int) -> int:
        """An axis of a length."""
        return self.settler.axes.single(length)

    def matched(self, roots: Sequence[Root], tensors: Mapping[str, Tensor] | None = None) -> Kernel | None:
        """One kernel for these roots; None where the family that has them makes something first.

        Raises:
            ProposeError: no family has them.
        """
        part = self._part(roots, tensors)
        family, match = self._asked(part)
        return None if match.plan is None else Kernel(family.name, part, match.plan)

    def cost(self, kernel: Kernel) -> float:
        """Estimated microseconds of its default schedule."""
        family = next(f for f in self.families if f.name == kernel.family)
        return family.cost(kernel.plan, family.default(kernel.plan))

    def emit(self, root: Root) -> None:
        """Add the kernels that make a root, the last of them its own.

        Raises:
            ProposeError: no family has it, or there would be too many.
        """
        for _ in range(MOST_KERNELS):
            if len(self.steps) > MOST_KERNELS:
                break
            root = self._cut(replace(root, expr=replaced(root.expr, self.stored)))
            part = self._part((root,))
            family, match = self._asked(part)
            if match.plan is not None:
                self.steps.append(Kernel(family.name, part, match.plan))
                return
            if root.expr in match.store and root.expr.axes == set(root.axes):
                raise ProposeError(f"{self.task.name!r}: {family.name} neither makes {root.expr!r:.200} nor says how")
            changed = {node.key: self.store(node, root.axes) for node in match.store}
            root = replace(root, expr=replaced(root.expr, changed))
        raise ProposeError(f"{self.task.name!r}: more than {MOST_KERNELS} kernels, one after the other")

    def emit_together(self, roots: tuple[Root, ...]) -> tuple[Root, ...] | None:
        """Add one kernel for several roots, and what must be stored before it.

        None where it was added; else the roots as far as they came, of which the family that has them makes nothing.
        """
        while True:
            kernel = self.matched(roots)
            if kernel is not None:
                self.steps.append(kernel)
                return None
            _, match = self._asked(self._part(roots))
            changed = {node.key: self.store(node, roots[0].axes) for node in match.store}
            if not changed:
                return roots
            roots = tuple(replace(r, expr=replaced(r.expr, changed)) for r in roots)

    def store(self, node: Expr, order: Sequence[int]) -> Element:
        """A buffer with the expression's value, as it is read."""
        if node.key not in self.stored:
            axes = stored_axes(node, order)
            narrow = len(axes) > 1 and not isinstance(node, Reduce) and not self._wider(node)
            dtype: DType = {"float": self.float() if narrow else "float32", "int": "int64", "bool": "bool"}[node.kind]
            root = self._buffer(node, axes, dtype)
            self.buffers.append(root.tensor)
            self.emit(root)
            self.stored[node.key] = self._read(root, axes, node)
        return self.stored[node.key]

    def float(self) -> DType:
        """What results that kernels leave for others are stored as."""
        dtypes = {t.dtype for t in (*self.task.workload.tensors, *self.task.workload.outputs) if t.floating}
        return dtypes.pop() if len(dtypes) == 1 else "float32"

    def fresh(self, wanted: str) -> str:
        """An identifier that is not in use."""
        return Names(self.taken).fresh(identifiers([wanted])[0])

    def _wider(self, node: Expr) -> bool:
        """Whether the task may have more digits of what became of a product than its own tensors have."""
        made = any(n.result and n.result[0].dtype == "float32" for n in self.task.graph.nodes)
        return made and any(inner.axes == node.axes for inner in heavies(node))

    def _asked(self, part: Part) -> tuple[Family, Match]:
        for family in self.families:
            match = family.match(part)
            if match is not None:
                return family, match
        raise ProposeError(f"{self.task.name!r}: no family of kernels has {part.roots[0].expr!r:.200}")

    def _part(self, roots: Sequence[Root], tensors: Mapping[str, Tensor] | None = None) -> Part:
        sizes = {a: self.size(a) for r in roots for a in r.every_axis}
        target = self.task.target
        known = dict(self.tensors if tensors is None else tensors)
        return Part(tuple(roots), sizes, known, _shared_bytes(target), target.capability >= HOPPER)

    # Reductions in two.

    def _cut(self, root: Root) -> Root:
        """The root with a reduction in two wherever a rule says so and that pays."""
        for sites, rules in self.rules.reductions:
            for node in sites(root.expr):
                site = Site(node, root, self)
                if (node.key, site.axes) not in self.cuts:
                    self.cuts |= {(key, site.axes): expr for key, expr in self._replacement(site, rules).items()}
            known = ((node, (node.key, tuple(a for a in root.axes if a in node.axes))) for node in walk(root.expr))
            changed = {node.key: self.cuts[key] for node, key in known if key in self.cuts}
            root = replace(root, expr=replaced(root.expr, changed))
        return root

    def _replacement(self, site: Site, rules: Sequence[Rule]) -> Mapping[str, Expr]:
        """What takes the place of a reduction, and of others with it, by the first rule that pays; empty if none does."""
        found: Cut | Mapping[str, Expr] = {}
        for rule in rules:
            cut = rule.apply(site)
            if cut is not None and rule.pays(cut):
                found = cut
                break
        while isinstance(found, Cut):
            found = found.then(*self._store_first(found))
        return found

    def _store_first(self, cut: Cut) -> list[Element]:
        """What a cut leaves in buffers, as it is read."""
        if len(cut.first) == 1:
            return [self.store(cut.first[0], cut.axes)]
        roots = [self._buffer(node, cut.axes, "float32") for node in cut.first]
        if cut.result is None:
            kernel = self.matched(roots)
            assert kernel is not None, "a rule cuts where one kernel makes all that comes first"
            self.steps.append(kernel)
        else:
            before, result = cut.result
            kernel = self.matched((result, *roots), before.part.tensors)
            assert kernel is not None, "a rule cuts where the kernel makes more than its result"
            self.steps[self.steps.index(before)] = kernel
        self.buffers += [root.tensor for root in roots]
        return [self._read(root, cut.read_along or cut.axes, root.expr) for root in roots]

    def _buffer(self, node: Expr, axes: tuple[int, ...], dtype: DType) -> Root:
        """A new buffer for an expression's value."""
        name = self.fresh("part")
        return Root(Tensor(name, name, tuple(map(self.size, axes)), dtype, (0,) * bool(axes)), axes, node)

    def _read(self, root: Root, axes: tuple[int, ...], node: Expr) -> Element:
        """How a buffer is read along axes; it is the program's from now on."""
        self.tensors[root.tensor.name] = root.tensor
        return Element(root.tensor.name, tuple(map(self.size, axes)), tuple(map(Index, axes)), node.kind)


def _shared_bytes(target: Target) -> int:
    """Most shared memory that a block may have there; sm_90's where no sheet has the architecture."""
    return hardware(target.arch).shared_bytes_block if target.arch in architectures() else SHARED_BYTES
