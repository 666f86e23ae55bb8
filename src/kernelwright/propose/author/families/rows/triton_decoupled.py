"""Long rows that are read from memory once: a program takes one block of a row, and another reads it again from the L2 cache.

Half of the programs reduce a block each and leave its share. The others wait until all blocks of a row have left theirs, put
them together, and store a block each. Who stores waits only for programs of smaller numbers, and a GPU starts programs in the
order of their numbers, on which CUB's scans rely, too: what is waited for has started, no number of multiprocessors is too
small, and where programs run one after another nothing waits (Merrill and Garland 2016, section 4, decoupled look-back).
Numbers drawn by an atomic instead cost 3 to 8 % on an H200: a program can read nothing before it has its own. Laps of a few
megabytes alternate, so that what is read again is still in the cache, and what is waited for is mostly there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.propose.author.emit.scope import Names
from kernelwright.propose.author.emit.triton import START, TritonScope, along
from kernelwright.propose.author.families.rows.plan import Fusion, Plan
from kernelwright.propose.author.families.rows.schedule import TritonSchedule
from kernelwright.propose.author.families.rows.triton_kernel import MainKernel
from kernelwright.propose.author.ir.expr import COL, ROW, Call, Const, Element, Expr, Index, Reduce
from kernelwright.propose.author.ir.positions import flattened
from kernelwright.propose.author.ir.program import WIDENED

LAP = 1 << 21
"""Elements of a lap: with the one before, and what is stored, they fit into half of a large device's L2 cache."""
WIDE = 3 << 20
"""Elements of what all rows share, as a norm's factors, beside which no lap stays in the cache."""
TOGETHER = 8
"""Rows that are stored side by side then, so that what they share is read from memory once for all of them."""
TURN = (
    "turn = tl.program_id(0)",
    "lap = turn // (GROUP * PARTS)",
    "reduces = (lap == 0) | ((lap % 2 == 1) & (lap < 2 * tl.cdiv(rows, GROUP) - 1))",
    "slot = ((lap + 1) // 2 - tl.where(reduces, 0, 1)) * GROUP + {slot}",
    "part = {part} if cols < 2**30 else tl.cast({part}, tl.int64)",
    "row = tl.cast(slot, tl.int64) + tl.zeros([1, 1], tl.int64)",
)
"""Laps: the first group's blocks are reduced; then in turn the next group's are, and those of the group before are stored. The
last two laps store."""
ROW_BY_ROW = {"slot": "turn % (GROUP * PARTS) // PARTS", "part": "turn % PARTS"}
SIDE_BY_SIDE = {"slot": "turn % GROUP", "part": "turn % (GROUP * PARTS) // GROUP"}
LEFT = ("tl.debug_barrier()", 'tl.atomic_add(ready_ptr + slot, 1, sem="release")')
WAIT = 'while tl.atomic_add(ready_ptr + slot, 0, sem="acquire") < PARTS:'
GONE = ', eviction_policy="evict_first"'
SOFTMAX = (
    'x = tl.where(column < cols, {x}, -float("inf"))',
    "block_max = tl.max(x, axis=1, keep_dims=True)",
    'power = tl.exp(x - tl.where(block_max == -float("inf"), 0.0, block_max))',
    "block_sum = tl.sum(power, axis=1, keep_dims=True)",
)
SOFTMAX_OF_ALL = (
    "{first} = tl.max({shares}, axis=0)",
    "{second} = tl.sum({shares2} * tl.exp({shares} - {first}), axis=0)",
)
"""Milakov and Gimelshein 2018, section 3: a block's sum is rescaled from its own maximum to the row's."""
VARIANCE = (
    "x = tl.where(column < cols, {x}, 0.0)",
    "count = tl.minimum(cols - part * BLOCK, BLOCK) * 1.0",
    "block_sum = tl.sum(x, axis=1, keep_dims=True)",
    "distance = tl.where(column < cols, x - block_sum / count, 0.0)",
    "block_spread = tl.sum(distance * distance, axis=1, keep_dims=True)",
)
VARIANCE_OF_ALL = (
    "{first} = tl.sum({shares}, axis=0)",
    "counts = tl.minimum(cols - lane * BLOCK, BLOCK) * 1.0",
    "gap = tl.where(lane < PARTS, {shares} / counts - {first} / cols, 0.0)",
    "{second} = tl.sum({shares2} + counts * gap * gap, axis=0)",
)
"""Chan, Golub and LeVeque 1983, equation 2.1, of all blocks at once."""


