"""A loop nest as CUDA C++: the function's own text, run by all threads at once.

Every thread runs the whole function. Loops that can be shared out are, pass by pass; what only computes scalars each thread
does for itself; what stores in order one thread does, and tells the others its scalars. Between these parts the grid meets, in
a cooperative launch; where nothing meets, it is a plain one with a thread for each pass. `warp-per-row` does the same once
more within a pass, with a warp's lanes for threads.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as of
from pathlib import Path

from tree_sitter import Node

from kernelwright.nests.cpp import covered, elements, function_text, named, size_of, updates
from kernelwright.nests.dependence import Verdict, element_type, only_updated
from kernelwright.nests.device import BLOCK, CannotError, for_device, refuse
from kernelwright.nests.edits import Edit, ahead, behind, over
from kernelwright.nests.events import assigned, writes
from kernelwright.nests.loops import Loop, Nest
from kernelwright.nests.names import declared, declared_name, declared_names, identifiers, type_of
from kernelwright.nests.plan import Shared, shared, within
from kernelwright.nests.reductions import Extreme, Scan
from kernelwright.nests.structures import fields
from kernelwright.nests.syntax import LOOPS, base_of, called, field, text, walk
from kernelwright.records.task import SerialSpec

PARTS = Path(__file__).parent / "parts"
OWN_COPY = 64
"""Elements of an array that each thread may have a copy of."""
OWN_PRIVATE = 1024
"""The same of an array that each pass needs for itself."""
SHARED_BYTES = 32_768
"""Of a histogram that a block may have a copy of."""
LEAST_LANES = 8
"""Passes for which the lanes of a warp are worth their while."""
PASSES = 1 << 20
"""That a nest of loops is opened for: more than a GPU has threads."""
IDENTITY = {"+": "0", "*": "1", "^": "0"}
"""Of what is not idempotent; the others begin with what the variable was."""
WIDTH = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "uint8": 1, "int8": 1, "bool": 1}
ATOMIC = {"+": "atomicAdd", "&": "atomicAnd", "|": "atomicOr", "^": "atomicXor"}

WORDS = {
    "+": "SUM", "*": "PRODUCT", "min": "MIN", "max": "MAX", "&": "AND", "|": "OR", "^": "XOR", "&&": "ALL", "||": "ANY",
}  # fmt: skip
"""What the kernels' own functions call an operator."""


@dataclass(frozen=True)
class Team:
    """Who shares out a loop: how many they are, which one this is, and how they meet."""

    rank: str
    count: str
    meet: str
    reduce: str
    """A call that combines one value of each; `{}` stands for the operator and the value."""


GRID = Team("THREAD", "THREADS", " GRID_SYNC; ", "all_reduce<OP_{0}>({1}, work, gate)")
WARP = Team("LANE", "32", " __syncwarp(); ", "warp_reduce<OP_{0}>({1})")


