"""Attention: softmax of scores, times values, where the scores are a product themselves.

A program keeps a block of queries and walks over the keys: the softmax is carried on from block to block, so that the scores
are never stored (Dao et al. 2022, FlashAttention, algorithm 1; Milakov and Gimelshein 2018, online softmax). Whatever is done
to the scores in between, such as a scale, a mask by position or a bias, is computed on the way.
"""

from dataclasses import dataclass
from math import inf

from kernelwright.propose.author.families.family import Match
from kernelwright.propose.author.families.product.plan import factors
from kernelwright.propose.author.families.product.schedule import FLOPS_US, LAUNCH_US, PROGRAMS, Precision
from kernelwright.propose.author.ir.expr import Call, Const, Element, Expr, Index, Reduce, transform, walk
from kernelwright.propose.author.ir.program import Part, Root, heavies
from kernelwright.propose.author.ir.space import Option
from kernelwright.records.base import Record
from kernelwright.records.tensor import ITEM_BYTES

LOG2_E = 1.4426950408889634
WIDEST = 256
"""Features of a head that a program can keep."""


@dataclass(frozen=True)
class Attention:
    """Attention over [batch, queries, keys] with what is made of the result before it is stored."""

    part: Part
    node: Reduce
    """The sum over keys."""
    scores: Expr
    product: Reduce
    """Queries with keys, inside the scores."""
    queries: Expr
    keys: Expr
    values: Expr
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    """Of queries."""
    span: tuple[int, ...]
    """Of keys."""
    features: tuple[int, ...]
    columns: tuple[int, ...]
    """Of values."""

    @property
    def root(self) -> Root:
        """What is stored."""
        return self.part.roots[0]

    @property
    def causal(self) -> Expr | None:
        """The scores without their mask, where that hides every key behind its query and nothing else."""
        if len(self.rows) != 1 or len(self.span) != 1:
            return None
        seen = Call("le", (Index(self.span[0]), Index(self.rows[0])), "bool")
        match self.scores:
            case Call(op="where", args=(condition, x, Const(value=hidden))) if condition == seen and hidden == -inf:
                return x
        return None

    @property
    def spares(self) -> bool:
        """Whether the result is zero, and not what 0 / 0 is, where a query sees nothing."""
        return any(_seen(factor) is not factor for factor in self.node.arg.children)

    @property
    def number(self) -> str:
        """What the factors are multiplied as."""
        reads = [n for f in (self.queries, self.keys, self.values) for n in walk(f) if isinstance(n, Element)]
        dtypes = {self.part.argument(n).dtype for n in reads} & {"float32", "float16", "bfloat16"}
        return dtypes.pop() if len(dtypes) == 1 else "float32"


def matched(part: Part) -> Match | None:
    """The part as attention."""
    if len(part.roots) > 1 or len(part.heavies) != 1:
        return None
    (node,) = part.heavies
    pair = factors(part, node)
    if pair is None or not isinstance(node, Reduce):
        return None
    found = [(scores, other) for w, other in (pair, pair[::-1]) if (scores := _scores(w, node.over)) is not None]
    if not found:
        return None
    scores, values = found[0]
    inner = [n for n in heavies(scores) if factors(part, n)]
    if len(inner) != 1 or len(heavies(scores)) != 1 or heavies(values):
        return None
    product = inner[0]
    both = factors(part, product)
    if both is None or not isinstance(product, Reduce) or any(heavies(f) for f in both):
        return None
    keys, queries = sorted(both, key=lambda f: not set(node.over) <= f.axes)
    return _planned(part, node, product, (scores, queries, keys, values))


def _planned(part: Part, node: Reduce, product: Reduce, exprs: tuple[Expr, Expr, Expr, Expr]) -> Match | None:
    scores, queries, keys, values = exprs
    order = part.roots[0].axes
    span, features = node.over, product.over

    def along(axes: frozenset[int]) -> tuple[int, ...]:
        return tuple(a for a in order if a in axes)

    columns = along(values.axes - scores.axes)
    rows = along(queries.axes - keys.axes - values.axes)
    batch = along(frozenset(order) - set(rows) - set(columns))
    sides = set(rows) | set(columns) | set(batch)
    fits = part.count(features) <= WIDEST and part.count(columns) <= WIDEST
    shaped = sides == set(order) == set(node.axes) and len(columns) == 1 and bool(rows)
    if not fits or not shaped or set(features) & (scores.axes | set(span)) or not set(span) <= keys.axes & values.axes:
        return None
    return Match(Attention(part, node, scores, product, queries, keys, values, batch, rows, span, features, columns))


