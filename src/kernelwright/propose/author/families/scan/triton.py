"""A scan in Triton: a tile is [rows, columns], and what the tiles before came to is carried from one to the next.

Where many programs share a row, one kernel finds what each part of it comes to. In another each program puts together what the
parts before its own come to, and scans its part from there. The row is read twice, but no program waits for another, and sums
are added up in the same order each time.
"""

from dataclasses import dataclass

from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.emit.tile import Group, TileScope, masked, program_id, split_position
from kernelwright.propose.author.emit.triton import function, pointers
from kernelwright.propose.author.emit.triton_file import HELPERS, helpers_in
from kernelwright.propose.author.families.family import Family, Text, of_rows
from kernelwright.propose.author.families.scan.plan import (
    Scanned,
    ScanSchedule,
    matched,
    parts_of,
    scan_cost,
    scan_default,
    scan_space,
)
from kernelwright.propose.author.ir.expr import Element, Index, walk

EMPTY = {
    "float": {"sum": "0", "prod": "1", "max": 'float("-inf")', "min": 'float("inf")'},
    "int": {"sum": "0", "prod": "1", "max": str(-(2**62)), "min": str(2**62)},
}
"""What changes nothing."""
JOIN = {
    "sum": "carried + {0}", "prod": "carried * {0}", "max": "_larger(carried, {0})", "min": "_smaller(carried, {0})",
}  # fmt: skip
"""What the tiles before came to, with more."""
RUNNING = {
    "sum": "tl.cumsum(terms, axis=1{0})", "prod": "tl.cumprod(terms, axis=1{0})",
    "max": "tl.associative_scan(terms, 1, _larger{0})", "min": "tl.associative_scan(terms, 1, _smaller{0})",
}  # fmt: skip
WHOLE = {
    "sum": "tl.sum({0}, axis=1, keep_dims=True)", "prod": "tl.reduce({0}, 1, _multiply, keep_dims=True)",
    "max": "tl.reduce({0}, 1, _larger, keep_dims=True)", "min": "tl.reduce({0}, 1, _smaller, keep_dims=True)",
}  # fmt: skip
"""What a tile comes to."""
WORDS = frozenset(
    {"row", "column", "start", "inside", "exists", "carried", "terms", "running", "part", "end", "before", "shares"}
).union(HELPERS)


def write_triton(plan: Scanned, schedule: ScanSchedule, name: str, prefix: str) -> Text:
    """The kernel under a name, and one before it where rows are shared."""
    schedule = of_rows(schedule, plan.rows)
    (parts, _), (root,) = parts_of(plan, schedule), plan.part.roots
    kernels = [_Kernel(plan, schedule, name, scans=True)]
    made: list[str] = []
    constants = {f"{prefix}ROWS": schedule.rows, f"{prefix}BLOCK": schedule.block, f"{prefix}WARPS": schedule.warps}
    if parts > 1:
        kernels = [_Kernel(plan, schedule, f"{name}_totals", scans=False), *kernels]
        where = f"dtype=torch.{_number(plan)}, device={root.tensor.identifier}.device"
        made = [f"{name}_room = torch.empty(({plan.row_count}, {parts}), {where})"]
        constants[f"{prefix}PARTS"] = parts
    text = "\n\n".join(kernel.text() for kernel in kernels)
    return Text(text, [*made, *(k.launch(prefix, f"{name}_room") for k in kernels)], constants, helpers_in(text))


def _number(plan: Scanned) -> str:
    """The type of what is carried."""
    return "int64" if plan.node.kind == "int" else "float64" if plan.node.wide else "float32"


