"""A product in Triton: one program makes one tile of the result, and computes its factors' elements as it reads them."""

from dataclasses import dataclass, replace
from math import prod

from kernelwright.propose.author.families.family import Text
from kernelwright.propose.author.families.product.packing import PARTS, Packed, Packing
from kernelwright.propose.author.families.product.plan import Product, bare, lined_up
from kernelwright.propose.author.families.product.schedule import ProductSchedule, packing_of, stages_that_fit
from kernelwright.propose.author.plan.expr import Call, Const, Element, Expr, transform, walk
from kernelwright.propose.author.plan.plan import Tensor
from kernelwright.propose.author.plan.program import Part
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.tile import SMALL, Group, TileScope, large, split_position
from kernelwright.propose.author.source.triton_helpers import HELPERS, helpers_in
from kernelwright.propose.author.source.triton_kernel import START, along
from kernelwright.propose.author.source.writer import Writer

WORDS = frozenset({
    "tile", "tiles", "down", "across", "first", "height", "turn", "row", "column", "deep", "below", "start", "batch",
    "turns", "stripe", "in_rows", "in_columns", "in_depth", "in_below", "left", "right", "total", *HELPERS,
    "slice", *(f"{side}_{number}" for side in ("left", "right") for number in range(3)),
})  # fmt: skip
TALL = 64
"""Rows that Hopper's tensor cores multiply at once."""
SIZES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP", "STAGES")


def write_triton(plan: Product, schedule: ProductSchedule, name: str, prefix: str) -> Text:
    """The kernel under a name."""
    kernel = _Kernel(lined_up(plan, schedule.block_n), schedule)
    text = kernel.text(name)
    values = (schedule.block_m, schedule.block_n, schedule.block_k, schedule.group, stages_that_fit(plan, schedule))
    constants = {prefix + size: value for size, value in zip(SIZES, values, strict=True)}
    launch = kernel.launch(name, prefix)
    helpers = helpers_in("\n".join((text, *launch)))
    return Text(text, launch, constants | {f"{prefix}WARPS": schedule.warps}, helpers)


