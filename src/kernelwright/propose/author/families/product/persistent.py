"""A product by programs that stay, of factors in half precision or laid out so.

Each makes one tile after another, of slices that the hardware copies. While a tile is stored, slices of the next one are
under way, since both loops are flattened into one. A tile is stored by halves, which leaves shared memory for one more slice.
A program of Hopper's is alone on its multiprocessor then. Why it is so, docs/log.md says (2026-11-28): of 56 such kernels on
an H200 this one is the fastest.
"""

from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.emit.tile import Group, TileScope, large, split_position
from kernelwright.propose.author.emit.triton import function, pointers
from kernelwright.propose.author.emit.triton_file import helpers_in
from kernelwright.propose.author.families.family import Text
from kernelwright.propose.author.families.product.matrix import Matrices, Matrix
from kernelwright.propose.author.families.product.pack_calls import brought_back, pack_calls
from kernelwright.propose.author.families.product.packing import fresh
from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.families.product.schedule import ProductSchedule, stages_that_fit

SIZES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP")
MAPS = ("left_map", "right_map", "out_map")
WORDS = frozenset({
    *MAPS, "down", "across", "tile", "first", "height", "turn", "above", "before", "sums", "start", "left", "right", "halves",
    "half", "total", "aside", "row", "column", "in_rows", "in_columns", "batch", "place",
})  # fmt: skip
HALVES = 2
"""Parts in which a tile is stored."""


def write_persistent(plan: Product, schedule: ProductSchedule, found: Matrices, name: str, prefix: str) -> Text:
    """The kernel under a name."""
    kernel = _Persistent(plan, schedule, found)
    text, launch = kernel.text(name), kernel.launch(name, prefix)
    values = (schedule.block_m, schedule.block_n, schedule.block_k, schedule.group)
    constants = {prefix + size: value for size, value in zip(SIZES, values, strict=True)}
    constants |= {f"{prefix}STAGES": stages_that_fit(plan, schedule), f"{prefix}WARPS": schedule.warps}
    return Text(text, launch, constants, helpers_in("\n".join((text, *launch))))


