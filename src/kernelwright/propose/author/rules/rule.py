"""What a rule is: a function that sees a reduction where it stands, and may say what takes its place.

Whether that is cheaper is not the rule's to say: it gives both estimates, and whoever applies it compares them.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import NamedTuple, Protocol

from kernelwright.propose.author.ir.expr import Element, Expr, Index, Reduce
from kernelwright.propose.author.ir.program import Kernel, Part, Root, Tensor


class Lowering(Protocol):
    """The program so far, as a rule sees it."""

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """Every tensor that may be read, by name."""
        ...

    @property
    def kernels(self) -> Sequence[Kernel]:
        """Those that come before."""
        ...

    def size(self, axis: int, /) -> int:
        """Elements along an axis."""
        ...

    def new_axis(self, length: int, /) -> int:
        """An axis of a length."""
        ...

    def matched(self, roots: Sequence[Root], tensors: Mapping[str, Tensor], /) -> Kernel | None:
        """One kernel for these roots, reading such tensors; None where no family makes all of it at once."""
        ...

    def cost(self, kernel: Kernel, /) -> float:
        """Estimated microseconds of its default schedule."""
        ...


class Cut(NamedTuple):
    """A reduction in two: what a kernel before it leaves, and what reads that."""

    first: tuple[Reduce, ...]
    """What is stored first, by one kernel."""
    axes: tuple[int, ...]
    """In which order of axes."""
    then: Callable[..., "Cut | Mapping[str, Expr]"]
    """Given an `Element` for each of `first`: what takes the place of expressions, by their keys; or a further cut."""
    before: float = inf
    """Estimated microseconds of what is replaced."""
    after: float = 0.0
    """The same of what replaces it."""
    result: tuple[Kernel, Root] | None = None
    """An earlier kernel that stores `first` beside its own result, and that result as it is stored then."""
    read_along: tuple[int, ...] | None = None
    """Axes of what reads `first`, where these are others than `axes`."""


class Site(NamedTuple):
    """A reduction where it stands."""

    node: Reduce
    root: Root
    """What contains it."""
    lowering: Lowering

    @property
    def axes(self) -> tuple[int, ...]:
        """Those of the root that the reduction's results run over."""
        return tuple(a for a in self.root.axes if a in self.node.axes)

    @property
    def part(self) -> Part:
        """The root as one kernel."""
        return Part((self.root,), {a: self.lowering.size(a) for a in self.root.every_axis}, dict(self.lowering.tensors))

    def estimate(self, node: Reduce, order: Sequence[int], *more: Tensor) -> float:
        """Microseconds of the kernel that stores a reduction; 0 where no kernel does so at once."""
        element, tensor = self.buffer("result", node, order)
        root = Root(tensor, tuple(a for i in element.index for a in i.axes), node)
        kernel = self.lowering.matched((root,), {**self.lowering.tensors, **{t.name: t for t in more}})
        return 0.0 if kernel is None else self.lowering.cost(kernel)

    def buffer(self, name: str, node: Expr, order: Sequence[int]) -> tuple[Element, Tensor]:
        """A buffer for an expression's value, and how it is read."""
        axes = stored_axes(node, order)
        sizes = tuple(map(self.lowering.size, axes))
        return Element(name, sizes, tuple(map(Index, axes))), Tensor(name, name, sizes, "float32", (0,) * bool(axes))


class Rule(NamedTuple):
    """One row of the table."""

    name: str
    apply: Callable[[Site], Cut | None]
    """None where it does not apply."""
    gain: float = 1.0
    """How many times less what it makes must take by estimate."""

    def pays(self, cut: Cut) -> bool:
        """Whether the cut is cheaper by estimate."""
        return cut.before >= self.gain * cut.after


def stored_axes(node: Expr, order: Sequence[int]) -> tuple[int, ...]:
    """The axes of a buffer for an expression: those of an order that it has, and then the others."""
    return (*(a for a in order if a in node.axes), *sorted(node.axes - set(order)))


def instead(node: Reduce, expr: Expr, before: float = inf, after: float = 0.0) -> Cut:
    """A cut that stores nothing first: another expression takes the reduction's place."""
    return Cut((), (), lambda: {node.key: expr}, before, after)