def _seen(weights: Expr) -> Expr:
    """The weights without the zeros that they are where a query sees nothing."""
    match weights:
        case Call(
            op="where", args=(Call(op="eq", args=(Reduce(op="max") as top, Const(value=least))), Const(value=0.0), x)
        ):
            return x if least == -inf and top in walk(x) else weights
    return weights


def _scores(weights: Expr, span: tuple[int, ...]) -> Expr | None:
    """x, where the weights are exp(x - max x) / sum exp(x - max x) over the keys."""
    match _seen(weights):
        case Call(
            op="div", args=(Call(op="exp", args=(Call(op="sub", args=(x, Reduce(op="max") as top)),)) as e, total)
        ):
            whole = Reduce("sum", e, top.over)
            if set(top.over) == set(span) and top.arg == x and total == whole:
                return x
    return None


def in_powers_of_two(scores: Expr) -> Expr:
    """The scores over log 2, so that a power of two is what the exponential was; a scale takes the factor into itself."""
    match scores:
        case Call(op="mul", args=(x, Const(value=scale))):
            return Call("mul", (x, Const(scale * LOG2_E)))
        case Call(op="where", args=(condition, x, Const(value=hidden))) if hidden == -inf:
            return Call("where", (condition, in_powers_of_two(x), Const(-inf)))
    return Call("mul", (scores, Const(LOG2_E)))


def scale_of(scores: Expr, product: Expr) -> float | None:
    """What the scores are the product times, where that is above zero and nothing else is done to it."""
    match scores:
        case Call(op="mul", args=(x, Const(value=scale))) if x == product and scale > 0:
            return float(scale)
    return None


HALF_BYTES = 2
"""Of a number in half precision."""
WIDE_SUMS = 64 * 128
"""Sums of a program that four warps have no registers for, beside the parts of what they multiply."""
WARP_ROWS, WARPS_TOGETHER = 16, 4
"""Rows of a product that a warp makes on Hopper, and how many warps multiply together there."""
MOST_BYTES = 224 * 1024
"""Shared memory that a program takes at most, where it may have more."""
FEWEST, FEW = 16, 64
"""Least queries of a program and keys of a step, and queries from which on it gives up loading a step ahead first."""
PAIRED = 128
"""Registers of a thread with which two programs of eight warps share a multiprocessor of 65536."""


class AttentionSchedule(Record):
    """Degrees of freedom; none but `precision` changes a digit beyond rounding."""

    block_m: int = 64
    """Queries of a program. Powers of two, as the other."""
    block_n: int = 64
    """Keys of a step."""
    stages: int = 2
    warps: int = 4
    precision: Precision = "tf32x3"
    """How float32 is multiplied."""
    registers: int = 0
    """Most of a thread; none leaves it to the compiler."""