@dataclass
class _Kernel:
    plan: Scanned
    schedule: ScanSchedule
    name: str
    scans: bool
    """Whether it stores the scan, and not what parts of it come to."""

    def __post_init__(self) -> None:
        plan, schedule = self.plan, self.schedule
        self.part, self.node, self.writer = plan.part, plan.node, Writer("    ")
        (self.root,) = self.part.roots
        read = {n.name for n in walk(self.node.arg) if isinstance(n, Element)}
        needed = [t for t in self.part.reads if t.name in read]
        self.tensors = [*self.part.reads, *self.part.writes] if self.scans else needed
        self.names = Names({*WORDS, *(t.identifier for t in self.tensors)})
        self.totals = self.names.fresh("totals")
        self.rows = Group(plan.rows, "row", "inside" if plan.row_count % schedule.rows else "")
        self.columns = Group((self.node.axis,), "column", "exists" if plan.length % schedule.block else "")
        self.parts, self.share = parts_of(plan, schedule)
        self.wanted = [self.root.expr, *map(Index, self.root.axes)] if self.scans else [self.node.arg]
        """What positions are needed for."""
        self.number, self.empty = f"tl.{_number(plan)}", EMPTY[self.node.kind][self.node.op]

    def launch(self, prefix: str, room: str) -> str:
        """The line that runs it. Nobody needs to know what the last part comes to."""
        given = [t.identifier for t in self.tensors] + [room] * (self.parts > 1)
        count = f"triton.cdiv({self.plan.row_count}, {prefix}ROWS)"
        grid = f"{count}," if self.parts == 1 else f"{count}, {prefix}PARTS{'' if self.scans else ' - 1'}"
        sizes = [f"{word}={prefix}{word}" for word in self._sizes()]
        return f"{self.name}[({grid})]({', '.join((*given, *sizes))}, num_warps={prefix}WARPS)"

    def text(self) -> str:
        """The kernel."""
        w = self.writer
        given = [*pointers(self.tensors), *[f"{self.totals}_ptr"] * (self.parts > 1)]
        with function(w, self.name, given, self._sizes(), self._idea()):
            self._place()
            self._carried()
            with w.block(self._loop()):
                self._tile(self.names.inner())
            if not self.scans:
                mask = f", mask={self.rows.mask}" if self.rows.mask else ""
                total = WHOLE[self.node.op].format("carried")
                w.line(f"tl.store({self.totals}_ptr + row * PARTS + part, {total}{mask})")
        return w.text()

    def _sizes(self) -> list[str]:
        return ["ROWS", "BLOCK", *["PARTS"] * (self.parts > 1)]

    def _idea(self) -> str:
        if not self.scans:
            return "One program finds what a part of ROWS rows comes to."
        if self.parts > 1:
            return "One program scans a part of ROWS rows, from what the parts before it come to."
        return "One program scans ROWS rows, block after block."

    def _place(self) -> None:
        """Which rows the program has, and which part of them."""
        w = self.writer
        w.line(f"row = {program_id(self.part)} * ROWS + tl.arange(0, ROWS)[:, None]")
        masked(w, (self.rows, self.plan.row_count))
        split_position(w, self.names, self.rows, self.part.sizes, self.wanted)
        if self.parts > 1:
            w.line(f"part = {program_id(self.part, 1)}")
            w.line(f"end = tl.minimum(part * {self.share}, {self.plan.length - self.share}) + {self.share}")

    def _carried(self) -> None:
        """What is there before the first block: what the parts before the program's come to, or what changes nothing.

        Who scans nothing carries a block, and puts its elements together at the end: no block waits for all of another then.
        """
        w = self.writer
        if self.parts == 1 or not self.scans:
            w.line(f"carried = tl.full([ROWS, {'1' if self.scans else 'BLOCK'}], {self.empty}, {self.number})")
            return
        w.line(f"before = tl.arange(0, {1 << (self.parts - 1).bit_length()})[None, :]")
        mask = f"{self.rows.mask} & (before < part)" if self.rows.mask else "before < part"
        w.line(f"shares = tl.load({self.totals}_ptr + row * PARTS + before, mask={mask}, other={self.empty})")
        w.line(f"carried = {WHOLE[self.node.op].format('shares')}")

    def _loop(self) -> str:
        shared = f"part * {self.share}, end"
        return f"for start in tl.range({shared if self.parts > 1 else f'0, {self.plan.length}'}, BLOCK):"

    def _tile(self, names: Names) -> None:
        """One block of the rows: what it comes to, and its scan if that is stored."""
        w, node, scope = self.writer, self.node, self._scope(names)
        scope.fetch([self.root.expr, node.arg] if self.scans else [node.arg])
        (text,) = scope.write([node.arg])
        text = f"({text}).to({self.number})" if node.kind == "int" else text
        w.line(f"terms = {_terms(text, self.columns, self.empty)}.to({self.number})")
        if not self.scans:
            w.line(f"carried = {JOIN[node.op].format('terms')}")
            return
        reverse = ", reverse=True" * node.reverse
        w.line(f"running = {JOIN[node.op].format(RUNNING[node.op].format(reverse))}")
        w.line(f"carried = {JOIN[node.op].format(WHOLE[node.op].format('terms'))}")
        names.values[node.key] = "running"
        scope.store(self.root, self.part.sizes)

    def _scope(self, names: Names) -> TileScope:
        """A block's positions."""
        w, plan, block = self.writer, self.plan, self.schedule.block
        last = (plan.length - 1) // block * block
        first = f"{last} - start" if self.node.reverse else "start"
        w.line(f"column = {first} + tl.arange(0, BLOCK)[None, :]")
        masked(w, (self.columns, plan.length))
        split_position(w, names, self.columns, self.part.sizes, self.wanted)
        return TileScope(self.part, w, names, groups=(self.rows, self.columns))


def _terms(text: str, columns: Group, empty: str) -> str:
    """What is scanned; elements that do not exist change nothing."""
    return f"tl.where({columns.mask}, {text}, {empty})" if columns.mask else f"({text})"


SCAN = Family("scan", matched, ScanSchedule, scan_default, scan_space, write_triton, cost=scan_cost)
