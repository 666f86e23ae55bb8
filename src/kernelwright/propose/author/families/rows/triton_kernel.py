"""The Triton kernels for rows: the one that reads the inputs, and the one that finishes totals from its programs' shares.

In a row kernel a tile is [ROWS, BLOCK]: what varies along rows only is [ROWS, 1], along columns only [1, BLOCK], so that
broadcasting does the rest. In a flat kernel a tile is [BLOCK].
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.emit.triton import (
    ATOMIC,
    EVICT,
    SOFTMAX,
    START,
    VARIANCE,
    WORDS,
    TritonScope,
    along,
    function,
    joined,
    pointers,
)
from kernelwright.propose.author.families.rows.plan import Fusion, Output, Plan
from kernelwright.propose.author.families.rows.schedule import WHOLE_LIMIT, TritonSchedule
from kernelwright.propose.author.ir.expr import ROW, Element, Expr, Load, Reduce, walk
from kernelwright.propose.author.ir.program import Tensor


class MainKernel:
    """The kernel that reads the inputs."""

    def __init__(self, plan: Plan, schedule: TritonSchedule) -> None:
        self.plan = plan
        self.schedule = schedule
        self.writer = Writer("    ")
        self._ends = [o.expr for o in (*plan.stored, *plan.per_row)] + [t.arg for t in plan.totals]
        self.reads = used(plan, self._ends)
        self.writes = [o.tensor for o in (*plan.stored, *plan.per_row)]
        self.names = Names({*WORDS, *(t.identifier for t in self.reads)})
        self.totals = [self.names.fresh(f"total_{t.op}") for t in plan.totals]

    @property
    def pointers(self) -> list[str]:
        """Names of the pointer arguments."""
        return [*pointers((*self.reads, *self.writes)), *(f"{total}_ptr" for total in self.totals)]

    @property
    def sizes(self) -> list[str]:
        """Names of the sizes that are known when the kernel runs."""
        return ["numel"] if self.plan.flat else ["rows"]

    @property
    def constants(self) -> list[str]:
        """Names of the compile-time arguments: with `cols` among them, masks that are always true vanish."""
        tile = ["BLOCK"] if self.plan.flat else ["cols", "ROWS", "BLOCK"]
        return tile + ["STAGES"] * (self.over_tiles or self.over_columns) + ["UNROLL"] * self.unrolled

    @property
    def over_columns(self) -> bool:
        """Whether loops run over the blocks of a row."""
        return not self.plan.flat and self.schedule.passes != "whole"

    @property
    def over_tiles(self) -> bool:
        """Whether a loop over tiles keeps their loads in flight."""
        return self.schedule.grid == "persistent" and not self.over_columns

    @property
    def unrolled(self) -> bool:
        """Whether a loop over tiles is unrolled."""
        return self.plan.flat and self.over_tiles and self.schedule.unroll > 1

    def text(self, name: str) -> str:
        """The kernel."""
        with function(self.writer, name, (*self.pointers, *self.sizes), self.constants, self._idea()):
            self._body()
        return self.writer.text()

    def _idea(self) -> str:
        if self.plan.flat and self.schedule.grid == "tiles":
            return "One program takes BLOCK elements."
        if self.plan.flat:
            return "One program takes blocks of BLOCK elements, as far apart as there are programs."
        if self.schedule.passes == "whole":
            return "One program holds ROWS whole rows; each element is read once."
        return "One program takes ROWS rows, in blocks of BLOCK columns."

    def _body(self) -> None:
        for total, name in zip(self.plan.totals, self.totals, strict=True):
            shape = "[BLOCK]" if self.plan.flat else "[ROWS, 1]"
            self.writer.line(f"{name} = tl.full({shape}, {START[total.op]}, tl.float32)")
        if self.schedule.grid == "persistent":
            self.writer.line(f"tiles = {'tl.cdiv(numel, BLOCK)' if self.plan.flat else 'tl.cdiv(rows, ROWS)'}")
            stages = ", num_stages=STAGES" * self.over_tiles
            unroll = ", loop_unroll_factor=UNROLL" * self.unrolled
            self.writer.line("first = tl.program_id(0)")
            self.writer.line("step = tl.num_programs(0)")
            with self.writer.block(f"for tile in tl.range(first, tiles, step{stages}{unroll}):"):
                self._tile()
        else:
            self.writer.line("tile = tl.program_id(0)")
            self._tile()
        self._share_totals()

    def _tile(self) -> None:
        if self.plan.flat:
            self._flat_tile()
            return
        self.writer.line("row = tl.cast(tile * ROWS, tl.int64) + tl.arange(0, ROWS)[:, None]")
        if self.schedule.passes == "whole":
            self._whole_rows()
        else:
            self._blocked_rows()
        scope = TritonScope(self.plan, self.writer, self.names)
        self._store(scope, self.plan.per_row, "row", "row < rows")
        self._take(scope, "row < rows")
        self.names.values.clear()

    def _flat_tile(self) -> None:
        self.writer.line("at = tl.cast(tile, tl.int64) * BLOCK + tl.arange(0, BLOCK)")
        self.writer.line("inside = at < numel")
        scope = TritonScope(self.plan, self.writer, self.names, mask="inside", hint=self._hint())
        scope.fetch(self._ends)
        for total in self.plan.totals:
            for node in walk(total.arg):
                if isinstance(node, Reduce):
                    self._alias(scope, node)
        self._store(scope, self.plan.stored, "at", "inside")
        self._take(scope, "inside")

    def _alias(self, scope: TritonScope, block: Reduce) -> None:
        """A block's sum need not be made: its elements join the total lane by lane."""
        (text,) = scope.write([block.arg])
        self.names.values[block.key] = text

    def _take(self, scope: TritonScope, mask: str) -> None:
        texts = scope.write([t.arg for t in self.plan.totals])
        for total, name, text in zip(self.plan.totals, self.totals, texts, strict=True):
            self.writer.line(f"lanes = tl.where({mask}, {text}, {START[total.op]})")
            self.writer.line(joined(total.op, name, "lanes"))

    def _hint(self, again: bool = False) -> str:
        """A load's eviction hint; `again` where another pass will load the same."""
        wanted = self.schedule.eviction
        return EVICT if wanted == "evict-last" or (wanted == "evict-first" and not again) else ""

    def _store(self, scope: TritonScope, outputs: Sequence[Output], place: str, mask: str) -> None:
        texts = scope.write([o.expr for o in outputs])
        for output, text in zip(outputs, texts, strict=True):
            self.writer.line(f"tl.store({output.tensor.identifier}_ptr + {place}, {text}, mask={mask})")

    # Rows that fit.

    def _whole_rows(self) -> None:
        self._place("tl.arange(0, BLOCK)[None, :]")
        scope = TritonScope(self.plan, self.writer, self.names, mask="inside", hint=self._hint())
        # A thread that holds the longest rows has 64 registers: factors are read when the sums are known.
        late = bool(self.plan.passes) and self.plan.cols > WHOLE_LIMIT // 2
        scope.fetch([r.arg for r in self.plan.passes[0]] if late else self._ends)
        ends = [o.expr for o in self.plan.stored]
        for group in self.plan.passes:
            texts = scope.write([r.arg for r in group], later=ends)
            for r, text in zip(group, texts, strict=True):
                name = self.names.fresh(f"row_{r.op}")
                self.writer.line(f"lanes = tl.where(column < cols, {text}, {START[r.op]})")
                self.writer.line(f"{name} = {along(r.op, 'lanes', 1)}")
                self.names.values[r.key] = name
        scope.fetch(ends)
        self._store(scope, self.plan.stored, "at", "inside")

    # Rows in blocks.

    def _blocked_rows(self) -> None:
        fusion = self.plan.fusion if self.schedule.passes == "online" else None
        number = 0
        TritonScope(self.plan, self.writer, self.names).fetch(self._ends)
        for group in self.plan.passes:
            if fusion is not None and fusion.first in group:
                self._fused(fusion, number)
                number += 1
            rest = [r for r in group if r.key not in self.names.values]
            if rest:
                self._pass(rest, number)
                number += 1
        if self.plan.stored:
            TritonScope(self.plan, self.writer, self.names).hoist([o.expr for o in self.plan.stored])
            with self._columns(number):
                scope = self._block_scope(again=False)
                scope.fetch([o.expr for o in self.plan.stored])
                self._store(scope, self.plan.stored, "at", "inside")

    def _block_scope(self, again: bool = True) -> TritonScope:
        return TritonScope(self.plan, self.writer, self.names.inner(), mask="inside", hint=self._hint(again))

    @contextmanager
    def _columns(self, number: int) -> Iterator[None]:
        """The loop over the blocks of a row, for pass `number`."""
        backwards = self.schedule.order == "alternate" and number % 2 == 1
        with self.writer.block("for start in tl.range(0, cols, BLOCK, num_stages=STAGES):"):
            first = "(tl.cdiv(cols, BLOCK) - 1) * BLOCK - start" if backwards else "start"
            self._place(f"{first} + tl.arange(0, BLOCK)[None, :]")
            yield

    def _place(self, columns: str) -> None:
        """Where the tile lies in a row-major tensor, and which of its elements exist."""
        self.writer.line(f"column = {columns}")
        self.writer.line("at = row * cols + column")
        self.writer.line("inside = (row < rows) & (column < cols)")

    def _pass(self, group: Sequence[Reduce], number: int) -> None:
        TritonScope(self.plan, self.writer, self.names).hoist([r.arg for r in group])
        lanes = [self.names.fresh(f"lanes_{r.op}") for r in group]
        for r, lane in zip(group, lanes, strict=True):
            self.writer.line(f"{lane} = tl.full([ROWS, BLOCK], {START[r.op]}, tl.float32)")
        with self._columns(number):
            scope = self._block_scope()
            scope.fetch([r.arg for r in group])
            texts = scope.write([r.arg for r in group])
            for r, lane, text in zip(group, lanes, texts, strict=True):
                self.writer.line(f"lanes = tl.where(column < cols, {text}, {START[r.op]})")
                self.writer.line(joined(r.op, lane, "lanes"))
        for r, lane in zip(group, lanes, strict=True):
            name = self.names.fresh(f"row_{r.op}")
            self.writer.line(f"{name} = {along(r.op, lane, 1)}")
            self.names.values[r.key] = name

    def _fused(self, fusion: Fusion, number: int) -> None:
        TritonScope(self.plan, self.writer, self.names).hoist([fusion.element])
        first, second = self.names.fresh(f"row_{fusion.first.op}"), self.names.fresh("row_sum")
        start = START[fusion.first.op]
        self.writer.line(f"{first} = tl.full([ROWS, 1], {start}, tl.float32)")
        self.writer.line(f"{second} = tl.full([ROWS, 1], 0.0, tl.float32)")
        with self._columns(number):
            (text,) = self._block_scope().write([fusion.element])
            lines = SOFTMAX if fusion.kind == "softmax" else VARIANCE
            for line in lines:
                self.writer.line(line.format(x=text, first=first, second=second))
        self.names.values[fusion.first.key] = first
        self.names.values[fusion.second.key] = second

    # Totals.

    def _share_totals(self) -> None:
        for total, name in zip(self.plan.totals, self.totals, strict=True):
            whole = (
                along(total.op, name, 0, keep=False)
                if self.plan.flat
                else along(total.op, along(total.op, name, 1, keep=False), 0, keep=False)
            )
            if self.schedule.combine == "atomic":
                self.writer.line(f"{ATOMIC[total.op]}({name}_ptr, {whole})")
            else:
                self.writer.line(f"tl.store({name}_ptr + tl.program_id(0), {whole})")


