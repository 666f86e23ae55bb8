"""The schedule of a product in tiles, its space, and what it costs.

By estimate: multiplications, what tiles read from the L2 cache, or memory, whichever takes longest.
"""

from collections.abc import Sequence
from math import prod, sqrt
from typing import Literal, get_args

from kernelwright.propose.author.families.product.matrix import Matrices, matrices
from kernelwright.propose.author.families.product.packing import AS_IT_IS, FORMS, Form, Packing, narrow, packing
from kernelwright.propose.author.families.product.plan import Product, along_depth, bare
from kernelwright.propose.author.ir.space import Option, Setting
from kernelwright.records.base import Record
from kernelwright.records.tensor import ITEM_BYTES

PROGRAMS, BUSY = 132, 0.75
"""Tiles that a large device works on at once, and the share of these that wide tiles must be."""
DEEP = 64
"""Numbers of float16 along the depth that a step takes where whole steps lie together."""
FEW_TERMS = 128
"""Terms of a sum below which no product begins with 22 bits of each factor, which may show where eager errs so little: of 2^30
sums of 64 on an H200, beside one huge element, one was off by 4.85e-6 where 4.72e-6 is allowed."""
SMALL_TILE = 64 * 128
"""Sums of a small one."""
LOADS_BYTES = 200 * 1024
"""Shared memory that the loads under way take at most, where a block may have more."""
Precision = Literal["tf32", "tf32x3", "bf16x6", "bf16x3", "fp16", "fp16x3", "ieee"]
SCALED = frozenset(name for name, form in FORMS.items() if form.scaled)


class ProductSchedule(Record):
    """Degrees of freedom; none but `precision` changes a digit."""

    block_m: int = 64
    """Rows of a tile. Powers of two, as the others."""
    block_n: int = 64
    block_k: int = 32
    group: int = 8
    """Tiles above one another that programs take in turn, so that they meet in the cache."""
    stages: int = 3
    warps: int = 4
    precision: Precision = "tf32x3"
    """How float32 is multiplied: rounded to TF32 or to as many bits of float16, in three or six products of narrower numbers
    on the tensor cores, or as it is. Three-fold TF32 and float16 keep what float32 has (Ootomo and Yokota 2022)."""
    packed: bool = False
    """Whether the factors are taken apart, and laid out for wide loads, by kernels of their own (`packing`). Those of float16
    always are."""
    grid: Literal["tiles", "persistent"] = "tiles"
    """A program for each tile, or programs that make one after another (`persistent`); those read factors as they lie."""


HALF_BYTES = 2
"""Of a number of half precision."""
WIDE = ProductSchedule(block_m=128, block_n=256, block_k=64, warps=8, stages=3)
"""The tiles of half precision that Hopper's tensor cores like best."""


