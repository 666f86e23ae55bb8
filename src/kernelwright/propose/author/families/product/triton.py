"""A product in Triton: one program makes one tile of the result, and computes its factors' elements as it reads them."""

from dataclasses import dataclass

from kernelwright.propose.author.families.family import Text
from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.families.product.schedule import ProductSchedule, stages_that_fit
from kernelwright.propose.author.plan.expr import Element, Expr, Index
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.tile import Group, TileScope, large, split_position
from kernelwright.propose.author.source.triton_helpers import HELPERS, helpers_in
from kernelwright.propose.author.source.writer import Writer

WORDS = frozenset({
    "tile", "tiles", "down", "across", "first", "height", "turn", "row", "column", "deep", "below", "start", "batch",
    "in_rows", "in_columns", "in_depth", "in_below", "left", "right", "total", *HELPERS,
})  # fmt: skip
SIZES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP", "STAGES")


def write_triton(plan: Product, schedule: ProductSchedule, name: str, prefix: str) -> Text:
    """The kernel under a name."""
    kernel = _Kernel(plan, schedule)
    text = kernel.text(name)
    values = (schedule.block_m, schedule.block_n, schedule.block_k, schedule.group, stages_that_fit(plan, schedule))
    constants = {prefix + size: value for size, value in zip(SIZES, values, strict=True)}
    launch = kernel.launch(name, prefix)
    return Text(text, launch, constants | {f"{prefix}WARPS": schedule.warps}, helpers_in(text))


@dataclass
class _Kernel:
    plan: Product
    schedule: ProductSchedule

    def __post_init__(self) -> None:
        plan, s = self.plan, self.schedule
        self.part = plan.part
        self.writer = Writer("    ")
        self.tensors = (*self.part.reads, *self.part.writes)
        self.names = Names({*WORDS, *(t.identifier for t in self.tensors)})
        self.batches, self.row_count, self.column_count, self.depth = plan.extents
        self.rows = Group(plan.rows, "row", "in_rows" if self.row_count % s.block_m else "")
        self.columns = Group(plan.columns, "column", "in_columns" if self.column_count % s.block_n else "")
        ragged = bool(self.depth % s.block_k)
        self.deep = Group(plan.depth, "deep", "in_depth" if ragged else "")
        self.below = Group(plan.depth, "below", "in_below" if ragged else "")
        self.batch = Group(plan.batch, "batch", number=True)

    def launch(self, name: str, prefix: str) -> list[str]:
        pointers = ", ".join(t.identifier for t in self.tensors)
        count = f"triton.cdiv({self.row_count}, {prefix}BLOCK_M) * triton.cdiv({self.column_count}, {prefix}BLOCK_N)"
        count = f"{self.batches} * {count}" if self.batches > 1 else count
        sizes = ", ".join(f"{size}={prefix}{size}" for size in SIZES)
        return [f"{name}[({count},)](", f"    {pointers},", f"    {sizes}, num_warps={prefix}WARPS,", ")"]

    def text(self, name: str) -> str:
        w = self.writer
        w.line("@triton.jit")
        with w.block(f"def {name}(", "):"):
            for tensor in self.tensors:
                w.line(f"{tensor.identifier}_ptr,")
            for size in SIZES:
                w.line(f"{size}: tl.constexpr,")
        with w.block(f'    """One program makes a tile of BLOCK_M by BLOCK_N sums of {self.depth} products."""'):
            self._place()
            w.line("total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)")
            with w.block(f"for start in tl.range(0, {self.depth}, BLOCK_K, num_stages=STAGES):"):
                self._step()
            self.names.values[self.plan.node.key] = "total"
            scope = self._scope(self.names, self.rows, self.columns)
            scope.fetch([self.plan.root.expr])
            scope.store(self.plan.root, self.part.sizes)
        return w.text()

    def _scope(self, names: Names, *groups: Group) -> TileScope:
        return TileScope(self.part, self.writer, names, groups=(*groups, self.batch))

    def _place(self) -> None:
        """Which tile this is: neighbours in a group of rows share the factors' tiles in the cache."""
        w = self.writer
        w.line("down = tl.cdiv(" + f"{self.row_count}, BLOCK_M)")
        w.line("across = tl.cdiv(" + f"{self.column_count}, BLOCK_N)")
        w.line("tile = tl.program_id(0)" + (" % (down * across)" if self.batches > 1 else ""))
        if self.batches > 1:
            cast = "tl.cast(tl.program_id(0) // (down * across), tl.int64)" if large(self.part) else ""
            w.line(f"batch = {cast or 'tl.program_id(0) // (down * across)'}")
        w.line("first = tile // (GROUP * across) * GROUP")
        w.line("height = tl.minimum(down - first, GROUP)")
        w.line("turn = tile % (GROUP * across)")
        w.line(f"row = {self._wide('(first + turn % height)')} * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]")
        w.line(f"column = {self._wide('(turn // height)')} * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]")
        for group, count in ((self.rows, self.row_count), (self.columns, self.column_count)):
            if group.mask:
                w.line(f"{group.mask} = {group.position} < {count}")
        wanted: list[Expr] = [self.plan.left, self.plan.right, self.plan.root.expr, *map(Index, self.plan.root.axes)]
        for group in (self.batch, self.rows, self.columns):
            if group.axes:
                split_position(w, self.names, group, self.part.sizes, wanted)

    def _wide(self, text: str) -> str:
        return f"tl.cast({text}, tl.int64)" if large(self.part) else text

    def _step(self) -> None:
        """One slice of both factors."""
        w = self.writer
        left = self._factor("left", self.plan.left, self.deep, self.rows, "tl.arange(0, BLOCK_K)[None, :]")
        right = self._factor("right", self.plan.right, self.below, self.columns, "tl.arange(0, BLOCK_K)[:, None]")
        how = f', input_precision="{self.schedule.precision}"' if self.plan.precise else ""
        w.line(f"total = tl.dot({left}, {right}, total{how})")

    def _factor(self, name: str, factor: Expr, depth: Group, side: Group, steps: str) -> str:
        w, names = self.writer, self.names.inner()
        w.line(f"{depth.position} = start + {steps}")
        if depth.mask:
            w.line(f"{depth.mask} = {depth.position} < {self.depth}")
        split_position(w, names, depth, self.part.sizes, [factor])
        scope = self._scope(names, side, depth)
        scope.other = "0.0"
        scope.fetch([factor])
        (text,) = scope.write([factor])
        if depth.mask and not isinstance(factor, Element):
            text = f"tl.where({depth.mask}, {text}, 0.0)"
        if not self.plan.precise:
            text += f".to(tl.{self.plan.number})"
        elif factor.kind != "float":
            text += ".to(tl.float32)"
        w.line(f"{name} = {text}")
        self.names.taken |= names.taken
        return name