class _Persistent:
    def __init__(self, plan: Product, schedule: ProductSchedule, found: Matrices) -> None:
        self.plan, self.part, self.found = plan, plan.part, found
        self.writer = Writer("    ")
        batches, self.row_count, self.column_count, self.depth = plan.extents
        self.stored = [] if found.out else self.part.writes
        taken = {
            t.identifier for t in (*plan.beside, *self.part.writes, *(found.packing.made if found.packing else ()))
        }
        self.scales = fresh("scales", taken) if found.packing and found.packing.form.scaled else ""
        self.names = Names({*WORDS, *taken, self.scales})
        self.rows = Group(plan.rows, "row", "in_rows" if self.row_count % schedule.block_m else "")
        self.columns = Group(plan.columns, "column", "in_columns" if self.column_count % schedule.block_n else "")
        self.batch = Group(plan.batch, "batch", number=True)
        self.batches = batches if plan.batch else 0
        self.large = large(self.part)

    @property
    def matrices(self) -> dict[str, Matrix]:
        """What the hardware copies, by the parameter that it is."""
        return {name: m for name, m in zip(MAPS, (self.found.left, self.found.right, self.found.out), strict=True) if m}

    def launch(self, name: str, prefix: str) -> list[str]:
        blocks = {
            "left_map": _block("BLOCK_M", "BLOCK_K", prefix, self.found.left.turned),
            "right_map": _block("BLOCK_K", "BLOCK_N", prefix, self.found.right.turned),
            "out_map": [f"{prefix}BLOCK_M", f"{prefix}BLOCK_N // {HALVES}"],
        }
        maps = [
            f"_map({m.tensor.identifier}, {m.shape}, [{', '.join((*['1'] * (len(m.shape) > 2), *blocks[name]))}])"
            for name, m in self.matrices.items()
        ]
        tiles = f"triton.cdiv({self.row_count}, {prefix}BLOCK_M) * triton.cdiv({self.column_count}, {prefix}BLOCK_N)"
        tiles = f"{self.batches} * {tiles}" if self.batches else tiles
        sizes = ", ".join(f"{size}={prefix}{size}" for size in SIZES)
        beside = [t.identifier for t in (*self.plan.beside, *self.stored)] + [self.scales] * bool(self.scales)
        return [
            *(pack_calls(self.found.packing, self.scales) if self.found.packing else []),
            f"{name}[(min({tiles}, _multiprocessors({self.plan.root.tensor.identifier})),)](",
            *(f"    {one}," for one in maps),
            *([f"    {', '.join(beside)},"] if beside else []),
            f"    {sizes},",
            f"    num_warps={prefix}WARPS, num_stages={prefix}STAGES,",
            ")",
        ]

    def text(self, name: str) -> str:
        w = self.writer
        idea = f"Programs make tiles of BLOCK_M by BLOCK_N sums of {self.depth} products, by turns."
        given = [*pointers((*self.plan.beside, *self.stored)), *[f"{self.scales}_ptr"] * bool(self.scales)]
        with function(w, name, (*self.matrices, *given), SIZES, idea):
            w.line(f"down = tl.cdiv({self.row_count}, BLOCK_M)")
            w.line(f"across = tl.cdiv({self.column_count}, BLOCK_N)")
            tiles = f"{self.batches} * down * across" if self.batches else "down * across"
            with w.block(f"for tile in tl.range(tl.program_id(0), {tiles}, tl.num_programs(0), flatten=True):"):
                self._tile()
        return w.text()

    def _tile(self) -> None:
        """Where a tile lies, its sums, and what becomes of each half of its columns."""
        w = self.writer
        tile = "tile"
        if self.batches:
            w.line("batch = tile // (down * across)")
            w.line("place = tile % (down * across)")
            tile = "place"
        w.line(f"first = {tile} // (GROUP * across) * GROUP")
        w.line("height = tl.minimum(down - first, GROUP)")
        w.line(f"turn = {tile} % (GROUP * across)")
        w.line("above = (first + turn % height) * BLOCK_M")
        w.line("before = turn // height * BLOCK_N")
        w.line("sums = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)")
        with w.block(f"for start in range(0, {self.depth}, BLOCK_K):"):
            w.line(f"left = {self._load('left_map', ('above', 'start'), ('BLOCK_M', 'BLOCK_K'))}")
            w.line(f"right = {self._load('right_map', ('start', 'before'), ('BLOCK_K', 'BLOCK_N'))}")
            w.line("sums = tl.dot(left, right, sums)")
        w.line(f"halves = tl.split(tl.permute(tl.reshape(sums, [BLOCK_M, {HALVES}, BLOCK_N // {HALVES}]), [0, 2, 1]))")
        with w.block(f"for half in tl.static_range({HALVES}):"):
            self._half()

    def _load(self, name: str, at: tuple[str, str], block: tuple[str, str]) -> str:
        """A slice of a factor, rows by columns."""
        matrix = self.matrices[name]
        if matrix.stretch:
            first, second = (f"batch * {matrix.stretch} + start" if place == "start" else place for place in at)
            at = first, second
        at, block = (at[::-1], block[::-1]) if matrix.turned else (at, block)
        ahead = len(matrix.shape) > 2
        text = f"{name}.load([{self._ahead if ahead else ''}{', '.join(at)}])"
        return text + (f".reshape({', '.join(block)})" if ahead else "") + (".T" if matrix.turned else "")

    @property
    def _ahead(self) -> str:
        return "batch, " if self.batches else ""

    def _half(self) -> None:
        w, plan = self.writer, self.plan
        w.line("total = halves[half]")
        if self.found.packing and self.scales:
            w.line(f"total = {brought_back('total', self.found.packing, self.scales)}")
        w.line(f"aside = before + half * (BLOCK_N // {HALVES})")
        names = self.names.inner()
        names.values[plan.node.key] = "total"
        scope = TileScope(self.part, w, names, groups=(self.rows, self.columns, self.batch), joined=True)
        if plan.root.expr != plan.node or not self.found.out:
            self._positions(scope)
        scope.fetch([plan.root.expr])
        if not self.found.out:
            scope.store(plan.root, self.part.sizes)
            return
        (text,) = scope.write([plan.root.expr])
        text = (text if text.isidentifier() else f"({text})") + f".to(tl.{plan.root.tensor.dtype})"
        text += f".reshape(1, BLOCK_M, BLOCK_N // {HALVES})" if self.batches else ""
        w.line(f"out_map.store([{self._ahead}above, aside], {text})")

    def _positions(self, scope: TileScope) -> None:
        """Names for where a half lies, of which what becomes of the sums may hang."""
        w = self.writer
        above, aside = (f"tl.cast({name}, tl.int64)" if self.large else name for name in ("above", "aside"))
        w.line(f"row = {above} + tl.arange(0, BLOCK_M)[:, None]")
        w.line(f"column = {aside} + tl.arange(0, BLOCK_N // {HALVES})[None, :]")
        for group, count in ((self.rows, self.row_count), (self.columns, self.column_count), (self.batch, 0)):
            if group.mask:
                w.line(f"{group.mask} = {group.position} < {count}")
            if group.axes:
                split_position(w, scope.names, group, self.part.sizes, scope.positions(self.part.roots))


def _block(above: str, beside: str, prefix: str, turned: bool) -> list[str]:
    return [f"{prefix}{size}" for size in ((beside, above) if turned else (above, beside))]
