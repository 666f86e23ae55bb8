"""Windows that overlap, in Triton: one program makes several results above one another, and reads what they share once.

A 4 by 4 pooling at stride 1 reads 16 elements a result. Four results above one another share most of them: 7 lines of 4.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.emit.tile import Group, TileScope, split_position
from kernelwright.propose.author.families.strided.interior import Ends, all_of, at_both_ends, comes_to_hold, unasked
from kernelwright.propose.author.families.strided.plan import Overlap, Strided
from kernelwright.propose.author.families.strided.schedule import of_lines
from kernelwright.propose.author.ir.expr import Element, Expr, Index, Reduce, walk

UNROLLED = 64
"""Loads that are written out."""


class Term(NamedTuple):
    """A reduction over windows, how an element joins it, and the names of what the results above one another come to."""

    reduce: Reduce
    join: str
    sums: Sequence[str]


@dataclass
class Stacked:
    """The body of a kernel that makes `height` results of each column of results."""

    plan: Strided
    overlap: Overlap
    height: int
    tile: int
    """Results of a program beside one another."""
    writer: Writer
    names: Names

    def __post_init__(self) -> None:
        part, axis, sizes = self.plan.part, self.overlap.row, self.plan.part.sizes
        self.turn = max(sizes) + 1
        turns = -(-sizes[axis] // self.height)
        self.sizes = {**sizes, self.turn: turns}
        self.part, self.ends = replace(part, sizes=self.sizes), self._ends()
        outer, rows = self.plan.rows[: len(self.plan.rows) - 1 if self.ends else 0], self.plan.rows
        self.outer = Group(tuple(self.turn if a == axis else a for a in outer), "outer", number=True)
        self.rows = Group(tuple(self.turn if a == axis else a for a in rows[len(outer) :]), "row")
        self.outer_count, self.count = (self.part.count(group.axes) for group in (self.outer, self.rows))
        self.others = tuple(a for a in self.plan.columns if a != self.overlap.step)
        self.lines = sizes[self.overlap.step] + self.overlap.ahead * (self.height - 1)

    def write(self, mask: str, joined: dict[str, str], starts: dict[str, str]) -> None:
        """Everything behind the line that says which rows these are."""
        self.rows = replace(self.rows, mask=mask)
        self._place()
        (group,) = self.plan.passes
        terms = [Term(r, joined[r.key], [self.names.fresh(f"row_{r.op}") for _ in range(self.height)]) for r in group]
        for r, _, names in terms:
            for name in names:
                kind = "tl.int64" if r.kind == "int" else "tl.float32"
                self.writer.line(f"{name} = tl.full([ROWS, 1], {starts[r.key]}, {kind})")
        if self.ends:
            with self.writer.block(f"if {self._whole_windows(self.ends)}:"):
                bare = [term._replace(reduce=replace(term.reduce, arg=unasked(term.reduce.arg))) for term in terms]
                # Of a name in both branches Triton wants one type.
                self.names.taken |= self._every_line(bare, replace(self.rows, mask="")).taken
        with self.writer.block("else:") if self.ends else nullcontext():
            self._every_line(terms, self.rows)
        for above in range(self.height):
            self._store(above, {term.reduce.key: term.sums[above] for term in terms})

    def _ends(self) -> Ends | None:
        """The plan's, where lines are long, and what is asked above one another can be told at both ends."""
        ends = self.plan.ends if of_lines(self.plan, self.tile) else None
        asked = (*ends.first, *ends.last) if ends else ()
        return None if any(comes_to_hold(c, self.overlap.row) is None for c in asked) else ends

    def _whole_windows(self, ends: Ends) -> str:
        """Whether all windows of the tile are whole."""
        line, above = Index(self.plan.rows[-1]).key, Index(self.overlap.row).key

        def write(condition: Expr, row: str) -> list[str]:
            rising = (comes_to_hold(condition, self.overlap.row) or 0) > 0
            names = self.names.inner({line: row, above: "top" if rising else f"(top + {self.height - 1})"})
            return TileScope(self.part, self.writer, names, groups=(self.outer, self.rows)).write([condition])

        return at_both_ends(ends, self.rows.mask, self.count, write)

    def _place(self) -> None:
        """Which results: the last ones of a column may be made twice, so that none lies outside."""
        wanted: list[Expr] = [e for r in self.part.roots for e in (r.expr, *map(Index, r.axes))]
        for group in (self.outer, self.rows) if self.outer.axes else (self.rows,):
            split_position(self.writer, self.names, group, self.sizes, [*wanted, Index(self.turn)])
        turn, extent = self.names.values[Index(self.turn).key], self.sizes[self.overlap.row]
        top = f"{turn} * {self.height}"
        top = top if extent % self.height == 0 else f"tl.minimum({top}, {extent - self.height})"
        self.writer.line(f"top = {top}")
        self.names.values[Index(self.overlap.row).key] = "top"

    def _every_line(self, terms: Sequence[Term], rows: Group) -> Names:
        """What lies on each line of the windows, and the results that it belongs to."""
        names, count = self.names.inner({Index(self.overlap.step).key: "line"}), self.part.count(self.others)
        args = [term.reduce.arg for term in terms]
        how = "static_range" if count * self.lines <= UNROLLED else "range"
        groups = (self.outer, rows, columns := Group(self.others, "column", number=True))
        with ExitStack() as blocks:
            blocks.enter_context(self.writer.block(f"for line in tl.static_range({self.lines}):"))
            if self.others:
                blocks.enter_context(self.writer.block(f"for column in tl.{how}({count}):"))
                split_position(self.writer, names, columns, self.sizes, args)
            scope = TileScope(self.part, self.writer, names, groups=groups)
            shared = [node for arg in args for node in self._shared(arg)]
            scope.write([n for node in shared for n in walk(node) if isinstance(n, Element)])
            for node, text in zip(shared, scope.write(shared), strict=True):
                scope.name(node, text)
            for above in range(self.height):
                self._joined(above, terms, groups, names)
        return names

    def _joined(self, above: int, terms: Sequence[Term], groups: Sequence[Group], known: Names) -> None:
        """The line's part of one result, where it has one."""
        first = self.overlap.ahead * above
        last = first + self.sizes[self.overlap.step]
        bounds = [f"line >= {first}"] * (first > 0) + [f"line < {last}"] * (last < self.lines)
        with self.writer.block(f"if {all_of(bounds)}:") if bounds else nullcontext():
            step = f"(line - {first})" if first else "line"
            names, args = known.inner({Index(self.overlap.step).key: step}), [term.reduce.arg for term in terms]
            scope = TileScope(self.part, self.writer, names, groups=groups)
            scope.fetch(args)
            for term, text in zip(terms, scope.write(args), strict=True):
                self.writer.line(term.join.format(term.sums[above], text))
        if self.ends:
            known.taken |= names.taken

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
        scope = TileScope(self.part, self.writer, names, groups=(self.outer, self.rows))
        scope.fetch([r.expr for r in self.part.roots])
        for root in self.part.roots:
            scope.store(root, self.sizes)
        self.names.taken |= names.taken
