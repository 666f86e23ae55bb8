"""A kernel over any axes in C++: a loop for each axis, and vectors along the one where memory is dense.

Where that is an axis of the results, a thread makes many neighbouring results side by side, each in its lane. Where it is one
that is reduced, a thread makes one result, and the lanes add up parts of it.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod

from kernelwright.propose.author.families.strided.cpp_schedule import LoopSchedule
from kernelwright.propose.author.families.strided.plan import Strided
from kernelwright.propose.author.plan.expr import Call, Const, Element, Expr, Index, Reduce, walk
from kernelwright.propose.author.plan.positions import flattened
from kernelwright.propose.author.plan.program import Root
from kernelwright.propose.author.source.cpp_expr import CppScope, from_memory, to_memory
from kernelwright.propose.author.source.cpp_passes import CLAUSE
from kernelwright.propose.author.source.cpp_passes import START as ROW_START
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.writer import Writer

START = {"prod": "1.0f", **ROW_START}
WHOLE_START = {"sum": "0", "max": "INT64_MIN", "min": "INT64_MAX", "prod": "1"}
JOIN = {"sum": "{0} + {1}", "prod": "{0} * {1}", "max": "fast::max({0}, {1})", "min": "fast::min({0}, {1})",
        "amax": "fast::maximum({0}, {1})", "amin": "fast::minimum({0}, {1})"}  # fmt: skip
ROW_LETTERS, COLUMN_LETTERS = "ijklmn", "pqrstuv"
VECTOR = 16
"""Elements that fill a vector: shorter sums leave its lanes empty."""
KEPT = 4096
"""Elements of a row that stay in the first cache beside what else is read."""
LONG = 1024
"""Terms of a sum from which on it is kept in double."""


class LoopScope(CppScope):
    """One block of loops."""

    def element(self, node: Element) -> str:
        """An array element; zero where a condition does not hold."""
        tensor = self.plan.argument(node)
        place = self._text(flattened(node.index, node.sizes))
        text = from_memory(tensor.dtype, f"{tensor.identifier}[{place}]")
        if node.inside is None:
            return text
        zero = "0.0f" if node.kind == "float" else "false" if node.kind == "bool" else "0"
        return f"({self._text(node.inside)} ? {text} : {zero})"

    def _text(self, node: Expr) -> str:
        match node:
            case Call(op="where", args=(condition, Element() as read, Const(value=0.0))) if read.inside == condition:
                return super()._text(read)
        return super()._text(node)


def write_cpp(plan: Strided, schedule: LoopSchedule, writer: Writer, taken: set[str], room: str) -> None:
    """The loops of one kernel, in a scope of their own; they need no room."""
    _Loops(plan, schedule, writer, Names(set(taken))).write()


@dataclass
class _Loops:
    plan: Strided
    schedule: LoopSchedule
    writer: Writer
    names: Names

    def __post_init__(self) -> None:
        plan = self.plan
        self.part, self.sizes = plan.part, plan.part.sizes
        short = bool(plan.columns) and self.sizes[plan.columns[-1]] < VECTOR
        self.across = (plan.reduced and plan.dense_columns and not short) or not plan.rows
        """Whether the lanes of a vector share one result."""
        self.names.taken |= {"begin", "end", "first", "last"}
        for axes, letters in ((plan.rows, ROW_LETTERS), (plan.columns, COLUMN_LETTERS)):
            for axis in axes:
                letter = next((c for c in letters if c not in self.names.taken), letters[0])
                self.names.values[Index(axis).key] = self.names.fresh(letter)

    def write(self) -> None:
        """The parallel loops over results, and in them the passes and the stores."""
        for root in self.part.roots:
            if root.scatter is not None:
                self.writer.line(f"std::fill_n({root.tensor.identifier}, {prod(root.tensor.shape)}, 0);")
        rows = self.plan.rows if self.across else self.plan.rows[:-1]
        blocked = [] if self.across else [self._blocks()]
        tiles = [self._tiles()] if self._moves_tiles else []
        loops = [self._head(axis) for axis in rows] + blocked + tiles
        count = f" collapse({len(loops)})" if len(loops) > 1 else ""
        with ExitStack() as stack:
            if loops:
                clauses = [f"schedule({self.schedule.distribution})", *self._private()]
                self.writer.pragma(f"#pragma omp parallel for{count}", *clauses)
            for number, head in enumerate(loops):
                brace = " {" if number == len(loops) - 1 else ""
                stack.enter_context(self.writer.block(head + brace, "}" if brace else ""))
            if not loops:
                stack.enter_context(self.writer.block("{", "}"))
            self._body()

    def _private(self) -> list[str]:
        """The clause that gives each thread sums of its own, where they are few enough."""
        few = [r.tensor for r in self.part.roots if r.scatter is not None and prod(r.tensor.shape) <= PRIVATE]
        return [f"reduction(+ : {tensor.identifier}[:{prod(tensor.shape)}])" for tensor in few]

    def _body(self) -> None:
        if not self.across:
            length, lanes = self.sizes[self.plan.rows[-1]], self.schedule.lanes
            self.writer.line(f"const std::int64_t end = {_least('begin', lanes, length)};")
        if self._moves_tiles:
            length = self.sizes[self.plan.columns[-1]]
            self.writer.line(f"const std::int64_t last = {_least('first', TILE, length)};")
        for group in self.plan.passes:
            self._hoist([r.arg for r in group])
            self._pass(group)
        self._hoist([r.expr for r in self.plan.wide])
        self._store_wide()
        if self.plan.narrow and self.across:
            with self.writer.block("{", "}"):
                self._store(self.plan.narrow, self._lane_names())
        elif self.plan.narrow:
            with self._lanes([]):
                self._store(self.plan.narrow, self._lane_names())

    @property
    def _moves_tiles(self) -> bool:
        """Whether the kernel turns tiles around."""
        return bool(self.plan.columns) and not self.plan.reduced

    # Loops.

    def _head(self, axis: int) -> str:
        name = self.names.values[Index(axis).key]
        return f"for (std::int64_t {name} = 0; {name} < {self.sizes[axis]}; ++{name})"

    def _blocks(self) -> str:
        length = self.sizes[self.plan.rows[-1]]
        return f"for (std::int64_t begin = 0; begin < {length}; begin += {self.schedule.lanes})"

    def _tiles(self) -> str:
        return f"for (std::int64_t first = 0; first < {self.sizes[self.plan.columns[-1]]}; first += {TILE})"

    @contextmanager
    def _lanes(self, clauses: Sequence[str]) -> Iterator[None]:
        """The loop over the lanes of a vector."""
        if self.across and not self.plan.columns:
            with self.writer.block("{", "}"):
                yield
            return
        axis = self.plan.columns[-1] if self.across else self.plan.rows[-1]
        name = self.names.values[Index(axis).key]
        begin, end = ("0", str(self.sizes[axis])) if self.across else ("begin", "end")
        if not any(root.scatter for root in self.part.roots):
            self.writer.pragma("#pragma omp simd", *clauses)
        with self.writer.block(f"for (std::int64_t {name} = {begin}; {name} < {end}; ++{name}) {{", "}"):
            yield

    @contextmanager
    def _columns(self) -> Iterator[None]:
        """The loops over what is reduced, but for the lanes."""
        with ExitStack() as stack:
            for axis in self.plan.columns[:-1] if self.across else self.plan.columns:
                stack.enter_context(self.writer.block(self._head(axis) + " {", "}"))
            yield

    def _lane_names(self) -> Names:
        """What the loop over lanes sees: the values of its own lane."""
        return self.names.inner()

    def _lane(self, array: str) -> str:
        name = self.names.values[Index(self.plan.rows[-1]).key]
        return f"{array}[{name} - begin]"

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
            start = WHOLE_START[r.op] if r.kind == "int" else START[r.op]
            self.writer.line(f"std::fill_n({array}, {self.schedule.lanes}, {start});")
        with self._columns(), self._lanes([]):
            scope = self._scope(self._lane_names(), lane=True)
            texts = scope.write([r.arg for r in group])
            for r, array, text in zip(group, arrays, texts, strict=True):
                self.writer.line(f"{self._lane(array)} = {self._joined(r, self._lane(array), text)};")
        for r, array in zip(group, arrays, strict=True):
            self.names.values[r.key] = self._as_value(r, self._lane(array))

    def _shared_pass(self, group: Sequence[Reduce]) -> None:
        """All lanes reduce one result."""
        names = [self.names.fresh(f"row_{r.op}") for r in group]
        for r, name in zip(group, names, strict=True):
            start = WHOLE_START[r.op] if r.kind == "int" else START[r.op]
            self.writer.line(f"{self._kind(r)} {name} = {start};")
        kept = self._kept(group)
        with self._columns():
            parts = [f"part_{name}" for name in names]
            for r, part in zip(group, parts, strict=True):
                kind = "std::int64_t" if r.kind == "int" else "float" if self._short else self._kind(r)
                start = WHOLE_START[r.op] if r.kind == "int" else START[r.op]
                self.writer.line(f"{kind} {part} = {start};")
            clauses = [f"reduction({CLAUSE[r.op]} : {part})" for r, part in zip(group, parts, strict=True)]
            with self._lanes(clauses):
                scope = self._scope(self.names.inner(), lane=True)
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
        index = self.names.values[Index(self.plan.columns[-1]).key]
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
            scope = self._scope(self.names, lane=False)
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
            scope = self._scope(self._lane_names(), lane=True)
            for array, text in zip(arrays, scope.write(nodes), strict=True):
                self.writer.line(f"{self._lane(array)} = {text};")
        for node, array in zip(nodes, arrays, strict=True):
            self.names.values[node.key] = self._lane(array)

    # Stores.

    def _store_wide(self) -> None:
        if not self.plan.wide:
            return
        if self._moves_tiles:
            self._turn()
            return
        with self._columns(), self._lanes([]):
            self._store(self.plan.wide, self._lane_names())

    def _turn(self) -> None:
        """A tile: dense stores along its columns, reads that stay in the cache along its rows."""
        row, column = (self.names.values[Index(axes[-1]).key] for axes in (self.plan.rows, self.plan.columns))
        with self.writer.block(f"for (std::int64_t {row} = begin; {row} < end; ++{row}) {{", "}"):
            self.writer.pragma("#pragma omp simd")
            with self.writer.block(f"for (std::int64_t {column} = first; {column} < last; ++{column}) {{", "}"):
                self._store(self.plan.wide, self.names.inner())

    def _store(self, roots: Sequence[Root], names: Names) -> None:
        scope = self._scope(names, lane=True)
        if roots[0].scatter is not None:
            self._add(roots[0], scope)
            return
        texts = scope.write([r.expr for r in roots])
        for root, text in zip(roots, texts, strict=True):
            place = flattened([Index(a) for a in root.axes], [self.sizes[a] for a in root.axes])
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

    def _scope(self, names: Names, *, lane: bool) -> LoopScope:
        return LoopScope(self.part, self.writer, names, index="lane" if lane else None)


PRIVATE = 1 << 16
"""Sums that each thread may have of its own."""
TILE = 256
"""Columns of a tile that is turned around."""


def _least(begin: str, step: int, length: int) -> str:
    if length % step == 0:
        return f"{begin} + {step}"
    return f"std::min<std::int64_t>({begin} + {step}, {length})"
