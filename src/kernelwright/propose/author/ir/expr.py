"""The expressions that a kernel evaluates: a tiny language over loads, calls and reductions.

Every value is one scalar expression with free axes (numbers); a reduction binds axes. While a graph is read, axes are
numbered as they come; a finished plan has two of them, `ROW` and `COL`. ATen, C++ and Triton are unknown here.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from itertools import islice
from typing import ClassVar, Literal

Kind = Literal["float", "int", "bool"]
Size = Callable[[int], int]
"""Elements along an axis."""
ROW, COL = 0, 1
"""The two axes of a finished plan: rows, and the elements of a row."""


class Expr:
    """An immutable scalar expression. Equal when it spells the same computation."""

    PARTS: ClassVar[tuple[str, ...]] = ()
    """Fields that hold an expression, several, or none."""
    kind: Kind = "float"

    @cached_property
    def children(self) -> "tuple[Expr, ...]":
        """Operands, in order."""
        parts = (getattr(self, name) for name in self.PARTS)
        return tuple(e for part in parts if part is not None for e in (part if isinstance(part, tuple) else (part,)))

    @cached_property
    def key(self) -> str:
        """Digest of the whole expression; cheap on shared subexpressions."""
        own = (repr(getattr(self, name)) for name in _own(type(self)))  # type: ignore[arg-type]
        parts = (type(self).__name__, *own, *(child.key for child in self.children))
        return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=10).hexdigest()

    @cached_property
    def axes(self) -> frozenset[int]:
        """Axes that the value varies along."""
        return frozenset().union(*(child.axes for child in self.children))

    @cached_property
    def bound(self) -> frozenset[int]:
        """Axes that something under it is reduced over, or that positions replace."""
        own = self.over if isinstance(self, Reduce) else (self.axis,) if isinstance(self, At | Order) else ()
        return frozenset().union(own, *(child.bound for child in self.children))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


@cache
def _own(kind: type[Expr]) -> tuple[str, ...]:
    """Fields that hold no expression: looked up for every node of every graph."""
    return tuple(f.name for f in fields(kind) if f.name not in kind.PARTS)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Load(Expr):
    """One element of a tensor argument. `at`, where given, replaces the index along `COL`."""

    PARTS = ("at",)
    name: str
    along: tuple[int, ...]
    kind: Kind = "float"
    at: Expr | None = None

    @cached_property
    def axes(self) -> frozenset[int]:
        """The tensor's own axes; an index along `COL` takes that axis away."""
        own = frozenset(self.along)
        return own if self.at is None else (own - {COL}) | self.at.axes


@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A literal."""

    value: float
    kind: Kind = "float"


@dataclass(frozen=True, eq=False)
class Count(Expr):
    """How many elements the axes span, as a float: known when the kernel runs."""

    over: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """A pointwise operation."""

    PARTS = ("args",)
    op: str
    args: tuple[Expr, ...]
    kind: Kind = "float"


Combine = Literal["sum", "max", "min", "amax", "amin", "prod"]
"""`amax` and `amin` are NaN where an element is, as in PyTorch; `max` and `min` serve where what follows is NaN anyway."""


@dataclass(frozen=True, eq=False)
class Reduce(Expr):
    """A sum, product, maximum or minimum over axes."""

    PARTS = ("arg",)
    op: Combine
    arg: Expr
    over: tuple[int, ...]
    kind: Kind = "float"

    @cached_property
    def axes(self) -> frozenset[int]:
        """What is left of the operand's axes."""
        return self.arg.axes - set(self.over)


@dataclass(frozen=True, eq=False)
class Scan(Expr):
    """Running sums, products or extrema along one axis, the element itself included."""

    PARTS = ("arg",)
    op: Combine
    arg: Expr
    axis: int
    reverse: bool = False
    wide: bool = False
    """Whether it is carried in double."""
    kind: Kind = "float"


@dataclass(frozen=True, eq=False)
class Order(Expr):
    """What stands at a place of the sorted elements along an axis. Only while a program is made: its results are stored."""

    PARTS = ("arg", "position", "inside")
    arg: Expr
    axis: int
    """What is sorted."""
    place: int
    """The axis of the places, from the first one in order."""
    position: Expr
    """Where along the whole an element was."""
    descending: bool
    what: Literal["value", "place", "key"] = "value"
    """The element, where it was, or a number that holds both and grows towards the first place."""
    packed: bool = False
    """Whether the operand is such a number."""
    inside: Expr | None = None
    """What must hold for an element to exist."""
    kind: Kind = "float"

    @cached_property
    def axes(self) -> frozenset[int]:
        """The operand's axes, with the places in place of what is sorted."""
        return (self.arg.axes - {self.axis}) | {self.place}


