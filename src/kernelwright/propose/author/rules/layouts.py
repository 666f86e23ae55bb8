"""Buffers that only products read lie as their tensor cores want them, from the kernel on that writes them.

A product lays its factors out before it multiplies (`families/product/packing.py`): with the dimension that it sums over
innermost, and rounded to TF32 where PyTorch's own product is. Of a buffer between two kernels that pass over memory is saved:
the first kernel stores it so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from kernelwright.propose.author.families.family import Family
from kernelwright.propose.author.families.product.packing import AS_IT_IS, FORMS, packing
from kernelwright.propose.author.families.product.plan import Product, rounds_factors
from kernelwright.propose.author.families.strided.plan import Strided
from kernelwright.propose.author.ir.expr import Call, Element, Expr, transform, walk
from kernelwright.propose.author.ir.program import Kept, Kernel, Part, Program, Root, Step, Tensor
from kernelwright.records.task import Task

Rounds = Callable[[Product], bool]
"""Whether PyTorch rounds the factors of a product to TF32."""


def laid_out(program: Program, task: Task, families: Sequence[Family]) -> Program:
    """The program with each buffer as its readers want it, where all of them want the same."""
    found, out = list(program.steps), list[Tensor]()
    for tensor in program.buffers:
        layout = _layout(tensor, found, partial(rounds_factors, task))
        changed = layout.steps(found, families) if layout else None
        found = changed or found
        out.append(layout.tensor if layout and changed else tensor)
    return replace(program, steps=tuple(found), buffers=tuple(out))


@dataclass(frozen=True)
class _Layout:
    """A buffer's new tensor, and its dimensions in their new order."""

    tensor: Tensor
    sizes: tuple[int, ...]
    """The dimensions as they were."""
    order: tuple[int, ...]
    writer: int
    readers: tuple[int, ...]

    def steps(self, steps: Sequence[Step], families: Sequence[Family]) -> list[Step] | None:
        """All steps; None where a family does not take its kernel so."""
        found = list(steps)
        for number in (self.writer, *self.readers):
            step = found[number]
            assert isinstance(step, Kernel)
            part = self._written(step.part) if number == self.writer else self._read(step.part)
            family = next(f for f in families if f.name == step.family)
            match = family.match(part)
            if match is None or match.plan is None:
                return None
            found[number] = Kernel(step.family, part, match.plan)
        return found

    def _written(self, part: Part) -> Part:
        (root,) = part.roots
        axes = tuple(root.axes[n] for n in self.order)
        expr = Call("tf32", (root.expr,)) if self.tensor.rounded else root.expr
        return replace(part, roots=(Root(self.tensor, axes, expr),))

    def _read(self, part: Part) -> Part:
        def turned(node: Expr) -> Expr:
            if not isinstance(node, Element) or node.name != self.tensor.name:
                return node
            last = _same(self.sizes, self.order[-1], node.sizes)
            assert last is not None, "a layout is none where a read has no such dimension"
            order = [*(n for n in range(len(node.sizes)) if n != last), last]
            return replace(node, index=tuple(node.index[n] for n in order), sizes=tuple(node.sizes[n] for n in order))

        roots = tuple(replace(root, expr=transform(root.expr, turned)) for root in part.roots)
        return replace(part, roots=roots, tensors={**part.tensors, self.tensor.name: self.tensor})


def _layout(tensor: Tensor, steps: Sequence[Step], rounds: Rounds) -> _Layout | None:
    """How all readers of a buffer want it to lie, if they are products and one kernel writes it element for element."""
    writers = [n for n, step in enumerate(steps) if isinstance(step, Kernel) and tensor in step.part.writes]
    readers = [n for n, step in enumerate(steps) if tensor.name in _names_read(step)]
    dimensions, sizes = {_innermost(tensor, steps[n], rounds) for n in readers}, _sizes(tensor)
    if len(writers) != 1 or len(dimensions) != 1 or not _stores_plainly(steps[writers[0]], tensor):
        return None
    last = dimensions.pop()
    if last is None or last == len(sizes) - 1:
        return None
    order = (*(n for n in range(len(sizes)) if n != last), last)
    turned = replace(tensor, shape=tuple(sizes[n] for n in order), rounded=tensor.dtype == "float32")
    return _Layout(turned, sizes, order, writers[0], tuple(readers))


def _sizes(tensor: Tensor) -> tuple[int, ...]:
    """The tensor's dimensions as they are read: those of one element are none."""
    return tuple(size for size in tensor.shape if size > 1)


def _names_read(step: Step) -> set[str]:
    if isinstance(step, Kept):
        return {tensor.name for tensor in step.inputs.values()}
    return {tensor.name for tensor in step.part.reads}


def _stores_plainly(step: Step, tensor: Tensor) -> bool:
    """Whether the step stores nothing else, and its kernel may as well store it in another order."""
    if not isinstance(step, Kernel) or len(step.part.roots) > 1:
        return False
    (root,) = step.part.roots
    moves = isinstance(step.plan, Product) or (isinstance(step.plan, Strided) and not step.plan.reduced)
    along = tuple(step.part.sizes[axis] for axis in root.axes)
    return moves and root.scatter is None and along == _sizes(tensor)


def _innermost(tensor: Tensor, step: Step, rounds: Rounds) -> int | None:
    """The dimension that a product lays innermost of a tensor that is one of its factors, and is read nowhere else."""
    if not isinstance(step, Kernel) or not isinstance(step.plan, Product):
        return None
    plan, inside = step.plan, {n.key for n in walk(step.plan.node)}
    reads = [e for e in step.part.elements if e.name == tensor.name]
    found = packing(plan, FORMS["tf32"] if plan.precise else AS_IT_IS)
    if any(e.key not in inside for e in reads) or found is None or found.pad or (plan.precise and not rounds(plan)):
        return None
    of = [packed for packed in (found.left, found.right) if packed.tensor.name == tensor.name]
    wanted = {_same(e.sizes, of[0].moved, _sizes(tensor)) for e in reads} if len(of) == 1 else set()
    return wanted.pop() if len(wanted) == 1 else None


def _same(sizes: Sequence[int], dimension: int, others: Sequence[int]) -> int | None:
    """Which of a tensor's dimensions one is where others are joined to one, or none is; None where it is no whole one."""
    before = prod(sizes[:dimension])
    return next((n for n, size in enumerate(others) if size == sizes[dimension] and prod(others[:n]) == before), None)
