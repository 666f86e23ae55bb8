"""A kernel over any axes in Triton: a tile is [rows, columns], and what varies along one only has size one in the other."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from math import prod

from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.emit.tile import Group, TileScope, masked, program_id, split_position
from kernelwright.propose.author.emit.triton import START, along, function, pointers
from kernelwright.propose.author.families.family import Family, TileKernel, of_rows
from kernelwright.propose.author.families.strided.interior import Ends, at_both_ends, unasked
from kernelwright.propose.author.families.strided.overlap import Stacked
from kernelwright.propose.author.families.strided.plan import Lines, Strided, matched
from kernelwright.propose.author.families.strided.schedule import (
    UNROLLED,
    StridedSchedule,
    block_of,
    outer_axes,
    strided_cost,
    strided_default,
    strided_space,
    that_fits,
)
from kernelwright.propose.author.ir.expr import Const, Element, Expr, Index, Reduce, filled, transform, walk
from kernelwright.propose.author.ir.program import reads_long
from kernelwright.propose.author.read.reductions import LAST


@dataclass
class FirstPlace:
    """The lines that keep the place of one extremum beside it, in Triton."""

    writer: Writer
    names: Names
    best: Reduce
    kept: str
    """The lanes' best so far, of this shape."""
    shape: str
    place: str = field(init=False)

    def __post_init__(self) -> None:
        self.place = self.names.fresh("lanes_place")

    @property
    def _nan(self) -> bool:
        return self.best.op in ("amax", "amin") and self.best.kind == "float"

    def begin(self, steps: bool) -> None:
        """Each lane's first column, which holds as long as nothing is better than the worst number there is."""
        first = "" if steps else " + tl.arange(0, BLOCK)[None, :]"
        self.writer.line(f"{self.place} = tl.full({self.shape}, 0, tl.int32){first}")

    def meet(self, text: str) -> None:
        """Take a column's element, where it is better."""
        names, w = self.names.inner(), self.writer
        value = text if text.isidentifier() else names.fresh("value")
        better, sign = names.fresh("better"), ">" if self.best.op in ("max", "amax") else "<"
        if value != text:
            w.line(f"{value} = {text}")
        first = f" | (({value} != {value}) & ({self.kept} == {self.kept}))"
        w.line(
            f"{better} = " + (f"({value} {sign} {self.kept}){first}" if self._nan else f"{value} {sign} {self.kept}")
        )
        w.line(f"{self.kept} = tl.where({better}, {value}, {self.kept})")
        w.line(f"{self.place} = tl.where({better}, column, {self.place})")

    def end(self, best: str, steps: bool) -> str:
        """The name of the row's place; `best` is the row's extremum."""
        if steps:
            return self.place
        hits, name = self.names.fresh("hits"), self.names.fresh("row_place")
        equal = f"{self.kept} == {best}"
        self.writer.line(f"{hits} = " + (f"({equal}) | ({self.kept} != {self.kept})" if self._nan else equal))
        self.writer.line(f"{name} = tl.min(tl.where({hits}, {self.place}, {LAST}), axis=1, keep_dims=True)")
        return name


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
        masked(self.writer, (places, self.lines.length))
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


JOIN = {"sum": "{0} += {1}", "max": "{0} = tl.maximum({0}, {1})", "min": "{0} = tl.minimum({0}, {1})",
        "prod": "{0} *= {1}", "amax": "{0} = _larger({0}, {1})", "amin": "{0} = _smaller({0}, {1})"}  # fmt: skip
WHOLE_STARTS = {"sum": "0", "max": str(-(2**31)), "min": str(2**31 - 1), "prod": "1"}
"""Of integers."""
LONG_STARTS = WHOLE_STARTS | {"max": str(-(2**63)), "min": str(2**63 - 1)}
"""Of those with 64 bits."""


