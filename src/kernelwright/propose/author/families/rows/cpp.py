"""A plan and a schedule as one C++17 file with OpenMP: the loop over rows, what threads share, the frame of the file.

The loop over rows, what threads share, and the frame of the file. The entry has plain C linkage and takes inputs,
parameters and outputs as pointers. Every dimension is a constant of the source; the number of rows (flat: of elements)
is a macro that may be defined otherwise, which a comment declares (docs/candidate.md).
"""

from collections.abc import Sequence
from math import prod

from kernelwright.errors import ProposeError
from kernelwright.propose.author.emit.cpp import CLAUSE, MEMORY, START, CppScope, to_memory
from kernelwright.propose.author.emit.cpp_file import FLAGS, cpp_file, headers_of, helpers_in, signature
from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.families.family import Family, no_part
from kernelwright.propose.author.families.rows.cpp_passes import Passes, joined, lanes
from kernelwright.propose.author.families.rows.plan import Output, Plan, rows_of, with_reciprocals
from kernelwright.propose.author.families.rows.schedule import CACHE_LIMIT, CppSchedule, cpp_default, cpp_space
from kernelwright.propose.author.ir.expr import ROW
from kernelwright.propose.author.ir.program import Tensor
from kernelwright.propose.author.read.read import Reading
from kernelwright.records.candidate import Candidate, Tunable
from kernelwright.records.task import Task

TILE = 1024
"""Elements staged for streaming stores."""


def write_cpp(plan: Plan, schedule: CppSchedule) -> Candidate:
    """The kernel as a candidate."""
    if schedule.division == "reciprocal":
        plan = with_reciprocals(plan)
    flags = [*FLAGS, f"-mprefer-vector-width={schedule.vector_bits}"]
    flags += ["-funroll-loops"] * (schedule.unroll == "loops")
    return Candidate(
        language="cpp",
        source=_File(plan, schedule).text(),
        entry=plan.name,
        flags=tuple(flags),
        tunables=tuple(tunables(plan, schedule)),
    )


def tunables(plan: Plan, schedule: CppSchedule) -> list[Tunable]:
    """The block's size with its double, where the source has a block."""
    if not uses_block(plan, schedule):
        return []
    return [Tunable(name="BLOCK", values=(schedule.block, 2 * schedule.block))]


def uses_block(plan: Plan, schedule: CppSchedule) -> bool:
    """Whether the source cuts its data into blocks."""
    if plan.flat or schedule.order == "columns":
        return True
    online = schedule.passes == "online" and plan.fusion is not None
    return bool(plan.passes) and (online or plan.cols > schedule.block)


