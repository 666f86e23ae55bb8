"""A program: kernels and calls that remain, in order, with the buffers between them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from kernelwright.propose.author.ir.expr import Element, Expr, Index, Load, Order, Reduce, Scan, walk
from kernelwright.records.graph import OpNode
from kernelwright.records.tensor import Domain, DType

HEAVY = frozenset({"exp", "expm1", "log", "log1p", "tanh", "sigmoid", "softplus", "erf", "normal_cdf", "sin", "cos"})
"""Calls that cost tens of instructions."""
NARROW: frozenset[DType] = frozenset({"float16", "bfloat16"})
"""Floating types that are stored, but not computed with."""
WIDENED: frozenset[DType] = NARROW | {"float8_e4m3fn"}
"""The same for Triton, which has one of eight bits too."""
CODED: frozenset[DType] = WIDENED | {"float8_e5m2"}
"""The same for C++, which has none of them but as bits."""


@dataclass(frozen=True)
class Tensor:
    """A tensor argument or result under the identifier that the source uses."""

    name: str
    identifier: str
    shape: tuple[int, ...]
    dtype: DType
    along: tuple[int, ...]
    """The plan's axes that it runs over."""
    domain: Domain = Domain.REAL
    rounded: bool = False
    """Whether its numbers have no more digits than TF32's: only of buffers between kernels."""
    placed: bool = False
    """Whether it runs over a part of an axis, and is read at places that are worked out."""


SHARED_BYTES = 227 * 1024
"""Most shared memory that one block may have, on sm_90."""


@dataclass(frozen=True)
class Scatter:
    """Where the elements of a root are added, instead of being stored one beside the other."""

    offset: Expr
    inside: Expr | None
    """What must hold for an element to be added."""


@dataclass(frozen=True)
class Root:
    """What one kernel stores to one tensor: an expression over axes, which lie in memory in this order."""

    tensor: Tensor
    axes: tuple[int, ...]
    expr: Expr
    scatter: Scatter | None = None
    element: Element | None = None
    """Where in the tensor an element goes, and whether it does, if positions along the axes do not say so by themselves."""

    @property
    def places(self) -> tuple[Expr, ...]:
        """Expressions that say where its elements go."""
        if self.element is not None:
            return self.element.children
        if self.scatter is None:
            return ()
        inside = () if self.scatter.inside is None else (self.scatter.inside,)
        return (self.scatter.offset, *inside)

    def position(self, sizes: Mapping[int, int]) -> tuple[tuple[Expr, ...], tuple[int, ...]]:
        """Where an element goes along each dimension of the tensor, and the dimensions' extents."""
        if self.element is not None:
            return self.element.index, self.element.sizes
        return tuple(map(Index, self.axes)), tuple(sizes[a] for a in self.axes)

    @property
    def every_axis(self) -> set[int]:
        """Axes of the result, of its positions, and those that something in it runs over."""
        from_nodes = set(self.axes)
        for node in walk(self.expr, *self.places):
            match node:
                case Index():
                    from_nodes.add(node.axis)
                case Reduce():
                    from_nodes |= set(node.over)
                case Scan():
                    from_nodes.add(node.axis)
                case Order():
                    from_nodes |= {node.axis, node.place}
        return from_nodes