def attention_default(plan: Attention) -> AttentionSchedule:
    """Blocks whose factors and sums fit into registers and shared memory.

    128 queries read keys and values half as often as 64. In half precision two programs of eight warps share a multiprocessor:
    one makes weights while the other multiplies. Float32 is taken apart in registers, so that its steps are of 32 keys.
    """
    wide = max(plan.part.count(plan.features), plan.part.count(plan.columns))
    longest = max(16, 1 << (plan.part.count(plan.rows) - 1).bit_length())
    if plan.number == "float32" or wide > 128:
        m = min(128 if plan.number == "float32" or wide <= 64 else 64, longest)
        start = _that_fits(plan, AttentionSchedule(block_m=m, block_n=32, stages=2))
        start = start.model_copy(update={"warps": 8 if start.block_m * wide >= WIDE_SUMS else 4})
        return start.model_copy(update={"warps": warps_of(plan, start)})
    m, n = min(128, longest), 128 if wide <= 64 else 64
    most_bytes = min(MOST_BYTES, plan.part.shared_bytes)
    stages = _stages_that_fit(plan, m, n, most_bytes // 2)
    if m == 128 and stages > 1:
        return AttentionSchedule(block_m=m, block_n=n, stages=stages, warps=8, registers=PAIRED)
    stages = _stages_that_fit(plan, m, 64, most_bytes)
    return AttentionSchedule(block_m=m, block_n=64, stages=stages, warps=4 if wide <= 64 or m < 128 else 8)


def _that_fits(plan: Attention, schedule: AttentionSchedule) -> AttentionSchedule:
    """The schedule with fewer queries where a block has too little shared memory, then no step ahead, then fewer keys."""
    count, item = plan.part.count, 4 if plan.number == "float32" else HALF_BYTES
    deep, wide = (1 << (count(axes) - 1).bit_length() for axes in (plan.features, plan.columns))
    m, n, stages = schedule.block_m, schedule.block_n, schedule.stages
    while item * (m * deep + stages * n * (deep + wide)) > plan.part.shared_bytes and max(m, n) > FEWEST:
        if stages > 1 and m <= FEW:
            stages = 1
        else:
            m, n = (m // 2, n) if m > FEWEST else (m, n // 2)
    return schedule.model_copy(update={"block_m": m, "block_n": n, "stages": stages})


def _stages_that_fit(plan: Attention, m: int, n: int, most_bytes: int) -> int:
    """Three, or as many as so much shared memory holds beside the queries: of keys, values, and what meets the scores."""
    count = plan.part.count
    deep, wide = (1 << (count(axes) - 1).bit_length() for axes in (plan.features, plan.columns))
    beside = transform(plan.scores, lambda e: Const(0.0) if e == plan.product else e)
    reads = [e for e in walk(beside) if isinstance(e, Element) and not e.axes.isdisjoint(plan.span)]
    each = n * (deep + wide) * HALF_BYTES
    each += sum((n if e.axes.isdisjoint(plan.rows) else m * n) * ITEM_BYTES[plan.part.argument(e).dtype] for e in reads)
    return max(1, min(3, (most_bytes - m * deep * HALF_BYTES) // each))


def warps_of(plan: Attention, schedule: AttentionSchedule) -> int:
    """The schedule's warps, where each has rows of its own.

    Hopper's products have 16 rows a warp. With more warps than rows Triton deals out the columns too, and what it compiles of
    float32 that is taken apart then faults (Triton 3.6.0: 64 rows, eight warps).
    """
    most = schedule.block_m // WARP_ROWS
    return min(schedule.warps, most) if plan.number == "float32" and most >= WARPS_TOGETHER else schedule.warps


def attention_space(plan: Attention) -> list[Option]:
    """The options that mean something for this plan."""
    options = [
        Option("block_m", (16, 32, 64, 128), "compute"),
        Option("block_n", (16, 32, 64, 128), "memory"),
        Option("stages", (1, 2, 3, 4), "memory"),
        Option("warps", (4, 8), "latency"),
    ]
    if plan.number == "float32":
        options.append(Option("precision", ("tf32x3", "bf16x6", "bf16x3", "ieee"), "compute"))
    else:
        options.append(Option("registers", (0, PAIRED), "latency"))
    return options


CACHED_US = 6.0e6
"""Bytes in a microsecond that programs read from the cache that they share."""
WIDE_STEP = 128 * 128
"""Scores of a step that are enough for more than four warps, of half precision."""
IN_STEP = 0.75
"""What is left of the rate where the eight warps of a multiprocessor's only program wait for one another at smaller steps. A
guess: Triton's own example leaves these out on Hopper."""


def attention_cost(plan: Attention, schedule: AttentionSchedule) -> float:
    """Estimated microseconds on a large device."""
    count, half = plan.part.count, plan.number != "float32"
    blocks = count(plan.batch) * -(-count(plan.rows) // schedule.block_m)
    waves = -(-blocks // PROGRAMS) * PROGRAMS / blocks
    keys = -(-count(plan.span) // schedule.block_n) * schedule.block_n
    wide = count(plan.features) + count(plan.columns)
    rate = FLOPS_US["half" if half else schedule.precision]
    rate *= min(1.0, schedule.block_m / 64) * min(1.0, schedule.block_n / 32)
    small = schedule.block_m * schedule.block_n < WIDE_STEP
    alone = schedule.warps > 4 and not schedule.registers
    rate *= IN_STEP if half and alone and small else 1.0
    done = 2.0 * blocks * schedule.block_m * keys * wide / rate * min(waves, 8.0)
    read = blocks * keys * wide * (2 if half else 4) / CACHED_US
    return LAUNCH_US + max(done, read)
