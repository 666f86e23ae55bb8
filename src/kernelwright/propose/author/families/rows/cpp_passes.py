"""The reductions of one row (flat: of one block) as C++.

Floats are added in the lanes of one block at most; blocks meet in double. So the error grows with the
block's length and not with the tensor's.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kernelwright.propose.author.emit.cpp import CLAUSE, START, CppScope
from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.families.rows.plan import Fusion, Plan, outside
from kernelwright.propose.author.families.rows.schedule import CppSchedule
from kernelwright.propose.author.ir.expr import Expr, Reduce

LANES_EACH = 16
"""Floats of the widest vector."""
PICK = {"max": "std::max", "min": "std::min", "amax": "fast::maximum", "amin": "fast::minimum"}


def joined(op: str, left: str, right: str) -> str:
    """A statement that takes `right` into `left`."""
    return f"{left} += {right};" if op == "sum" else f"{left} = {PICK[op]}({left}, {right});"


@dataclass
class Passes:
    """Writes the passes of one row. `names` learns each reduction's name, and what is kept."""

    plan: Plan
    schedule: CppSchedule
    writer: Writer
    names: Names
    kept: dict[str, str]
    """Buffers of costly expressions, by key; an expression may be read from one once it was written."""

    @property
    def blocked(self) -> bool:
        """Whether a row is longer than a block."""
        return not self.plan.flat and self.plan.cols > self.schedule.block

    def write(self) -> None:
        """Every pass, in order."""
        fusion = self.plan.fusion if self.schedule.passes == "online" else None
        pending = [list(group) for group in self.plan.passes]
        for group in pending:
            if fusion is not None and fusion.first in group:
                self._fused(fusion)
            rest = [r for r in group if r.key not in self.names.values]
            if rest:
                self._pass(rest)

    def _pass(self, group: Sequence[Reduce]) -> None:
        scope = CppScope(self.plan, self.writer, self.names)
        scope.hoist([r.arg for r in group])
        kind = "block" if self.plan.flat else "row"
        results = [self.names.fresh(f"{kind}_{r.op}") for r in group]
        if not self.blocked:
            begin, end = ("begin", "end") if self.plan.flat else ("0", "COLS")
            self._partial(group, results, begin, end)
        else:
            for r, name in zip(group, results, strict=True):
                number = "double" if r.op == "sum" else "float"
                self.writer.line(f"{number} {name} = {START[r.op] if r.op != 'sum' else '0.0'};")
            with self.blocks():
                parts = [f"part_{r.op}{n or ''}" for n, r in enumerate(group)]
                self._partial(group, parts, "begin", "end")
                for r, name, part in zip(group, results, parts, strict=True):
                    self.writer.line(joined(r.op, name, part))
        self._remember(group, results)

    def _remember(self, group: Sequence[Reduce], results: Sequence[str]) -> None:
        for r, name in zip(group, results, strict=True):
            double = self.blocked and r.op == "sum"
            self.names.values[r.key] = f"static_cast<float>({name})" if double else name
        for key, buffer in self.kept.items():
            if any(n.key == key for r in group for n in outside(r.arg, r.over)):
                self.names.values[key] = f"{buffer}[i]"

    @contextmanager
    def blocks(self) -> Iterator[None]:
        """The loop over the blocks of a row; inside it, `begin` and `end` bound the block."""
        with self.writer.block("for (std::int64_t begin = 0; begin < COLS; begin += BLOCK) {", "}"):
            self.writer.line("const std::int64_t end = std::min<std::int64_t>(begin + BLOCK, COLS);")
            yield

    def _partial(self, group: Sequence[Reduce], results: Sequence[str], begin: str, end: str) -> None:
        """Reduce [begin, end) in the lanes of a vector loop."""
        for r, name in zip(group, results, strict=True):
            self.writer.line(f"float {name} = {START[r.op]};")
        if self.schedule.accumulators > 1:
            begin = self._lanes(group, results, begin, end)
        if begin != end:
            self._loop(group, results, begin, end)

    def _lanes(self, group: Sequence[Reduce], results: Sequence[str], begin: str, end: str) -> str:
        """Reduce into more lanes than one vector has, so that no addition waits for the one before.

        Returns the position from which on elements are left over.
        """
        w, arrays = self.writer, [f"{name}_lanes" for name in results]
        for r, array in zip(group, arrays, strict=True):
            w.line(f"alignas(64) float {array}[LANES];")
            w.line(f"std::fill_n({array}, LANES, {START[r.op]});")
        with w.block(f"for (std::int64_t first = {begin}; first + LANES <= {end}; first += LANES) {{", "}"):
            w.pragma("#pragma omp simd")
            with w.block("for (std::int64_t i = first; i < first + LANES; ++i) {", "}"):
                self._terms(group, [f"{array}[i - first]" for array in arrays])
        w.pragma("#pragma omp simd", *_clauses(group, results))
        with w.block("for (std::int64_t lane = 0; lane < LANES; ++lane) {", "}"):
            for r, name, array in zip(group, results, arrays, strict=True):
                w.line(joined(r.op, name, f"{array}[lane]"))
        if begin == "0":
            return end if self.plan.cols % lanes(self.schedule) == 0 else f"{end} - {end} % LANES"
        return f"{end} - ({end} - {begin}) % LANES"

    def _loop(self, group: Sequence[Reduce], results: Sequence[str], begin: str, end: str) -> None:
        """One vector loop over [begin, end)."""
        self.writer.pragma("#pragma omp simd", *_clauses(group, results))
        with self.writer.block(f"for (std::int64_t i = {begin}; i < {end}; ++i) {{", "}"):
            self._terms(group, results)

    def _terms(self, group: Sequence[Reduce], results: Sequence[str]) -> None:
        scope = CppScope(self.plan, self.writer, self.names.inner(), index="i")
        self._take(scope, group, results)

    def _take(self, scope: CppScope, group: Sequence[Reduce], results: Sequence[str]) -> None:
        self.keep(scope, [r.arg for r in group])
        texts = scope.write([r.arg for r in group])
        for r, name, text in zip(group, results, texts, strict=True):
            self.writer.line(joined(r.op, name, text))

    def keep(self, scope: CppScope, roots: Sequence[Expr]) -> None:
        """Write the costly expressions among `roots` to their buffers, once."""
        for node in (n for root in roots for n in outside(root, (1,))):
            buffer = self.kept.get(node.key)
            if buffer is not None and node.key not in scope.names.values:
                (text,) = scope.write([node])
                name = scope.name(node, text)
                self.writer.line(f"{buffer}[{scope.index}] = {name};")

    def _fused(self, fusion: Fusion) -> None:
        """Both reductions of a pair in one pass over the row."""
        CppScope(self.plan, self.writer, self.names).hoist([fusion.element])
        first, second = self.names.fresh(f"row_{fusion.first.op}"), self.names.fresh("row_sum")
        (_softmax if fusion.kind == "softmax" else _variance)(self, fusion, first, second)
        self.names.values[fusion.first.key] = first if fusion.kind == "softmax" else f"static_cast<float>({first})"
        self.names.values[fusion.second.key] = f"static_cast<float>({second})"