@dataclass
class _Kernel:
    plan: Product
    schedule: ProductSchedule

    def __post_init__(self) -> None:
        plan, s = self.plan, self.schedule
        self.packing = packing_of(plan, s)
        self.part = self._part()
        self.writer = Writer("    ")
        made = self.packing.made if self.packing else []
        self.large = large(self.part) or any(prod(t.shape) >= SMALL for t in made)
        self.tensors = (*self._reads(), *self.part.writes)
        self.names = Names({*WORDS, *(t.identifier for t in self.tensors)})
        _, self.row_count, self.column_count, _ = plan.extents
        self.batches, self.stripe_count = (self.part.count(axes) for axes in (plan.batch, plan.stripes))
        self.depth = self.part.count(plan.depth)
        self.rows = Group(plan.rows, "row", "in_rows" if self.row_count % s.block_m else "")
        self.columns = Group(plan.columns, "column", "in_columns" if self.column_count % s.block_n else "")
        ragged = bool(self.depth % s.block_k)
        along = self.packing.depth if self.packing else plan.depth
        self.deep = Group(along, "deep", "in_depth" if ragged else "")
        self.below = Group(along, "below", "in_below" if ragged else "")
        self.batch = Group(plan.batch, "batch", number=True)
        self.stripe = Group(plan.stripes, "stripe", number=True)
        self.turned = _turned(plan, s, self.packing is not None)

    def _part(self) -> Part:
        """The plan's, with the packed tensors among those that may be read, and the zeros at the end of the depth."""
        packing, part = self.packing, self.plan.part
        if packing is None:
            return part
        sizes = {**part.sizes, packing.depth[-1]: packing.extent + packing.pad} if packing.pad else part.sizes
        return replace(part, sizes=sizes, tensors={**part.tensors, **{t.name: t for t in packing.made}})

    def _reads(self) -> list[Tensor]:
        """The tensors that the kernel itself reads."""
        if self.packing is None:
            return self.part.reads
        after = [transform(end, lambda e: Const(0.0) if e == self.plan.node else e) for end in self.plan.ends]
        names = {e.name for e in walk(*after) if isinstance(e, Element)}
        return [*self.packing.made, *(t for name, t in self.part.tensors.items() if name in names)]

    def launch(self, name: str, prefix: str) -> list[str]:
        pointers = ", ".join(t.identifier for t in self.tensors)
        count = f"triton.cdiv({self.row_count}, {prefix}BLOCK_M) * triton.cdiv({self.column_count}, {prefix}BLOCK_N)"
        outer = self.batches * self.stripe_count
        count = f"{outer} * {count}" if outer > 1 else count
        sizes = ", ".join(f"{size}={prefix}{size}" for size in SIZES)
        packs = [line for packed in (self.packing.tensors if self.packing else ()) for line in _pack(packed)]
        return [*packs, f"{name}[({count},)](", f"    {pointers},", f"    {sizes}, num_warps={prefix}WARPS,", ")"]

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
            self._positions()
            shape = "BLOCK_N, BLOCK_M" if self.turned else "BLOCK_M, BLOCK_N"
            w.line(f"total = tl.zeros([{shape}], tl.float32)")
            with w.block(f"for start in tl.range(0, {self.depth}, BLOCK_K, num_stages=STAGES):"):
                self._step()
            self.names.values[self.plan.node.key] = "total"
            scope = self._scope(self.names, self.rows, self.columns)
            self._reduce(scope)
            scope.fetch(self.plan.ends)
            for root in self.part.roots:
                scope.store(root, self.part.sizes)
        return w.text()

    def _reduce(self, scope: TileScope) -> None:
        """What is reduced along the side that the tile holds."""
        side = self.rows if self.plan.held == "rows" else self.columns
        axis = int((self.plan.held == "rows") == self.turned)
        for node in self.plan.reductions:
            scope.fetch([node.arg])
            (text,) = scope.write([node.arg], later=self.plan.ends)
            if side.mask:
                text = f"tl.where({side.mask}, {text}, {START[node.op]})"
            name = self.names.fresh(f"side_{node.op}")
            self.writer.line(f"{name} = {along(node.op, text, axis)}")
            self.names.values[node.key] = name

    def _scope(self, names: Names, *groups: Group) -> TileScope:
        return TileScope(self.part, self.writer, names, groups=(*groups, self.batch, self.stripe), joined=True)

    def _place(self) -> None:
        """Which tile this is: neighbours in a group of rows share the factors' tiles in the cache."""
        w = self.writer
        counts = [f"tl.cdiv({self.row_count}, BLOCK_M)", f"tl.cdiv({self.column_count}, BLOCK_N)"]
        held = ("rows", "columns").index(self.plan.held) if self.plan.stripes else None
        if held is not None:
            counts[held] = str(self.stripe_count)
        w.line(f"down = {counts[0]}")
        w.line(f"across = {counts[1]}")
        w.line("tile = tl.program_id(0)" + (" % (down * across)" if self.batches > 1 else ""))
        if self.batches > 1:
            cast = "tl.cast(tl.program_id(0) // (down * across), tl.int64)" if self.large else ""
            w.line(f"batch = {cast or 'tl.program_id(0) // (down * across)'}")
        w.line("first = tile // (GROUP * across) * GROUP")
        w.line("height = tl.minimum(down - first, GROUP)")
        w.line("turn = tile % (GROUP * across)")
        places = ["first + turn % height", "turn // height"]
        firsts = [f"{self._wide(f'({place})')} * {size} + " for place, size in zip(places, SIZES, strict=False)]
        if held is not None:
            w.line(f"stripe = {self._wide(places[held])}")
            firsts[held] = ""
        w.line(f"row = {firsts[0]}{self._range('BLOCK_M')}")
        w.line(f"column = {firsts[1]}{self._range('BLOCK_N', across=True)}")
        for group, count in ((self.rows, self.row_count), (self.columns, self.column_count)):
            if group.mask:
                w.line(f"{group.mask} = {group.position} < {count}")
        wanted = self._wanted()
        for group in (self.batch, self.stripe, self.rows, self.columns):
            if group.axes:
                split_position(w, self.names, group, self.part.sizes, wanted)

    def _positions(self) -> None:
        """Names for what of positions stays the same in a tile's loop, where tiles do not lie along axes."""
        if self.plan.root.element is None:
            return
        ends = (self.plan.left, self.plan.right, *self.plan.root.places)
        sides, depth, nodes = {*self.plan.rows, *self.plan.columns}, set(self.plan.depth), walk(*ends)
        calls = [
            n for n in nodes if isinstance(n, Call) and n.kind != "float" and sides & n.axes and not depth & n.axes
        ]
        known = {n.key for n in calls if not any(isinstance(inner, Element) for inner in walk(n))}
        used = {child.key for n in nodes if n.key not in known for child in n.children} | {end.key for end in ends}
        named = [n for n in calls if n.key in known & used]
        self._scope(self.names, self.rows, self.columns).write(named, later=named)

    def _wanted(self) -> list[Expr]:
        """What positions are split for."""
        scope = self._scope(self.names, self.rows, self.columns)

        def short(node: Expr) -> Expr:
            if not isinstance(node, Element):
                return node
            index, extents = scope.shortened(node.index, node.sizes)
            return replace(node, index=tuple(index), sizes=tuple(extents))

        read = [transform(expr, short) for expr in (self.plan.left, self.plan.right, *self.plan.ends)]
        places = [place for root in self.part.roots for place in root.places]
        stored = [scope.shortened(*root.position(self.part.sizes))[0] for root in self.part.roots]
        return [*read, *places, *(position for index in stored for position in index)]

    def _range(self, size: str, *, across: bool = False) -> str:
        """Places along the rows of a tile, or along its columns; the other way where it is turned."""
        return f"tl.arange(0, {size}){'[None, :]' if across != self.turned else '[:, None]'}"

    def _dot(self, left: str, right: str, into: str = "", how: str = "") -> str:
        pair = f"{right}, {left}" if self.turned else f"{left}, {right}"
        return f"tl.dot({pair}{into}{how})"

    def _wide(self, text: str) -> str:
        return f"tl.cast({text}, tl.int64)" if self.large else text

    def _step(self) -> None:
        """One slice of both factors."""
        if self.packing is not None:
            self._packed_step(self.packing)
            return
        w = self.writer
        left = self._factor("left", self.plan.left, self.deep, self.rows, self._range("BLOCK_K", across=True))
        right = self._factor("right", self.plan.right, self.below, self.columns, self._range("BLOCK_K"))
        w.line(f"total = {self._dot(left, right, ', total', self._how())}")

    def _how(self) -> str:
        return f', input_precision="{self.schedule.precision}"' if self.plan.precise else ""

    def _packed_step(self, packing: Packing) -> None:
        """One slice of all parts of both factors; the small products come first, so that none is lost beside the large.

        Hopper's tensor cores cut off what an accumulator of float32 has no digits for. Where all of float32 is wanted,
        a slice is therefore summed by itself and added by the ordinary units, which round.
        """
        w, names = self.writer, self.names.inner()
        ways = (self._range("BLOCK_K", across=True), self._range("BLOCK_K"))
        inner, outer = self._along(names, packing)
        for group, steps in zip((self.deep, self.below), ways, strict=True):
            w.line(f"{group.position} = {inner} + {steps}")
            if group.mask:
                w.line(f"{group.mask} = {group.position} < {self.depth}")
        sides = (("left", packing.left, self.deep, self.rows), ("right", packing.right, self.below, self.columns))
        found = [
            self._parts(word, packed, replace(deep, axes=outer), side, names) for word, packed, deep, side in sides
        ]
        count = len(packing.left.parts)
        pairs = [(i, j) for i in range(count) for j in range(count) if i + j < count]
        how = self._how() if count == 1 else ""
        into = "slice" if count == max(PARTS.values()) else "total"
        for number, (i, j) in enumerate(sorted(pairs, key=sum, reverse=True)):
            before = "" if into == "slice" and not number else f", {into}"
            w.line(f"{into} = {self._dot(found[0][i], found[1][j], before, how)}")
        if into == "slice":
            w.line("total += slice")

    def _along(self, names: Names, packing: Packing) -> tuple[str, tuple[int, ...]]:
        """Where a slice begins along the innermost axis, and the axes that positions in it are split into.

        Where whole slices lie along that axis, the other axes are numbers: a load then is wide, whatever slides.
        """
        *others, last = packing.depth
        extent = self.part.sizes[last]
        if not others or extent % self.schedule.block_k:
            return "start", packing.depth
        self.writer.line(f"tl.static_assert({extent} % BLOCK_K == 0)")
        self.writer.line(f"turns = start // {extent}")
        split_position(self.writer, names, Group(tuple(others), "turns"), self.part.sizes, [*packing.left.factors])
        return f"tl.multiple_of(start % {extent}, BLOCK_K)", (last,)

    def _parts(self, name: str, packed: Packed, deep: Group, side: Group, known: Names) -> list[str]:
        """The parts of one factor, read."""
        w, names = self.writer, known.inner()
        split_position(w, names, deep, self.part.sizes, [packed.factors[0]])
        scope = self._scope(names, side, deep)
        scope.other, scope.narrow = "0.0", True
        found = []
        for number, factor in enumerate(map(bare, packed.factors)):
            (text,) = scope.write([factor])
            if deep.mask and not isinstance(factor, Element):
                text = f"tl.where({deep.mask}, {text}, 0.0)"
            found.append(f"{name}_{number}")
            w.line(f"{found[-1]} = {text}")
        known.taken |= names.taken
        return found

    def _factor(self, name: str, factor: Expr, depth: Group, side: Group, steps: str) -> str:
        w, names, factor = self.writer, self.names.inner(), bare(factor)
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
        if not self.plan.precise or factor.kind != "float":
            text = f"({text})" if isinstance(factor, Call) else text
            text += f".to(tl.{self.plan.number})"
        elif self.schedule.precision == "tf32":
            text = f"_tf32({text})"
        w.line(f"{name} = {text}")
        self.names.taken |= names.taken
        return name


