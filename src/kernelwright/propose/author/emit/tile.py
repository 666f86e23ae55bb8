"""How Triton reads and writes a tile whose positions are expressions over axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.emit.triton import PATTERNS, TritonScope
from kernelwright.propose.author.ir.expr import Call, Const, Element, Expr, Index, Reduce, Scan, transform, walk
from kernelwright.propose.author.ir.positions import apart, digits, flattened, plus, whole
from kernelwright.propose.author.ir.program import WIDENED, Part, Root, Scatter, Tensor

SMALL = 2**31 - 2**20
"""Elements from which on a position needs 64 bits; the last tile reaches beyond the last element."""
LETTERS = "ijklmnpqrstuvw"


@dataclass(frozen=True)
class Group:
    """Axes that a dimension of a tile runs over, and the names of its position and of the mask of what exists."""

    axes: tuple[int, ...]
    position: str
    mask: str = ""
    """Empty where every position exists."""
    number: bool = False
    """The position is one number for all of the tile."""


@dataclass
class TileScope(TritonScope):
    """One block of a kernel whose tiles run over groups of axes."""

    plan: Part
    groups: Sequence[Group] = field(default_factory=tuple)
    other: str = ""
    """What a load gives where its masks do not hold; empty where nobody looks."""
    narrow: bool = False
    """Whether elements stay in the type that they have in memory."""
    joined: bool = False
    """Whether dimensions that all axes of a group lie along in turn are one dimension: the group's position."""

    by_group: bool = False
    """Whether an offset is the sum of what hangs on numbers and of what hangs on each group of the tile. In a loop over one of
    these the others are added up once, for fewer elements than all of a tile has. In slices all groups stay the same."""
    numbers: frozenset[int] = frozenset()
    """Axes that are one number for the tile of a loop's step."""
    slices: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Of an axis along which a loop takes slices, where a slice begins, and the places in it."""

    def element(self, node: Element) -> str:
        """A load under the masks of the groups that it runs along."""
        tensor = self.plan.argument(node)
        offset = flattened(node.index, node.sizes)
        inside = [self._wrapped("and", 0, node.inside, self._text(node.inside))] if node.inside is not None else []
        masks = [*self.masks(offset.axes), *inside]
        place = self._dense(node) or self._place(self._flattened(node.index, node.sizes))
        place += self._spread(node, offset.axes)
        mask = f", mask={' & '.join(masks)}" if masks else ""
        other = self.literal(Const(node.other)) if node.other is not None else self.other
        mask += f", other={other}" if masks and other else ""
        return f"tl.load({tensor.identifier}_ptr + {_summand(place)}{mask})" + ("" if self.narrow else widened(tensor))

    def _flattened(self, index: Sequence[Expr], sizes: Sequence[int]) -> Expr:
        index, sizes = self.shortened(index, sizes)
        return flattened(long_positions(index, sizes), sizes)

    def _place(self, offset: Expr) -> str:
        """An offset in a tensor, with what is one number in front."""
        if not self.by_group:
            return self._text(offset)
        # An axis in slices is two summands, with numbers that no axis has.
        halves = {axis: (Index(-100 - 2 * axis), Index(-101 - 2 * axis)) for axis in self.slices}
        for axis, both in halves.items():
            self.names.values |= {half.key: text for half, text in zip(both, self.slices[axis], strict=True)}
        offset = transform(offset, lambda n: plus(*halves[n.axis]) if isinstance(n, Index) and n.axis in halves else n)
        alone, rest = apart(offset, self.numbers | {begin.axis for begin, _ in halves.values()})
        parts = [alone]
        for group in () if self.slices else self.groups:
            own, rest = apart(rest, frozenset(group.axes))
            parts.append(own)
        texts = [self._wrapped("add", 1, one, self._text(one)) for one in (*parts, rest) if one != whole(0)]
        return " + ".join(texts) or "0"

    def shortened(self, index: Sequence[Expr], sizes: Sequence[int]) -> tuple[list[Expr], list[int]]:
        """A position in a tensor, with what is `joined` as one dimension."""
        index, sizes = list(index), list(sizes)
        for number, group in enumerate(self.groups if self.joined else ()):
            along, extents = list(map(Index, group.axes)), [self.plan.sizes[a] for a in group.axes]
            length = len(along)
            for at in range(len(index) - length + 1 if length > 1 else 0):
                if index[at : at + length] == along and sizes[at : at + length] == extents:
                    marker = Index(-2 - number)
                    self.names.values[marker.key] = group.position
                    index[at : at + length], sizes[at : at + length] = [marker], [prod(extents)]
                    break
        return index, sizes

    def positions(self, roots: Sequence[Root], *more: Expr) -> list[Expr]:
        """What positions are split for: all that the roots read, and where they are stored, with joined dimensions as one."""

        def short(node: Expr) -> Expr:
            if not isinstance(node, Element):
                return node
            index, extents = self.shortened(node.index, node.sizes)
            return replace(node, index=tuple(index), sizes=tuple(extents))

        stored = [self.shortened(*r.position(self.plan.sizes))[0] for r in roots]
        read = [e for r in roots for e in (r.expr, *r.places)]
        return [*(transform(expr, short) for expr in (*more, *read)), *(index for one in stored for index in one)]

    def _dense(self, node: Element) -> str | None:
        """The position along a dimension of the tile that the tensor lies along as a whole."""
        sizes = self.plan.sizes
        for group in self.groups:
            along = tuple(map(Index, group.axes))
            if along and node.index == along and node.sizes == tuple(sizes[a] for a in group.axes):
                return group.position
        return None

    def _spread(self, node: Element, along: frozenset[int]) -> str:
        """What gives the pointers the shape of their mask, where the condition differs along more than they do."""
        needed = node.inside.axes - along if node.inside is not None else frozenset()
        positions = (
            g.position for g in self.groups if not g.number and needed & set(g.axes) and not along & set(g.axes)
        )
        return "".join(f" + tl.zeros_like({position})" for position in positions)

    def fetch(self, roots: Sequence[Expr]) -> None:
        """Name what the roots read, the largest first, so that all of it is under way at once.

        Nothing is read that waits for a reduction, or whose position is not known yet.
        """
        loads = [node for node in walk(*roots) if isinstance(node, Element) and self._ready(node)]
        loads.sort(key=lambda node: -prod(node.sizes))
        self.write(loads)

    def _ready(self, node: Element) -> bool:
        index, _ = self.shortened(node.index, node.sizes)
        inner = walk(*index, *([node.inside] if node.inside is not None else []))
        return all(n.key in self.names.values for n in inner if isinstance(n, Index | Reduce | Scan))

    def masks(self, axes: frozenset[int]) -> list[str]:
        """The masks that a value along these axes needs."""
        return [g.mask for g in self.groups if g.mask and axes & set(g.axes)]

    def operation(self, node: Call, operands: Sequence[str]) -> str:
        """An operator or a call."""
        if node.op == "float" and isinstance(node.args[0], Const):
            return self.literal(Const(node.args[0].value))
        return super().operation(node, operands)

    def store(self, root: Root, sizes: dict[int, int]) -> None:
        """Store a root's tile."""
        if root.scatter is not None:
            self._add(root, root.scatter)
            return
        (text,) = self.write([root.expr])
        offset = self._flattened(*root.position(sizes))
        inside = root.element.inside if root.element else None
        masks = self.masks(frozenset(root.axes))
        masks += [self._wrapped("and", 0, inside, self._text(inside))] if inside is not None else []
        mask = f", mask={' & '.join(masks)}" if masks else ""
        dense = None if root.element else next((g.position for g in self.groups if g.axes == root.axes), None)
        place = dense or self._text(offset)
        self.writer.line(f"tl.store({root.tensor.identifier}_ptr + {_summand(place)}, {text}{mask})")

    def _add(self, root: Root, scatter: Scatter) -> None:
        """Add a root's tile to where its elements belong."""
        texts = self.write([root.expr, *root.places])
        masks = self.masks(frozenset(root.axes)) + [f"({text})" for text in texts[2:]]
        mask = f", mask={' & '.join(masks)}" if masks else ""
        shape = "tl.zeros([ROWS, 1], tl.float32) + " if isinstance(root.expr, Const) else ""
        self.writer.line(f"share = ({shape}{texts[0]}).to(tl.{root.tensor.dtype})")
        self.writer.line(f'tl.atomic_add({root.tensor.identifier}_ptr + {texts[1]}, share{mask}, sem="relaxed")')


