"""A sort in C++: a row as numbers that hold an element and its position, sorted by their digits, or passed by a heap.

Whole rows take a radix sort of three passes; of a few places a heap keeps the best so far.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from kernelwright.propose.author.families.order.plan import Sorted
from kernelwright.propose.author.families.strided.cpp import LoopScope
from kernelwright.propose.author.families.strided.cpp_schedule import CpuSchedule
from kernelwright.propose.author.plan.expr import Expr, Index, Order
from kernelwright.propose.author.plan.positions import flattened
from kernelwright.propose.author.source.cpp_expr import to_memory
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.writer import Writer

LETTERS = "ijklmnpqrstuvw"
SHARE = 8
"""Up to which part of a row a heap of its places is cheaper than a sort."""


def write_cpp(plan: Sorted, schedule: CpuSchedule, writer: Writer, taken: set[str], room: str) -> None:
    """The loops of one kernel, in a scope of their own."""
    _Rows(plan, schedule, writer, Names({*taken, "keys", "other", "first"})).write()


@dataclass
class _Rows:
    plan: Sorted
    schedule: CpuSchedule
    writer: Writer
    names: Names

    def __post_init__(self) -> None:
        self.part, self.node, self.sizes = self.plan.part, self.plan.node, self.plan.part.sizes
        letters = iter([c for c in LETTERS if c not in self.names.taken])
        axes = (*self.plan.rows, self.node.axis, self.node.place)
        self.letter = {axis: self.names.fresh(next(letters, "axis")) for axis in axes}
        self.names.values |= {Index(axis).key: letter for axis, letter in self.letter.items()}

    def write(self) -> None:
        """The parallel loops over rows, and in them the sort."""
        w, rows = self.writer, self.plan.rows
        if rows:
            collapse = f" collapse({len(rows)})" if len(rows) > 1 else ""
            w.pragma(f"#pragma omp parallel for{collapse}", f"schedule({self.schedule.distribution})")
        with ExitStack() as stack:
            for number, axis in enumerate(rows):
                last = number == len(rows) - 1
                stack.enter_context(w.block(self._head(axis, self.sizes[axis]) + " {" * last, "}" * last))
            if not rows:
                stack.enter_context(w.block("{", "}"))
            self._row()

    def _head(self, axis: int, size: int) -> str:
        name = self.letter[axis]
        return f"for (std::int64_t {name} = 0; {name} < {size}; ++{name})"

    def _row(self) -> None:
        w, length, places = self.writer, self.plan.length, self.plan.places
        w.line(f"std::vector<std::uint64_t> keys({length}), other({length if self._whole else places});")
        self._keys()
        if self._whole:
            w.line(f"const std::uint64_t* const first = fast::sorted(keys.data(), other.data(), {length});")
        else:
            w.line(f"const std::uint64_t* const first = fast::smallest(keys.data(), {length}, other.data(), {places});")
        with w.block(self._head(self.node.place, places) + " {", "}"):
            names = self.names.inner()
            for root in self.part.roots:
                if isinstance(root.expr, Order):
                    names.values[root.expr.key] = self._told(root.expr)
            for root in self.part.roots:
                place = flattened([Index(a) for a in root.axes], [self.sizes[a] for a in root.axes])
                text, where = self._scope(names).write([root.expr, place])
                w.line(f"{root.tensor.identifier}[{where}] = {to_memory(root.tensor.dtype, text)};")

    @property
    def _whole(self) -> bool:
        return self.plan.places * SHARE > self.plan.length

    def _keys(self) -> None:
        w, names, at = self.writer, self.names.inner(), self.letter[self.node.axis]
        w.pragma("#pragma omp simd")
        with w.block(self._head(self.node.axis, self.plan.length) + " {", "}"):
            wanted: list[Expr] = [self.node.arg]
            (text,) = self._scope(names).write(wanted)
            w.line(f"keys[{at}] = fast::{self._name}_key({text}, {str(self.node.descending).lower()}, {at});")

    @property
    def _name(self) -> str:
        return "order" if self.node.arg.kind == "float" else "whole"

    def _told(self, node: Order) -> str:
        at = f"first[{self.letter[node.place]}]"
        if node.what == "place":
            return f"static_cast<std::int64_t>({at} & 0xFFFFFFFFu)"
        return f"fast::{self._name}_value({at}, {str(node.descending).lower()})"

    def _scope(self, names: Names) -> LoopScope:
        return LoopScope(self.part, self.writer, names, index="lane")
