"""A product in C++: both factors are packed into panels as they are computed, and register tiles multiply the panels.

The left factor is packed once for all threads, the right one a slice at a time by the thread that needs it (Goto and van de
Geijn 2008, with the roles of the factors exchanged). Whatever becomes of a sum is computed where its tile is stored.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from typing import Literal

from kernelwright.propose.author.emit.loops import Loops
from kernelwright.propose.author.emit.scope import Names
from kernelwright.propose.author.families.family import CPU_OPTIONS, CpuSchedule, Family
from kernelwright.propose.author.families.product.plan import Product, matched
from kernelwright.propose.author.ir.expr import Expr, Index, walk
from kernelwright.propose.author.ir.positions import digits, flattened
from kernelwright.propose.author.ir.space import Option

TILES = 8
"""Tiles that keep the threads of a small machine busy."""


class PanelSchedule(CpuSchedule):
    """Degrees of freedom; none changes the result beyond rounding."""

    rows: Literal[60, 120, 240, 480] = 240
    """Rows of a tile: whole register tiles of six or twelve."""
    columns: Literal[32, 64, 128, 256] = 128
    """Columns of a tile, which are packed together."""
    depth: Literal[64, 128, 256, 512] = 256
    """Products that are added up before the next panels are packed."""
    vector_bits: Literal[256, 512] = 512


def panel_default(plan: Product) -> PanelSchedule:
    """The largest tiles that leave no core idle."""
    batch, rows, columns, _ = plan.extents
    found = PanelSchedule()
    for wide, tall in ((128, 240), (64, 240), (64, 120), (32, 120), (32, 60)):
        found = PanelSchedule(columns=wide, rows=tall)
        if batch * -(-rows // tall) * -(-columns // wide) >= TILES:
            break
    return found


def panel_space(plan: Product) -> list[Option]:
    """The options that mean something for this plan."""
    return [
        Option("rows", (60, 120, 240, 480), "memory"),
        Option("columns", (32, 64, 128, 256), "memory"),
        Option("depth", (64, 128, 256, 512), "memory"),
        *CPU_OPTIONS,
    ]


SMALL = 2**31
"""Elements from which on a position needs 64 bits."""
HIGHEST = 12
"""Rows of the tallest register tile."""


def scratch(plan: Product) -> int:
    """Floats that the packed left factor takes."""
    batch, rows, _, depth = plan.extents
    return batch * (rows + HIGHEST) * depth


class _Panels(Loops[Product, PanelSchedule]):
    WORDS = frozenset({
        "packed", "panel", "right", "total", "top", "bottom", "begin", "width", "start", "end", "step", "lane", "row",
        "column", "deep", "to", "high", "from_row", "from_column",
    })  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self.batches, self.rows, self.columns, self.depth = self.plan.extents
        most = max(scratch(self.plan), *(prod(t.shape) for t in (*self.part.reads, *self.part.writes)))
        self.whole = "int" if most < SMALL else self.whole
        self.name_axes((*self.plan.batch, *self.plan.rows, *self.plan.columns, *self.plan.depth))

    def write(self) -> None:
        """Pack the left factor, then make tile after tile."""
        w = self.writer
        with w.block("{", "}"):
            each = f"(({self.rows} + fast::HIGH - 1) / fast::HIGH * fast::HIGH * {self.depth})"
            self._pack_left(each)
            tiles = self.count("top", str(self.rows), step=self.schedule.rows)
            slices = self.count("begin", str(self.columns), step=self.schedule.columns)
            heads = [*map(self.head, self.plan.batch), tiles, slices]
            with self.nest(heads, f"schedule({self.schedule.distribution})"):
                self._tile(each)

    def _batch(self, each: str) -> str:
        """Where the packed factor of a batch begins."""
        if not self.plan.batch:
            return self.room
        position = flattened([Index(a) for a in self.plan.batch], [self.sizes[a] for a in self.plan.batch])
        return f"{self.room} + ({self.scope(self.names.inner()).write([position])[0]}) * {each}"

    # Packing.

    def _pack_left(self, each: str) -> None:
        """Panels as high as a register tile: the elements of a column of one lie together."""
        w = self.writer
        heads = [*map(self.head, self.plan.batch), self.count("top", str(self.rows), step="fast::HIGH")]
        alone = ["collapse(1)"] * (len(heads) == 1)
        with self.nest(heads, *alone, "schedule(static)"), ExitStack() as stack:
            w.line(f"float* to = {self._batch(each)} + top * {self.depth};")
            for axis in self.plan.depth:
                stack.enter_context(self.loop(self.head(axis)))
            with self.loop(self.count("lane", "fast::HIGH")):
                names = self.names.inner()
                w.line(f"const {self.whole} row = std::min<{self.whole}>(top + lane, {self.rows - 1});")
                self._split(names, self.plan.rows, "row", [self.plan.left])
                w.line(f"to[lane] = {self._factor(self.plan.left, names)};")
            w.line("to += fast::HIGH;")

    def _pack_right(self) -> None:
        """Panels as wide as a register tile: the elements of a row of one lie together."""
        w = self.writer
        with self.loop(self.count("step", "end", "start")):
            names = self.names.inner()
            self._split(names, self.plan.depth, "step", [self.plan.right])
            with self.loop(self.count("panel", "width", step="fast::WIDE")):
                w.line("float* const to = right + panel * (end - start) + (step - start) * fast::WIDE;")
                with self.loop(self.count("lane", "fast::WIDE"), vector=True):
                    inner = names.inner()
                    self._column(inner, "panel + lane", [self.plan.right])
                    w.line(f"to[lane] = {self._factor(self.plan.right, inner)};")

    def _factor(self, factor: Expr, names: Names) -> str:
        (text,) = self.scope(names).write([factor])
        return text if factor.kind == "float" else f"static_cast<float>({text})"

    # A tile.

    def _tile(self, each: str) -> None:
        w, s = self.writer, self.schedule
        w.line(f"const {self.whole} bottom = std::min<{self.whole}>(top + {s.rows}, {self.rows});")
        w.line(f"const {self.whole} width = std::min<{self.whole}>({s.columns}, {self.columns} - begin);")
        w.line(f"alignas(64) float right[{s.depth * s.columns}];")
        w.line(f"alignas(64) float total[{(s.rows + HIGHEST) * s.columns}] = {{}};")
        self._places()
        with self.loop(self.count("start", str(self.depth), step=s.depth)):
            w.line(f"const {self.whole} end = std::min<{self.whole}>(start + {s.depth}, {self.depth});")
            self._pack_right()
            across = self.loop(self.count("panel", "width", step="fast::WIDE"))
            with across, self.loop(self.count("high", "bottom", "top", "fast::HIGH")):
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
        with self.loop(self.count("lane", str(self.schedule.columns))):
            w.line(f"const {self.whole} column = std::min<{self.whole}>(begin + lane, {self.columns - 1});")
            names = self.names.inner()
            for axis, text in self._digits(names, self.plan.columns, "column"):
                w.line(f"{self.letter[axis]}_of[lane] = static_cast<std::int32_t>({text});")

    def _store(self) -> None:
        root = self.plan.root
        wanted = [root.expr, *map(Index, root.axes)]
        with self.loop(self.count("row", "bottom", "top")):
            names = self.names.inner()
            self._split(names, self.plan.rows, "row", wanted)
            with self.loop(self.count("lane", "width"), vector=True):
                self._column(names, "lane", wanted, inside=True)
                names.values[self.plan.node.key] = f"total[(row - top) * {self.schedule.columns} + lane]"
                self.store(root, names)

    # Positions.

    def _digits(self, names: Names, axes: Sequence[int], position: str) -> list[tuple[int, str]]:
        """Each axis with its part of a position."""
        marker = Index(-1)
        names.values[marker.key] = position
        found = digits(marker, [self.sizes[a] for a in axes])
        return list(zip(axes, self.scope(names).write(found), strict=True))

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


PRODUCT_LOOPS = Family(
    "product", matched, PanelSchedule, panel_default, panel_space, _Panels.write_into(), scratch=scratch
)
