"""A sort in C++: a row as numbers that hold an element and its position, sorted by their digits, or passed by a heap.

Whole rows take a radix sort of three passes; of a few places a heap keeps the best so far.
"""

from kernelwright.propose.author.emit.loops import Loops
from kernelwright.propose.author.families.family import CPU_OPTIONS, CpuSchedule, Family
from kernelwright.propose.author.families.order.plan import Sorted, matched
from kernelwright.propose.author.ir.expr import Order

SHARE = 8
"""Up to which part of a row a heap of its places is cheaper than a sort."""


class _Rows(Loops[Sorted, CpuSchedule]):
    WORDS = frozenset({"keys", "other", "first"})

    def write(self) -> None:
        """The parallel loops over rows, and in them the sort."""
        self.node = self.plan.node
        self.name_axes((*self.plan.rows, self.node.axis, self.node.place))
        with self.nest([self.head(axis) for axis in self.plan.rows], f"schedule({self.schedule.distribution})"):
            self._row()

    def _row(self) -> None:
        w, length, places = self.writer, self.plan.length, self.plan.places
        whole = places * SHARE > length
        w.line(f"std::vector<std::uint64_t> keys({length}), other({length if whole else places});")
        self._keys()
        found = f"sorted(keys.data(), other.data(), {length})"
        found = found if whole else f"smallest(keys.data(), {length}, other.data(), {places})"
        w.line(f"const std::uint64_t* const first = fast::{found};")
        with self.loop(self.head(self.node.place)):
            names = self.names.inner()
            for root in self.part.roots:
                if isinstance(root.expr, Order):
                    names.values[root.expr.key] = self._result(root.expr)
            for root in self.part.roots:
                self.store(root, names)

    def _keys(self) -> None:
        at, descending = self.letter[self.node.axis], str(self.node.descending).lower()
        with self.loop(self.head(self.node.axis), vector=True):
            (text,) = self.scope(self.names.inner()).write([self.node.arg])
            self.writer.line(f"keys[{at}] = fast::{self._name}_key({text}, {descending}, {at});")

    @property
    def _name(self) -> str:
        return "order" if self.node.arg.kind == "float" else "whole"

    def _result(self, node: Order) -> str:
        """What a result says of the sorted keys."""
        at = f"first[{self.letter[node.place]}]"
        if node.what == "place":
            return f"static_cast<std::int64_t>({at} & 0xFFFFFFFFu)"
        return f"fast::{self._name}_value({at}, {str(node.descending).lower()})"


ORDER_LOOPS = Family(
    "order", matched, CpuSchedule, lambda plan: CpuSchedule(), lambda plan: CPU_OPTIONS, _Rows.write_into()
)
