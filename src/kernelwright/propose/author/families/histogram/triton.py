"""A histogram in Triton: programs that count tiles of elements, and add what they have counted to the result."""

from dataclasses import dataclass

from kernelwright.propose.author.families.family import Text
from kernelwright.propose.author.families.histogram.plan import Counted
from kernelwright.propose.author.families.histogram.schedule import HistogramSchedule
from kernelwright.propose.author.plan.expr import Const, Expr
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.tile import Group, TileScope, large, split_position
from kernelwright.propose.author.source.triton_helpers import HELPERS, helpers_in
from kernelwright.propose.author.source.writer import Writer

WORDS = frozenset({"row", "inside", "turn", "place", "bins", "counts", *HELPERS})


def write_triton(plan: Counted, schedule: HistogramSchedule, name: str, prefix: str) -> Text:
    """The kernel under a name."""
    kernel = _Kernel(plan, schedule)
    text = kernel.text(name)
    tensors = ", ".join(t.identifier for t in kernel.tensors)
    tiles = f"triton.cdiv({plan.count}, {prefix}TILE)"
    given = f"TILE={prefix}TILE, TURNS=triton.cdiv({tiles}, {prefix}PROGRAMS), num_warps={prefix}WARPS"
    constants = {
        f"{prefix}TILE": schedule.tile,
        f"{prefix}PROGRAMS": schedule.programs,
        f"{prefix}WARPS": schedule.warps,
    }
    launch = f"{name}[(min({prefix}PROGRAMS, {tiles}),)]({tensors}, {given})"
    return Text(text, [launch], constants, helpers_in(text))


@dataclass
class _Kernel:
    plan: Counted
    schedule: HistogramSchedule

    def __post_init__(self) -> None:
        self.part, self.writer = self.plan.part, Writer("    ")
        self.tensors = (*self.part.reads, *self.part.writes)
        self.names = Names({*WORDS, *(t.identifier for t in self.tensors)})
        self.rows = Group(self.plan.axes, "row", "inside")
        self.block = 1 << (self.plan.bins - 1).bit_length()

    def text(self, name: str) -> str:
        w = self.writer
        w.line("@triton.jit")
        with w.block(f"def {name}(", "):"):
            for tensor in self.tensors:
                w.line(f"{tensor.identifier}_ptr,")
            w.line("TILE: tl.constexpr,")
            w.line("TURNS: tl.constexpr,")
        with w.block(
            '    """One program counts TURNS tiles of elements, and adds its counts to those of the others."""'
        ):
            w.line(f"counts = tl.zeros([{self.block}], tl.int32)")
            with w.block("for turn in tl.range(TURNS):"):
                self._tile()
            self._add()
        return w.text()

    def _tile(self) -> None:
        w, names = self.writer, self.names.inner()
        program = "tl.cast(tl.program_id(0), tl.int64)" if large(self.part) else "tl.program_id(0)"
        w.line(f"row = (turn * tl.num_programs(0) + {program}) * TILE + tl.arange(0, TILE)")
        w.line(f"inside = row < {self.plan.count}")
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
        if not isinstance(each, Const):
            raise AssertionError(each)
        exact = self.block == self.plan.bins
        w.line(f"bins = tl.arange(0, {self.block})")
        many = (
            "counts"
            if each.value == 1
            else f"counts * {each.value if tensor.dtype.startswith('float') else int(each.value)}"
        )
        mask = "counts > 0" if exact else f"(counts > 0) & (bins < {self.plan.bins})"
        w.line(
            f'tl.atomic_add({tensor.identifier}_ptr + bins, ({many}).to(tl.{tensor.dtype}), mask={mask}, sem="relaxed")'
        )