class _File:
    """One source file in the making."""

    def __init__(self, plan: Plan, schedule: CppSchedule) -> None:
        self.plan = plan
        self.schedule = schedule
        self.writer = Writer("  ")
        taken = {t.identifier for t in self.tensors} | {"i", "row", "begin", "end", "tile", "block", "numel"}
        self.names = Names(taken | {f"{t.identifier}_row" for t in self.tensors})

    @property
    def tensors(self) -> list[Tensor]:
        return [*self.plan.arguments, *(o.tensor for o in self.plan.outputs)]

    def text(self) -> str:
        self._entry()
        body = self.writer.text()
        return cpp_file(
            _comment(self.plan, self.schedule), body, helpers_in(body, libm=self.schedule.exp == "libm"),
            headers_of(body), self._macros(body),
        )  # fmt: skip

    def _macros(self, body: str) -> list[str]:
        block = ["#ifndef BLOCK", f"#define BLOCK {self.schedule.block}", "#endif", ""] if "BLOCK" in body else []
        name, value = ("NUMEL", self.plan.cols) if self.plan.flat else ("ROWS", self.plan.rows)
        lines = [*block, f"#ifndef {name}", f"#define {name} {value}", "#endif", ""]
        sizes = {"COLS": self.plan.cols, "LANES": lanes(self.schedule)}
        used = [n for n in sizes if n in body or (n == "COLS" and "fast::at(" in body)]
        constants = [f"constexpr std::int64_t {name} = {sizes[name]};" for name in used]
        return [*lines, "namespace {", *constants, "}  // namespace", ""] if constants else lines

    # The entry: one loop over rows or blocks, then what is left to do with totals.

    def _entry(self) -> None:
        outputs = [o.tensor for o in self.plan.outputs]
        self.writer.line(signature(self.plan.name, self.plan.arguments, outputs))
        with self.writer.deeper("}"):
            count = "numel = NUMEL" if self.plan.flat else "rows = ROWS"
            self.writer.line(f"const std::int64_t {count};")
            self._totals_start()
            self._loop()
            self._totals_end()

    def _totals_start(self) -> None:
        self.totals = [
            self.names.fresh(f"total_{t.op}" if len(self.plan.totals) > 1 else "total") for t in self.plan.totals
        ]
        for total, name in zip(self.plan.totals, self.totals, strict=True):
            start = "0.0" if total.op == "sum" else START[total.op]
            self.writer.line(f"double {name} = {start};")

    def _totals_end(self) -> None:
        for total, name in zip(self.plan.totals, self.totals, strict=True):
            self.names.values[total.key] = name
        scope = CppScope(self.plan, self.writer, self.names, double=True)
        texts = scope.write([o.expr for o in self.plan.scalars])
        for output, text in zip(self.plan.scalars, texts, strict=True):
            value = f"static_cast<float>({text})"
            self.writer.line(f"{output.tensor.identifier}[0] = {to_memory(output.tensor.dtype, value)};")

    def _loop(self) -> None:
        if not (self.plan.passes or self.plan.stored or self.plan.per_row or self.plan.totals):
            return
        if self.schedule.threads == "half":
            self.writer.line("const int threads = (omp_get_max_threads() + 1) / 2;")
        self.writer.pragma("#pragma omp parallel for", *self._clauses())
        if self.plan.flat:
            self._flat_body()
        elif self.schedule.order == "columns" and not self.plan.passes:
            self._column_body()
        else:
            with self.writer.block("for (std::int64_t row = 0; row < rows; ++row) {", "}"):
                self._row_body()

    def _clauses(self) -> list[str]:
        s = self.schedule
        clauses = [f"schedule({s.distribution}{f', {s.chunk}' if s.chunk else ''})"]
        if s.order == "columns" and not self.plan.flat and not self.plan.passes:
            clauses.append("collapse(2)")
        if s.threads != "all":
            clauses.append("num_threads(1)" if s.threads == "one" else "num_threads(threads)")
        if s.combine == "reduction":
            pairs = zip(self.plan.totals, self.totals, strict=True)
            clauses += [f"reduction({CLAUSE[total.op]} : {name})" for total, name in pairs]
        return clauses

    def _flat_body(self) -> None:
        with self.writer.block("for (std::int64_t begin = 0; begin < numel; begin += BLOCK) {", "}"):
            self.writer.line("const std::int64_t end = std::min<std::int64_t>(begin + BLOCK, numel);")
            self._prefetch("end")
            names = self.names.inner()
            self._passes(names, {})
            self._store(names, "begin", "end", {})
            self._take_totals(names)

    def _column_body(self) -> None:
        columns = self.writer.block("for (std::int64_t begin = 0; begin < COLS; begin += BLOCK) {", "}")
        with columns, self.writer.block("for (std::int64_t row = 0; row < rows; ++row) {", "}"):
            self.writer.line("const std::int64_t end = std::min<std::int64_t>(begin + BLOCK, COLS);")
            self._row_pointers()
            self._store(self.names.inner(), "begin", "end", {})

    def _row_body(self) -> None:
        self._row_pointers()
        self._prefetch("COLS")
        names = self.names.inner()
        kept: dict[str, str] = {}
        online = self.schedule.passes == "online" and self.plan.fusion is not None
        if self.schedule.cache == "keep" and self.plan.cols <= CACHE_LIMIT and not online:
            for node in self.plan.reused:
                kept[node.key] = names.fresh("kept")
                self.writer.line(f"alignas(64) float {kept[node.key]}[COLS];")
        self._passes(names, kept)
        self._store(names, "0", "COLS", kept)
        scope = CppScope(self.plan, self.writer, names)
        texts = scope.write([o.expr for o in self.plan.per_row])
        for output, text in zip(self.plan.per_row, texts, strict=True):
            self.writer.line(f"{output.tensor.identifier}[row] = {to_memory(output.tensor.dtype, text)};")
        self._take_totals(names)

    def _row_pointers(self) -> None:
        for tensor in self._wide():
            constant = "" if tensor in [o.tensor for o in self.plan.outputs] else "const "
            kind = f"{constant}{MEMORY[tensor.dtype]}* const"
            self.writer.line(f"{kind} {tensor.identifier}_row = {tensor.identifier} + row * COLS;")

    def _wide(self) -> list[Tensor]:
        return [t for t in self.tensors if len(t.along) == 2]

    def _prefetch(self, ahead: str) -> None:
        if self.schedule.prefetch != "next":
            return
        step = "BLOCK" if self.plan.flat else "COLS"
        with self.writer.block(f"for (std::int64_t i = 0; i < {step}; i += 16) {{", "}"):
            for tensor in self.plan.arguments:
                if len(tensor.along) == 2:
                    base = tensor.identifier if self.plan.flat else f"{tensor.identifier}_row"
                    self.writer.line(f"__builtin_prefetch({base} + {ahead} + i);")

    def _passes(self, names: Names, kept: dict[str, str]) -> None:
        Passes(self.plan, self.schedule, self.writer, names, kept).write()

    def _take_totals(self, names: Names) -> None:
        scope = CppScope(self.plan, self.writer, names)
        texts = scope.write([t.arg for t in self.plan.totals])
        for total, name, text in zip(self.plan.totals, self.totals, texts, strict=True):
            if total.op != "sum" and total.arg.kind == "float":
                text = f"static_cast<double>({text})"
            if self.schedule.combine == "atomic":
                self.writer.pragma("#pragma omp atomic" if total.op == "sum" else "#pragma omp critical")
            self.writer.line(joined(total.op, name, text))

    def _store(self, names: Names, begin: str, end: str, kept: dict[str, str]) -> None:
        stored = self.plan.stored
        if not stored:
            return
        CppScope(self.plan, self.writer, names).hoist([o.expr for o in stored])
        if self.schedule.stores == "plain":
            self._elements(stored, names, begin, end, "")
            return
        with self.writer.block(f"for (std::int64_t first = {begin}; first < {end}; first += {TILE}) {{", "}"):
            self.writer.line(f"const std::int64_t last = std::min<std::int64_t>(first + {TILE}, {end});")
            for output in stored:
                kind, tile = MEMORY[output.tensor.dtype], f"{output.tensor.identifier}_tile"
                self.writer.line(f"alignas(64) {kind} {tile}[{TILE}];")
            self._elements(stored, names, "first", "last", "_tile")
            for output in stored:
                target = self._target(output.tensor)
                self.writer.line(f"fast::stream({target} + first, {output.tensor.identifier}_tile, last - first);")

    def _target(self, tensor: Tensor) -> str:
        return tensor.identifier if self.plan.flat else f"{tensor.identifier}_row"

    def _elements(self, stored: Sequence[Output], names: Names, begin: str, end: str, tile: str) -> None:
        self.writer.pragma("#pragma omp simd")
        with self.writer.block(f"for (std::int64_t i = {begin}; i < {end}; ++i) {{", "}"):
            scope = CppScope(self.plan, self.writer, names.inner(), index="i")
            texts = scope.write([o.expr for o in stored])
            for output, text in zip(stored, texts, strict=True):
                place = f"{output.tensor.identifier}{tile}[i - first]" if tile else f"{self._target(output.tensor)}[i]"
                self.writer.line(f"{place} = {to_memory(output.tensor.dtype, text)};")


