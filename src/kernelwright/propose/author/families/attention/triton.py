"""Attention in Triton: one program makes the results of a block of queries."""

from kernelwright.propose.author.emit.scope import Names
from kernelwright.propose.author.emit.tile import Group, TileScope, masked, program_id, split_position
from kernelwright.propose.author.emit.triton import function, pointers
from kernelwright.propose.author.families.attention.plan import (
    Attention,
    AttentionSchedule,
    attention_cost,
    attention_default,
    attention_space,
    in_powers_of_two,
    matched,
    scale_of,
    warps_of,
)
from kernelwright.propose.author.families.family import Family, TileKernel
from kernelwright.propose.author.ir.expr import Call, Element, Expr, Index

SIZES = ("BLOCK_M", "BLOCK_N", "STAGES")
TOGETHER = 8
"""Batches whose programs run side by side."""


class _Kernel(TileKernel[Attention, AttentionSchedule]):
    WORDS = frozenset({
        "row", "blocks", "batch", "column", "start", "key", "below", "feature", "beneath", "in_rows", "in_columns",
        "in_span", "in_below", "in_features", "in_beneath", "queries", "keys", "values", "products", "scores", "top",
        "shift", "weights", "norm", "total", "larger", "keep", "block",
        "turn", "first", "height",
    })  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        plan, count = self.plan, self.plan.part.count
        self.row_count, self.span = count(plan.rows), count(plan.span)
        self.feature_count, self.column_count = count(plan.features), count(plan.columns)
        self.batches = count(plan.batch)
        self.wide, self.deep = _power(self.column_count), _power(self.feature_count)
        self.batch = Group(plan.batch, "batch", number=True)
        self.rows = Group(plan.rows, "row", "in_rows" if self.row_count % self.schedule.block_m else "")
        self.columns = Group(plan.columns, "column", "in_columns" if self.column_count < self.wide else "")
        ragged = self.span % self.schedule.block_n
        self.across = Group(plan.span, "key", "in_span" if ragged else "")
        self.down = Group(plan.span, "below", "in_below" if ragged else "")
        short = self.feature_count < self.deep
        self.feature = Group(plan.features, "feature", "in_features" if short else "")
        self.beneath = Group(plan.features, "beneath", "in_beneath" if short else "")

    @property
    def constants(self) -> dict[str, int]:
        """See `TileKernel.constants`."""
        s = self.schedule
        registers = {"REGISTERS": s.registers} if s.registers else {}
        return {
            **dict(zip(SIZES, (s.block_m, s.block_n, s.stages), strict=True)),
            "WARPS": warps_of(self.plan, s),
            **registers,
        }

    def launch(self, name: str, prefix: str) -> list[str]:
        """See `TileKernel.launch`."""
        pointers = ", ".join(t.identifier for t in self.tensors)
        blocks = f"triton.cdiv({self.row_count}, {prefix}BLOCK_M)"
        count = f"{self.batches} * {blocks}" if self.batches > 1 else blocks
        sizes = ", ".join(f"{size}={prefix}{size}" for size in SIZES)
        most = f" maxnreg={prefix}REGISTERS," if self.schedule.registers else ""
        return [f"{name}[({count},)](", f"    {pointers},", f"    {sizes}, num_warps={prefix}WARPS,{most}", ")"]

    def text(self, name: str) -> str:
        """See `TileKernel.text`."""
        w = self.writer
        idea = "One program makes BLOCK_M results, and walks over the keys BLOCK_N at a time."
        with function(w, name, pointers(self.tensors), SIZES, idea):
            self._place()
            self._read("queries", self.plan.queries, self.names, (self.rows, self.feature))
            w.line('top = tl.full([BLOCK_M, 1], -float("inf"), tl.float32)')
            w.line("norm = tl.zeros([BLOCK_M, 1], tl.float32)")
            w.line(f"total = tl.zeros([BLOCK_M, {self.wide}], tl.float32)")
            self._walk()
            share = "tl.where(norm > 0.0, 1.0 / norm, norm)" if self.plan.spares else "(1.0 / norm)"
            w.line(f"total = total * {share}")
            self.names.values[self.plan.node.key] = "total"
            scope = self._scope(self.names, self.rows, self.columns)
            scope.fetch([self.plan.root.expr])
            scope.store(self.plan.root, self.part.sizes)
        return w.text()

    def _walk(self) -> None:
        """Over the keys; behind its queries a program sees none, and only in the last steps it must look which it sees.

        One loop for all of them: a second one would begin with loads that nothing overlaps.
        """
        plan, end = self.plan, str(self.span)
        if plan.causal is not None:
            end = f"tl.minimum((block + 1) * BLOCK_M, {end})"
        with self.writer.block(f"for start in tl.range(0, {end}, BLOCK_N, num_stages=STAGES):"):
            self._step(plan.scores if plan.causal is None else plan.causal)

    def _scope(self, names: Names, *groups: Group) -> TileScope:
        return TileScope(self.part, self.writer, names, groups=(*groups, self.batch))

    def _place(self) -> None:
        w, program = self.writer, program_id(self.part)
        w.line(f"blocks = tl.cdiv({self.row_count}, BLOCK_M)")
        if self.plan.causal is not None:
            self._longest_first(program)
        elif self.batches > 1:
            w.line(f"batch = {program} // blocks")
            w.line(f"block = {program} % blocks")
        else:
            w.line(f"block = {program}")
        w.line("row = block * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]")
        self._line(self.columns, f"tl.arange(0, {self.wide})[None, :]", self.column_count)
        self._line(self.feature, f"tl.arange(0, {self.deep})[None, :]", self.feature_count)
        masked(w, (self.rows, self.row_count))
        plan = self.plan
        wanted: list[Expr] = [plan.node, plan.root.expr, *map(Index, plan.root.axes)]
        for group in (self.batch, self.rows, self.columns):
            if group.axes:
                split_position(w, self.names, group, self.part.sizes, wanted)

    def _longest_first(self, program: str) -> None:
        """Which block this is of which batch: the longest walks of a few batches begin first, so that none is left at the end.

        Only of a few, so that what they read stays in the cache.
        """
        w, most = self.writer, min(self.batches, TOGETHER)
        if self.batches == 1:
            w.line(f"block = blocks - 1 - {program}")
            return
        w.line(f"turn = {program} % ({most} * blocks)")
        w.line(f"first = {program} // ({most} * blocks) * {most}")
        height = f"tl.minimum({self.batches} - first, {most})" if self.batches % most else str(most)
        w.line(f"height = {height}")
        w.line("batch = first + turn % height")
        w.line("block = blocks - 1 - turn // height")

    def _line(self, group: Group, text: str, count: int) -> None:
        self.writer.line(f"{group.position} = {text}")
        masked(self.writer, (group, count))

    def _step(self, scores: Expr) -> None:
        """One block of keys and values; the scores count powers of two."""
        w, plan = self.writer, self.plan
        self._line(self.across, "start + tl.arange(0, BLOCK_N)[None, :]", self.span)
        self._line(self.down, "start + tl.arange(0, BLOCK_N)[:, None]", self.span)
        self._line(self.beneath, f"tl.arange(0, {self.deep})[:, None]", self.feature_count)
        inner = self.names.inner()
        split_position(w, inner, self.across, self.part.sizes, [scores])
        self._read("keys", plan.keys, inner.inner(), (self.across, self.beneath))
        w.line(f"products = tl.dot(queries, keys{self._how()})")
        self._weights(scores, inner)
        w.line("norm = norm * keep + tl.sum(weights, axis=1, keep_dims=True)")
        down = self.names.inner()
        split_position(w, down, self.down, self.part.sizes, [plan.values])
        self._read("values", plan.values, down, (self.down, self.columns))
        cast = f".to(tl.{plan.number})" if plan.number != "float32" else ""
        w.line(f"total = tl.dot(weights{cast}, values, total * keep{self._how()})")
        w.line("top = larger")

    def _how(self) -> str:
        return f', input_precision="{self.schedule.precision}"' if self.plan.number == "float32" else ""

    def _weights(self, scores: Expr, names: Names) -> None:
        """What each key weighs, and what is kept of the sums so far."""
        w, scale = self.writer, scale_of(in_powers_of_two(scores), self.plan.product)
        if scale is not None:
            # The largest product has the largest score: only that one is scaled before the subtraction.
            self._hide("products")
            w.line(f"larger = tl.maximum(top, tl.max(products, axis=1, keep_dims=True) * {scale!r})")
            w.line(f"weights = tl.exp2(products * {scale!r} - larger)")
            w.line("keep = tl.exp2(top - larger)")
            return
        names.values[self.plan.product.key] = "products"
        scope, scores = self._scope(names, self.rows, self.across), in_powers_of_two(scores)
        scope.fetch([scores])
        w.line(f"scores = {scope.write([scores])[0]}")
        self._hide("scores")
        w.line("larger = tl.maximum(top, tl.max(scores, axis=1, keep_dims=True))")
        # A row of which nothing is seen yet has no maximum to take away.
        w.line('shift = tl.where(larger == -float("inf"), 0.0, larger)')
        w.line("weights = tl.exp2(scores - shift)")
        w.line("keep = tl.exp2(top - shift)")

    def _hide(self, name: str) -> None:
        """Take away what no query of the program, or not every one, may see: only the last steps have any."""
        causal, ragged = self.plan.causal is not None, self.across.mask
        if not causal and not ragged:
            return
        edge = f"tl.minimum(block * BLOCK_M, {self.span})" if causal and ragged else str(self.span)
        edge = "block * BLOCK_M" if causal and not ragged else edge
        seen = " & ".join(["(key <= row)" if ragged else "key <= row"] * causal + [ragged] * bool(ragged))
        with self.writer.block(f"if start + BLOCK_N > {edge}:"):
            self.writer.line(f'{name} = tl.where({seen}, {name}, -float("inf"))')

    def _read(self, name: str, factor: Expr, names: Names, groups: tuple[Group, Group]) -> None:
        """A factor's tile; zero where it does not exist."""
        names = names.inner()
        for group in groups:
            if group.axes in (self.plan.features, self.plan.span):
                split_position(self.writer, names, group, self.part.sizes, [factor])
        scope = self._scope(names, *groups)
        scope.other, scope.narrow = "0.0", isinstance(factor, Element) and self.plan.number != "float32"
        scope.fetch([factor])
        (text,) = scope.write([factor])
        masks = [g.mask for g in groups if g.mask]
        if masks and not isinstance(factor, Element):
            text = f"tl.where({' & '.join(masks)}, {text}, 0.0)"
        text = f"({text})" if isinstance(factor, Call) else text
        self.writer.line(f"{name} = {text}" if scope.narrow else f"{name} = {text}.to(tl.{self.plan.number})")
        # A loop may not give a name of the lines before it to a tile of another shape.
        self.names.taken |= names.taken


def _power(extent: int) -> int:
    return max(16, 1 << (extent - 1).bit_length())


ATTENTION = Family(
    "attention", matched, AttentionSchedule, attention_default, attention_space, _Kernel.write, cost=attention_cost
)
