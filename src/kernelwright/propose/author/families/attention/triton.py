"""Attention in Triton: one program makes the results of a block of queries."""

from dataclasses import dataclass

from kernelwright.propose.author.families.attention.plan import Attention, always_finite, in_powers_of_two
from kernelwright.propose.author.families.attention.schedule import AttentionSchedule
from kernelwright.propose.author.families.family import Text
from kernelwright.propose.author.plan.expr import Element, Expr, Index
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.tile import Group, TileScope, large, split_position
from kernelwright.propose.author.source.triton_helpers import HELPERS, helpers_in
from kernelwright.propose.author.source.writer import Writer

WORDS = frozenset({
    "row", "blocks", "batch", "column", "start", "key", "below", "feature", "beneath", "in_rows", "in_columns",
    "in_span", "in_below", "in_features", "in_beneath", "queries", "keys", "values", "products", "scores", "top",
    "shift", "weights", "norm", "total", "larger", "keep", "block", "seen", *HELPERS,
})  # fmt: skip


def write_triton(plan: Attention, schedule: AttentionSchedule, name: str, prefix: str) -> Text:
    """The kernel under a name."""
    kernel = _Kernel(plan, schedule)
    text = kernel.text(name)
    constants = {
        f"{prefix}BLOCK_M": schedule.block_m, f"{prefix}BLOCK_N": schedule.block_n,
        f"{prefix}STAGES": schedule.stages, f"{prefix}WARPS": schedule.warps,
    }  # fmt: skip
    return Text(text, kernel.launch(name, prefix), constants, helpers_in(text))