def used(plan: Plan, roots: Sequence[Expr], stop: bool = False) -> list[Tensor]:
    """Arguments that the expressions read, in order; with `stop`, only outside reductions over rows."""
    todo, names, seen = list(roots), set(), set[str]()
    while todo:
        node = todo.pop()
        if node.key in seen:
            continue
        seen.add(node.key)
        if isinstance(node, Load | Element):
            names.add(node.name)
        if not (stop and isinstance(node, Reduce) and node.over == (ROW,)):
            todo += node.children
    return [t for t in plan.arguments if t.name in names]


def finish_kernel(plan: Plan, totals: Sequence[str], name: str) -> str:
    """The kernel that adds up the programs' shares and makes the scalar results of them."""
    w = Writer("    ")
    reads = used(plan, [o.expr for o in plan.scalars], stop=True)
    sizes = ["numel"] if plan.flat else ["rows", "cols"]
    stored = [o.tensor for o in plan.scalars]
    given = [*(f"{t}_ptr" for t in totals), *pointers((*reads, *stored)), "programs", *sizes]
    names = Names({"slot", "start", "shares", "inside", *totals})
    with function(w, name, given, ["SIZE"], "One program adds up what the others left, in double."):
        for total, text in zip(plan.totals, totals, strict=True):
            w.line(f"{text} = tl.full([SIZE], {START[total.op]}, tl.float64)")
        with w.block("for start in tl.range(0, programs, SIZE):"):
            w.line("slot = start + tl.arange(0, SIZE)")
            for total, text in zip(plan.totals, totals, strict=True):
                load = f"tl.load({text}_ptr + slot, mask=slot < programs, other={START[total.op]})"
                w.line(f"shares = {load}")
                w.line(joined(total.op, text, "shares.to(tl.float64)"))
        for total, text in zip(plan.totals, totals, strict=True):
            w.line(f"{text} = {along(total.op, text, 0, keep=False)}.to(tl.float32)")
            names.values[total.key] = text
        scope = TritonScope(plan, w, names)
        texts = scope.write([o.expr for o in plan.scalars])
        for output, text in zip(plan.scalars, texts, strict=True):
            w.line(f"tl.store({output.tensor.identifier}_ptr, {text})")
    return w.text()


def finish_reads(plan: Plan) -> list[Tensor]:
    """Arguments that the finishing kernel reads."""
    return used(plan, [o.expr for o in plan.scalars], stop=True)