def _declared_free(plan: Plan) -> list[str]:
    """The line that lets a drop-in use the kernel for other numbers of rows; none where a dimension holds part of the rows."""
    takes, gives = ([_leading(plan, t) for t in ts] for ts in (plan.arguments, [o.tensor for o in plan.outputs]))
    if None in (*takes, *gives):
        return []
    inputs, outputs = (", ".join(map(str, counts)) for counts in (takes, gives))
    return [f"free {'NUMEL' if plan.flat else 'ROWS'}: {inputs} -> {outputs}"]


def _leading(plan: Plan, tensor: Tensor) -> int | None:
    """How many of the tensor's dimensions together are the rows (flat: all elements)."""
    if ROW not in tensor.along:
        return 0
    if plan.flat:
        return len(tensor.shape)
    counts = [n for n in range(len(tensor.shape) + 1) if prod(tensor.shape[:n]) == plan.rows]
    return max(counts[0], 1) if counts else None


def _comment(plan: Plan, schedule: CppSchedule) -> list[str]:
    """The idea of the kernel in a few lines."""
    if plan.flat:
        lines = [f"{plan.name}: {plan.rows * plan.cols} elements, each read once."]
    else:
        lines = [f"{plan.name}: {plan.rows} rows of {plan.cols} elements, one thread at a row."]
    lines += _declared_free(plan)
    if plan.totals:
        lines.append("Floats are added within a block only; blocks and threads meet in double.")
    if plan.fusion and schedule.passes == "online":
        lines.append("Both reductions of a row are made in one pass, block by block.")
    elif len(plan.passes) > 0 and not plan.flat:
        lines.append("A row is read from memory once: later passes find it in the cache.")
    if schedule.cache == "keep" and plan.reused:
        lines.append("Costly values that two passes need are kept in a buffer on the stack.")
    if plan.stored and schedule.stores == "streaming":
        lines.append("Results are staged in tiles and stored past the caches.")
    return lines


def _claimed(task: Task, reading: Reading) -> Plan | None:
    try:
        return rows_of(task, reading)
    except ProposeError:
        return None


ROW_LOOPS = Family(
    "rows", no_part, CppSchedule, cpp_default, lambda plan: cpp_space(plan).options,
    lambda task, plan, schedule: write_cpp(plan, schedule), claim=_claimed,
)  # fmt: skip