def _softmax(p: Passes, fusion: Fusion, first: str, second: str) -> None:
    p.writer.line(f"float {first} = -INFINITY;")
    p.writer.line(f"double {second} = 0.0;")
    with p.blocks():
        p._partial([fusion.first], ["part_max"], "begin", "end")
        with p.writer.block(f"if (part_max > {first}) {{", "}"):
            p.writer.line(f"{second} *= std::exp({first} - part_max);")
            p.writer.line(f"{first} = part_max;")
        p.names.values[fusion.first.key] = first
        p._partial([fusion.second], ["part_sum"], "begin", "end")
        p.writer.line(f"{second} += part_sum;")


def _variance(p: Passes, fusion: Fusion, first: str, second: str) -> None:
    w = p.writer
    w.line(f"double {first} = 0.0;")
    w.line(f"double {second} = 0.0;  // of squared distances from the mean so far")
    with p.blocks():
        p._partial([fusion.first], ["part_sum"], "begin", "end")
        w.line("const double count = static_cast<double>(end - begin);")
        w.line("const float part_mean = part_sum / static_cast<float>(end - begin);")
        scope = CppScope(p.plan, w, p.names.inner(), index="i")
        w.line("float part_square = 0.0f;")
        w.pragma("#pragma omp simd reduction(+ : part_square)")
        with w.block("for (std::int64_t i = begin; i < end; ++i) {", "}"):
            (element,) = scope.write([fusion.element])
            w.line(f"const float distance = {element} - part_mean;")
            w.line("part_square += distance * distance;")
        with w.block("if (begin > 0) {", "}"):
            w.line("const double before = static_cast<double>(begin);")
            w.line(f"const double gap = part_mean - {first} / before;")
            w.line(f"{second} += gap * gap * before * count / (before + count);")
        w.line(f"{first} += part_sum;")
        w.line(f"{second} += part_square;")


def lanes(schedule: CppSchedule) -> int:
    """Partial sums that are kept side by side."""
    return LANES_EACH * schedule.accumulators


def _clauses(group: Sequence[Reduce], results: Sequence[str]) -> list[str]:
    """Reduction clauses, one for each operation."""
    clauses = []
    for op in dict.fromkeys(r.op for r in group):
        names = [name for r, name in zip(group, results, strict=True) if r.op == op]
        clauses.append(f"reduction({CLAUSE[op]} : {', '.join(names)})")
    return clauses
