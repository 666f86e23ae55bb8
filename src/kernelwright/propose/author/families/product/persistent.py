"""A product of half precision by programs that stay: each makes one tile after another, of slices that the hardware copies.

While a tile is stored, slices of the next one are under way, since both loops are flattened into one. A tile is stored by
halves, which leaves shared memory for one more slice. A program of Hopper's is alone on its multiprocessor then. Why it is so,
docs/log.md says (2026-11-28): of 56 such kernels on an H200 this one is the fastest.
"""

from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.emit.tile import Group, TileScope, large, split_position
from kernelwright.propose.author.emit.triton import function, pointers
from kernelwright.propose.author.emit.triton_file import helpers_in
from kernelwright.propose.author.families.family import Text
from kernelwright.propose.author.families.product.plan import Matrix, Product
from kernelwright.propose.author.families.product.schedule import ProductSchedule, stages_that_fit

SIZES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP")
MAPS = ("left_map", "right_map", "out_map")
WORDS = frozenset({
    *MAPS, "down", "across", "tile", "first", "height", "turn", "above", "before", "sums", "start", "left", "right", "halves",
    "half", "total", "aside", "row", "column", "in_rows", "in_columns",
})  # fmt: skip
HALVES = 2
"""Parts in which a tile is stored."""


def write_persistent(
    plan: Product, schedule: ProductSchedule, found: tuple[Matrix, Matrix, Matrix], name: str, prefix: str
) -> Text:
    """The kernel under a name."""
    kernel = _Persistent(plan, schedule, found)
    text, launch = kernel.text(name), kernel.launch(name, prefix)
    values = (schedule.block_m, schedule.block_n, schedule.block_k, schedule.group)
    constants = {prefix + size: value for size, value in zip(SIZES, values, strict=True)}
    constants |= {f"{prefix}STAGES": stages_that_fit(plan, schedule), f"{prefix}WARPS": schedule.warps}
    return Text(text, launch, constants, helpers_in("\n".join((text, *launch))))


class _Persistent:
    def __init__(self, plan: Product, schedule: ProductSchedule, found: tuple[Matrix, Matrix, Matrix]) -> None:
        self.plan, self.part, self.found = plan, plan.part, found
        self.writer = Writer("    ")
        _, self.row_count, self.column_count, self.depth = plan.extents
        taken = {t.identifier for t in (*plan.beside, *self.part.writes)}
        self.names = Names({*WORDS, *taken})
        self.rows = Group(plan.rows, "row", "in_rows" if self.row_count % schedule.block_m else "")
        self.columns = Group(plan.columns, "column", "in_columns" if self.column_count % schedule.block_n else "")
        self.large = large(self.part)

    def launch(self, name: str, prefix: str) -> list[str]:
        left, right, out = self.found
        blocks = [
            _block("BLOCK_M", "BLOCK_K", prefix, left.turned),
            _block("BLOCK_K", "BLOCK_N", prefix, right.turned),
            f"[{prefix}BLOCK_M, {prefix}BLOCK_N // {HALVES}]",
        ]
        maps = [f"_map({m.tensor.identifier}, {m.shape}, {b})" for m, b in zip(self.found, blocks, strict=True)]
        tiles = f"triton.cdiv({self.row_count}, {prefix}BLOCK_M) * triton.cdiv({self.column_count}, {prefix}BLOCK_N)"
        sizes = ", ".join(f"{size}={prefix}{size}" for size in SIZES)
        return [
            f"{name}[(min({tiles}, _multiprocessors({out.tensor.identifier})),)](",
            *(f"    {one}," for one in maps),
            *([f"    {', '.join(t.identifier for t in self.plan.beside)},"] if self.plan.beside else []),
            f"    {sizes},",
            f"    num_warps={prefix}WARPS, num_stages={prefix}STAGES,",
            ")",
        ]

    def text(self, name: str) -> str:
        w = self.writer
        idea = f"Programs make tiles of BLOCK_M by BLOCK_N sums of {self.depth} products, by turns."
        with function(w, name, (*MAPS, *pointers(self.plan.beside)), SIZES, idea):
            w.line(f"down = tl.cdiv({self.row_count}, BLOCK_M)")
            w.line(f"across = tl.cdiv({self.column_count}, BLOCK_N)")
            with w.block("for tile in tl.range(tl.program_id(0), down * across, tl.num_programs(0), flatten=True):"):
                self._tile()
        return w.text()

    def _tile(self) -> None:
        """Where a tile lies, its sums, and what becomes of each half of its columns."""
        w, (left, right, _) = self.writer, self.found
        w.line("first = tile // (GROUP * across) * GROUP")
        w.line("height = tl.minimum(down - first, GROUP)")
        w.line("turn = tile % (GROUP * across)")
        w.line("above = (first + turn % height) * BLOCK_M")
        w.line("before = turn // height * BLOCK_N")
        w.line("sums = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)")
        with w.block(f"for start in range(0, {self.depth}, BLOCK_K):"):
            w.line(f"left = left_map.load({'[start, above]).T' if left.turned else '[above, start])'}")
            w.line(f"right = right_map.load({'[before, start]).T' if right.turned else '[start, before])'}")
            w.line("sums = tl.dot(left, right, sums)")
        w.line(f"halves = tl.split(tl.permute(tl.reshape(sums, [BLOCK_M, {HALVES}, BLOCK_N // {HALVES}]), [0, 2, 1]))")
        with w.block(f"for half in tl.static_range({HALVES}):"):
            self._half()

    def _half(self) -> None:
        w, plan = self.writer, self.plan
        w.line("total = halves[half]")
        w.line(f"aside = before + half * (BLOCK_N // {HALVES})")
        names = self.names.inner()
        names.values[plan.node.key] = "total"
        scope = TileScope(self.part, w, names, groups=(self.rows, self.columns), joined=True)
        if plan.root.expr != plan.node:
            self._positions(scope)
        scope.fetch([plan.root.expr])
        (text,) = scope.write([plan.root.expr])
        text = text if text.isidentifier() else f"({text})"
        w.line(f"out_map.store([above, aside], {text}.to(tl.{plan.root.tensor.dtype}))")

    def _positions(self, scope: TileScope) -> None:
        """Names for where a half lies, of which what becomes of the sums may hang."""
        w = self.writer
        above, aside = (f"tl.cast({name}, tl.int64)" if self.large else name for name in ("above", "aside"))
        w.line(f"row = {above} + tl.arange(0, BLOCK_M)[:, None]")
        w.line(f"column = {aside} + tl.arange(0, BLOCK_N // {HALVES})[None, :]")
        for group, count in ((self.rows, self.row_count), (self.columns, self.column_count)):
            if group.mask:
                w.line(f"{group.mask} = {group.position} < {count}")
            split_position(w, scope.names, group, self.part.sizes, scope.positions(self.part.roots))


def _block(above: str, beside: str, prefix: str, turned: bool) -> str:
    sizes = [f"{prefix}{size}" for size in ((beside, above) if turned else (above, beside))]
    return f"[{', '.join(sizes)}]"
