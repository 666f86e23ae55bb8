"""Windows that overlap, in Triton: one program makes several results above one another, and reads what they share once.

A 4 by 4 pooling at stride 1 reads 16 elements a result. Four results above one another share most of them: 7 lines of 4.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from kernelwright.propose.author.families.strided.plan import Overlap, Strided
from kernelwright.propose.author.plan.expr import Element, Expr, Index, Reduce, walk
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.tile import Group, TileScope, split_position
from kernelwright.propose.author.source.writer import Writer

UNROLLED = 64
"""Loads that are written out."""


@dataclass
class Stacked:
    """The body of a kernel that makes `height` results of each column of results."""

    plan: Strided
    overlap: Overlap
    height: int
    writer: Writer
    names: Names

    def __post_init__(self) -> None:
        part, axis, sizes = self.plan.part, self.overlap.row, self.plan.part.sizes
        self.turn = max(sizes) + 1
        turns = -(-sizes[axis] // self.height)
        self.sizes = {**sizes, self.turn: turns}
        rows = tuple(self.turn if a == axis else a for a in self.plan.rows)
        self.count = self.plan.row_count // sizes[axis] * turns
        self.rows, self.part = Group(rows, "row"), replace(part, sizes=self.sizes)
        self.others = tuple(a for a in self.plan.columns if a != self.overlap.step)
        self.lines = sizes[self.overlap.step] + self.overlap.ahead * (self.height - 1)

    def write(self, mask: str, joined: dict[str, str], starts: dict[str, str]) -> None:
        """Everything behind the line that says which rows these are."""
        self.rows = replace(self.rows, mask=mask)
        self._place()
        (group,) = self.plan.passes
        sums = {r.key: [self.names.fresh(f"row_{r.op}") for _ in range(self.height)] for r in group}
        for r in group:
            for name in sums[r.key]:
                kind = "tl.int64" if r.kind == "int" else "tl.float32"
                self.writer.line(f"{name} = tl.full([ROWS, 1], {starts[r.key]}, {kind})")
        with self.writer.block(f"for line in tl.static_range({self.lines}):"):
            self._line(group, sums, joined)
        for above in range(self.height):
            self._store(above, {key: names[above] for key, names in sums.items()})

    def _place(self) -> None:
        """Which results: the last ones of a column may be made twice, so that none lies outside."""
        wanted: list[Expr] = [e for r in self.part.roots for e in (r.expr, *map(Index, r.axes))]
        split_position(self.writer, self.names, self.rows, self.sizes, [*wanted, Index(self.turn)])
        turn, extent = self.names.values[Index(self.turn).key], self.sizes[self.overlap.row]
        top = f"{turn} * {self.height}"
        top = top if extent % self.height == 0 else f"tl.minimum({top}, {extent - self.height})"
        self.writer.line(f"top = {top}")
        self.names.values[Index(self.overlap.row).key] = "top"

    def _line(self, group: Sequence[Reduce], sums: dict[str, list[str]], joined: dict[str, str]) -> None:
        """What lies on one line of the windows, and the results that it belongs to."""
        names, count = self.names.inner({Index(self.overlap.step).key: "line"}), self.part.count(self.others)
        how = "static_range" if count * self.lines <= UNROLLED else "range"
        with self.writer.block(f"for column in tl.{how}({count}):") if self.others else nullcontext():
            columns = Group(self.others, "column", number=True)
            if self.others:
                split_position(self.writer, names, columns, self.sizes, [r.arg for r in group])
            scope = TileScope(self.part, self.writer, names, groups=(self.rows, columns))
            shared = [node for r in group for node in self._shared(r.arg)]
            scope.write([n for node in shared for n in walk(node) if isinstance(n, Element)])
            for node, text in zip(shared, scope.write(shared), strict=True):
                scope.name(node, text)
            for above in range(self.height):
                self._joined(above, group, sums, joined, names)

    def _joined(
        self, above: int, group: Sequence[Reduce], sums: dict[str, list[str]], joined: dict[str, str], known: Names
    ) -> None:
        """The line's part of one result, where it has one."""
        first = self.overlap.ahead * above
        last = first + self.sizes[self.overlap.step]
        bounds = [f"line >= {first}"] * (first > 0) + [f"line < {last}"] * (last < self.lines)
        condition = bounds[0] if len(bounds) == 1 else " & ".join(f"({bound})" for bound in bounds)
        with self.writer.block(f"if {condition}:") if bounds else nullcontext():
            step = f"(line - {first})" if first else "line"
            names = known.inner({Index(self.overlap.step).key: step})
            columns = Group(self.others, "column", number=True)
            scope = TileScope(self.part, self.writer, names, groups=(self.rows, columns))
            scope.fetch([r.arg for r in group])
            for r, text in zip(group, scope.write([r.arg for r in group]), strict=True):
                self.writer.line(joined[r.key].format(sums[r.key][above], text))

    def _shared(self, node: Expr) -> Iterator[Expr]:
        """The largest parts of an expression that are the same for every result of the column that a line belongs to."""
        if self.overlap.row not in node.axes:
            return
        if not self.overlap.differs(node):
            yield node
            return
        for child in node.children:
            yield from self._shared(child)

    def _store(self, above: int, sums: dict[str, str]) -> None:
        row = Index(self.overlap.row).key
        names = self.names.inner(sums | ({row: f"(top + {above})"} if above else {}))
        scope = TileScope(self.part, self.writer, names, groups=(self.rows,))
        scope.fetch([r.expr for r in self.part.roots])
        for root in self.part.roots:
            scope.store(root, self.sizes)
        self.names.taken |= names.taken