@dataclass(frozen=True)
class Part:
    """What becomes one kernel."""

    roots: tuple[Root, ...]
    sizes: dict[int, int]
    """Elements along each axis."""
    tensors: dict[str, Tensor]
    """Every tensor that may be read, by name."""
    shared_bytes: int = SHARED_BYTES
    """Most shared memory that a block may have."""
    copies_blocks: bool = True
    """Whether the hardware itself copies blocks of a matrix, as Hopper's does with tensor maps."""

    flat = True
    """No row shares anything: positions say what does."""

    @cached_property
    def nodes(self) -> list[Expr]:
        """Every distinct expression, children first."""
        return walk(*(e for root in self.roots for e in (root.expr, *root.places)))

    @cached_property
    def elements(self) -> list[Element]:
        """Every distinct read."""
        return [node for node in self.nodes if isinstance(node, Element)]

    @cached_property
    def reads(self) -> list[Tensor]:
        """Tensors that are read, in the order of the program's."""
        names = {element.name for element in self.elements}
        return [tensor for name, tensor in self.tensors.items() if name in names]

    @property
    def writes(self) -> list[Tensor]:
        """Tensors that are stored to."""
        return [root.tensor for root in self.roots]

    @cached_property
    def heavies(self) -> list[Expr]:
        """Reductions, scans and sorts that no other one contains."""
        return heavies(*(root.expr for root in self.roots))

    @cached_property
    def folds(self) -> frozenset[str]:
        """Keys of reductions, scans and sorts, those within others too."""
        return frozenset(node.key for node in self.nodes if isinstance(node, Reduce | Scan | Order))

    def argument(self, element: Load | Element) -> Tensor:
        """The tensor that an element is read from."""
        return self.tensors[element.name]

    def count(self, axes: tuple[int, ...]) -> int:
        """Elements along several axes."""
        return prod(self.sizes[axis] for axis in axes)

    def of(self, *roots: Root) -> "Part":
        """A part of the same program."""
        return replace(self, roots=roots)


def heavies(*roots: Expr) -> list[Expr]:
    """Reductions, scans and sorts that no other one under the roots contains, each once."""
    found: dict[str, Expr] = {}
    seen: set[str] = set()
    todo = list(roots)
    while todo:
        node = todo.pop()
        if node.key in seen:
            continue
        seen.add(node.key)
        if isinstance(node, Reduce | Scan | Order):
            found[node.key] = node
        else:
            todo += node.children
    return list(found.values())


def in_passes(nodes: Iterable[Expr], counts: Callable[[Reduce], bool]) -> tuple[tuple[Reduce, ...], ...]:
    """Reductions among nodes, children first, by passes: each needs only what earlier ones gave. Some may not count."""
    depth: dict[str, int] = {}
    groups: list[list[Reduce]] = []
    for node in nodes:
        below = max((depth[child.key] for child in node.children), default=0)
        depth[node.key] = below
        if isinstance(node, Reduce) and counts(node):
            depth[node.key] = below + 1
            groups += [[]] * (len(groups) <= below)
            groups[below] = [*groups[below], node]
    return tuple(map(tuple, groups))


def reads_long(expr: Expr, tensors: Mapping[str, Tensor]) -> bool:
    """Whether elements of 64 bits are read, which may be beyond all of 32."""
    return any(isinstance(node, Element) and tensors[node.name].dtype == "int64" for node in walk(expr))


@dataclass(frozen=True)
class Kernel:
    """A part in the hands of a family."""

    family: str
    part: Part
    plan: object
    """What the family made of it."""


@dataclass(frozen=True)
class Kept:
    """A call of PyTorch that stays as it was."""

    node: OpNode
    inputs: dict[str, Tensor]
    """By the name that the node knows them under."""
    results: tuple[Tensor, ...]
    why: str


Step = Kernel | Kept


@dataclass(frozen=True)
class Program:
    """Everything that one call does."""

    name: str
    arguments: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    buffers: tuple[Tensor, ...]
    """What kernels leave for others."""
    steps: tuple[Step, ...]
    state: tuple[Tensor, ...] = ()
    """Arguments that change: their new values are the last outputs, in this order."""
    rules: tuple[str, ...] = ()
    """Of algebra, by which the task's expressions were rewritten."""

    @property
    def results(self) -> tuple[Tensor, ...]:
        """The outputs that are returned."""
        return self.outputs[: len(self.outputs) - len(self.state)]

    @cached_property
    def kernels(self) -> list[Kernel]:
        """The steps that are ours."""
        return [step for step in self.steps if isinstance(step, Kernel)]

    @property
    def kept(self) -> list[Kept]:
        """The steps that are PyTorch's."""
        return [step for step in self.steps if isinstance(step, Kept)]
