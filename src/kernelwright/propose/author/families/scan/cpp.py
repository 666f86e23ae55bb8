"""A scan in C++: along dense rows a block at a time, between vector loops before and after; across them lanes side by side.

What is added up or multiplied is carried in double, as PyTorch does.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from kernelwright.propose.author.families.scan.plan import Scanned
from kernelwright.propose.author.families.strided.cpp import JOIN, START, WHOLE_START, LoopScope
from kernelwright.propose.author.families.strided.cpp_schedule import CpuSchedule
from kernelwright.propose.author.plan.expr import Index
from kernelwright.propose.author.plan.positions import flattened
from kernelwright.propose.author.schedule.space import Option
from kernelwright.propose.author.source.cpp_expr import to_memory
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.writer import Writer

BLOCK = 512
"""Elements of a row, or neighbouring rows, that are taken together."""
LETTERS = "ijklmnpqrstuvw"
KEEPING_NAN = {"max": "amax", "min": "amin"}


def scan_start(plan: Scanned) -> CpuSchedule:
    """Where a person would start."""
    return CpuSchedule(vector_bits=512)


def scan_options(plan: Scanned) -> list[Option]:
    """The options that mean something for this plan."""
    return [Option("distribution", ("static", "dynamic"), "latency"), Option("vector_bits", (256, 512), "compute")]


def write_cpp(plan: Scanned, schedule: CpuSchedule, writer: Writer, taken: set[str], room: str) -> None:
    """The loops of one kernel, in a scope of their own; they need no room."""
    _Scan(plan, schedule, writer, Names({*taken, "first", "begin", "end", "carried", "terms"})).write()


@dataclass
class _Scan:
    plan: Scanned
    schedule: CpuSchedule
    writer: Writer
    names: Names

    def __post_init__(self) -> None:
        self.part, self.node, self.sizes = self.plan.part, self.plan.node, self.plan.part.sizes
        (self.root,) = self.part.roots
        self.along = not self.plan.rows or self.root.axes[-1] == self.node.axis
        """Whether a row is dense."""
        letters = iter([c for c in LETTERS if c not in self.names.taken])
        self.letter = {a: self.names.fresh(next(letters, "axis")) for a in (*self.plan.rows, self.node.axis)}
        self.names.values |= {Index(axis).key: letter for axis, letter in self.letter.items()}
        exact = self.node.kind == "int" or self.node.op not in ("sum", "prod")
        self.kind = "std::int64_t" if self.node.kind == "int" else "float" if exact else "double"
        starts = WHOLE_START if self.node.kind == "int" else START
        self.start = starts[self.node.op].removesuffix("f" * (self.kind == "double"))

    def write(self) -> None:
        """The parallel loops over rows, and in them the scan."""
        w = self.writer
        lane = None if self.along else self.plan.rows[-1]
        loops = [self._head(a, self.sizes[a]) for a in self.plan.rows if a != lane]
        if lane is not None:
            loops.append(f"for (std::int64_t begin = 0; begin < {self.sizes[lane]}; begin += {BLOCK})")
        with ExitStack() as stack:
            if loops:
                collapse = f" collapse({len(loops)})" if len(loops) > 1 else ""
                w.pragma(f"#pragma omp parallel for{collapse}", f"schedule({self.schedule.distribution})")
            for number, head in enumerate(loops):
                last = number == len(loops) - 1
                stack.enter_context(w.block(head + " {" * last, "}" * last))
            if not loops:
                stack.enter_context(w.block("{", "}"))
            if lane is None:
                self._along()
            else:
                self._across(lane)

    def _head(self, axis: int, size: int) -> str:
        name = self.letter[axis]
        return f"for (std::int64_t {name} = 0; {name} < {size}; ++{name})"

    def _along(self) -> None:
        """One row: terms of a block, their running sums, and what becomes of these."""
        w, length, p = self.writer, self.plan.length, self.letter[self.node.axis]
        w.line(f"{self.kind} carried = {self.start};")
        w.line(f"{'std::int64_t' if self.node.kind == 'int' else 'float'} terms[{BLOCK}];")
        with w.block(f"for (std::int64_t first = 0; first < {length}; first += {BLOCK}) {{", "}"):
            if self.node.reverse:
                w.line(f"const std::int64_t end = {length} - first;")
                w.line(f"const std::int64_t begin = std::max<std::int64_t>(end - {BLOCK}, 0);")
            else:
                w.line("const std::int64_t begin = first;")
                w.line(f"const std::int64_t end = std::min<std::int64_t>(first + {BLOCK}, {length});")
            names = self.names.inner()
            self._loop(p, "begin", "end", lambda: self._terms(names.inner(), f"terms[{p} - begin]"))
            back = self.node.reverse
            head = f"{p} = end - 1; {p} >= begin; --{p}" if back else f"{p} = begin; {p} < end; ++{p}"
            with w.block(f"for (std::int64_t {head}) {{", "}"):
                w.line(f"carried = {self._joined('carried', f'terms[{p} - begin]')};")
                w.line(f"terms[{p} - begin] = {self._narrow('carried')};")
            names.values[self.node.key] = f"terms[{p} - begin]"
            self._loop(p, "begin", "end", lambda: self._store(names.inner()))

    def _joined(self, carried: str, term: str) -> str:
        """What the elements before came to, with one more. A NaN stays, as in PyTorch."""
        op = self.node.op if self.node.kind == "int" else KEEPING_NAN.get(self.node.op, self.node.op)
        return JOIN[op].format(carried, term)

    def _across(self, lane: int) -> None:
        """Neighbouring rows side by side."""
        w, length, p, q = self.writer, self.plan.length, self.letter[self.node.axis], self.letter[lane]
        w.line(f"const std::int64_t end = std::min<std::int64_t>(begin + {BLOCK}, {self.sizes[lane]});")
        w.line(f"{self.kind} carried[{BLOCK}];")
        w.line(f"std::fill_n(carried, {BLOCK}, {self.start});")
        back = self.node.reverse
        head = f"{p} = {length} - 1; {p} >= 0; --{p}" if back else f"{p} = 0; {p} < {length}; ++{p}"

        def body() -> None:
            names, sum_ = self.names.inner(), f"carried[{q} - begin]"
            (text,) = self._scope(names).write([self.node.arg])
            text = f"({text})" if self.node.op == "prod" else text
            w.line(f"{sum_} = {self._joined(sum_, text)};")
            names.values[self.node.key] = self._narrow(sum_)
            self._store(names)

        with w.block(f"for (std::int64_t {head}) {{", "}"):
            self._loop(q, "begin", "end", body)

    def _loop(self, name: str, begin: str, end: str, body: Callable[[], None]) -> None:
        self.writer.pragma("#pragma omp simd")
        with self.writer.block(f"for (std::int64_t {name} = {begin}; {name} < {end}; ++{name}) {{", "}"):
            body()

    def _terms(self, names: Names, target: str) -> None:
        (text,) = self._scope(names).write([self.node.arg])
        self.writer.line(f"{target} = {text};")

    def _narrow(self, text: str) -> str:
        return f"static_cast<float>({text})" if self.kind == "double" else text

    def _store(self, names: Names) -> None:
        place = flattened([Index(a) for a in self.root.axes], [self.sizes[a] for a in self.root.axes])
        text, where = self._scope(names).write([self.root.expr, place])
        self.writer.line(f"{self.root.tensor.identifier}[{where}] = {to_memory(self.root.tensor.dtype, text)};")

    def _scope(self, names: Names) -> LoopScope:
        return LoopScope(self.part, self.writer, names, index="lane")
