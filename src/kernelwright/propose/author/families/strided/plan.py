"""The plan of a kernel over any axes: which axes its rows run over, which its columns, and what is reduced over them.

A tile is [rows, columns]. Columns are what is reduced, or, in a kernel that only moves data, the axis along which the result
is dense while an operand is dense along another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from kernelwright.propose.author.families.family import Match
from kernelwright.propose.author.families.strided.interior import Ends, whole_windows
from kernelwright.propose.author.ir.expr import Call, Const, Element, Expr, Index, Reduce, filled, transform, walk
from kernelwright.propose.author.ir.positions import evaluated, flattened, plus, times, whole
from kernelwright.propose.author.ir.program import HEAVY, Part, Root, in_passes
from kernelwright.propose.author.ir.separable import Sides, sides
from kernelwright.propose.author.read.reductions import LAST
from kernelwright.records.tensor import ITEM_BYTES

MOST = 16
"""Windows along a line, at most: each passes over the whole line."""
LONGEST = 4096
"""Elements of a line, at most."""
LEAST = 64
"""Elements of a window, at least; of fewer a thread makes results of its own."""


@dataclass(frozen=True)
class Lines:
    """How the windows lie."""

    sides: Sides
    window: int
    """The axis of the windows along a line."""
    rows: tuple[int, ...]
    """Axes of the results that have a line of windows each."""
    member: Expr
    """Whether a place belongs to a window."""

    @property
    def length(self) -> int:
        """Elements of a line."""
        return self.sides.length

    def part(self, part: Part) -> Part:
        """The same with an axis for the places."""
        return replace(part, sizes={**part.sizes, self.sides.place: self.length})


def lines_of(part: Part, rows: tuple[int, ...], node: Reduce) -> Lines | None:
    """The windows of the only reduction of a kernel; None where they are no few large ones that lie along a line."""
    place = max(part.sizes) + 1
    found = sides(node, lambda _: place)
    if found is None:
        return None
    (window,), (step,) = found.position.axes - set(found.over), found.over
    count, extent = part.sizes[window], part.sizes[step]
    few = count <= MOST and found.length <= LONGEST and count * extent * 2 >= found.length
    if (
        not few
        or window not in rows
        or part.count(node.over) < LEAST
        or not _follows(found.position, window, step, part)
    ):
        return None
    member = _member(found, step, extent)
    others = tuple(axis for axis in rows if axis != window)
    return Lines(found, window, others, member) if others and step not in member.axes else None


def _follows(position: Expr, window: int, step: int, part: Part) -> bool:
    """Whether a window's steps follow one another, wherever it is."""
    last = part.sizes[step] - 1
    for at in range(part.sizes[window]):
        first = evaluated(position, {window: at})
        if first is None or evaluated(position, {window: at, step: last}) != first + last:
            return False
    return True


def _member(found: Sides, step: int, extent: int) -> Expr:
    """That a place is not before the first step of a window, nor behind its last."""
    place = Index(found.place)
    first = transform(found.position, lambda node: _without(node, step))
    inside = Call(
        "and", (Call("ge", (place, first), "bool"), Call("lt", (place, plus(first, whole(extent))), "bool")), "bool"
    )
    if found.inside is None:
        return inside
    known = transform(found.inside, lambda node: place if node == found.position else node)
    return Call("and", (inside, known), "bool")


def _without(node: Expr, step: int) -> Expr:
    """A position at the first step."""
    match node:
        case Index(axis=axis) if axis == step:
            return whole(0)
        case Call(op="add", args=(left, Const(value=0.0))):
            return left
        case Call(op="add", args=(Const(value=0.0), right)):
            return right
    return node


LONG = 4096
"""Elements of a row from which on few rows leave a device empty."""
FEW, FEW_ON_CPU = 256, 16
"""Rows that are too few for a GPU, and for the cores of a CPU."""
LEAST_HIGH, MOST_AHEAD = 16, 5
"""Rows along an axis that are worth being taken several at a time, and steps of a window that they may lie apart."""
CUT = 64
"""Elements from which on windows that follow one another are a long row that was cut, and not windows."""
KEPT_APART = 64
"""Most bytes between neighbouring windows of which a multiprocessor's cache keeps those of all its threads."""
TOO_LONG = 1 << 17
"""Elements of a row that is read once for each pass, by many kernels rather than one."""


