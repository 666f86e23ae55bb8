"""A kernel over any axes in C++: a loop for each axis, and vectors along the one where memory is dense.

Where that is an axis of the results, a thread makes many neighbouring results side by side, each in its lane. Where it is one
that is reduced, a thread makes one result, and the lanes add up parts of it.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import prod

from kernelwright.propose.author.emit.cpp import CLAUSE, to_memory
from kernelwright.propose.author.emit.loops import JOIN, START, WHOLE_START, Loops, LoopScope
from kernelwright.propose.author.emit.scope import Names
from kernelwright.propose.author.families.family import CPU_OPTIONS, CpuSchedule, Family
from kernelwright.propose.author.families.strided.plan import Strided, matched_on_cpu
from kernelwright.propose.author.ir.expr import Call, Const, Expr, Reduce, walk
from kernelwright.propose.author.ir.positions import flattened
from kernelwright.propose.author.ir.program import HEAVY, NARROW, Root
from kernelwright.propose.author.ir.space import Option


class LoopSchedule(CpuSchedule):
    """Degrees of freedom; none changes the result."""

    lanes: int = 256
    """Neighbouring results that a thread makes together."""


def loop_default(plan: Strided) -> LoopSchedule:
    """Where a person would start: wide vectors where there is arithmetic to hide."""
    heavy = any(isinstance(n, Call) and n.op in HEAVY for n in plan.part.nodes)
    heavy = heavy or any(t.dtype in NARROW for t in (*plan.part.reads, *plan.part.writes))
    return LoopSchedule(vector_bits=512 if heavy else 256)


def loop_space(plan: Strided) -> list[Option]:
    """The options that mean something for this plan."""
    lanes = Option("lanes", (32, 64, 128, 256, 512, 1024), "memory")
    return [*CPU_OPTIONS] if plan.reduced and plan.dense_columns else [lanes, *CPU_OPTIONS]


ROW_LETTERS, COLUMN_LETTERS = "ijklmn", "pqrstuv"
VECTOR = 16
"""Elements that fill a vector: shorter sums leave its lanes empty."""
KEPT = 4096
"""Elements of a row that stay in the first cache beside what else is read."""
LONG = 1024
"""Terms of a sum from which on it is kept in double."""


class _Loops(Loops[Strided, LoopSchedule]):
    WORDS = frozenset({"begin", "end", "first", "last"})

    def __post_init__(self) -> None:
        super().__post_init__()
        plan = self.plan
        short = bool(plan.columns) and self.sizes[plan.columns[-1]] < VECTOR
        self.across = (plan.reduced and plan.dense_columns and not short) or not plan.rows
        """Whether the lanes of a vector share one result."""
        self.moves_tiles = bool(plan.columns) and not plan.reduced
        """Whether the kernel turns tiles around."""
        for axes, letters in ((plan.rows, ROW_LETTERS), (plan.columns, COLUMN_LETTERS)):
            self.name_axes(axes, letters, letters[0])

    def write(self) -> None:
        """The parallel loops over results, and in them the passes and the stores."""
        for root in self.part.roots:
            if root.scatter is not None:
                self.writer.line(f"std::fill_n({root.tensor.identifier}, {prod(root.tensor.shape)}, 0);")
        heads = [self.head(axis) for axis in (self.plan.rows if self.across else self.plan.rows[:-1])]
        if not self.across:
            heads.append(self.count("begin", self._extent(self.plan.rows), step=self.schedule.lanes))
        if self.moves_tiles:
            heads.append(self.count("first", self._extent(self.plan.columns), step=TILE))
        with self.nest(heads, f"schedule({self.schedule.distribution})", *self._private()):
            self._body()

    def _extent(self, axes: Sequence[int]) -> str:
        """Elements along the fastest of some axes."""
        return str(self.sizes[axes[-1]])

    def _private(self) -> list[str]:
        """The clause that gives each thread sums of its own, where they are few enough."""
        few = [r.tensor for r in self.part.roots if r.scatter is not None and prod(r.tensor.shape) <= PRIVATE]
        return [f"reduction(+ : {tensor.identifier}[:{prod(tensor.shape)}])" for tensor in few]

    def _body(self) -> None:
        if not self.across:
            length, lanes = self.sizes[self.plan.rows[-1]], self.schedule.lanes
            self.writer.line(f"const std::int64_t end = {_least('begin', lanes, length)};")
        if self.moves_tiles:
            length = self.sizes[self.plan.columns[-1]]
            self.writer.line(f"const std::int64_t last = {_least('first', TILE, length)};")
        for group in self.plan.passes:
            self._hoist([r.arg for r in group])
            self._pass(group)
        self._hoist([r.expr for r in self.plan.wide])
        self._store_wide()
        if self.plan.narrow and self.across:
            with self.writer.block("{", "}"):
                self._store(self.plan.narrow, self.names.inner())
        elif self.plan.narrow:
            with self._lanes([]):
                self._store(self.plan.narrow, self.names.inner())

    # Loops.

    @contextmanager
    def _lanes(self, clauses: Sequence[str]) -> Iterator[None]:
        """The loop over the lanes of a vector."""
        if self.across and not self.plan.columns:
            with self.writer.block("{", "}"):
                yield
            return
        axis = self.plan.columns[-1] if self.across else self.plan.rows[-1]
        begin, end = ("0", str(self.sizes[axis])) if self.across else ("begin", "end")
        if not any(root.scatter for root in self.part.roots):
            self.writer.pragma("#pragma omp simd", *clauses)
        with self.loop(self.count(self.letter[axis], end, begin)):
            yield

    @contextmanager
    def _columns(self) -> Iterator[None]:
        """The loops over what is reduced, but for the lanes."""
        with ExitStack() as stack:
            for axis in self.plan.columns[:-1] if self.across else self.plan.columns:
                stack.enter_context(self.loop(self.head(axis)))
            yield

    def _lane(self, array: str) -> str:
        return f"{array}[{self.letter[self.plan.rows[-1]]} - begin]"

    # Passes.

    def _pass(self, group: Sequence[Reduce]) -> None:
        if self.across:
            self._shared_pass(group)
        else:
            self._side_by_side(group)

    def _side_by_side(self, group: Sequence[Reduce]) -> None:
        """Each lane reduces a result of its own."""
        arrays = [self.names.fresh(f"row_{r.op}") for r in group]
        for r, array in zip(group, arrays, strict=True):
            kind = self._kind(r)
            self.writer.line(f"alignas(64) {kind} {array}[{self.schedule.lanes}];")
            self.writer.line(f"std::fill_n({array}, {self.schedule.lanes}, {_start(r)});")
        with self._columns(), self._lanes([]):
            scope = self.scope(self.names.inner())
            texts = scope.write([r.arg for r in group])
            for r, array, text in zip(group, arrays, texts, strict=True):
                self.writer.line(f"{self._lane(array)} = {self._joined(r, self._lane(array), text)};")
        for r, array in zip(group, arrays, strict=True):
            self.names.values[r.key] = self._as_value(r, self._lane(array))

    def _shared_pass(self, group: Sequence[Reduce]) -> None:
        """All lanes reduce one result."""
        names = [self.names.fresh(f"row_{r.op}") for r in group]
        for r, name in zip(group, names, strict=True):
            self.writer.line(f"{self._kind(r)} {name} = {_start(r)};")
        kept = self._kept(group)
        with self._columns():
            parts = [f"part_{name}" for name in names]
            for r, part in zip(group, parts, strict=True):
                kind = "std::int64_t" if r.kind == "int" else "float" if self._short else self._kind(r)
                self.writer.line(f"{kind} {part} = {_start(r)};")
            clauses = [f"reduction({CLAUSE[r.op]} : {part})" for r, part in zip(group, parts, strict=True)]
            with self._lanes(clauses):
                scope = self.scope(self.names.inner())
                texts = scope.write([r.arg for r in group], [node for node, _ in kept])
                for node, text in kept:
                    self.writer.line(f"{text} = {scope.write([node])[0]};")
                for r, part, text in zip(group, parts, texts, strict=True):
                    joined = JOIN[r.op].format(part, text) if self._short else self._joined(r, part, text)
                    self.writer.line(f"{part} = {joined};")
            for r, name, part in zip(group, names, parts, strict=True):
                self.writer.line(f"{name} = {self._joined(r, name, part)};")
        for r, name in zip(group, names, strict=True):
            self.names.values[r.key] = self._as_value(r, name)
        self.names.values |= {node.key: text for node, text in kept}

    def _kept(self, group: Sequence[Reduce]) -> list[tuple[Expr, str]]:
        """Costly elements that this pass computes and a later one needs, each with its place in a row's buffer."""
        inside = {node.key for node in walk(*(r.arg for r in group))}
        nodes = [n for n in self.plan.reused if n.key in inside and n.key not in self.names.values]
        if self.plan.column_count > KEPT:
            return []
        arrays = [self.names.fresh("kept") for _ in nodes]
        for array in arrays:
            self.writer.line(f"alignas(64) float {array}[{self.plan.column_count}];")
        index = self.letter[self.plan.columns[-1]]
        return [(node, f"{array}[{index}]") for node, array in zip(nodes, arrays, strict=True)]

    @property
    def _short(self) -> bool:
        """Whether one vector loop is short enough for sums in float."""
        return bool(self.plan.columns) and self.sizes[self.plan.columns[-1]] <= 16 * LONG

    def _kind(self, r: Reduce) -> str:
        if r.kind == "int":
            return "std::int64_t"
        return "double" if r.op in ("sum", "prod") and self.plan.column_count > LONG else "float"

    def _joined(self, r: Reduce, left: str, right: str) -> str:
        kind = self._kind(r)
        return JOIN[r.op].format(left, f"static_cast<{kind}>({right})" if kind == "double" else right)

    def _as_value(self, r: Reduce, text: str) -> str:
        return f"static_cast<float>({text})" if self._kind(r) == "double" else text

    # What a row shares, once.

    def _hoist(self, roots: Sequence[Expr]) -> None:
        """Compute what does not differ between columns before the loops over them."""
        if not self.plan.columns:
            return
        shared = [
            child
            for node in reversed(walk(*roots))
            for child in node.children
            if self.plan.along_columns(node) and self._worth(child) and child.key not in self.names.values
        ]
        nodes = list({node.key: node for node in shared}.values())
        if self.across:
            scope = self.scope(self.names, lane=False)
            for node, text in zip(nodes, scope.write(nodes), strict=True):
                scope.name(node, text)
        elif nodes:
            self._hoist_lanes(nodes)

    def _worth(self, node: Expr) -> bool:
        if not isinstance(node, Call) or self.plan.along_columns(node) or node.kind != "float":
            return False
        return not isinstance(node, Const) and any(isinstance(n, Reduce) for n in walk(node))

    def _hoist_lanes(self, nodes: Sequence[Expr]) -> None:
        arrays = [self.names.fresh("shared") for _ in nodes]
        for array in arrays:
            self.writer.line(f"alignas(64) float {array}[{self.schedule.lanes}];")
        with self._lanes([]):
            scope = self.scope(self.names.inner())
            for array, text in zip(arrays, scope.write(nodes), strict=True):
                self.writer.line(f"{self._lane(array)} = {text};")
        for node, array in zip(nodes, arrays, strict=True):
            self.names.values[node.key] = self._lane(array)

    # Stores.

    def _store_wide(self) -> None:
        if not self.plan.wide:
            return
        if self.moves_tiles:
            self._turn()
            return
        with self._columns(), self._lanes([]):
            self._store(self.plan.wide, self.names.inner())

    def _turn(self) -> None:
        """A tile: dense stores along its columns, reads that stay in the cache along its rows."""
        row, column = self.letter[self.plan.rows[-1]], self.letter[self.plan.columns[-1]]
        across = self.count(column, "last", "first")
        with self.loop(self.count(row, "end", "begin")), self.loop(across, vector=True):
            self._store(self.plan.wide, self.names.inner())

    def _store(self, roots: Sequence[Root], names: Names) -> None:
        scope = self.scope(names)
        if roots[0].scatter is not None:
            self._add(roots[0], scope)
            return
        texts = scope.write([r.expr for r in roots])
        for root, text in zip(roots, texts, strict=True):
            place = flattened(*root.position(self.sizes))
            value = to_memory(root.tensor.dtype, text)
            self.writer.line(f"{root.tensor.identifier}[{scope.write([place])[0]}] = {value};")

    def _add(self, root: Root, scope: LoopScope) -> None:
        """Add an element to where it belongs; threads may meet there."""
        value, place, *conditions = scope.write([root.expr, *root.places])
        for condition in conditions:
            self.writer.line(f"if (!({condition})) continue;")
        if not self._private():
            self.writer.pragma("#pragma omp atomic")
        self.writer.line(f"{root.tensor.identifier}[{place}] += {value};")


PRIVATE = 1 << 16
"""Sums that each thread may have of its own."""
TILE = 256
"""Columns of a tile that is turned around."""


def _start(r: Reduce) -> str:
    """What a reduction begins with."""
    return WHOLE_START[r.op] if r.kind == "int" else START[r.op]


def _least(begin: str, step: int, length: int) -> str:
    if length % step == 0:
        return f"{begin} + {step}"
    return f"std::min<std::int64_t>({begin} + {step}, {length})"


STRIDED_LOOPS = Family("loops", matched_on_cpu, LoopSchedule, loop_default, loop_space, _Loops.write_into())
