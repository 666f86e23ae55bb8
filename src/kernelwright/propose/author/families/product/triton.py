"""A product in Triton: one program makes one tile of the result, and computes its factors' elements as it reads them."""

from dataclasses import replace
from math import prod

from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.emit.tile import SMALL, Group, TileScope, large, masked, split_position
from kernelwright.propose.author.emit.triton import START, along, function, pointers
from kernelwright.propose.author.emit.triton_file import HELPERS
from kernelwright.propose.author.families.family import Family, Text, TileKernel
from kernelwright.propose.author.families.product.pack_calls import brought_back, pack_calls
from kernelwright.propose.author.families.product.packing import Packed, Packing, fresh
from kernelwright.propose.author.families.product.persistent import write_persistent
from kernelwright.propose.author.families.product.plan import Product, along_depth, bare, lined_up, matched_on_gpu
from kernelwright.propose.author.families.product.schedule import (
    ProductSchedule,
    matrices_of,
    packing_of,
    product_cost,
    product_default,
    product_space,
    stages_that_fit,
)
from kernelwright.propose.author.ir.expr import Call, Element, Expr, walk
from kernelwright.propose.author.ir.program import Part, Tensor

BITS = 31
"""Taps of a window that a number has bits for."""
TALL = 64
"""Rows that Hopper's tensor cores multiply at once."""
SIZES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP", "STAGES")


def write_triton(plan: Product, schedule: ProductSchedule, name: str, prefix: str) -> Text:
    """The kernel under a name."""
    if (found := matrices_of(plan, schedule)) is not None:
        return write_persistent(plan, schedule, found, name, prefix)
    return _Kernel.write(lined_up(plan, schedule.block_n), schedule, name, prefix)