@dataclass(frozen=True)
class Overlap:
    """Windows of neighbouring results along a row axis: a step along one is `ahead` steps along a window."""

    row: int
    step: int
    """The axis of the window that slides along it."""
    ahead: int

    def differs(self, node: Expr) -> bool:
        """Whether a value hangs on which of a window's steps it is, wherever the window lies, as a filter's weights do."""
        if node.kind == "int" and self.row in node.axes and not isinstance(node, Element):
            return False
        return node == Index(self.step) or any(map(self.differs, node.children))

    def holds(self, part: Part) -> bool:
        """Whether a position moves by as much one row further as `ahead` steps further, wherever it hangs on the row."""
        moving = [node for node in part.nodes if isinstance(node, Reduce)]
        return all(self._moves(node) for r in moving for node in _positions(r.arg, self.row))

    def _moves(self, position: Expr) -> bool:
        for row, step, further in ((0, 0, 1), (3, 1, 2), (5, 2, 1)):
            one = evaluated(position, {self.row: row + further, self.step: step})
            if one is None or one != evaluated(position, {self.row: row, self.step: step + self.ahead * further}):
                return False
        return True


def _positions(node: Expr, axis: int) -> list[Expr]:
    """The outermost whole-number expressions that hang on an axis."""
    if axis not in node.axes:
        return []
    if node.kind == "int" and not isinstance(node, Element):
        return [node]
    return [found for child in node.children for found in _positions(child, axis)]