@dataclass
class _Kernel:
    plan: Attention
    schedule: AttentionSchedule

    def __post_init__(self) -> None:
        plan, count = self.plan, self.plan.part.count
        self.part, self.writer = plan.part, Writer("    ")
        self.tensors = (*self.part.reads, *self.part.writes)
        self.names = Names({*WORDS, *(t.identifier for t in self.tensors)})
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

    def launch(self, name: str, prefix: str) -> list[str]:
        pointers = ", ".join(t.identifier for t in self.tensors)
        blocks = f"triton.cdiv({self.row_count}, {prefix}BLOCK_M)"
        count = f"{self.batches} * {blocks}" if self.batches > 1 else blocks
        sizes = ", ".join(f"{size}={prefix}{size}" for size in ("BLOCK_M", "BLOCK_N", "STAGES"))
        return [f"{name}[({count},)](", f"    {pointers},", f"    {sizes}, num_warps={prefix}WARPS,", ")"]

    def text(self, name: str) -> str:
        w = self.writer
        w.line("@triton.jit")
        with w.block(f"def {name}(", "):"):
            for tensor in self.tensors:
                w.line(f"{tensor.identifier}_ptr,")
            for size in ("BLOCK_M", "BLOCK_N", "STAGES"):
                w.line(f"{size}: tl.constexpr,")
        with w.block('    """One program makes BLOCK_M results, and walks over the keys BLOCK_N at a time."""'):
            self._place()
            self._read("queries", self.plan.queries, self.names, (self.rows, self.feature))
            w.line('top = tl.full([BLOCK_M, 1], -float("inf"), tl.float32)')
            w.line("norm = tl.zeros([BLOCK_M, 1], tl.float32)")
            w.line(f"total = tl.zeros([BLOCK_M, {self.wide}], tl.float32)")
            self._walk()
            w.line("total = total / norm")
            self.names.values[self.plan.node.key] = "total"
            scope = self._scope(self.names, self.rows, self.columns)
            scope.fetch([self.plan.root.expr])
            scope.store(self.plan.root, self.part.sizes)
        return w.text()

    def _walk(self) -> None:
        """Over the keys; behind its queries a program sees none, and only beside them it must look which it sees."""
        w, plan = self.writer, self.plan
        if plan.causal is None:
            with w.block(f"for start in tl.range(0, {self.span}, BLOCK_N, num_stages=STAGES):"):
                self._step(plan.scores)
            return
        w.line(f"seen = tl.minimum(block * BLOCK_M, {self.span}) // BLOCK_N * BLOCK_N")
        with w.block("for start in tl.range(0, seen, BLOCK_N, num_stages=STAGES):"):
            self._step(plan.causal)
        with w.block(f"for start in tl.range(seen, tl.minimum((block + 1) * BLOCK_M, {self.span}), BLOCK_N):"):
            self._step(plan.scores)

    def _scope(self, names: Names, *groups: Group) -> TileScope:
        return TileScope(self.part, self.writer, names, groups=(*groups, self.batch))

    def _place(self) -> None:
        w = self.writer
        program = "tl.cast(tl.program_id(0), tl.int64)" if large(self.part) else "tl.program_id(0)"
        w.line("blocks = tl.cdiv(" + f"{self.row_count}, BLOCK_M)")
        if self.batches > 1:
            w.line(f"batch = {program} // blocks")
        # The longest walks begin first, so that none is left alone at the end.
        turn = f"blocks - 1 - {program} % blocks" if self.plan.causal is not None else f"{program} % blocks"
        w.line(f"block = {turn}")
        w.line("row = block * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]")
        self._line(self.columns, f"tl.arange(0, {self.wide})[None, :]", self.column_count)
        self._line(self.feature, f"tl.arange(0, {self.deep})[None, :]", self.feature_count)
        self._mask(self.rows, self.row_count)
        plan = self.plan
        wanted: list[Expr] = [plan.node, plan.root.expr, *map(Index, plan.root.axes)]
        for group in (self.batch, self.rows, self.columns):
            if group.axes:
                split_position(w, self.names, group, self.part.sizes, wanted)

    def _line(self, group: Group, text: str, count: int) -> None:
        self.writer.line(f"{group.position} = {text}")
        self._mask(group, count)

    def _mask(self, group: Group, count: int) -> None:
        if group.mask:
            self.writer.line(f"{group.mask} = {group.position} < {count}")

    def _step(self, scores: Expr) -> None:
        """One block of keys and values; the scores count powers of two."""
        w, plan = self.writer, self.plan
        finite, scores = always_finite(scores, plan.product), in_powers_of_two(scores)
        self._line(self.across, "start + tl.arange(0, BLOCK_N)[None, :]", self.span)
        self._line(self.down, "start + tl.arange(0, BLOCK_N)[:, None]", self.span)
        self._line(self.beneath, f"tl.arange(0, {self.deep})[:, None]", self.feature_count)
        inner = self.names.inner()
        split_position(w, inner, self.across, self.part.sizes, [scores])
        self._read("keys", plan.keys, inner.inner(), (self.across, self.beneath))
        how = f', input_precision="{self.schedule.precision}"' if plan.number == "float32" else ""
        w.line(f"products = tl.dot(queries, keys{how})")
        inner.values[plan.product.key] = "products"
        scope = self._scope(inner, self.rows, self.across)
        scope.fetch([scores])
        (text,) = scope.write([scores])
        masked = f'tl.where({self.across.mask}, {text}, -float("inf"))' if self.across.mask else text
        w.line(f"scores = {masked}")
        w.line("larger = tl.maximum(top, tl.max(scores, axis=1, keep_dims=True))")
        if not finite:  # a row of which nothing is seen yet has no maximum to take away
            w.line('shift = tl.where(larger == -float("inf"), 0.0, larger)')
        shift = "larger" if finite else "shift"
        w.line(f"weights = tl.exp2(scores - {shift})")
        w.line(f"keep = tl.exp2(top - {shift})")
        w.line("norm = norm * keep + tl.sum(weights, axis=1, keep_dims=True)")
        down = self.names.inner()
        split_position(w, down, self.down, self.part.sizes, [plan.values])
        self._read("values", plan.values, down, (self.down, self.columns))
        cast = f".to(tl.{plan.number})" if plan.number != "float32" else ""
        w.line(f"total = tl.dot(weights{cast}, values, total * keep{how})")
        w.line("top = larger")

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
        self.writer.line(f"{name} = {text}" if scope.narrow else f"{name} = {text}.to(tl.{self.plan.number})")
        # A loop may not give a name of the lines before it to a tile of another shape.
        self.names.taken |= names.taken


def _power(extent: int) -> int:
    return max(16, 1 << (extent - 1).bit_length())
