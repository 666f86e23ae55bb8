"""A product in C++: both factors are packed into panels as they are computed, and register tiles multiply the panels.

The left factor is packed once for all threads, the right one a slice at a time by the thread that needs it (Goto and van de
Geijn 2008, with the roles of the factors exchanged). Whatever becomes of a sum is computed where its tile is stored.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod

from kernelwright.propose.author.families.product.cpp_schedule import PanelSchedule
from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.families.strided.cpp import LoopScope
from kernelwright.propose.author.plan.expr import Expr, Index, walk
from kernelwright.propose.author.plan.positions import digits, flattened
from kernelwright.propose.author.source.cpp_expr import to_memory
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.writer import Writer

SMALL = 2**31
"""Elements from which on a position needs 64 bits."""
HIGHEST = 12
"""Rows of the tallest register tile."""
LETTERS = "ijklmnpqrstuvw"
FRAME = frozenset({
    "packed", "panel", "right", "total", "top", "bottom", "begin", "width", "start", "end", "step", "lane", "row", "column",
    "deep", "to", "high", "from_row", "from_column",
})  # fmt: skip


def scratch(plan: Product) -> int:
    """Floats that the packed left factor takes."""
    batch, rows, _, depth = plan.extents
    return batch * (rows + HIGHEST) * depth


def write_cpp(plan: Product, schedule: PanelSchedule, writer: Writer, taken: set[str], room: str) -> None:
    """The loops of one kernel, in a scope of their own; `room` holds `scratch` floats."""
    _Panels(plan, schedule, writer, Names({*taken, *FRAME}), room).write()


@dataclass
class _Panels:
    plan: Product
    schedule: PanelSchedule
    writer: Writer
    names: Names
    room: str

    def __post_init__(self) -> None:
        self.part, self.sizes = self.plan.part, self.plan.part.sizes
        self.batches, self.rows, self.columns, self.depth = self.plan.extents
        most = max(scratch(self.plan), *(prod(t.shape) for t in (*self.part.reads, *self.part.writes)))
        self.whole = "int" if most < SMALL else "std::int64_t"
        axes = (*self.plan.batch, *self.plan.rows, *self.plan.columns, *self.plan.depth)
        letters = iter([c for c in LETTERS if c not in self.names.taken])
        self.letter = {axis: self.names.fresh(next(letters, "axis")) for axis in axes}
        for axis in axes:
            self.names.values[Index(axis).key] = self.letter[axis]

    def write(self) -> None:
        """Pack the left factor, then make tile after tile."""
        w = self.writer
        with w.block("{", "}"):
            each = f"(({self.rows} + fast::HIGH - 1) / fast::HIGH * fast::HIGH * {self.depth})"
            self._pack_left(each)
            with ExitStack() as stack:
                loops = [
                    *(self._head(axis) for axis in self.plan.batch),
                    f"for ({self.whole} top = 0; top < {self.rows}; top += {self.schedule.rows})",
                    f"for ({self.whole} begin = 0; begin < {self.columns}; begin += {self.schedule.columns})",
                ]
                clause = f"schedule({self.schedule.distribution})"
                w.pragma(f"#pragma omp parallel for collapse({len(loops)})", clause)
                for number, head in enumerate(loops):
                    last = number == len(loops) - 1
                    stack.enter_context(w.block(head + " {" * last, "}" * last))
                self._tile(each)

    def _head(self, axis: int) -> str:
        name = self.letter[axis]
        return f"for ({self.whole} {name} = 0; {name} < {self.sizes[axis]}; ++{name})"

    def _batch(self, each: str) -> str:
        """Where the packed factor of a batch begins."""
        if not self.plan.batch:
            return self.room
        position = flattened([Index(a) for a in self.plan.batch], [self.sizes[a] for a in self.plan.batch])
        scope = self._scope(self.names.inner())
        return f"{self.room} + ({scope.write([position])[0]}) * {each}"

    # Packing.

    def _pack_left(self, each: str) -> None:
        """Panels as high as a register tile: the elements of a column of one lie together."""
        w = self.writer
        loops = [*(self._head(a) for a in self.plan.batch)]
        loops.append(f"for ({self.whole} top = 0; top < {self.rows}; top += fast::HIGH)")
        w.pragma(f"#pragma omp parallel for collapse({len(loops)})", "schedule(static)")
        with ExitStack() as stack:
            for number, head in enumerate(loops):
                last = number == len(loops) - 1
                stack.enter_context(w.block(head + " {" * last, "}" * last))
            w.line(f"float* to = {self._batch(each)} + top * {self.depth};")
            for axis in self.plan.depth:
                stack.enter_context(w.block(self._head(axis) + " {", "}"))
            with w.block(f"for ({self.whole} lane = 0; lane < fast::HIGH; ++lane) {{", "}"):
                names = self.names.inner()
                w.line(f"const {self.whole} row = std::min<{self.whole}>(top + lane, {self.rows - 1});")
                self._split(names, self.plan.rows, "row", [self.plan.left])
                w.line(f"to[lane] = {self._factor(self.plan.left, names)};")
            w.line("to += fast::HIGH;")

    def _pack_right(self) -> None:
        """Panels as wide as a register tile: the elements of a row of one lie together."""
        w = self.writer
        with w.block(f"for ({self.whole} step = start; step < end; ++step) {{", "}"):
            names = self.names.inner()
            self._split(names, self.plan.depth, "step", [self.plan.right])
            with w.block(f"for ({self.whole} panel = 0; panel < width; panel += fast::WIDE) {{", "}"):
                w.line("float* const to = right + panel * (end - start) + (step - start) * fast::WIDE;")
                w.pragma("#pragma omp simd")
                with w.block(f"for ({self.whole} lane = 0; lane < fast::WIDE; ++lane) {{", "}"):
                    inner = names.inner()
                    self._column(inner, "panel + lane", [self.plan.right])
                    w.line(f"to[lane] = {self._factor(self.plan.right, inner)};")

    def _factor(self, factor: Expr, names: Names) -> str:
        (text,) = self._scope(names).write([factor])
        return text if factor.kind == "float" else f"static_cast<float>({text})"

    # A tile.

    def _tile(self, each: str) -> None:
        w, s = self.writer, self.schedule
        w.line(f"const {self.whole} bottom = std::min<{self.whole}>(top + {s.rows}, {self.rows});")
        w.line(f"const {self.whole} width = std::min<{self.whole}>({s.columns}, {self.columns} - begin);")
        w.line(f"alignas(64) float right[{s.depth * s.columns}];")
        w.line(f"alignas(64) float total[{(s.rows + HIGHEST) * s.columns}] = {{}};")
        self._places()
        with w.block(f"for ({self.whole} start = 0; start < {self.depth}; start += {s.depth}) {{", "}"):
            w.line(f"const {self.whole} end = std::min<{self.whole}>(start + {s.depth}, {self.depth});")
            self._pack_right()
            across = w.block(f"for ({self.whole} panel = 0; panel < width; panel += fast::WIDE) {{", "}")
            with across, w.block(f"for ({self.whole} high = top; high < bottom; high += fast::HIGH) {{", "}"):
                w.line(f"const float* const left = {self._batch(each)} + high * {self.depth} + start * fast::HIGH;")
                w.line("const float* const slice = right + panel * (end - start);")
                w.line(f"float* const sums = total + (high - top) * {s.columns} + panel;")
                w.line(f"fast::multiply(left, slice, end - start, sums, {s.columns});")
        self._store()

    def _places(self) -> None:
        """Where each column lies along its axes, once for a tile."""
        if len(self.plan.columns) < 2:
            return
        w = self.writer
        for axis in self.plan.columns:
            w.line(f"std::int32_t {self.letter[axis]}_of[{self.schedule.columns}];")
        with w.block(f"for ({self.whole} lane = 0; lane < {self.schedule.columns}; ++lane) {{", "}"):
            w.line(f"const {self.whole} column = std::min<{self.whole}>(begin + lane, {self.columns - 1});")
            names = self.names.inner()
            for axis, text in self._digits(names, self.plan.columns, "column"):
                w.line(f"{self.letter[axis]}_of[lane] = static_cast<std::int32_t>({text});")

    def _store(self) -> None:
        w, root = self.writer, self.plan.root
        wanted = [root.expr, *(Index(a) for a in root.axes)]
        with w.block(f"for ({self.whole} row = top; row < bottom; ++row) {{", "}"):
            names = self.names.inner()
            self._split(names, self.plan.rows, "row", wanted)
            w.pragma("#pragma omp simd")
            with w.block(f"for ({self.whole} lane = 0; lane < width; ++lane) {{", "}"):
                self._column(names, "lane", wanted, inside=True)
                names.values[self.plan.node.key] = f"total[(row - top) * {self.schedule.columns} + lane]"
                scope = self._scope(names)
                place = flattened([Index(a) for a in root.axes], [self.sizes[a] for a in root.axes])
                text, where = scope.write([root.expr, place])
                w.line(f"{root.tensor.identifier}[{where}] = {to_memory(root.tensor.dtype, text)};")

    # Positions.

    def _digits(self, names: Names, axes: Sequence[int], position: str) -> list[tuple[int, str]]:
        """Each axis with its part of a position."""
        marker = Index(-1)
        names.values[marker.key] = position
        scope = self._scope(names)
        found = digits(marker, [self.sizes[a] for a in axes])
        return list(zip(axes, scope.write(found), strict=True))

    def _split(self, names: Names, axes: Sequence[int], position: str, roots: Sequence[Expr]) -> None:
        """A line for each axis that the roots need."""
        needed = {n.axis for n in walk(*roots) if isinstance(n, Index)}
        if len(axes) == 1:
            names.values[Index(axes[0]).key] = position
            return
        inner = names.inner()
        for axis, text in self._digits(inner, axes, position):
            if axis in needed:
                self.writer.line(f"const {self.whole} {self.letter[axis]} = {text};")
        # Its values are forgotten; its identifiers stand in this very block.
        names.taken |= inner.taken

    def _column(self, names: Names, lane: str, roots: Sequence[Expr], *, inside: bool = False) -> None:
        """The positions of a lane's column; lanes beyond the last column read what it reads."""
        needed = {n.axis for n in walk(*roots) if isinstance(n, Index)}
        if len(self.plan.columns) == 1:
            (axis,) = self.plan.columns
            text = f"begin + {lane}" if inside else f"std::min<{self.whole}>(begin + {lane}, {self.columns - 1})"
            self.writer.line(f"const {self.whole} {self.letter[axis]} = {text};")
            return
        for axis in self.plan.columns:
            if axis in needed:
                self.writer.line(f"const {self.whole} {self.letter[axis]} = {self.letter[axis]}_of[{lane}];")

    def _scope(self, names: Names) -> LoopScope:
        return LoopScope(self.part, self.writer, names, index="lane", whole=self.whole)
