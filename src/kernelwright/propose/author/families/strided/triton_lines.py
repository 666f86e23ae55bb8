"""Lines of windows in Triton: a tile holds lines while it reduces over them, and then gives each of their windows."""

from dataclasses import dataclass
from math import prod

from kernelwright.propose.author.families.strided.lines import Lines
from kernelwright.propose.author.families.strided.plan import Strided
from kernelwright.propose.author.plan.expr import Expr, Index, filled, transform
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.tile import Group, TileScope, split_position
from kernelwright.propose.author.source.triton_kernel import along
from kernelwright.propose.author.source.writer import Writer


@dataclass
class LinesOfWindows:
    """The body of a kernel that makes all windows of a line."""

    plan: Strided
    lines: Lines
    writer: Writer
    names: Names

    def __post_init__(self) -> None:
        self.part = self.lines.part(self.plan.part)
        self.sizes = self.part.sizes
        self.count = self.part.count(self.lines.rows)

    def write(self, mask: str, joined: str, start: str) -> None:
        """Everything behind the line that says which rows these are."""
        exists = "exists" if self.lines.length & (self.lines.length - 1) else ""
        rows, places = Group(self.lines.rows, "row", mask), Group((self.lines.sides.place,), "column", exists)
        roots: list[Expr] = [e for r in self.part.roots for e in (r.expr, *map(Index, r.axes))]
        split_position(self.writer, self.names, rows, self.sizes, [*roots, self.lines.sides.first])
        self.writer.line("column = tl.arange(0, BLOCK)[None, :]")
        if exists:
            self.writer.line(f"exists = column < {self.lines.length}")
        self.names.values[Index(self.lines.sides.place).key] = "column"
        self.writer.line(f"held = tl.full([ROWS, BLOCK], {start}, tl.float32)")
        self._held(rows, places, joined)
        self._windows(rows, places, start)

    def _held(self, rows: Group, places: Group, joined: str) -> None:
        """Reduce over the lines."""
        first, names = self.lines.sides.first, self.names.inner()
        with self.writer.block(f"for line in tl.range({prod(self.sizes[a] for a in first.over)}):"):
            steps = Group(first.over, "line", number=True)
            split_position(self.writer, names, steps, self.sizes, [first.arg])
            scope = TileScope(self.part, self.writer, names, groups=(rows, places, steps))
            arg = transform(first.arg, filled)
            scope.fetch([arg])
            self.writer.line(joined.format("held", scope.write([arg])[0]))

    def _windows(self, rows: Group, places: Group, start: str) -> None:
        """Reduce over the places of each window, and store."""
        ((node,),) = self.plan.passes
        with self.writer.block(f"for window in tl.range({self.sizes[self.lines.window]}):"):
            names = self.names.inner({Index(self.lines.window).key: "window"})
            scope = TileScope(self.part, self.writer, names, groups=(rows, places))
            (member,) = scope.write([self.lines.member])
            name = names.fresh(f"row_{node.op}")
            self.writer.line(f"{name} = {along(node.op, f'tl.where({member}, held, {start})', 1)}")
            names.values[node.key] = name
            scope = TileScope(self.part, self.writer, names, groups=(rows,))
            scope.fetch([r.expr for r in self.part.roots])
            for root in self.part.roots:
                scope.store(root, self.sizes)
