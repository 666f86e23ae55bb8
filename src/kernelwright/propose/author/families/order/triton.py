"""A sort in Triton: a tile of whole rows as numbers that hold an element and its position, and the first places of each."""

from dataclasses import dataclass

from kernelwright.propose.author.families.family import Text, of_rows
from kernelwright.propose.author.families.order.plan import Sorted
from kernelwright.propose.author.families.order.schedule import OrderSchedule, block
from kernelwright.propose.author.plan.expr import Expr, Index, Order
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.tile import Group, TileScope, large, split_position
from kernelwright.propose.author.source.triton_helpers import HELPERS, helpers_in
from kernelwright.propose.author.source.writer import Writer

WORDS = frozenset({"row", "column", "inside", "exists", "wanted", "turn", "place", "keys", "first", "there", *HELPERS})


def write_triton(plan: Sorted, schedule: OrderSchedule, name: str, prefix: str) -> Text:
    """The kernel under a name."""
    schedule = of_rows(schedule, plan.rows)
    kernel = _Kernel(plan, schedule)
    text = kernel.text(name)
    tensors = ", ".join(t.identifier for t in kernel.tensors)
    count = f"triton.cdiv({plan.row_count}, {prefix}ROWS)"
    given = f"ROWS={prefix}ROWS, BLOCK={block(plan)}, num_warps={prefix}WARPS"
    constants = {f"{prefix}ROWS": schedule.rows, f"{prefix}WARPS": schedule.warps}
    return Text(text, [f"{name}[({count},)]({tensors}, {given})"], constants, helpers_in(text))


@dataclass
class _Kernel:
    plan: Sorted
    schedule: OrderSchedule

    def __post_init__(self) -> None:
        plan = self.plan
        self.part, self.node, self.writer = plan.part, plan.node, Writer("    ")
        self.tensors = (*self.part.reads, *self.part.writes)
        self.names = Names({*WORDS, *(t.identifier for t in self.tensors)})
        self.rows = Group(plan.rows, "row", "inside" if plan.row_count % self.schedule.rows else "")
        self.columns = Group((self.node.axis,), "column", "exists" if plan.length < block(plan) else "")
        self.among = 1 << (plan.places - 1).bit_length()
        ragged = self.schedule.how == "network" and self.among > plan.places
        self.places = Group((self.node.place,), "place", "wanted" if ragged else "")

    def text(self, name: str) -> str:
        w = self.writer
        w.line("@triton.jit")
        with w.block(f"def {name}(", "):"):
            for tensor in self.tensors:
                w.line(f"{tensor.identifier}_ptr,")
            w.line("ROWS: tl.constexpr,")
            w.line("BLOCK: tl.constexpr,")
        with w.block(f'    """One program finds the first {self.plan.places} places of ROWS rows."""'):
            self._keys()
            if self.schedule.how == "rounds":
                self._rounds()
            else:
                self._network()
        return w.text()

    def _keys(self) -> None:
        """Elements and positions of a tile; what does not exist comes last."""
        w, node = self.writer, self.node
        program = "tl.cast(tl.program_id(0), tl.int64)" if large(self.part) else "tl.program_id(0)"
        w.line(f"row = {program} * ROWS + tl.arange(0, ROWS)[:, None]")
        if self.rows.mask:
            w.line(f"inside = row < {self.plan.row_count}")
        w.line("column = tl.arange(0, BLOCK)[None, :]")
        if self.columns.mask:
            w.line(f"exists = column < {self.plan.length}")
        conditions = [] if node.inside is None else [node.inside]
        wanted: list[Expr] = [node.arg, node.position, *conditions, *map(Index, self.part.roots[0].axes)]
        for group in (self.rows, self.columns):
            split_position(w, self.names, group, self.part.sizes, wanted)
        scope = TileScope(self.part, w, self.names, groups=(self.rows, self.columns))
        scope.fetch([node.arg])
        text, position, *given = scope.write([node.arg, node.position, *conditions])
        if node.packed:
            w.line(f"keys = {text}")
        else:
            made = "_order_key" if node.arg.kind == "float" else "_whole_key"
            w.line(f"keys = {made}({text}, {position}, {node.descending})")
        there = " & ".join([self.columns.mask] * bool(self.columns.mask) + [f"({t})" for t in given])
        if there:
            w.line(f"keys = tl.where({there}, keys, -(2**63))")
        w.line("keys = tl.broadcast_to(keys, [ROWS, BLOCK])")

    def _network(self) -> None:
        w = self.writer
        most = self.among >= block(self.plan)
        w.line("first = tl.sort(keys, descending=True)" if most else f"first = tl.topk(keys, {self.among})")
        w.line(f"place = tl.arange(0, {'BLOCK' if most else self.among})[None, :]")
        if self.places.mask:
            w.line(f"wanted = place < {self.plan.places}")
        self._store(self.names)

    def _rounds(self) -> None:
        w = self.writer
        with w.block(f"for turn in tl.range({self.plan.places}):"):
            w.line("first = tl.max(keys, axis=1, keep_dims=True)")
            w.line("keys = tl.where(keys == first, -(2**63), keys)")
            w.line("place = turn + tl.zeros([ROWS, 1], tl.int32)")
            self._store(self.names.inner())

    def _store(self, names: Names) -> None:
        names.values[Index(self.node.place).key] = "place"
        scope = TileScope(self.part, self.writer, names, groups=(self.rows, self.places))
        for root in self.part.roots:
            if isinstance(root.expr, Order):
                names.values[root.expr.key] = _told(root.expr)
            scope.store(root, self.part.sizes)


def _told(node: Order) -> str:
    """What a result says of the first places."""
    if node.what == "key":
        return "first"
    if node.what == "place":
        return "2147483647 - (first & 0xFFFFFFFF)"
    return f"{'_order_value' if node.kind == 'float' else '_whole_value'}(first, {node.descending})"