class _Kernel(TileKernel[Product, ProductSchedule]):
    WORDS = frozenset({
        "tile", "tiles", "down", "across", "first", "height", "turn", "row", "column", "deep", "below", "start", "batch",
        "tap", "turns", "inner", "stripe", "in_rows", "in_columns", "in_depth", "in_below", "left", "right", "total",
        "slice", *(f"{side}_{word}" for side in ("left", "right") for word in (0, 1, 2, "seen", "exists")),
    })  # fmt: skip

    def __post_init__(self) -> None:
        plan, s = self.plan, self.schedule
        self.packing = packing_of(plan, s)
        self.part = self._part()
        self.writer = Writer("    ")
        made = self.packing.made if self.packing else []
        self.large = large(self.part) or any(prod(t.shape) >= SMALL for t in made)
        self.tensors = (*self._reads(), *self.part.writes)
        taken = {t.identifier for t in self.tensors}
        self.scales = fresh("scales", taken) if self.packing is not None and self.packing.form.scaled else ""
        self.names = Names({*self.WORDS, *HELPERS, *taken, self.scales})
        _, self.row_count, self.column_count, _ = plan.extents
        self.batches, self.stripe_count = (self.part.count(axes) for axes in (plan.batch, plan.stripes))
        self.depth = self.part.count(plan.depth)
        self.rows = Group(plan.rows, "row", "in_rows" if self.row_count % s.block_m else "")
        self.columns = Group(plan.columns, "column", "in_columns" if self.column_count % s.block_n else "")
        ragged = bool(self.depth % s.block_k)
        along = self.packing.depth if self.packing else plan.depth
        self.deep = Group(along, "deep", "in_depth" if ragged else "")
        self.below = Group(along, "below", "in_below" if ragged else "")
        self.turns = self._turns()
        self.bits: dict[str, str] = {}
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
        return self.part.reads if self.packing is None else [*self.packing.made, *self.plan.beside]

    @property
    def constants(self) -> dict[str, int]:
        """See `TileKernel.constants`."""
        s = self.schedule
        values = (s.block_m, s.block_n, s.block_k, s.group, stages_that_fit(self.plan, s), s.warps)
        return dict(zip((*SIZES, "WARPS"), values, strict=True))

    def launch(self, name: str, prefix: str) -> list[str]:
        """See `TileKernel.launch`."""
        pointers = ", ".join([t.identifier for t in self.tensors] + [self.scales] * bool(self.scales))
        count = f"triton.cdiv({self.row_count}, {prefix}BLOCK_M) * triton.cdiv({self.column_count}, {prefix}BLOCK_N)"
        outer = self.batches * self.stripe_count
        count = f"{outer} * {count}" if outer > 1 else count
        sizes = ", ".join(f"{size}={prefix}{size}" for size in SIZES)
        packs = pack_calls(self.packing, self.scales) if self.packing else []
        return [*packs, f"{name}[({count},)](", f"    {pointers},", f"    {sizes}, num_warps={prefix}WARPS,", ")"]

    def text(self, name: str) -> str:
        """See `TileKernel.text`."""
        w = self.writer
        given = [*pointers(self.tensors), *[f"{self.scales}_ptr"] * bool(self.scales)]
        idea = f"One program makes a tile of BLOCK_M by BLOCK_N sums of {self.depth} products."
        with function(w, name, given, SIZES, idea):
            self._place()
            self._positions()
            shape = "BLOCK_N, BLOCK_M" if self.turned else "BLOCK_M, BLOCK_N"
            w.line(f"total = tl.zeros([{shape}], tl.float32)")
            self._places()
            self._seen()
            with w.block(f"for start in tl.range(0, {self.depth}, BLOCK_K, num_stages=STAGES):"):
                self._step()
            if self.packing and self.scales:
                w.line(f"total = {brought_back('total', self.packing, self.scales)}")
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
        masked(w, (self.rows, self.row_count), (self.columns, self.column_count))
        scope = self._scope(self.names, self.rows, self.columns)
        wanted = scope.positions(self.part.roots, self.plan.left, self.plan.right)
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

    def _range(self, size: str, *, across: bool = False) -> str:
        """Places along the rows of a tile, or along its columns; the other way where it is turned."""
        return f"tl.arange(0, {size}){'[None, :]' if across != self.turned else '[:, None]'}"

    def _dot(self, left: str, right: str, into: str = "", how: str = "") -> str:
        pair = f"{right}, {left}" if self.turned else f"{left}, {right}"
        return f"tl.dot({pair}{into}{how})"

    def _wide(self, text: str) -> str:
        return f"tl.cast({text}, tl.int64)" if self.large else text

    def _places(self) -> None:
        """The places of a slice along one axis of several, which are the same in every step."""
        if self.turns:
            for group in (self.deep, self.below):
                self.writer.line(f"{group.position} = {self._steps(group)}")

    def _seen(self) -> None:
        """Of each place of a side, a bit for each tap of a window that says whether there is an element, or only padding.

        To look it up takes three instructions in a step; to compare positions along two dimensions took a dozen.
        """
        count, known = self.part.count(self.turns), {*self.turns, *self.plan.batch, *self.plan.stripes}
        for word, packed, side in self._sides() if count <= BITS else ():
            condition = _condition(packed)
            if condition is None or not condition.axes & set(self.turns) or condition.axes - known - {*side.axes}:
                continue
            self.bits[word] = f"{word}_seen"
            self.writer.line(f"{word}_seen = tl.zeros_like({side.position})")
            with self.writer.block(f"for tap in tl.static_range({count}):"):
                names = self.names.inner()
                split_position(self.writer, names, Group(self.turns, "tap"), self.part.sizes, [condition])
                (text,) = self._scope(names, side).write([condition])
                self.writer.line(f"{word}_seen |= tl.where({text}, 1 << tap, 0)")
            self.names.taken |= names.taken

    def _sides(self) -> tuple[tuple[str, Packed, Group], ...]:
        packing = self.packing
        return (("left", packing.left, self.rows), ("right", packing.right, self.columns)) if packing else ()

    def _step(self) -> None:
        """One slice of both factors."""
        if self.packing is not None:
            self._packed_step(self.packing)
            return
        w = self.writer
        left = self._factor("left", self.plan.left, self.deep, self.rows)
        right = self._factor("right", self.plan.right, self.below, self.columns)
        w.line(f"total = {self._dot(left, right, ', total', self._how())}")

    def _how(self) -> str:
        return f', input_precision="{self.schedule.precision}"' if self.plan.precise else ""

    def _packed_step(self, packing: Packing) -> None:
        """One slice of all parts of both factors; the small products come first, so that none is lost beside the large.

        Hopper's tensor cores cut off what an accumulator of float32 has no digits for. Where all of float32 is wanted,
        a slice is therefore summed by itself and added by the ordinary units, which round.
        """
        w, names = self.writer, self.names.inner()
        begin = self._begin(names)
        deep, below = self._at(self.deep, begin), self._at(self.below, begin)
        of_left = self._reading(names, self.rows, deep, begin)
        left = self._parts("left", packing.left, of_left)
        names.taken |= of_left.names.taken
        right = self._parts("right", packing.right, self._reading(names, self.columns, below, begin))
        count = len(packing.left.parts)
        pairs = [(i, j) for i in range(count) for j in range(count) if i + j < count]
        how = self._how() if packing.form.dtype == "float32" else ""
        into = "slice" if packing.form.sliced else "total"
        for number, (i, j) in enumerate(sorted(pairs, key=sum, reverse=True)):
            before = "" if into == "slice" and not number else f", {into}"
            w.line(f"{into} = {self._dot(left[i], right[j], before, how)}")
        if into == "slice":
            w.line("total += slice")

    def _turns(self) -> tuple[int, ...]:
        """The axes of a packed depth of which a step has one position: whole slices lie along the innermost one.

        A load then is wide, whatever slides.
        """
        *others, last = self.packing.depth if self.packing else (0,)
        return () if self.part.sizes.get(last, 0) % self.schedule.block_k else tuple(others)

    def _begin(self, names: Names) -> str:
        """Where a slice begins along the innermost axis."""
        if not self.turns or not self.packing:
            return "start"
        extent = self.part.sizes[self.packing.depth[-1]]
        self.writer.line(f"tl.static_assert({extent} % BLOCK_K == 0)")
        self.writer.line(f"turns = start // {extent}")
        split_position(self.writer, names, Group(self.turns, "turns"), self.part.sizes, [*self.packing.left.factors])
        self.writer.line(f"inner = tl.multiple_of(start % {extent}, BLOCK_K)")
        return "inner"

    def _at(self, group: Group, begin: str) -> Group:
        """A step's places along the depth."""
        place = f"{begin} + {group.position if self.turns else self._steps(group)}"
        if not self.turns:
            self.writer.line(f"{group.position} = {place}")
        if group.mask:
            self.writer.line(f"{group.mask} = {place if self.turns else group.position} < {self.depth}")
        axes = group.axes[len(self.turns) :]
        return replace(group, axes=axes, position=f"({place})" if self.turns else group.position)

    def _steps(self, group: Group) -> str:
        return self._range("BLOCK_K", across=group is self.deep)

    def _reading(self, names: Names, side: Group, depth: Group, begin: str) -> TileScope:
        """The scope of one factor's loads."""
        names = names.inner()
        scope = self._scope(names, side, depth)
        scope.by_group = self.packing is not None and len(self.packing.depth) > 1
        scope.numbers = frozenset({*self.plan.batch, *self.plan.stripes, *self.turns})
        if self.turns:
            scope.slices = {depth.axes[0]: (begin, (self.deep if side is self.rows else self.below).position)}
        return scope

    def _parts(self, name: str, packed: Packed, scope: TileScope) -> list[str]:
        """The parts of one factor, read."""
        depth = scope.groups[1]
        split_position(self.writer, scope.names, depth, self.part.sizes, [packed.factors[0]])
        scope.other, scope.narrow = "0.0", True
        condition, found = _condition(packed), list[str]()
        if condition is not None and name in self.bits:
            self.writer.line(f"{name}_exists = (({self.bits[name]} >> turns) & 1) != 0")
            scope.names.values[condition.key] = f"{name}_exists"
        for number, factor in enumerate(map(bare, packed.factors)):
            (text,) = scope.write([factor])
            if depth.mask and not isinstance(factor, Element):
                text = f"tl.where({depth.mask}, {text}, 0.0)"
            found.append(f"{name}_{number}")
            self.writer.line(f"{found[-1]} = {text}")
        return found

    def _factor(self, name: str, factor: Expr, depth: Group, side: Group) -> str:
        w, factor, depth = self.writer, bare(factor), self._at(depth, "start")
        scope = self._reading(self.names, side, depth, "start")
        split_position(w, scope.names, depth, self.part.sizes, [factor])
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
        self.names.taken |= scope.names.taken
        return name


def _turned(plan: Product, schedule: ProductSchedule, packed: bool) -> bool:
    """Whether a tile has its columns above one another.

    Hopper's tensor cores take 64 rows at least: of tiles that have fewer, the columns. From shared memory they take float32
    along the depth alone, but their rows may come from registers: those of the factor that does not lie so, if it is one.
    """
    if schedule.block_n < TALL or (plan.precise and schedule.precision == "ieee"):
        return False
    along = tuple(along_depth(plan, bare(factor)) for factor in (plan.left, plan.right))
    loose = plan.precise and schedule.precision == "tf32" and not packed and along == (True, False)
    return TALL // 2 <= schedule.block_m < TALL or loose


def _condition(packed: Packed) -> Expr | None:
    """Under which elements are read; None: all are, or the number in their stead is not the load's own."""
    factor = bare(packed.factors[0])
    return factor.inside if isinstance(factor, Element) else None


PRODUCT = Family(
    "product", matched_on_gpu, ProductSchedule, product_default, product_space, write_triton, cost=product_cost
)
