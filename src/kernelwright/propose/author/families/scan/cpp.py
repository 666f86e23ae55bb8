"""A scan in C++: along dense rows a block at a time, between vector loops before and after; across them lanes side by side.

What is added up or multiplied is carried in double, as PyTorch does.
"""

from kernelwright.propose.author.emit.loops import JOIN, START, WHOLE_START, Loops
from kernelwright.propose.author.families.family import CPU_OPTIONS, CpuSchedule, Family
from kernelwright.propose.author.families.scan.plan import Scanned, matched

BLOCK = 512
"""Elements of a row, or neighbouring rows, that are taken together."""
KEEPING_NAN = {"max": "amax", "min": "amin"}


class _Scan(Loops[Scanned, CpuSchedule]):
    WORDS = frozenset({"first", "begin", "end", "carried", "terms"})

    def __post_init__(self) -> None:
        super().__post_init__()
        self.node, (self.root,) = self.plan.node, self.part.roots
        self.along = not self.plan.rows or self.root.axes[-1] == self.node.axis
        """Whether a row is dense."""
        self.name_axes((*self.plan.rows, self.node.axis))
        exact = self.node.kind == "int" or self.node.op not in ("sum", "prod")
        self.kind = "std::int64_t" if self.node.kind == "int" else "float" if exact else "double"
        starts = WHOLE_START if self.node.kind == "int" else START
        self.start = starts[self.node.op].removesuffix("f" * (self.kind == "double"))

    def write(self) -> None:
        """The parallel loops over rows, and in them the scan."""
        lane = None if self.along else self.plan.rows[-1]
        heads = [self.head(axis) for axis in self.plan.rows if axis != lane]
        heads += [self.count("begin", str(self.sizes[lane]), step=BLOCK)] if lane is not None else []
        with self.nest(heads, f"schedule({self.schedule.distribution})"):
            if lane is None:
                self._along()
            else:
                self._across(lane)

    def _along(self) -> None:
        """One row: terms of a block, their running sums, and what becomes of these."""
        w, length, p = self.writer, self.plan.length, self.letter[self.node.axis]
        w.line(f"{self.kind} carried = {self.start};")
        w.line(f"{'std::int64_t' if self.node.kind == 'int' else 'float'} terms[{BLOCK}];")
        with self.loop(self.count("first", str(length), step=BLOCK)):
            if self.node.reverse:
                w.line(f"const std::int64_t end = {length} - first;")
                w.line(f"const std::int64_t begin = std::max<std::int64_t>(end - {BLOCK}, 0);")
            else:
                w.line("const std::int64_t begin = first;")
                w.line(f"const std::int64_t end = std::min<std::int64_t>(first + {BLOCK}, {length});")
            names = self.names.inner()
            with self.loop(self.count(p, "end", "begin"), vector=True):
                (text,) = self.scope(names.inner()).write([self.node.arg])
                w.line(f"terms[{p} - begin] = {text};")
            back = self.node.reverse
            head = f"{p} = end - 1; {p} >= begin; --{p}" if back else f"{p} = begin; {p} < end; ++{p}"
            with self.loop(f"for (std::int64_t {head})"):
                w.line(f"carried = {self._joined('carried', f'terms[{p} - begin]')};")
                w.line(f"terms[{p} - begin] = {self._narrow('carried')};")
            names.values[self.node.key] = f"terms[{p} - begin]"
            with self.loop(self.count(p, "end", "begin"), vector=True):
                self.store(self.root, names.inner())

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

        with self.loop(f"for (std::int64_t {head})"), self.loop(self.count(q, "end", "begin"), vector=True):
            names, carried = self.names.inner(), f"carried[{q} - begin]"
            (text,) = self.scope(names).write([self.node.arg])
            text = f"({text})" if self.node.op == "prod" else text
            w.line(f"{carried} = {self._joined(carried, text)};")
            names.values[self.node.key] = self._narrow(carried)
            self.store(self.root, names)

    def _narrow(self, text: str) -> str:
        return f"static_cast<float>({text})" if self.kind == "double" else text


SCAN_LOOPS = Family(
    "scan",
    matched,
    CpuSchedule,
    lambda plan: CpuSchedule(vector_bits=512),
    lambda plan: CPU_OPTIONS,
    _Scan.write_into(),
)