@dataclass(frozen=True, eq=False)
class Index(Expr):
    """The position along an axis."""

    axis: int
    kind: Kind = "int"

    @cached_property
    def axes(self) -> frozenset[int]:
        """The axis itself."""
        return frozenset((self.axis,))


@dataclass(frozen=True, eq=False)
class Element(Expr):
    """One element of a dense tensor at positions that are expressions, read where `inside` holds."""

    PARTS = ("index", "inside")
    name: str
    sizes: tuple[int, ...]
    """Extents that the positions count in, slowest first; their product is the tensor's number of elements."""
    index: tuple[Expr, ...]
    kind: Kind = "float"
    inside: Expr | None = None
    other: float | None = None
    """What a load is to give where `inside` does not hold; None: nobody looks."""


@dataclass(frozen=True, eq=False)
class At(Expr):
    """`arg` at position `index` of one axis. Only while a graph is read: a plan holds indexed loads.

    Where `inside` does not hold nothing is read, and the value means nothing.
    """

    PARTS = ("arg", "index", "inside")
    arg: Expr
    index: Expr
    axis: int
    inside: Expr | None = None

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """That of the expression."""
        return self.arg.kind

    @cached_property
    def axes(self) -> frozenset[int]:
        """The operand's axes without the indexed one, and the index's."""
        own = (self.arg.axes - {self.axis}) | self.index.axes
        return own if self.inside is None else own | self.inside.axes


def rebuild(expr: Expr, children: tuple[Expr, ...]) -> Expr:
    """The same node over other children."""
    left, parts = iter(children), dict[str, object]()
    for name in expr.PARTS:
        part = getattr(expr, name)
        parts[name] = tuple(islice(left, len(part))) if isinstance(part, tuple) else part and next(left)
    return replace(expr, **parts) if parts else expr  # type: ignore[type-var]


def transform(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`change` applied to every node, children first; each distinct node once."""
    done: dict[str, Expr] = {}

    def visit(node: Expr) -> Expr:
        if node.key not in done:
            children = tuple(visit(child) for child in node.children)
            same = all(a is b for a, b in zip(children, node.children, strict=True))
            done[node.key] = change(node if same else rebuild(node, children))
        return done[node.key]

    return visit(expr)


def walk(*roots: Expr) -> list[Expr]:
    """Every distinct node under `roots`, children before parents."""
    seen: dict[str, Expr] = {}

    def visit(node: Expr) -> None:
        if node.key in seen:
            return
        for child in node.children:
            visit(child)
        seen[node.key] = node

    for root in roots:
        visit(root)
    return list(seen.values())


def conjuncts(condition: Expr | None) -> list[Expr]:
    """What must all hold for a condition to hold."""
    match condition:
        case None:
            return []
        case Call(op="and", args=parts):
            return [one for part in parts for one in conjuncts(part)]
    return [condition]


def filled(expr: Expr) -> Expr:
    """A choice between an element and a number, by what the element is read under anyway, as a load that gives the number."""
    match expr:
        case Call(op="where", args=(condition, Element(inside=Expr() as inside) as read, Const(value=other))):
            asked, known = ({one.key for one in conjuncts(c)} for c in (condition, inside))
            if asked <= known and read.other in (None, other) and read.kind == "float":
                return replace(read, other=other)
    return expr


def replaced(expr: Expr, changed: Mapping[str, Expr]) -> Expr:
    """The expression with others in place of some of its parts, by their keys, from the outside in."""
    done: dict[str, Expr] = {}

    def visit(node: Expr) -> Expr:
        if node.key in changed:
            return changed[node.key]
        if node.key not in done:
            children = tuple(visit(child) for child in node.children)
            same = all(a is b for a, b in zip(children, node.children, strict=True))
            found = node if same else rebuild(node, children)
            # What is replaced may contain what is replaced as well.
            done[node.key] = changed.get(found.key, found)
        return done[node.key]

    return visit(expr)