@dataclass
class BlockScope(TritonScope):
    """One block of a row."""

    shared: frozenset[str] = frozenset()
    """Keys of positions that all of the block has."""

    def element(self, node: Element) -> str:
        """What is read at places that are worked out: a factor for each channel, say, which the cache holds."""
        tensor, place = self.plan.argument(node), self._text(flattened(node.index, node.sizes))
        masks = ["row < rows"] * (ROW in node.axes) + ["column < cols"] * any(map(self._varies, node.index))
        mask = f", mask=({') & ('.join(masks)})" if len(masks) > 1 else "".join(f", mask={one}" for one in masks)
        return f"tl.load({tensor.identifier}_ptr + {place}{mask})" + ".to(tl.float32)" * (tensor.dtype in WIDENED)

    def _varies(self, position: Expr) -> bool:
        """Whether it differs within the block."""
        if isinstance(position, Index):
            return position.axis == COL
        return position.key not in self.shared and any(map(self._varies, position.children))


class DecoupledKernel(MainKernel):
    """The kernel of such rows."""

    def __init__(self, plan: Plan, schedule: TritonSchedule) -> None:
        super().__init__(plan, schedule)
        self.names.taken |= {"turn", "lap", "reduces", "slot", "lane", "place", "left", "counts"}
        self.names.taken |= {"ready", "block_max", "block_sum", "block_spread"}
        self.shares = {r.key: self.names.fresh(f"share_{r.op}") for group in plan.passes for r in group}

    @property
    def pointers(self) -> list[str]:
        """See `MainKernel.pointers`; shares by row and block, float[rows, parts], and who has left one."""
        return [*super().pointers, *(f"{name}_ptr" for name in self.shares.values()), "ready_ptr"]

    @property
    def constants(self) -> list[str]:
        """See `MainKernel.constants`."""
        return ["cols", "BLOCK", "PARTS", "GROUP", "SHARES"]

    @property
    def over_columns(self) -> bool:
        """No program takes more than one block."""
        return False

    @property
    def side_by_side(self) -> bool:
        """Whether a lap takes rows side by side instead of one after another."""
        shared = [tensor for tensor in self.reads if tensor.along == (COL,)]
        return len(shared) * self.plan.cols > WIDE

    @property
    def rows_of_lap(self) -> str:
        """How many rows a lap takes, as text over `rows` and `cols`."""
        return f"min(rows, {TOGETHER})" if self.side_by_side else f"max(1, min(rows, {LAP} // cols))"

    def _idea(self) -> str:
        return "A program reduces a block of a row, or waits until all of them are reduced and stores one."

    def _body(self) -> None:
        self._lines(TURN, **(SIDE_BY_SIDE if self.side_by_side else ROW_BY_ROW))
        self._place("part * BLOCK + tl.arange(0, BLOCK)[None, :]")
        with self.writer.block("if reduces:"):
            self._leave()
        with self.writer.block("else:"):
            scope = self._scope("evict_first")
            # Under way while others are waited for.
            scope.fetch([o.expr for o in self.plan.stored])
            self._gather(scope.names)
            self._store_past(scope)

    def _store_past(self, scope: TritonScope) -> None:
        """What nobody reads again leaves the cache to what is read twice."""
        for output, text in zip(self.plan.stored, scope.write([o.expr for o in self.plan.stored]), strict=True):
            name = scope.names.fresh("result")
            self.writer.line(f"{name} = {text}")
            self.writer.line(f"tl.store({output.tensor.identifier}_ptr + at, {name}, mask=inside{GONE})")

    def _scope(self, eviction: str) -> TritonScope:
        hint, shared = f', eviction_policy="{eviction}"', self._of_blocks()
        names = self.names.inner({Index(ROW).key: "row", Index(COL).key: "column", **shared})
        return BlockScope(self.plan, self.writer, names, mask="inside", hint=hint, shared=frozenset(shared))

    def _of_blocks(self) -> dict[str, str]:
        """Positions along a row that all of a block has, by its number."""
        found: dict[str, str] = {}
        for node in self.plan.nodes:
            match node:
                case Call(op="quotient", args=(Index(axis=axis), Const(value=size))) if axis == COL:
                    blocks, left = divmod(int(size), self.schedule.block)
                    if not left:
                        found[node.key] = f"part // {blocks}" if blocks > 1 else "part"
        return found

    def _leave(self) -> None:
        """Reduce the block, and leave its share."""
        scope, fusion = self._scope("evict_last"), self.plan.fusion
        alone = self._alone()
        scope.fetch([r.arg for r in self.plan.passes[0]])
        for r, text in zip(alone, scope.write([r.arg for r in alone]), strict=True):
            self.writer.line(f"lanes = tl.where(column < cols, {text}, {START[r.op]})")
            name = scope.names.fresh(f"block_{r.op}")
            self.writer.line(f"{name} = {along(r.op, 'lanes', 1)}")
            self._share(r, name)
        if fusion is not None:
            (text,) = scope.write([fusion.element])
            softmax = fusion.kind == "softmax"
            self._lines(SOFTMAX if softmax else VARIANCE, x=text)
            self._share(fusion.first, "block_max" if softmax else "block_sum")
            self._share(fusion.second, "block_sum" if softmax else "block_spread")
        self._lines(LEFT)
        # Both branches may not give one name to tiles of different shapes.
        self.names.taken |= scope.names.taken

    def _alone(self) -> list[Reduce]:
        """Reductions that are no part of a fusion."""
        fusion = self.plan.fusion
        return [r for r in self.plan.passes[0] if fusion is None or r != fusion.first]

    def _share(self, r: Reduce, text: str) -> None:
        self.writer.line(f"tl.store({self.shares[r.key]}_ptr + row * PARTS + part, {text}, mask=row < rows)")

    def _gather(self, names: Names) -> None:
        """What all blocks of the row have left, put together."""
        with self.writer.block(WAIT):
            self.writer.line("pass")
        self.writer.line("lane = tl.arange(0, SHARES)")
        self.writer.line("place = tl.cast(slot, tl.int64) * PARTS + lane")
        self.writer.line("left = (slot < rows) & (lane < PARTS)")
        fusion = self.plan.fusion
        for r in self._alone():
            names.values[r.key] = name = names.fresh(f"row_{r.op}")
            self.writer.line(f"{name} = {along(r.op, self._shares(r, names), 0, keep=False)}")
        if fusion is not None:
            self._fuse(fusion, names)

    def _fuse(self, fusion: Fusion, names: Names) -> None:
        first, second = names.fresh(f"row_{fusion.first.op}"), names.fresh("row_sum")
        shares, shares2 = self._shares(fusion.first, names), self._shares(fusion.second, names)
        lines = SOFTMAX_OF_ALL if fusion.kind == "softmax" else VARIANCE_OF_ALL
        self._lines(lines, first=first, second=second, shares=shares, shares2=shares2)
        names.values |= {fusion.first.key: first, fusion.second.key: second}

    def _shares(self, r: Reduce, names: Names) -> str:
        """Loaded past the L1 cache, which may hold what was there before."""
        name, start = names.fresh(f"shares_{r.op}"), START[r.op]
        pointer = f"{self.shares[r.key]}_ptr + place"
        self.writer.line(f"{name} = tl.load({pointer}, mask=left, other={start}, volatile=True)")
        return name

    def _lines(self, lines: Sequence[str], **names: str) -> None:
        for line in lines:
            self.writer.line(line.format(**names))