def widened(tensor: Tensor) -> str:
    """What makes an element a number that is computed with."""
    if tensor.dtype in WIDENED:
        return ".to(tl.float32)"
    return ".to(tl.int32)" if tensor.dtype in ("int8", "uint8", "int16") else ""


def _summand(text: str) -> str:
    return f"({text})" if any(mark in text for mark in ("<", "?")) else text


def large(part: Part) -> bool:
    """Whether positions need 64 bits."""
    return any(prod(e.sizes) >= SMALL for e in part.elements) or any(prod(t.shape) >= SMALL for t in part.writes)


def program_id(part: Part, axis: int = 0) -> str:
    """The number of a program, in as many bits as positions need."""
    return f"tl.cast(tl.program_id({axis}), tl.int64)" if large(part) else f"tl.program_id({axis})"


def masked(writer: Writer, *groups: tuple[Group, int]) -> None:
    """A line for each group with a mask: which of so many positions exist."""
    for group, count in groups:
        if group.mask:
            writer.line(f"{group.mask} = {group.position} < {count}")


def long_positions(index: Sequence[Expr], sizes: Sequence[int]) -> list[Expr]:
    """Positions along a tensor's dimensions, with 64 bits where what comes to them times their stride may need that."""
    reach = [prod(sizes[at:]) for at in range(len(sizes))]
    return [
        Call("int64", (position,), "int") if count >= SMALL and not isinstance(position, Const) else position
        for position, count in zip(index, reach, strict=True)
    ]


def split_position(writer: Writer, names: Names, group: Group, sizes: dict[int, int], roots: Sequence[Expr]) -> None:
    """A line for each axis of a group that the roots, or positions of stores, need."""
    needed = {n.axis for n in walk(*roots) if isinstance(n, Index)}
    if len(group.axes) == 1:
        names.values[Index(group.axes[0]).key] = group.position
        return
    extents = [sizes[a] for a in group.axes]
    marker = Index(-1)
    for axis, digit in zip(group.axes, digits(marker, extents), strict=True):
        if axis not in needed:
            continue
        name = names.fresh(next((letter for letter in LETTERS if letter not in names.taken), LETTERS[-1]))
        writer.line(f"{name} = {_spelled(digit, group.position)}")
        names.values[Index(axis).key] = name


def _spelled(digit: Expr, position: str) -> str:
    match digit:
        case Index():
            return position
        case Const():
            return str(int(digit.value))
        case Call():
            return PATTERNS[digit.op].format(*(_spelled(arg, position) for arg in digit.args))
    raise AssertionError(digit)