@dataclass(frozen=True)
class Strided:
    """A kernel over any axes."""

    part: Part
    rows: tuple[int, ...]
    """Slowest first; the last one is where neighbouring rows lie together, if they do."""
    columns: tuple[int, ...]
    reduced: bool
    """Whether columns are reduced."""

    @property
    def row_count(self) -> int:
        """Rows in all."""
        return self.part.count(self.rows)

    @property
    def column_count(self) -> int:
        """Elements of a row."""
        return self.part.count(self.columns)

    @cached_property
    def passes(self) -> tuple[tuple[Reduce, ...], ...]:
        """Reductions over the columns, grouped: each needs only what earlier groups gave."""
        return in_passes(self.part.nodes, lambda node: True)

    @cached_property
    def places(self) -> dict[str, Reduce]:
        """By the key of an extremum, where the first one lies: known as soon as itself, if the second pass asks no more."""
        if len(self.columns) != 1 or len(self.passes) < 2:
            return {}
        first, second = self.passes[:2]
        found = {best.key: r for r in second if (best := extremum_at(r)) is not None and best in first}
        return found if len(found) == len(second) else {}

    @cached_property
    def readings(self) -> tuple[tuple[Reduce, ...], ...]:
        """The passes, with those as one that need to read but once."""
        return ((*self.passes[0], *self.passes[1]), *self.passes[2:]) if self.places else self.passes

    @cached_property
    def reused(self) -> tuple[Expr, ...]:
        """Costly elements of a row that more than one pass needs.

        Computed twice they cost twice, and a compiler that fuses a product into one of the two differences makes other
        numbers of them: a softmax of large scores is then not one where it is all but certain.
        """
        if len(self.columns) != 1:
            return ()
        users = [{n.key for n in walk(*(r.arg for r in group))} for group in self.passes]
        users.append({n.key for n in walk(*(r.expr for r in self.wide))})
        heavy = [n for n in self.part.nodes if isinstance(n, Call) and n.op in HEAVY and self.along_columns(n)]
        return tuple(n for n in heavy if sum(n.key in keys for keys in users) > 1)

    def filled(self) -> "Strided":
        """The same for a language whose loads give a number of choice where their mask does not hold."""
        roots = tuple(replace(root, expr=transform(root.expr, filled)) for root in self.part.roots)
        return replace(self, part=replace(self.part, roots=roots))

    @cached_property
    def slides(self) -> bool:
        """Whether a position hangs on rows and on columns, as in a window."""
        return any(self._slides(index) for e in self.part.elements for index in e.index)

    def _slides(self, position: Expr) -> bool:
        rows, columns = ([a for a in axes if a in position.axes] for axes in (self.rows, self.columns))
        if len(rows) == len(self.columns) == 1 and self.column_count >= CUT:
            whole = plus(times(Index(rows[0]), self.column_count), Index(self.columns[0]))
            return bool(columns) and position != whole
        return bool(rows and columns)

    @cached_property
    def beside(self) -> int:
        """Bytes between windows that lie beside each other and share nothing; 0 where there are none, or they lie far apart.

        A thread for each of them reads little of a sector at a step, and what it leaves a cache keeps until the next step.
        """
        if not self.slides or not self.dense_columns:
            return 0
        element = max((e for e in self.part.elements if self.along_columns(e)), key=lambda e: prod(e.sizes))
        apart, sizes = stride(element, self.rows[-1], self.part.sizes) or 0, self.part.sizes
        reads = prod(sizes[a] for a in element.axes)
        bytes_apart = apart * ITEM_BYTES[self.part.argument(element).dtype]
        return bytes_apart if reads <= prod(element.sizes) and bytes_apart <= KEPT_APART else 0

    @cached_property
    def ends(self) -> Ends | None:
        """See `whole_windows`, along the last axis of rows."""
        args = [r.arg for group in self.passes for r in group]
        return whole_windows(args, self.rows[-1], {axis: self.part.sizes[axis] for axis in self.columns})

    @cached_property
    def overlap(self) -> Overlap | None:
        """The row axis along which neighbouring results share most of what they read; None: they share nothing."""
        if not self.reduced or self.wide or len(self.passes) != 1 or any(root.scatter for root in self.part.roots):
            return None
        sizes = self.part.sizes
        found = [
            Overlap(row, step, ahead)
            for row in reversed(self.rows[:-1])
            for step in self.columns
            for ahead in range(1, min(sizes[step], MOST_AHEAD))
            if sizes[row] >= LEAST_HIGH
        ]
        holding = [one for one in found if self._reads_along(one) and one.holds(self.part)]
        return min(holding, key=lambda one: one.ahead / sizes[one.step], default=None)

    @cached_property
    def lines(self) -> Lines | None:
        """How windows lie along lines that a program holds; None where they are no few large ones."""
        if not self.reduced or self.wide or [len(group) for group in self.passes] != [1]:
            return None
        scatters = any(root.scatter for root in self.part.roots)
        return None if scatters else lines_of(self.part, self.rows, self.passes[0][0])

    def _reads_along(self, overlap: Overlap) -> bool:
        return any(overlap.row in e.axes and overlap.step in e.axes for e in self.part.elements)

    @property
    def wide(self) -> tuple[Root, ...]:
        """Results with an element for each column."""
        return tuple(r for r in self.part.roots if set(self.columns) & set(r.axes))

    @property
    def narrow(self) -> tuple[Root, ...]:
        """Results with an element for each row."""
        return tuple(r for r in self.part.roots if not set(self.columns) & set(r.axes))

    def along_columns(self, node: Expr) -> bool:
        """Whether a value differs between columns."""
        return bool(node.axes & set(self.columns))

    @cached_property
    def dense_columns(self) -> bool:
        """Whether neighbouring columns lie together in the largest tensor that has columns, and neighbouring rows do not.

        Where both do, as in a window that slides, threads side by side make results side by side.
        """
        if not self.columns:
            return False
        wide = [e for e in self.part.elements if self.along_columns(e)]
        wide.sort(key=lambda e: -prod(e.sizes))
        largest = wide[0] if wide else None
        if largest is None:
            return True
        slides = bool(self.rows) and stride(largest, self.rows[-1], self.part.sizes) == 1
        return not slides and stride(largest, self.columns[-1], self.part.sizes) == 1