def product_default(plan: Product) -> ProductSchedule:
    """The largest tiles that leave no part of a device empty; a side that is reduced in the tile is held whole."""
    batch, rows, columns, depth = plan.extents
    m, n = _side(rows), _side(columns)
    if _wide_enough(plan):
        return WIDE
    while m * n > 1024 and batch * -(-rows // m) * -(-columns // n) < BUSY * PROGRAMS:
        smaller = m >= n if not plan.held else plan.held == "columns"
        m, n = (m // 2, n) if smaller else (m, n // 2)
    k = min(32 if plan.precise else 64, max(16, 1 << (depth - 1).bit_length()))
    return ProductSchedule(
        block_m=m, block_n=n, block_k=k, warps=8 if m * n >= 128 * 128 else 4, stages=3 if plan.precise else 4
    )


def _wide_enough(plan: Product) -> bool:
    """Whether half precision keeps a whole device busy in those tiles, and shared memory holds their slices."""
    batch, rows, columns, depth = plan.extents
    slices = WIDE.stages * (WIDE.block_m + WIDE.block_n) * WIDE.block_k * HALF_BYTES
    if plan.precise or narrow(plan) or depth < 64 or plan.held or slices > plan.part.shared_bytes:
        return False
    return batch * (rows // WIDE.block_m) * (columns // WIDE.block_n) >= PROGRAMS


def _side(extent: int) -> int:
    return min(128, max(16, 1 << (extent - 1).bit_length()))


def product_space(plan: Product) -> list[Option]:
    """The options that mean something for this plan."""
    _, rows, columns, _ = plan.extents
    sides = (16, 32, 64, 128, 256)
    m, n = ((_side(count),) if plan.held == side else sides for side, count in (("rows", rows), ("columns", columns)))
    options = [
        Option("block_m", tuple(s for s in m if s <= max(16, 2 * rows)), "compute"),
        Option("block_n", tuple(s for s in n if s <= max(16, 2 * columns)), "compute"),
        Option("block_k", (16, 32, 64, 128), "memory"),
        Option("group", (1, 4, 8, 16), "memory"),
        Option("stages", (1, 2, 3, 4, 5), "memory"),
        Option("warps", (4, 8, 16), "latency"),
    ]
    if plan.precise:
        options.append(Option("precision", tuple(name for name in get_args(Precision) if _can(plan, name)), "compute"))
    if packing(plan, FORMS["bf16x3"] if plan.precise else AS_IT_IS):
        options.append(Option("packed", (False, True), "compute"))
    if any(matrices(plan, found) for found in _packings(plan)):
        options.append(Option("grid", ("tiles", "persistent"), "latency"))
    return options


def _packings(plan: Product) -> list[Packing | None]:
    """The ways to lay factors out of which programs that stay may read, none among them."""
    ways = (packing(plan, FORMS["fp16"] if plan.precise else AS_IT_IS),)
    return [None, *(found for found in ways if found)]


def product_starts(plan: Product, precisions: Sequence[Setting]) -> list[dict[str, Setting]]:
    """What of the default schedule may be otherwise before anything is measured: an estimate chooses."""
    if not plan.precise:
        ways: list[dict[str, Setting]] = [{"packed": False}, {"packed": True}]
        return ways + _staying_starts(plan, [{"packed": False}, {"packed": True}])
    found: list[dict[str, Setting]] = []
    for precision in precisions:
        if precision == "fp16x3" and plan.extents[-1] < FEW_TERMS:
            continue
        made = packing(plan, FORMS[str(precision)]) if precision in SCALED else None
        # Sixty-four numbers of two bytes are what Hopper's tensor cores read of a row at once.
        roomy = plan.part.shared_bytes >= LOADS_BYTES
        deep: dict[str, Setting] = {"block_k": DEEP} if made and roomy and made.extent % DEEP == 0 else {}
        if precision == "tf32" and _few_sums(plan) and plan.extents[-1] >= DEEP:
            deep = {"block_k": DEEP}
        ways = [{"precision": precision, "packed": packed} | deep for packed in ((True,) if made else (False, True))]
        found += ways + _staying_starts(plan, ways)
    return found


def _few_sums(plan: Product) -> bool:
    """Whether tiles are small, so that deeper slices of both factors have room: a third quicker on an H200 under TF32."""
    start = product_default(plan)
    return start.block_m * start.block_n <= SMALL_TILE


def _staying_starts(plan: Product, ways: Sequence[dict[str, Setting]]) -> list[dict[str, Setting]]:
    """The same by programs that stay, where they may, in the tiles that their device likes best."""
    if not plan.part.copies_blocks:
        return []
    batch, rows, columns, _ = plan.extents
    many = batch * (rows // WIDE.block_m) * (columns // WIDE.block_n) >= BUSY * PROGRAMS
    wide = {name: getattr(WIDE, name) for name in ("block_m", "block_n", "block_k", "warps", "stages")}
    found: list[dict[str, Setting]] = []
    for way in ways:
        schedule = product_default(plan).model_copy(update={**way, "grid": "persistent"})
        if matrices_of(plan, schedule) and bool(packing_of(plan, schedule)) == schedule.packed:
            found += [{**way, "grid": "persistent", **tiles} for tiles in ([{}, wide] if many else [{}])]
    return found


def _can(plan: Product, precision: str) -> bool:
    """Whether a product may be made so: what is scaled must be laid out."""
    return precision not in SCALED or packing(plan, FORMS[precision]) is not None


def packing_of(plan: Product, schedule: ProductSchedule) -> Packing | None:
    """How the factors are laid out under a schedule; None where they are read as they lie."""
    form = _form(plan, schedule)
    return packing(plan, form) if form else None


def _form(plan: Product, schedule: ProductSchedule) -> Form | None:
    form = FORMS.get(schedule.precision) if plan.precise else AS_IT_IS
    return form if form and (schedule.packed or form.scaled) else None


def matrices_of(plan: Product, schedule: ProductSchedule) -> Matrices | None:
    """Factors and result as programs that stay read and write them; None under any other schedule."""
    found = matrices(plan, packing_of(plan, schedule)) if schedule.grid == "persistent" else None
    # A step that reached into the next piece of the depth would add what is another batch's.
    return None if found and any(m.stretch % schedule.block_k for m in (found.left, found.right)) else found


def stages_that_fit(plan: Product, schedule: ProductSchedule) -> int:
    """As many stages as shared memory has room for."""
    room = min(LOADS_BYTES, plan.part.shared_bytes)
    if matrices_of(plan, schedule):
        # Half of a tile is stored from there while the next one's slices come; what it meets is laid out there, too.
        item = ITEM_BYTES[plan.root.tensor.dtype]
        halves = 1 if plan.root.expr == plan.node or item > HALF_BYTES else 2
        room = plan.part.shared_bytes - halves * schedule.block_m * schedule.block_n // 2 * item
    return max(1, min(schedule.stages, room // slice_bytes(plan, schedule)))


def slice_bytes(plan: Product, schedule: ProductSchedule) -> int:
    """Shared memory of one step's slices of both factors."""
    return (schedule.block_m + schedule.block_n) * schedule.block_k * item_bytes(plan, schedule)


def item_bytes(plan: Product, schedule: ProductSchedule) -> int:
    """Bytes of one number of a factor, with all parts that it is taken apart into."""
    form = _form(plan, schedule)
    return form.item_bytes if form else 4 if plan.precise else 2


FLOPS_US = {"ieee": 30e6, "tf32": 150e6, "tf32x3": 40e6, "bf16x6": 66e6, "bf16x3": 105e6, "half": 780e6}
"""Floating-point operations in a microsecond that tiles reach on an H200, as measured with tiles of 128 by 128."""
PACKED_US = {"tf32": 300e6, "bf16x6": 100e6, "bf16x3": 200e6, "fp16": 780e6, "fp16x3": 190e6, "half": 780e6}
"""The same of factors that are packed. Those of TF32, and of half precision and so of float16, are estimates: tiles of 128 by
128 reach 300 and 600, which is the limit of the cache for both."""
ACROSS = 0.3
"""What is left of TF32's where a factor's numbers of one sum lie apart: the tensor cores take it along the depth alone."""
CACHE_US = 9.1e6
"""Bytes in a microsecond that all multiprocessors read from L2: what those 300 and 600 come to."""
NARROW = 0.2
"""What is left of that where loads are of single numbers, as under a window that slides (convolutions on an H200)."""
BYTES_US = 4.0e6
UNSEEN, TILE_STORED = 0.3, 0.8
"""Shares of the time to store results that products do not hide: of programs that stay, and of tiles."""
LAUNCH_US = 2.5
WARPS, ALONE = 8, 1.3
"""How many times as long a tile takes where fewer warps share a multiprocessor: nothing is done while they wait or store."""
HELD, MANY, HELD_OF_MANY = 128, 16, 48
"""Numbers of a tile's sums that a thread has registers for, beside what it reads with: of 255 in all, or of 128 where a
program has so many warps."""
STEP = 1.0
"""By which share, times numbers of the depth, a step is longer than what it multiplies: what it waits for."""
STAYING, STAYING_ELSE = 0.95, 1.0005
"""How many times as long a tile takes of programs that stay: 0.93 to 0.96 in three large products on an H200 with tiles of
128 by 256. What else there is was slower so, or was not measured: it costs next to nothing more, so that it is tried early."""
STAGES = {1: 1.5, 2: 1.05}
"""How many times as long a step takes where fewer slices than three are under way."""
UNUSUAL = 1.001
"""The same for another `group` than usual: what else is equal is tried first."""
CROWDED = 1.1
"""The same of a program of many warps whose sums fit: on an H200 it is never the faster one."""
SPILT = 4.0
"""How many times as long a tile takes whose sums do not fit."""
IMPOSSIBLE = 100.0
"""The same where a block has no shared memory for one slice: it does not start."""


def product_cost(plan: Product, schedule: ProductSchedule) -> float:
    """Estimated microseconds on a large device."""
    batch, rows, columns, depth = plan.extents
    down, across = -(-rows // schedule.block_m), -(-columns // schedule.block_n)
    tiles = batch * down * across
    waves = -(-tiles // PROGRAMS) * PROGRAMS / tiles
    packing = packing_of(plan, schedule)
    if packing is not None:
        depth = depth // packing.extent * (packing.extent + packing.pad)
    depth = -(-depth // schedule.block_k) * schedule.block_k
    done = 2.0 * tiles * schedule.block_m * schedule.block_n * depth
    rate = (PACKED_US if packing else FLOPS_US)[schedule.precision if plan.precise else "half"]
    if packing and packing.form == FORMS["tf32"]:
        rate *= (
            1.0 if all(along_depth(plan, bare(f)) for f in (*packing.left.factors, *packing.right.factors)) else ACROSS
        )
    rate *= NARROW if packing is None and narrow(plan) else 1.0
    rate *= min(1.0, sqrt(schedule.block_m * schedule.block_n) / 128)
    item = item_bytes(plan, schedule)
    near = item * depth * tiles * (schedule.block_m + schedule.block_n) / CACHE_US
    stored = (4 if plan.precise else 2) * batch * rows * columns / BYTES_US
    before = _before(packing, item) if packing else 0.0
    multiplied = max(done / rate, near) * min(waves, 8.0) * _crowded(plan, schedule) * _pace(plan, schedule)
    if matrices_of(plan, schedule):
        return before + LAUNCH_US + max(multiplied, stored) + UNSEEN * min(multiplied, stored)
    return before + LAUNCH_US + multiplied + TILE_STORED * stored


def _crowded(plan: Product, schedule: ProductSchedule) -> float:
    """How many times as long a tile takes for want of registers, of shared memory, or of others beside it."""
    form = FORMS.get(schedule.precision) if plan.precise else None
    sums = 2 if form and form.sliced else 1
    bytes_of_slice = slice_bytes(plan, schedule)
    if bytes_of_slice > plan.part.shared_bytes:
        return IMPOSSIBLE
    many = schedule.warps >= MANY
    if sums * schedule.block_m * schedule.block_n > (HELD_OF_MANY if many else HELD) * 32 * schedule.warps:
        return SPILT
    if many:
        return CROWDED
    beside = plan.part.shared_bytes // (stages_that_fit(plan, schedule) * bytes_of_slice)
    return 1.0 if beside * schedule.warps >= WARPS else ALONE


def _pace(plan: Product, schedule: ProductSchedule) -> float:
    """How many times as long a tile takes for its steps' sake."""
    unusual = UNUSUAL if schedule.group != ProductSchedule().group else 1.0
    unusual *= _staying(plan, schedule)
    return (1.0 + STEP / schedule.block_k) * STAGES.get(stages_that_fit(plan, schedule), 1.0) * unusual


def _staying(plan: Product, schedule: ProductSchedule) -> float:
    if not matrices_of(plan, schedule):
        return 1.0
    seen = plan.part.copies_blocks and schedule.block_n >= WIDE.block_n and plan.root.expr == plan.node
    return STAYING if seen else STAYING_ELSE


def _before(packing: Packing, item: int) -> float:
    """Estimated microseconds until the factors are laid out, each number in so many bytes."""
    scaled = packing.form.scaled
    reads = [2 if scaled and not one.tried else 1 for one in packing.tensors]
    moved = sum(
        (ITEM_BYTES[one.tensor.dtype] * n + item) * prod(one.tensor.shape)
        for n, one in zip(reads, packing.tensors, strict=True)
    )
    launches = scaled + (1 + scaled) * len(packing.tensors)
    return launches * LAUNCH_US + moved / BYTES_US
