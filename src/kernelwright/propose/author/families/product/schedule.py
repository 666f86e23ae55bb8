"""The schedule of a product in tiles, and its space."""

from collections.abc import Sequence
from typing import Literal, get_args

from kernelwright.propose.author.families.product.matrices import HALF_BYTES, Matrix, matrices
from kernelwright.propose.author.families.product.packing import AS_IT_IS, FORMS, Form, Packing, narrow, packing
from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.schedule.space import Option, Setting
from kernelwright.records.base import Record

PROGRAMS = 132
"""Tiles that a large device works on at once."""
DEEP = 64
"""Numbers of float16 along the depth that a step takes where whole steps lie together."""
FEW_TERMS = 128
"""Terms of a sum below which no product begins with 22 bits of each factor, which may show where eager errs so little: of 2^30
sums of 64 on an H200, beside one huge element, one was off by 4.85e-6 where 4.72e-6 is allowed."""
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


WIDE = ProductSchedule(block_m=128, block_n=256, block_k=64, warps=8, stages=3)
"""The tiles of half precision that Hopper's tensor cores like best."""


def product_default(plan: Product) -> ProductSchedule:
    """The largest tiles that leave no part of a device empty; a side that is reduced in the tile is held whole."""
    batch, rows, columns, depth = plan.extents
    m, n = _side(rows), _side(columns)
    if _wide_enough(plan):
        return WIDE
    while m * n > 1024 and batch * -(-rows // m) * -(-columns // n) < PROGRAMS:
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
    if matrices(plan):
        options.append(Option("grid", ("tiles", "persistent"), "latency"))
    return options


def product_starts(plan: Product, precisions: Sequence[Setting]) -> list[dict[str, Setting]]:
    """What of the default schedule may be otherwise before anything is measured: an estimate chooses."""
    if not plan.precise:
        ways: list[dict[str, Setting]] = [{"packed": False}, {"packed": True}, {"grid": "persistent"}]
        return ways if plan.part.copies_blocks and matrices(plan) else ways[:2]
    found: list[dict[str, Setting]] = []
    for precision in precisions:
        if precision == "fp16x3" and plan.extents[-1] < FEW_TERMS:
            continue
        made = packing(plan, FORMS[str(precision)]) if precision in SCALED else None
        # Sixty-four numbers of two bytes are what Hopper's tensor cores read of a row at once.
        roomy = plan.part.shared_bytes >= LOADS_BYTES
        deep: dict[str, Setting] = {"block_k": DEEP} if made and roomy and made.extent % DEEP == 0 else {}
        found += [{"precision": precision, "packed": packed} | deep for packed in ((True,) if made else (False, True))]
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


def matrices_of(plan: Product, schedule: ProductSchedule) -> tuple[Matrix, Matrix, Matrix] | None:
    """Factors and result as programs that stay read and write them; None under any other schedule."""
    return matrices(plan) if schedule.grid == "persistent" and not schedule.packed else None


def stages_that_fit(plan: Product, schedule: ProductSchedule) -> int:
    """As many stages as shared memory has room for."""
    room = min(LOADS_BYTES, plan.part.shared_bytes)
    if matrices_of(plan, schedule):
        # Half of a tile is stored from there while the next one's slices come; what it meets is laid out there, too.
        halves = 1 if plan.root.expr == plan.node else 2
        room = plan.part.shared_bytes - halves * schedule.block_m * schedule.block_n // 2 * HALF_BYTES
    return max(1, min(schedule.stages, room // slice_bytes(plan, schedule)))


def slice_bytes(plan: Product, schedule: ProductSchedule) -> int:
    """Shared memory of one step's slices of both factors."""
    return (schedule.block_m + schedule.block_n) * schedule.block_k * item_bytes(plan, schedule)


def item_bytes(plan: Product, schedule: ProductSchedule) -> int:
    """Bytes of one number of a factor, with all parts that it is taken apart into."""
    form = _form(plan, schedule)
    return form.item_bytes if form else 4 if plan.precise else 2
