"""A scan in Triton: a tile is [rows, columns], and what the tiles before came to is carried from one to the next."""

from kernelwright.propose.author.families.family import Text, of_rows
from kernelwright.propose.author.families.scan.plan import Scanned
from kernelwright.propose.author.families.scan.schedule import ScanSchedule
from kernelwright.propose.author.plan.expr import Expr, Index
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.tile import Group, TileScope, large, split_position
from kernelwright.propose.author.source.triton_helpers import HELPERS, helpers_in
from kernelwright.propose.author.source.writer import Writer

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
    "sum": "tl.sum(terms, axis=1, keep_dims=True)", "prod": "tl.reduce(terms, 1, _multiply, keep_dims=True)",
    "max": "tl.reduce(terms, 1, _larger, keep_dims=True)", "min": "tl.reduce(terms, 1, _smaller, keep_dims=True)",
}  # fmt: skip
"""What a tile comes to."""
WORDS = frozenset({"row", "column", "start", "inside", "exists", "carried", "terms", "running", *HELPERS})


def write_triton(plan: Scanned, schedule: ScanSchedule, name: str, prefix: str) -> Text:
    """The kernel under a name."""
    schedule = of_rows(schedule, plan.rows)
    text = _text(plan, schedule, name)
    tensors = ", ".join(t.identifier for t in (*plan.part.reads, *plan.part.writes))
    count = f"triton.cdiv({plan.row_count}, {prefix}ROWS)"
    given = f"ROWS={prefix}ROWS, BLOCK={prefix}BLOCK, num_warps={prefix}WARPS"
    constants = {f"{prefix}ROWS": schedule.rows, f"{prefix}BLOCK": schedule.block, f"{prefix}WARPS": schedule.warps}
    return Text(text, [f"{name}[({count},)]({tensors}, {given})"], constants, helpers_in(text))


def _text(plan: Scanned, schedule: ScanSchedule, name: str) -> str:
    part, node, w = plan.part, plan.node, Writer("    ")
    tensors = (*part.reads, *part.writes)
    names = Names({*WORDS, *(t.identifier for t in tensors)})
    rows = Group(plan.rows, "row", "inside" if plan.row_count % schedule.rows else "")
    columns = Group((node.axis,), "column", "exists" if plan.length % schedule.block else "")
    (root,) = part.roots
    number = "tl.int64" if node.kind == "int" else "tl.float64" if node.wide else "tl.float32"
    empty = EMPTY[node.kind][node.op]
    w.line("@triton.jit")
    with w.block(f"def {name}(", "):"):
        for tensor in tensors:
            w.line(f"{tensor.identifier}_ptr,")
        w.line("ROWS: tl.constexpr,")
        w.line("BLOCK: tl.constexpr,")
    with w.block('    """One program scans ROWS rows, block after block."""'):
        program = "tl.cast(tl.program_id(0), tl.int64)" if large(part) else "tl.program_id(0)"
        w.line(f"row = {program} * ROWS + tl.arange(0, ROWS)[:, None]")
        if rows.mask:
            w.line(f"inside = row < {plan.row_count}")
        wanted: list[Expr] = [root.expr, *map(Index, root.axes)]
        split_position(w, names, rows, part.sizes, wanted)
        w.line(f"carried = tl.full([ROWS, 1], {empty}, {number})")
        last = (plan.length - 1) // schedule.block * schedule.block
        with w.block(f"for start in tl.range(0, {plan.length}, BLOCK):"):
            first = f"{last} - start" if node.reverse else "start"
            w.line(f"column = {first} + tl.arange(0, BLOCK)[None, :]")
            if columns.mask:
                w.line(f"exists = column < {plan.length}")
            inner = names.inner()
            split_position(w, inner, columns, part.sizes, wanted)
            scope = TileScope(part, w, inner, groups=(rows, columns))
            scope.fetch([root.expr, node.arg])
            (text,) = scope.write([node.arg])
            text = f"({text}).to({number})" if node.kind == "int" else text
            w.line(f"terms = {_terms(text, columns, empty)}.to({number})")
            reverse = ", reverse=True" * node.reverse
            w.line(f"running = {JOIN[node.op].format(RUNNING[node.op].format(reverse))}")
            w.line(f"carried = {JOIN[node.op].format(WHOLE[node.op])}")
            inner.values[node.key] = "running"
            scope.store(root, part.sizes)
    return w.text()


def _terms(text: str, columns: Group, empty: str) -> str:
    """What is scanned; elements that do not exist change nothing."""
    return f"tl.where({columns.mask}, {text}, {empty})" if columns.mask else f"({text})"