def _turned(plan: Product, schedule: ProductSchedule, packed: bool) -> bool:
    """Whether a tile has its columns above one another.

    Hopper's tensor cores take 64 rows at least: of tiles that have fewer, the columns. From shared memory they take float32
    along the depth alone, but their rows may come from registers: those of the factor that does not lie so, if it is one.
    """
    if schedule.block_n < TALL or (plan.precise and schedule.precision == "ieee"):
        return False
    along = tuple(_along_depth(plan, bare(factor)) for factor in (plan.left, plan.right))
    loose = plan.precise and schedule.precision == "tf32" and not packed and along == (True, False)
    return TALL // 2 <= schedule.block_m < TALL or loose


def _along_depth(plan: Product, factor: Expr) -> bool:
    return isinstance(factor, Element) and not factor.index[-1].axes.isdisjoint(plan.depth)


def _pack(packed: Packed) -> list[str]:
    """Lines that lay a tensor out."""
    source, names = packed.tensor.identifier, [t.identifier for t in packed.parts]
    block_d = min(4096 if packed.inner == 1 else 64, 1 << (packed.deep + packed.pad - 1).bit_length())
    block_i = 4096 // block_d if packed.inner > 1 else 1
    shape, dtype = packed.parts[0].shape, packed.parts[0].dtype
    down = f"triton.cdiv({packed.deep + packed.pad}, {block_d})"
    grid = f"{packed.outer} * {down} * triton.cdiv({packed.inner}, {block_i})"
    pointers = ", ".join((source, *names, *names[-1:] * (3 - len(names))))
    made = [f"{name} = torch.empty({shape!r}, dtype=torch.{dtype}, device={source}.device)" for name in names]
    sizes = f"DEEP={packed.deep}, INNER={packed.inner}, PAD={packed.pad}, PARTS={len(names)}"
    return [*made, f"_pack[({grid},)](", f"    {pointers},", f"    {sizes}, BLOCK_D={block_d}, BLOCK_I={block_i},", ")"]