def extremum_at(place: Reduce) -> Reduce | None:
    """The extremum of which this is the first place, as `orders.place_of` has it; a NaN is one."""
    match place:
        case Reduce(op="min", arg=Call(op="where", args=(hit, Index(axis=axis), Const(value=other)))) if other == LAST:
            hits = hit.args if isinstance(hit, Call) and hit.op == "or" else (hit,)
            match hits[0]:
                case Call(op="eq", args=(x, Reduce() as best)) if best.arg == x and best.over == place.over == (axis,):
                    nan = Call("ne", (x, x), "bool")
                    known = [nan] if best.op in ("amax", "amin") and x.kind == "float" else []
                    return best if best.op in ("amax", "amin", "max", "min") and list(hits[1:]) == known else None
    return None


def stride(element: Element, axis: int, sizes: Mapping[int, int]) -> int | None:
    """Elements between neighbours along an axis; None where the data decides."""
    offset = flattened(element.index, element.sizes)
    first, second = (evaluated(offset, {axis: at}) for at in (0, 1))
    return None if first is None or second is None or sizes[axis] < 2 else second - first


def merged(part: Part, groups: Sequence[tuple[int, ...]]) -> tuple[Part, list[tuple[int, ...]]]:
    """Neighbouring axes that every tensor has together become one, group by group."""
    out = [list(group) for group in groups]
    for group in out:
        at = 0
        while at + 1 < len(group):
            slow, fast = group[at], group[at + 1]
            if _together(part, slow, fast):
                part = _joined(part, slow, fast)
                del group[at + 1]
            else:
                at += 1
    return part, [tuple(group) for group in out]


def _together(part: Part, slow: int, fast: int) -> bool:
    """Whether `fast` follows `slow` wherever either is, and both are nothing but positions of tensors."""
    pair = (Index(slow), Index(fast))
    if not all(_adjacent(root.axes, slow, fast) for root in part.roots):
        return False
    return all(_keeps_together(node, slow, fast, pair) and _reads_all(node, fast, part) for node in part.nodes)


def _reads_all(node: Expr, axis: int, part: Part) -> bool:
    """Whether an element that runs along an axis reads its tensor to the end there, and no first part of it."""
    if not isinstance(node, Element) or Index(axis) not in node.index:
        return True
    return node.sizes[node.index.index(Index(axis))] == part.sizes[axis]


def _keeps_together(node: Expr, slow: int, fast: int, pair: tuple[Expr, Expr]) -> bool:
    match node:
        case Element():
            return _adjacent(node.index, *pair)
        case Reduce():
            return (slow in node.over) == (fast in node.over)
    return pair[0] not in node.children and pair[1] not in node.children


def _adjacent(items: Sequence[object], first: object, second: object) -> bool:
    places = [n for n, item in enumerate(items) if item == first]
    after = [n for n, item in enumerate(items) if item == second]
    return after == [n + 1 for n in places] and len(places) < 2


def _joined(part: Part, slow: int, fast: int) -> Part:
    """`slow` runs over both."""
    sizes = dict(part.sizes)
    sizes[slow] *= sizes.pop(fast)

    def change(node: Expr) -> Expr:
        if isinstance(node, Element) and Index(fast) in node.index:
            at = node.index.index(Index(fast))
            index = (*node.index[:at], *node.index[at + 1 :])
            extents = (*node.sizes[: at - 1], node.sizes[at - 1] * node.sizes[at], *node.sizes[at + 1 :])
            return replace(node, index=index, sizes=extents)
        if isinstance(node, Reduce) and fast in node.over:
            return replace(node, over=tuple(a for a in node.over if a != fast))
        return node

    roots = tuple(
        replace(r, axes=tuple(a for a in r.axes if a != fast), expr=transform(r.expr, change)) for r in part.roots
    )
    return replace(part, roots=roots, sizes=sizes)


