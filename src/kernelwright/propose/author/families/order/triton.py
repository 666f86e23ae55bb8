"""A sort in Triton: a tile of whole rows as numbers that hold an element and its position, and the first places of each."""

from kernelwright.propose.author.emit.scope import Names
from kernelwright.propose.author.emit.tile import Group, TileScope, masked, program_id, split_position
from kernelwright.propose.author.emit.triton import function, pointers
from kernelwright.propose.author.families.family import Family, TileKernel, of_rows
from kernelwright.propose.author.families.order.plan import (
    OrderSchedule,
    Sorted,
    block,
    matched_on_gpu,
    order_cost,
    order_default,
    order_space,
)
from kernelwright.propose.author.ir.expr import Expr, Index, Order


class _Kernel(TileKernel[Sorted, OrderSchedule]):
    WORDS = frozenset({"row", "column", "inside", "exists", "wanted", "turn", "place", "keys", "first", "there"})

    def __post_init__(self) -> None:
        super().__post_init__()
        self.schedule, plan = of_rows(self.schedule, self.plan.rows), self.plan
        self.node = plan.node
        self.rows = Group(plan.rows, "row", "inside" if plan.row_count % self.schedule.rows else "")
        self.columns = Group((self.node.axis,), "column", "exists" if plan.length < block(plan) else "")
        self.among = 1 << (plan.places - 1).bit_length()
        ragged = self.schedule.how == "network" and self.among > plan.places
        self.places = Group((self.node.place,), "place", "wanted" if ragged else "")

    @property
    def constants(self) -> dict[str, int]:
        """See `TileKernel.constants`."""
        return {"ROWS": self.schedule.rows, "WARPS": self.schedule.warps}

    def launch(self, name: str, prefix: str) -> list[str]:
        """See `TileKernel.launch`."""
        tensors = ", ".join(t.identifier for t in self.tensors)
        given = f"ROWS={prefix}ROWS, BLOCK={block(self.plan)}, num_warps={prefix}WARPS"
        return [f"{name}[(triton.cdiv({self.plan.row_count}, {prefix}ROWS),)]({tensors}, {given})"]

    def text(self, name: str) -> str:
        """See `TileKernel.text`."""
        w = self.writer
        idea = f"One program finds the first {self.plan.places} places of ROWS rows."
        with function(w, name, pointers(self.tensors), ("ROWS", "BLOCK"), idea):
            self._keys()
            if self.schedule.how == "rounds":
                self._rounds()
            else:
                self._network()
        return w.text()

    def _keys(self) -> None:
        """Elements and positions of a tile; what does not exist comes last."""
        w, node = self.writer, self.node
        w.line(f"row = {program_id(self.part)} * ROWS + tl.arange(0, ROWS)[:, None]")
        masked(w, (self.rows, self.plan.row_count))
        w.line("column = tl.arange(0, BLOCK)[None, :]")
        masked(w, (self.columns, self.plan.length))
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
        masked(w, (self.places, self.plan.places))
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


ORDER = Family("order", matched_on_gpu, OrderSchedule, order_default, order_space, _Kernel.write, cost=order_cost)
