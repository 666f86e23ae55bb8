"""A histogram: how often each of a few bins is met. Each program counts for itself, so that few additions meet in memory.

What is added up by bins, other than ones, has no such kernel in Triton, and is left to the family `strided`.
"""

from dataclasses import dataclass
from math import ceil, log2, prod

from kernelwright.propose.author.emit.tile import Group, TileScope, masked, program_id, split_position
from kernelwright.propose.author.emit.triton import function, pointers
from kernelwright.propose.author.families.family import Family, Match, TileKernel
from kernelwright.propose.author.ir.expr import Const, Expr
from kernelwright.propose.author.ir.program import Part, Root
from kernelwright.propose.author.ir.space import Option
from kernelwright.records.base import Record

MOST_BINS = 1024
"""Bins that a program counts side by side: an instruction looks at as many elements as a warp has lanes, for each of them."""


@dataclass(frozen=True)
class Counted:
    """Elements that are counted."""

    part: Part

    @property
    def root(self) -> Root:
        """The counts."""
        return self.part.roots[0]

    @property
    def each(self) -> Expr:
        """What an element counts."""
        return self.root.expr

    @property
    def axes(self) -> tuple[int, ...]:
        """Of the elements, slowest first."""
        return self.root.axes

    @property
    def count(self) -> int:
        """Elements."""
        return self.part.count(self.axes)

    @property
    def bins(self) -> int:
        """Bins."""
        return prod(self.root.tensor.shape)


def matched(part: Part) -> Match | None:
    """The part as one histogram."""
    root = part.roots[0]
    if len(part.roots) > 1 or root.scatter is None or not isinstance(root.expr, Const):
        return None
    if prod(root.tensor.shape) > MOST_BINS or part.heavies:
        return None
    return Match(Counted(part))


class HistogramSchedule(Record):
    """Degrees of freedom; none changes the result."""

    tile: int = 1024
    """Elements that a program counts at once. A power of two."""
    programs: int = 528
    """How many share the elements: each adds its counts to all of them once."""
    warps: int = 4


def histogram_default(plan: Counted) -> HistogramSchedule:
    """As many programs as a large device holds, and no tile that is mostly empty."""
    return HistogramSchedule(tile=min(1024, max(128, 1 << (plan.count - 1).bit_length())))


def histogram_space(plan: Counted) -> list[Option]:
    """The options that mean something for this plan."""
    return [
        Option("tile", (256, 512, 1024, 2048, 4096), "latency"),
        Option("programs", (132, 264, 528, 1056, 2112), "memory"),
        Option("warps", (2, 4, 8), "latency"),
    ]


BYTES_US = 3.5e6
LAUNCH_US = 2.5
RESIDENT = 132 * 64
"""Warps that a large device holds."""
LANES = 32
STEPS_US = 2.0e4
"""Such instructions in a microsecond, of all warps that are there."""


def histogram_cost(plan: Counted, schedule: HistogramSchedule) -> float:
    """Estimated microseconds on a large device."""
    programs = min(schedule.programs, ceil(plan.count / schedule.tile))
    moved = 4.0 * sum(prod(e.sizes) for e in plan.part.elements) + 4.0 * programs * plan.bins
    steps = plan.count / LANES * (log2(max(2, plan.bins)) + plan.bins / LANES)
    busy = min(1.0, programs * schedule.warps / RESIDENT)
    return LAUNCH_US + max(moved / BYTES_US, steps / STEPS_US) / busy


class _Kernel(TileKernel[Counted, HistogramSchedule]):
    WORDS = frozenset({"row", "inside", "turn", "place", "bins", "counts"})

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rows = Group(self.plan.axes, "row", "inside")
        self.block = 1 << (self.plan.bins - 1).bit_length()

    @property
    def constants(self) -> dict[str, int]:
        """See `TileKernel.constants`."""
        return {"TILE": self.schedule.tile, "PROGRAMS": self.schedule.programs, "WARPS": self.schedule.warps}

    def launch(self, name: str, prefix: str) -> list[str]:
        """See `TileKernel.launch`."""
        tensors = ", ".join(t.identifier for t in self.tensors)
        tiles = f"triton.cdiv({self.plan.count}, {prefix}TILE)"
        given = f"TILE={prefix}TILE, TURNS=triton.cdiv({tiles}, {prefix}PROGRAMS), num_warps={prefix}WARPS"
        return [f"{name}[(min({prefix}PROGRAMS, {tiles}),)]({tensors}, {given})"]

    def text(self, name: str) -> str:
        """See `TileKernel.text`."""
        w = self.writer
        idea = "One program counts TURNS tiles of elements, and adds its counts to those of the others."
        with function(w, name, pointers(self.tensors), ("TILE", "TURNS"), idea):
            w.line(f"counts = tl.zeros([{self.block}], tl.int32)")
            with w.block("for turn in tl.range(TURNS):"):
                self._tile()
            self._add()
        return w.text()

    def _tile(self) -> None:
        w, names = self.writer, self.names.inner()
        w.line(f"row = (turn * tl.num_programs(0) + {program_id(self.part)}) * TILE + tl.arange(0, TILE)")
        masked(w, (self.rows, self.plan.count))
        wanted: list[Expr] = list(self.plan.root.places)
        split_position(w, names, self.rows, self.part.sizes, wanted)
        scope = TileScope(self.part, w, names, groups=(self.rows,))
        scope.fetch(wanted)
        place, *conditions = scope.write(wanted)
        mask = " & ".join(["inside", *(f"({text})" for text in conditions)])
        w.line(f"place = ({place}).to(tl.int32)")
        w.line(f"counts += tl.histogram(place, {self.block}, {mask})")

    def _add(self) -> None:
        w, tensor, each = self.writer, self.plan.root.tensor, self.plan.each
        assert isinstance(each, Const), each
        exact = self.block == self.plan.bins
        w.line(f"bins = tl.arange(0, {self.block})")
        value = each.value if tensor.dtype.startswith("float") else int(each.value)
        many = "counts" if value == 1 else f"counts * {value}"
        mask = "counts > 0" if exact else f"(counts > 0) & (bins < {self.plan.bins})"
        w.line(
            f'tl.atomic_add({tensor.identifier}_ptr + bins, ({many}).to(tl.{tensor.dtype}), mask={mask}, sem="relaxed")'
        )


HISTOGRAM = Family(
    "histogram", matched, HistogramSchedule, histogram_default, histogram_space, _Kernel.write, cost=histogram_cost
)