@dataclass
class _Writer:
    nest: Nest
    known: Mapping[Loop, Verdict]
    spec: SerialSpec
    used: Collection[str]
    edits: list[Edit] = of(default_factory=list)
    bytes: int = 1 << 18
    """Of the workspace: partial results, one of each block, come first."""
    scratch: list[str] = of(default_factory=list)
    """Arrays of the function's own that all threads share."""
    shared: list[Shared] = of(default_factory=list)
    meets: bool = False
    in_lanes: bool = False
    everyone: list[Node] = of(default_factory=list)
    """What each of the team at work does for itself."""

    # --- memory ---------------------------------------------------------------------------------------------------

    def room(self, size: int) -> str:
        """The address of so many bytes of the workspace."""
        at = self.bytes
        self.bytes += -(-max(size, 1) // 256) * 256
        return f"(work + {at})"

    def place_arrays(self) -> None:
        """Arrays of the function's own: a copy for each thread where that will do, else one in the workspace."""
        body = field(self.nest.function, "body")
        for declaration, one, name in declared(body):
            array, kind = text(name), type_of(declaration).replace("const ", "")
            made = self._memory(declaration, one, kind)
            if made is None or any(_inside(name, s.loops[0].node) for s in self.shared):
                continue
            size, zeroed = made
            if self._kept_by_each(array, size, text(one)):
                continue
            self.scratch.append(array)
            pointed = re.match(r"std::vector<(.*)>$", kind)
            element = pointed[1] if pointed else kind
            rest = "".join(f"[{e}]" for e in self.nest.extents.get(array, ())[1:])
            address = self.room(size * 8)
            said = (
                f"{element} (*{array}){rest} = ({element} (*){rest}){address};"
                if rest
                else f"{element} *{array} = ({element}*){address};"
            )
            if zeroed:
                said += f" for (long e_ = THREAD; e_ < {size}; e_ += THREADS) (({element}*){array})[e_] = 0;{self.meet(GRID)}"
            self.edits.append(over(declaration, said))
        for call in walk(body, "call_expression"):
            if text(field(call, "function")) == "free":
                self.edits.append(over(call, "(void)0"))
        later = [c for one in walk(body, "assignment_expression") for c in walk(one, "call_expression")]
        if any(called(call) in ("malloc", "calloc") for call in later):
            raise CannotError("it asks for memory after the pointer was declared, which each thread would for itself")

    def _kept_by_each(self, array: str, size: int, said: str) -> bool:
        """Whether every thread has a copy of its own."""
        private = array in self._private()
        if private and (size > OWN_PRIVATE or "[" not in said):
            raise CannotError(f"each pass needs {array} for itself, which is too long for that")
        return private or (size <= OWN_COPY and "[" in said and not self._written_in_parts(array))

    def _memory(self, declaration: Node, one: Node, kind: str) -> tuple[int, bool] | None:
        """How many elements a local has, and whether they begin as zeros; None: it is no array."""
        name = text(declared_name(one))
        extents = self.nest.extents.get(name)
        if extents is None:
            return None
        size = 1
        for extent in extents:
            if extent is None:
                raise CannotError(f"nobody knows how long {name} is")
            size *= extent
        value = one.child_by_field_name("value") if one.type == "init_declarator" else None
        said = text(value) if value is not None else ""
        filled = said.startswith("{") and re.sub(r"[\s{}0.f,]", "", said) != ""
        if kind.startswith("std::vector") and re.search(r",(?!\s*0(\.0*)?f?\))", text(one)):
            raise CannotError(f"{name} begins with other values than zeros")
        if len([d for d, _, _ in declared(declaration) if d == declaration]) > 1 or (filled and size > OWN_COPY):
            raise CannotError(f"{name} is declared with others, or filled")
        return size, "{" in said or "calloc" in said or kind.startswith("std::vector")

    def _written_in_parts(self, array: str) -> bool:
        loops = {s.loops[0] for s in self.shared}
        return (
            any(a.root == array and a.write and loops & set(a.loops) for a in self.nest.accesses)
            and array not in self._private()
        )

    def _private(self) -> set[str]:
        return {name for s in self.shared for name in s.verdict.private}

    # --- control --------------------------------------------------------------------------------------------------

    def meet(self, team: Team) -> str:
        """Where all wait for each other."""
        self.meets = self.meets or team is GRID
        return team.meet

    def emit(self, node: Node, team: Team, parts: Sequence[Shared], last: bool) -> None:
        """Share out what a statement does."""
        mine = next((s for s in parts if s.loops[0].node == node), None)
        if mine is not None:
            early = self._overtakes(node)
            self.edits += [ahead(node, f"{{{self.meet(team)}")] if early else []
            self.share(mine, team, last)
            self.edits += [behind(node, " }")] if early else []
        elif any(_inside(s.loops[0].node, node) for s in parts):
            looped = node.type in LOOPS
            if not looped and node.type not in ("compound_statement", "if_statement", "else_clause"):
                raise CannotError(f"a loop stands within a {node.type}")
            inner = [c for c in node.named_children if c.type.endswith(("statement", "clause", "_loop"))]
            if any(c.type == "declaration" and self._stores(c) for c in node.named_children):
                raise CannotError("a declaration changes memory")
            for child in inner:
                self.emit(child, team, parts, last and not looped and child == inner[-1])
        elif self._stores(node):
            self.alone(node, team, last)

    def _declaration(self, name: str) -> Node:
        return next(d for d, _, n in declared(self.nest.function) if text(n) == name)

    def by_all(self, node: Node, parts: Sequence[Shared]) -> list[Node]:
        """The parts of a statement that each does for itself, where `emit` neither shares out nor leaves it to one."""
        if any(s.loops[0].node == node for s in parts):
            return []
        if not any(_inside(s.loops[0].node, node) for s in parts):
            return [] if self._stores(node) else [node]
        return [one for child in node.named_children for one in self.by_all(child, parts)]

    def _overtakes(self, node: Node) -> bool:
        """Whether a statement stores what others of the team may still have to read."""
        if self._fills(node):
            return True
        stored = [a for a in self.nest.accesses if a.write and _inside(a.node, node)]
        read = [a for a in self.nest.accesses if not a.write and any(_inside(a.node, one) for one in self.everyone)]
        return any(a.meets(b) for a in stored for b in read)

    def _stores(self, node: Node) -> bool:
        """Whether it writes memory that others see."""
        own = {a for a in self.nest.local_arrays if a not in self.scratch}
        if self._fills(node):
            return True
        return any(a.write and a.root not in own and _inside(a.node, node) for a in self.nest.accesses)

    def _fills(self, node: Node) -> bool:
        """Whether it has the library write memory that nobody saw to be written: through a pointer that leads anywhere."""
        own = {a for a in self.nest.local_arrays if a not in self.scratch}
        calls = (c for c in walk(node, "call_expression") if called(c) in ("memcpy", "memset"))
        return any(not identifiers(field(c, "arguments").named_children[0]) & own for c in calls)

    def alone(self, node: Node, team: Team, last: bool) -> None:
        """One does it, and tells the others its scalars."""
        outside = assigned(node) - declared_names(node) - set(self.nest.local_arrays)
        told = sorted(outside) if not last else []
        structures = [n for n in told if fields(self.nest.code, self._declaration(n))]
        if structures:
            raise CannotError(f"one thread would have to tell the others the structure {structures[0]}")
        early = self.meet(team) if self._overtakes(node) else ""
        if told and team is WARP:
            back = " ".join(f"{n} = __shfl_sync(0xffffffff, {n}, 0);" for n in told)
            self._around(node, f"{{ {early}if ({team.rank} == 0) {{ ", f" }}{team.meet}{back} }}")
            return
        slots = [(n, f"*(decltype({n})*){self.room(8)}") for n in told]
        said, heard = " ".join(f"{s} = {n};" for n, s in slots), " ".join(f"{n} = {s};" for n, s in slots)
        after = "" if last else self.meet(team) + (f"{heard}{self.meet(team)}" if slots else "")
        self._around(node, f"{{ {early}if ({team.rank} == 0) {{ ", f" {said} }}{after} }}")

    def _around(self, node: Node, before: str, after: str) -> None:
        self.edits += [ahead(node, before), behind(node, after)]

    # --- loops ----------------------------------------------------------------------------------------------------

    def share(self, one: Shared, team: Team, last: bool) -> None:
        """A loop's passes, one after the other to each of a team."""
        verdict, loop = one.verdict, one.loops[0]
        if verdict.scan is not None:
            self.scan(loop, verdict.scan, verdict)
            return
        before = "".join(self._begin(loop, name, op) for name, op in verdict.reductions.items())
        after = "".join(self._end(name, op, team) for name, op in verdict.reductions.items())
        for number, extreme in enumerate(verdict.extremes):
            opened, closed = self.extreme(loop, extreme, f"{loop.node.start_byte}_{number}")
            before, after = before + opened, after + closed
        for array, operator in verdict.histograms.items():
            opened, closed = self.histogram(loop, array, operator, team)
            before, after = before + opened, after + closed
        inner = self._lanes(one) if team is GRID else []
        mine = Team("(THREAD / 32)", "(THREADS / 32)", team.meet, team.reduce) if inner else team
        self._passes(one.loops, mine, before)
        if inner:
            self.in_lanes, outer, body = True, self.everyone, field(one.loops[-1].node, "body")
            self.everyone = self.by_all(body, inner)
            for child in body.named_children:
                self.emit(child, WARP, inner, last=False)
            self.everyone = outer
        meets = "" if last and not verdict.reductions and not verdict.extremes else self.meet(team)
        self.edits.append(behind(loop.node, f"{after}{meets} }}"))

    def _lanes(self, one: Shared) -> list[Shared]:
        """Loops within a pass for the lanes of a warp; none: the pass is one thread's."""
        loop, body = one.loops[-1], field(one.loops[-1].node, "body")
        if "warp-per-row" not in self.used or not one.verdict.free or body.type != "compound_statement":
            return []
        inner = [s for child in loop.children for s in within(child, self.known, 1, LEAST_LANES)]
        plain = [
            s for s in inner if not (s.verdict.extremes or s.verdict.scan or s.verdict.histograms or s.verdict.private)
        ]
        arrays = {text(n) for _, o, n in declared(body) if "[" in text(o).split("=")[0]} | self._private()
        return [
            s
            for s in plain
            if len(plain) == len(inner) and not any(text(base_of(p)) in arrays for p, _, _ in writes(s.loops[0].node))
        ]

    def _passes(self, loops: Sequence[Loop], team: Team, before: str) -> None:
        """The heads of loops that nest, as one over all their passes."""
        t = f"pass_{loops[0].node.start_byte}"
        counts = [_passes_of(one) for one in loops]
        lines = []
        for place, one in enumerate(loops):
            assert one.head is not None
            rest = " * ".join(counts[place + 1 :])
            mine = f"({t} / ({rest}))" if rest else t
            mine = f"{mine} % {counts[place]}" if place else mine
            kind = text(field(field(one.node, "initializer"), "type"))
            lines.append(f"const {kind} {one.head.variable} = ({one.head.low}) + ({mine}) * ({one.head.step});")
        body = field(loops[-1].node, "body")
        opened = f"for (long {t} = {team.rank}; {t} < {' * '.join(counts)}; {t} += {team.count})"
        head = f"{{ {before}{opened} {{ {' '.join(lines)} "
        self.edits += [(loops[0].node.start_byte, body.start_byte, head), (body.end_byte, loops[0].node.end_byte, " }")]

    def _begin(self, loop: Loop, name: str, operator: str) -> str:
        first = f"{name} = {IDENTITY[operator]};" if operator in IDENTITY else ""
        return f"const auto {name}_before = {name}; {first} "

    def _end(self, name: str, operator: str, team: Team) -> str:
        word = WORDS[operator]
        self.meets = self.meets or team is GRID
        joined = f"{name} = joined<OP_{word}>({name}_before, {name}); " if operator in IDENTITY else ""
        return f" {name} = {team.reduce.format(word, name)}; {joined}"

    def extreme(self, loop: Loop, one: Extreme, key: str) -> tuple[str, str]:
        """Each thread's best and its pass; the winner tells what goes with it."""
        assert loop.head is not None
        passed = (
            f"({loop.head.variable} - ({loop.head.low}))"
            if loop.head.step > 0
            else f"(({loop.head.low}) - {loop.head.variable})"
        )
        inside = field(one.node, "consequence")
        self._around(inside, f"{{ when_{key} = {passed}; ", " }")
        order = {"<": "LESS", "<=": "LAST_LESS", ">": "MORE", ">=": "LAST_MORE"}[one.order]
        slots = [(n, f"*(decltype({n})*){self.room(8)}") for n in one.others]
        said, heard = " ".join(f"{s} = {n};" for n, s in slots), " ".join(f"{n} = {s};" for n, s in slots)
        won = f"const long won_{key} = all_best<{order}>({one.best}, when_{key}, work, gate);"
        told = f" if (won_{key} >= 0 && won_{key} == when_{key}) {{ {said} }}{self.meet(GRID)}"
        told += f"if (won_{key} >= 0) {{ {heard} }}"
        return f"long when_{key} = -1; ", f" {won}{told if slots else ''}"

    def histogram(self, loop: Loop, array: str, operator: str, team: Team) -> tuple[str, str]:
        """Additions to any place, atomically; with `privatised-histogram` in a copy of each block first."""
        kind = element_type(self.nest, array)
        size = size_of(self.nest, self.spec, array)
        if (
            operator not in ATOMIC
            or kind.replace("unsigned ", "") not in ("int", "long", "float", "double", "unsigned")
            or (operator != "+" and kind not in ("int", "unsigned"))
        ):
            raise CannotError(f"{array} cannot be combined by {operator} atomically")
        fits = (
            0 < size * 8 <= SHARED_BYTES and operator == "+" and team is GRID and only_updated(self.nest, loop, array)
        )
        changed = {a.node for a in self.nest.accesses if a.array == array and a.write and loop in a.loops}
        named = all(text(base_of(node)) == array for node in changed)
        own = f"own_{array}" if "privatised-histogram" in self.used and fits and named else ""
        for statement in updates(self.nest, loop, array):
            place, said, value = next(w for w in writes(statement) if w[0] in changed)
            amount = "1" if value is None else f"({text(value)})"
            at = text(place).replace(array, own, 1) if own else text(place)
            self.edits.append(over(statement, f"{ATOMIC[operator]}_(&({at}), {'-' if '-' in said else ''}{amount});"))
        if not own:
            return "", ""
        each = f"for (int e_ = threadIdx.x; e_ < {size}; e_ += BLOCK)"
        flush = f" __syncthreads(); {each} if ({own}[e_] != 0) atomicAdd_(&{array}[e_], {own}[e_]);"
        return f"__shared__ {kind} {own}[{size}]; {each} {own}[e_] = 0; __syncthreads(); ", flush

    def scan(self, loop: Loop, scan: Scan, verdict: Verdict) -> None:
        """A chunk for each thread: it sums its own, learns the sum of all before it, and goes through it once more."""
        head, body = loop.head, field(loop.node, "body")
        assert head is not None
        parts = list(body.named_children)
        first = [text(p) for p in parts if p == scan.update or not self._stores(p)]
        name, word, key = scan.variable, WORDS[scan.operator], loop.node.start_byte
        kind = text(field(field(loop.node, "initializer"), "type"))
        share = f"(passes_{key} + THREADS - 1) / THREADS, from_{key} = THREAD * each_{key};"
        chunk = f"const long passes_{key} = {_passes_of(loop)}, each_{key} = {share}"
        end = f"from_{key} + each_{key}"
        until = f"const long to_{key} = {end} < passes_{key} ? {end} : passes_{key};"
        mine = f"const {kind} {head.variable} = ({head.low}) + pass_{key} * ({head.step});"
        opened = f"for (long pass_{key} = from_{key}; pass_{key} < to_{key}; ++pass_{key}) {{ {mine} "
        begin = f"const auto {name}_before = {name}; {name} = identity<OP_{word}>({name}); "
        self.meets = True
        carried = f"{name} = all_before<OP_{word}>({name}, {name}_before, work, gate); "
        self.edits += [
            (
                loop.node.start_byte,
                body.start_byte,
                f"{{ {chunk} {until} {begin}{opened}{' '.join(first)} }} {carried}{opened}",
            ),
            behind(body, f" }} {name} = all_last({name}, THREAD == THREADS - 1, work, gate);{self.meet(GRID)} }}"),
        ]


def _inside(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _passes_of(loop: Loop) -> str:
    """How often a loop runs, as C."""
    assert loop.head is not None
    return f"{loop.passes}L" if loop.passes is not None else f"(long){loop.head.passes}"


def cuda_source(nest: Nest, known: Mapping[Loop, Verdict], spec: SerialSpec, used: Collection[str]) -> str:
    """The candidate, with these techniques.

    Raises:
        CannotError: the function has something that a kernel cannot.
    """
    writer = _Writer(nest, known, spec, used, shared=shared(nest, known, PASSES))
    refuse(nest)
    writer.place_arrays()
    writer.everyone = writer.by_all(field(nest.function, "body"), writer.shared)
    writer.emit(field(nest.function, "body"), GRID, writer.shared, last=True)
    if "warp-per-row" in used and not writer.in_lanes:
        raise CannotError("no pass has a loop that lanes can share out")
    if "loop-unrolling" in used:
        writer.edits += [ahead(one.node, "\n#pragma unroll 4\n") for one in _plain_inner(writer)]
    code = for_device(nest, function_text(nest, spec, writer.edits), spec, used)
    meets, copies = writer.meets, any(a.inout for a in spec.arguments)
    top = "".join([_part("flat"), *[_part("meets")] * meets, *[_part("copy")] * copies])
    return f"/* kernelwright\n{_plan(writer)}*/\n{top}\n{code}\n"


def _part(name: str) -> str:
    """What a kernel begins with: names that headers have elsewhere, how threads meet, and a kernel that copies."""
    return (PARTS / f"{name}.cu.txt").read_text(encoding="utf-8")


def _plain_inner(writer: _Writer) -> list[Loop]:
    inside = {one for s in writer.shared for one in s.loops}
    deep = [
        one
        for one in writer.nest.all_loops
        if not one.children and one.head and one not in inside and any(o in inside for o in one.around)
    ]
    return [] if "warp-per-row" in writer.used else deep


def _plan(writer: _Writer) -> str:
    spec = writer.spec
    inputs, outputs = {a.name: i for i, a in enumerate(spec.inputs)}, {a.name: i for i, a in enumerate(spec.outputs)}
    given = [
        f'"out{outputs[a.name]}"' if a.name in outputs else f'"in{inputs[a.name]}"' for a in spec.arguments if a.pointer
    ]
    zeroed = [
        outputs[a.name]
        for a in spec.outputs
        if not a.inout and not covered(writer.nest, named(writer.nest, spec)[a.name], elements(a, spec))
    ]
    lines = [f"zeroed_outputs = [{', '.join(map(str, zeroed))}]"] if zeroed else []
    lines += ["[[workspace]]", f'bytes = "{writer.bytes}"', "[[workspace]]", 'bytes = "256"', "zeroed = true", ""]
    for a in spec.outputs:
        if a.inout:
            size = elements(a, spec) * WIDTH[a.dtype]
            lines += [
                "[[launch]]",
                'kernel = "copied"',
                f'grid = "min(ceil_div({size}, 4096), 4 * multiprocessors)"',
                "block = 256",
            ]
            lines += [f'arguments = ["in{inputs[a.name]}", "out{outputs[a.name]}", "i64({size})"]', ""]
    lines += ["[[launch]]", f'kernel = "{spec.function}"', f"grid = {_grid(writer)}", f"block = {BLOCK}"]
    lines += ["cooperative = true"] if writer.meets else []
    return "\n".join(
        [*lines, f"arguments = [{', '.join([*given, chr(34) + 'work0' + chr(34), chr(34) + 'work1' + chr(34)])}]", ""]
    )


def _grid(writer: _Writer) -> str:
    """Blocks: where all meet, as many as run at once; else a thread for each pass, or a warp."""
    most = 1
    for one in writer.shared:
        passes = 1
        for loop in one.loops:
            passes *= loop.passes or PASSES
        most = max(most, passes * (32 if "warp-per-row" in writer.used else 1))
    blocks = -(-most // BLOCK)
    if writer.meets:
        return f'"min({blocks}, 4 * multiprocessors)"'
    return (
        f'"min({blocks}, 8 * multiprocessors)"'
        if "grid-stride-persistent" in writer.used
        else f'"{min(blocks, (1 << 31) - 1)}"'
    )