class _Kernel(TileKernel[Strided, StridedSchedule]):
    WORDS = frozenset({
        "row", "first", "column", "tile", "tiles", "outer", "start", "lanes", "inside", "exists", "share", "line", "top",
        "held", "window",
    })  # fmt: skip

    def __post_init__(self) -> None:
        self.schedule = that_fits(self.plan, of_rows(self.schedule, self.plan.rows))
        lines = self.plan.lines if self.schedule.passes == "lines" else None
        self.plan = self.plan.filled()
        super().__post_init__()
        part = self.part
        self.steps = self.plan.reduced and self.schedule.passes == "steps"
        self.blocked = bool(self.plan.columns) and not self.steps
        self.stacked = self._stacked()
        self.lines = LinesOfWindows(self.plan, lines, self.writer, self.names) if lines else None
        apart = self.stacked or self.lines
        outer = () if apart else outer_axes(self.plan, self.schedule)
        self.outer = self.stacked.outer if self.stacked else Group(outer, "outer", number=True)
        self.ends = self.stacked.ends if self.stacked else self.plan.ends if self.steps and outer else None
        self.outer_count = self.stacked.outer_count if self.stacked else part.count(outer)
        self.count = apart.count if apart else self.plan.row_count // self.outer_count
        self.rows = Group(self.plan.rows[len(outer) :], "row", "inside" if self.count % self.schedule.rows else "")
        self.block = block_of(self.plan, self.schedule)
        exact = self.steps or not self.plan.columns or self.plan.column_count % self.block == 0
        self.columns = Group(self.plan.columns, "column", "" if exact else "exists", number=self.steps)
        self.wanted: list[Expr] = [e for r in part.roots for e in (r.expr, *r.places)]
        self.wanted += [Index(a) for r in part.roots for a in r.axes if r.axes != self.plan.rows]
        if outer:
            self.wanted = self._scope().positions(part.roots)

    def _stacked(self) -> Stacked | None:
        overlap, height = self.plan.overlap, self.schedule.stacked
        if not self.steps or overlap is None or height == 1:
            return None
        return Stacked(self.plan, overlap, height, self.schedule.rows, self.writer, self.names)

    @property
    def constants(self) -> dict[str, int]:
        """See `TileKernel.constants`."""
        sizes = {"ROWS": self.schedule.rows, **({"BLOCK": self.block} if self.blocked else {})}
        return {**sizes, "WARPS": self.schedule.warps}

    def launch(self, name: str, prefix: str) -> list[str]:
        """See `TileKernel.launch`."""
        given = ", ".join(t.identifier for t in self.tensors)
        tiles = f"triton.cdiv({self.count}, {prefix}ROWS)"
        tiles = f"{self.outer_count} * {tiles}" if self.outer.axes else tiles
        sizes = f"ROWS={prefix}ROWS"
        if self.blocked:
            sizes += f", BLOCK={prefix}BLOCK"
        if self.blocked and not self.plan.reduced:
            tiles += f" * triton.cdiv({self.plan.column_count}, {prefix}BLOCK)"
        return [f"{name}[({tiles},)]({given}, {sizes}, num_warps={prefix}WARPS)"]

    def text(self, name: str) -> str:
        """See `TileKernel.text`."""
        w, sizes = self.writer, ["ROWS", *["BLOCK"] * self.blocked]
        with function(w, name, pointers(self.tensors), sizes, self._idea()):
            self._place()
            reductions = self.plan.passes[0] if self.stacked or self.lines else ()
            joined, starts = {r.key: JOIN[r.op] for r in reductions}, {r.key: self._start(r) for r in reductions}
            if self.stacked:
                self.stacked.write(self.rows.mask, joined, starts)
            elif self.lines:
                self.lines.write(self.rows.mask, *joined.values(), *starts.values())
            elif not self.plan.reduced:
                self._store(self._scope())
            elif self.steps or self.schedule.passes == "blocks":
                self._passes()
            else:
                self._whole()
        return w.text()

    def _idea(self) -> str:
        if not self.plan.columns:
            return "One program makes ROWS elements."
        if not self.plan.reduced:
            return "One program moves a tile of ROWS by BLOCK elements."
        if self.lines:
            return f"One program makes the windows of ROWS lines, each of {self.plan.column_count} elements."
        if self.stacked:
            height, count = self.schedule.stacked, self.plan.column_count
            return f"One program makes ROWS times {height} results above one another, each of {count} elements."
        if self.steps:
            return f"One program makes ROWS results, each of {self.plan.column_count} elements."
        whole = self.schedule.passes == "whole"
        return (
            "One program holds ROWS whole rows."
            if whole
            else "One program takes ROWS rows, in blocks of BLOCK columns."
        )

    def _scope(self, names: Names | None = None, rows: Group | None = None) -> TileScope:
        groups = (self.outer,) * bool(self.outer.axes) + (rows or self.rows, self.columns)
        return TileScope(self.part, self.writer, names or self.names, groups=groups, joined=bool(self.outer.axes))

    def _place(self) -> None:
        w, program = self.writer, program_id(self.part)
        if self.blocked and not self.plan.reduced:
            w.line(f"tile = {program}")
            across = -(-self.plan.column_count // self.block)
            w.line(f"across = tl.cdiv({self.plan.column_count}, BLOCK)") if across > 1 else None
            column = "tile % across * BLOCK + " if across > 1 else ""
            program = "tile // across" if across > 1 else "tile"
            w.line(f"column = {column}tl.arange(0, BLOCK)[None, :]")
        if self.outer.axes:
            w.line(f"tile = {program}")
            w.line(f"tiles = tl.cdiv({self.count}, ROWS)")
            w.line("outer = tile // tiles")
            program = "tile % tiles"
            if not self.stacked:
                split_position(w, self.names, self.outer, self.part.sizes, self.wanted)
        self._row(f"{program} * ROWS")
        if self.stacked or self.lines:
            return
        split_position(w, self.names, self.rows, self.part.sizes, self.wanted)
        if self.blocked and (not self.plan.reduced or self.schedule.passes == "whole"):
            if self.plan.reduced:
                w.line("column = tl.arange(0, BLOCK)[None, :]")
            self._columns(self.names)

    def _row(self, first: str) -> None:
        """The tile's rows from the first one on."""
        if self.ends:
            self.writer.line(f"first = {first}")
        self.writer.line(f"row = {'first' if self.ends else first} + tl.arange(0, ROWS)[:, None]")
        masked(self.writer, (self.rows, self.count))

    def _columns(self, names: Names) -> None:
        masked(self.writer, (self.columns, self.plan.column_count))
        split_position(self.writer, names, self.columns, self.part.sizes, self.wanted)

    def _store(self, scope: TileScope, wide: bool = True, narrow: bool = True) -> None:
        if wide and narrow:
            scope.fetch([r.expr for r in self.part.roots])
        for root in (*(self.plan.wide if wide else ()), *(self.plan.narrow if narrow else ())):
            scope.store(root, self.part.sizes)

    # A row at once.

    def _whole(self) -> None:
        scope = self._scope()
        ends = [r.expr for r in self.part.roots]
        scope.fetch(ends)
        for group in self.plan.passes:
            texts = scope.write([r.arg for r in group], later=ends)
            for r, text in zip(group, texts, strict=True):
                self._combined(r, self._masked(r, text))
        self._store(scope)

    def _masked(self, r: Reduce, text: str) -> str:
        """The tile with what does not exist left out."""
        text = f"tl.cast({text}, tl.int64)" if self._long(r) else text
        along = self.plan.along_columns(r.arg)
        if along and (not self.columns.mask or self._read_alone(r)):
            return text
        condition = self.columns.mask or "column >= 0"
        return f"tl.where({condition}, {text}, {self._start(r)})"

    def _read_alone(self, r: Reduce) -> bool:
        """Whether what is reduced is a load that gives the start of the reduction where its mask does not hold."""
        read = r.arg
        if not isinstance(read, Element) or read.other is None or not any(map(self.plan.along_columns, read.index)):
            return False
        return self._scope().literal(Const(read.other)) == self._start(r)

    def _start(self, r: Reduce) -> str:
        if r.kind == "int":
            return (LONG_STARTS if self._long(r) else WHOLE_STARTS)[r.op]
        return START[r.op]

    def _long(self, r: Reduce) -> bool:
        """Whether whole numbers are reduced that may need 64 bits: PyTorch adds up and multiplies all of them so."""
        return r.kind == "int" and (r.op in ("sum", "prod") or reads_long(r.arg, self.part.tensors))

    def _combined(self, r: Reduce, text: str) -> None:
        name = self.names.fresh(f"row_{r.op}")
        self.writer.line(f"{name} = {along(r.op, text, 1)}")
        self.names.values[r.key] = name

    # A row in parts.

    def _passes(self) -> None:
        self._scope().fetch([r.expr for r in self.part.roots if not self._waits_for_columns(r.expr)])
        places = self.plan.places
        for n, group in enumerate(self.plan.passes):
            if n != 1 or not places:
                self._pass(group, {} if n else places)
        if self.plan.wide:
            with self.writer.block(f"for start in tl.range(0, {self.plan.column_count}, BLOCK):"):
                names = self._block()
                scope = self._scope(names)
                scope.fetch([r.expr for r in self.plan.wide])
                self._store(scope, narrow=False)
        self._store(self._scope(), wide=False)

    def _waits_for_columns(self, expr: Expr) -> bool:
        return any(self.plan.along_columns(n) for n in walk(expr) if isinstance(n, Element))

    def _pass(self, group: Sequence[Reduce], places: Mapping[str, Reduce]) -> None:
        w = self.writer
        shape = "[ROWS, 1]" if self.steps else "[ROWS, BLOCK]"
        sums = [self.names.fresh(f"row_{r.op}" if self.steps else f"lanes_{r.op}") for r in group]
        found = {
            r.key: FirstPlace(w, self.names, r, name, shape)
            for r, name in zip(group, sums, strict=True)
            if r.key in places
        }
        for r, name in zip(group, sums, strict=True):
            w.line(f"{name} = tl.full({shape}, {self._start(r)}, {'tl.int64' if r.kind == 'int' else 'tl.float32'})")
        for place in found.values():
            place.begin(self.steps)
        if self.ends:
            with w.block(f"if {self._whole_windows(self.ends)}:"):
                bare = [replace(r, arg=unasked(r.arg)) for r in group]
                # Of a name in both branches Triton wants one type.
                self.names.taken |= self._walk(bare, sums, found, replace(self.rows, mask="")).taken
        with w.block("else:") if self.ends else nullcontext():
            self._walk(group, sums, found, self.rows)
        for r, name in zip(group, sums, strict=True):
            if self.steps:
                self.names.values[r.key] = name
            else:
                self._combined(r, name)
        for key, place in found.items():
            self.names.values[places[key].key] = place.end(self.names.values[key], self.steps)

    def _walk(
        self, group: Sequence[Reduce], sums: Sequence[str], found: Mapping[str, FirstPlace], rows: Group
    ) -> Names:
        """The loop over the columns."""
        with self.writer.block(self._loop()):
            names = self._block()
            scope = self._scope(names, rows)
            scope.fetch([r.arg for r in group])
            texts = scope.write([r.arg for r in group])
            for r, name, text in zip(group, sums, texts, strict=True):
                term = text if self.steps else self._masked(r, text)
                if r.key in found:
                    found[r.key].meet(term)
                else:
                    self.writer.line(JOIN[r.op].format(name, term))
        return names

    def _whole_windows(self, ends: Ends) -> str:
        """Whether all windows of the tile are whole."""
        line = Index(self.plan.rows[-1]).key

        def write(condition: Expr, row: str) -> list[str]:
            return self._scope(self.names.inner({line: row})).write([condition])

        return at_both_ends(ends, self.rows.mask, self.count, write)

    def _loop(self) -> str:
        count = self.plan.column_count
        if not self.steps:
            return f"for start in tl.range(0, {count}, BLOCK):"
        return f"for column in tl.{'static_range' if count <= UNROLLED else 'range'}({count}):"

    def _block(self) -> Names:
        names = self.names.inner()
        if not self.steps:
            self.writer.line("column = start + tl.arange(0, BLOCK)[None, :]")
        self._columns(names)
        return names


STRIDED = Family("strided", matched, StridedSchedule, strided_default, strided_space, _Kernel.write, cost=strided_cost)