def dense_axis(part: Part, axes: Sequence[int]) -> int | None:
    """The axis along which most of what is read lies together."""
    weights: dict[int, int] = {}
    for element in part.elements:
        for axis in axes:
            if axis in element.axes and stride(element, axis, part.sizes) == 1:
                weights[axis] = weights.get(axis, 0) + prod(element.sizes)
    return max(weights, key=lambda axis: weights[axis], default=None)


def matched(part: Part, few: int = FEW) -> Match:
    """The part as a kernel over any axes, or what must be stored first; fewer rows than `few` leave a device empty."""
    found = part.heavies
    if not found:
        return Match(_moving(part))
    reductions = [h for h in found if isinstance(h, Reduce)]
    if len(reductions) < len(found):
        return Match(None, [h for h in found if not isinstance(h, Reduce)])
    over = _slowest_first(part, _columns(part, reductions))
    store = [r for r in reductions if set(r.over) != set(over)] or _nested_elsewhere(reductions, over)
    rows = _rows(part, over)
    store = store or [r for r in reductions if r.axes != set(rows)]
    if store and not (len(part.roots) == 1 and store == [part.roots[0].expr]):
        return Match(None, store)
    lonely = part.count(rows) < few and part.count(over) >= LONG and part.count(over) * part.count(rows) > 1 << 16
    wide = any(set(over) & set(r.axes) for r in part.roots)
    if wide and (lonely or part.count(over) > TOO_LONG):
        return Match(None, _deepest(reductions))
    if lonely and _deepest(reductions) != reductions:
        return Match(None, [r for r in _deepest(reductions) if r not in reductions])
    joined, (rows, over) = merged(part, [rows, over])
    return Match(Strided(joined, rows, over, reduced=True))


def matched_on_cpu(part: Part) -> Match:
    """The same, for a thread on each core."""
    return matched(part, FEW_ON_CPU)


def _columns(part: Part, reductions: Sequence[Reduce]) -> tuple[int, ...]:
    """What the reductions run over; those that a result runs over as well come first."""

    def shared(r: Reduce) -> int:
        return len(set(r.over) & set(part.roots[0].axes))

    return max(reductions, key=lambda r: (shared(r), part.count(r.over))).over


def _slowest_first(part: Part, over: Sequence[int]) -> tuple[int, ...]:
    """As the axes lie in the largest tensor that has them, so that neighbouring ones can be merged and the last is dense."""
    reads = sorted((e for e in part.elements if e.axes & set(over)), key=lambda e: -prod(e.sizes))
    apart = {a: stride(reads[0], a, part.sizes) or 0 for a in over} if reads else {}
    return tuple(sorted(over, key=lambda a: -abs(apart.get(a, 0))))


def _rows(part: Part, over: Sequence[int]) -> tuple[int, ...]:
    longest = max((root.axes for root in part.roots), key=len)
    return tuple(axis for axis in longest if axis not in over)


def _nested_elsewhere(reductions: Sequence[Reduce], over: Sequence[int]) -> list[Expr]:
    """Reductions inside others that run over other axes."""
    inner = [n for r in reductions for n in walk(r.arg) if isinstance(n, Reduce)]
    return [n for n in inner if set(n.over) != set(over)]


def _deepest(reductions: Sequence[Reduce]) -> list[Reduce]:
    """Those that contain no other."""
    every = {n.key: n for r in reductions for n in walk(r) if isinstance(n, Reduce)}
    return [n for n in every.values() if not any(isinstance(m, Reduce) for m in walk(n.arg))]


def _moving(part: Part) -> Strided:
    """A kernel that reduces nothing; with columns where results and operands are dense along different axes."""
    if any(root.scatter for root in part.roots):
        return Strided(part, part.roots[0].axes, (), reduced=False)
    axes = max((root.axes for root in part.roots), key=len)
    part, (axes,) = merged(part, [axes])
    source = dense_axis(part, axes)
    if len(axes) < 2 or source is None or source == axes[-1] or part.sizes[source] < 8 or part.sizes[axes[-1]] < 8:
        return Strided(part, axes, (), reduced=False)
    rows = (*(a for a in axes[:-1] if a != source), source)
    return Strided(part, rows, (axes[-1],), reduced=False)
