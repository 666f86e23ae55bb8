"""A loop nest as a C++ candidate: the function's own text, with OpenMP where its loops allow it, and an entry."""

import math
import re
from collections.abc import Collection, Mapping

import islpy
from tree_sitter import Node

from kernelwright.nests.dependence import Verdict, bounds, certain, element_type, only_updated
from kernelwright.nests.edits import Edit, ahead, behind, edited, over
from kernelwright.nests.events import assigned, writes
from kernelwright.nests.loops import Loop, Nest
from kernelwright.nests.names import declared, declared_name, mentions, parameters, type_of
from kernelwright.nests.plan import BUSY, Shared, reachable, shared
from kernelwright.nests.reductions import Extreme, Scan
from kernelwright.nests.syntax import base_of, field, functions, parse, text, walk
from kernelwright.records.expression import worth
from kernelwright.records.task import SerialArgument, SerialSpec

C_TYPES = {
    "float32": "float", "float64": "double", "int32": "int", "int64": "long", "uint8": "unsigned char",
    "int8": "signed char", "bool": "bool",
}  # fmt: skip
LARGEST_COPY = 1 << 15
"""Elements of an array that each thread may have a copy of on its stack."""


def function_text(nest: Nest, spec: SerialSpec, edits: list[Edit], prefix: str = "") -> str:
    """The file's code with the function edited; what is passed by value is a constant at its beginning."""
    function, body = nest.function, field(nest.function, "body")
    changed = assigned(body)
    constants = [
        f"{'' if a.name in changed else 'const '}{C_TYPES[a.dtype]} {named(nest, spec)[a.name]} = {_number(a, spec)};"
        for a in spec.arguments
        if not a.pointer
    ]
    kept = [p for p, a in zip(parameters(function), spec.arguments, strict=True) if a.pointer]
    listed = next(walk(field(function, "declarator"), "parameter_list"))
    made = [
        over(listed, f"({', '.join(text(p) for p in kept)})"),
        (body.start_byte + 1, body.start_byte + 1, f" {' '.join(constants)}"),
        *([ahead(function, prefix)] if prefix else []),
    ]
    return reachable(edited(nest.code, [*made, *edits]), spec.function)


def named(nest: Nest, spec: SerialSpec) -> dict[str, str]:
    """By argument, what the function calls it in normal form."""
    given = [text(declared_name(field(p, "declarator"))) for p in parameters(nest.function)]
    return dict(zip((a.name for a in spec.arguments), given, strict=True))


def _number(argument: SerialArgument, spec: SerialSpec) -> str:
    if argument.dtype.startswith("float"):
        return f"{float(argument.value)!r}{'f' if argument.dtype == 'float32' else ''}"
    return str(worth(argument.value if not isinstance(argument.value, float) else int(argument.value), spec.sizes))


def elements(argument: SerialArgument, spec: SerialSpec) -> int:
    """How many an array has."""
    return math.prod(worth(extent, spec.sizes) for extent in argument.shape)


def covered(nest: Nest, array: str, size: int) -> bool:
    """Whether the function writes every element of an array that it never reads."""
    own = [a for a in nest.accesses if a.root == array]
    if (
        array in nest.mixed
        or len({(a.array, a.unit) for a in own}) > 1
        or any(not a.write for a in own)
        or any(a.array == "?" for a in nest.accesses)
    ):
        return False
    whole = islpy.Set(f"{{ [e] : 0 <= e < {size} }}")
    written = islpy.Set("{ [e] : false }")
    for access in own:
        if certain(access, nest.function):
            exists = f"exists {', '.join(one.variable for one in access.loops)} : " if access.loops else ""
            written = written.union(
                islpy.Set(f"{{ [e] : {exists}{' and '.join([f'e = {access.place}', *bounds(access.loops)])} }}")
            )
    return bool(whole.is_subset(written))


def cpp_source(head: str, nest: Nest, known: Mapping[Loop, Verdict], spec: SerialSpec, used: Collection[str]) -> str:
    """The candidate, with these techniques."""
    edits = list[Edit]()
    nested = set[Loop]()
    if "threads-over-rows" in used:
        for one in shared(nest, known, BUSY):
            edits += _side_by_side(nest, one, spec, used)
            nested |= set(one.loops)
    inner = [loop for loop in nest.all_loops if not loop.children and loop.head is not None and loop not in nested]
    for loop in inner:
        edits += _in_lanes(loop, known[loop], used)
    code = function_text(nest, spec, edits)
    if "restrict-pointers" in used:
        code = _restricted(code, spec)
    included = [line for line in head.splitlines() if line.startswith("#include <")]
    standard = [
        f"#include <{name}>"
        for name in ("cmath", "cstdint", "cstdlib", "cstring", "cfloat", "climits", "algorithm", "type_traits", "omp.h")
    ]
    top = "\n".join(dict.fromkeys([*included, *standard]))
    return f"{top}\n#define restrict __restrict__\n\nnamespace serial {{\n{_cast(code)}\n}}\n\n{_entry(nest, spec)}"


def _entry(nest: Nest, spec: SerialSpec) -> str:
    names, lines = named(nest, spec), list[str]()
    read, written = (
        {a.name: f"in{i}" for i, a in enumerate(spec.inputs)},
        {a.name: f"out{i}" for i, a in enumerate(spec.outputs)},
    )
    taken = [f"const {C_TYPES[a.dtype]}* {read[a.name]}" for a in spec.inputs]
    taken += [f"{C_TYPES[a.dtype]}* {written[a.name]}" for a in spec.outputs]
    for a in spec.outputs:
        size = f"{elements(a, spec)}L * sizeof({C_TYPES[a.dtype]})"
        if a.inout:
            lines.append(f"  std::memcpy({written[a.name]}, {read[a.name]}, {size});")
        elif not covered(nest, names[a.name], elements(a, spec)):
            lines.append(f"  std::memset({written[a.name]}, 0, {size});")
    named_types = {text(declared_name(field(n, "declarator"))) for n in walk(parse(nest.code), "type_definition")}
    named_types |= {text(field(n, "name")) for n in walk(parse(nest.code), "alias_declaration")}
    kinds = [
        (a, _qualified(type_of(p), named_types))
        for p, a in zip(parameters(nest.function), spec.arguments, strict=True)
        if a.pointer
    ]
    passed = [f"({kind}*){written.get(a.name) or read[a.name]}" for a, kind in kinds]
    lines.append(f"  serial::{spec.function}({', '.join(passed)});")
    return f'extern "C" void kernel({", ".join(taken)}) {{\n' + "\n".join(lines) + "\n}\n"


def _qualified(kind: str, own: set[str]) -> str:
    """A type with the names that the file made, as they are called from outside of its namespace."""
    return re.sub(r"\w+", lambda m: f"serial::{m[0]}" if m[0] in own else m[0], kind)


def _cast(code: str) -> str:
    """Memory from the C library with the type that C++ asks for, and no linkage of C."""
    starts = ((name, one.child_by_field_name("value")) for _, one, name in declared(parse(code)))
    given = [*starts, *((place, value) for place, _, value in writes(parse(code)))]
    edits = [
        ahead(value, f"(std::remove_reference_t<decltype({text(name)})>)")
        for name, value in given
        if value is not None
        and value.type == "call_expression"
        and text(field(value, "function")) in ("malloc", "calloc")
    ]
    return edited(code, edits).replace('extern "C"', "")


def _restricted(code: str, spec: SerialSpec) -> str:
    function = functions(parse(code))[spec.function]
    names = [declared_name(field(p, "declarator")) for p in parameters(function)]
    plain = [
        n
        for n in names
        if n.parent is not None and n.parent.type == "pointer_declarator" and "restrict" not in text(n.parent)
    ]
    return edited(code, [ahead(n, " __restrict__ ") for n in plain])


# --- threads ------------------------------------------------------------------------------------------------------


def _side_by_side(nest: Nest, one: Shared, spec: SerialSpec, used: Collection[str]) -> list[Edit]:
    loop, verdict = one.loops[0], one.verdict
    if verdict.extremes:
        return _with_extremes(nest, loop, verdict)
    if verdict.scan is not None:
        return _scanned(loop, verdict.scan, verdict)
    clauses = ["parallel for"]
    if "simd-reduction" in used and not loop.children and not verdict.histograms:
        clauses = ["parallel for simd"]
    clauses += [f"collapse({len(one.loops)})"] if len(one.loops) > 1 else []
    clauses += _clauses(verdict)
    edits = list[Edit]()
    for array, operator in verdict.histograms.items():
        size = size_of(nest, spec, array)
        if (
            "privatised-partials" in used
            and size
            and size <= LARGEST_COPY
            and operator in "+*|&^"
            and only_updated(nest, loop, array)
            and all(text(base_of(a.node)) == array for a in nest.accesses if a.array == array and loop in a.loops)
        ):
            clauses.append(f"reduction({operator}:{array}[:{size}])")
        else:
            edits += [ahead(s, "\n#pragma omp atomic\n") for s in updates(nest, loop, array)]
    clauses.append("schedule(static)" if _even(loop) else "schedule(dynamic, 1)")
    pragma = f"\n#pragma omp {' '.join(clauses)}\n"
    return [ahead(loop.node, pragma), *(e for each in one.loops for e in _counted_plainly(each)), *edits]


def _clauses(verdict: Verdict) -> list[str]:
    private = [f"private({', '.join(verdict.private)})"] if verdict.private else []
    return [*private, *(f"reduction({operator}:{name})" for name, operator in verdict.reductions.items())]


def _counted_plainly(loop: Loop) -> list[Edit]:
    """The head as OpenMP wants it."""
    head, node = loop.head, loop.node
    assert head is not None
    condition = field(node, "condition")
    far = head.high if re.fullmatch(r"\w+", head.high) else f"({head.high})"
    return [over(condition, f"{head.variable} {head.order} {far}")]


def _even(loop: Loop) -> bool:
    """Whether every pass has as much to do."""
    inner, queue = list[Loop](), list(loop.children)
    while queue:
        inner.append(one := queue.pop())
        queue += one.children
    return all(one.passes is not None for one in inner)


def size_of(nest: Nest, spec: SerialSpec, array: str) -> int:
    """Elements of an array; zero: nobody knows."""
    names = {name: a for a in spec.arguments for n, name in named(nest, spec).items() if n == a.name}
    if array in names:
        return elements(names[array], spec)
    extents = nest.extents.get(array, ())
    return math.prod(e or 0 for e in extents) if extents else 0


def updates(nest: Nest, loop: Loop, array: str) -> list[Node]:
    """The statements that update an array within a loop."""
    found: dict[int, Node] = {}
    for access in nest.accesses:
        node = access.node
        if access.array == array and loop in access.loops:
            while node.parent is not None and node.type != "expression_statement":
                node = node.parent
            found[node.start_byte] = node
    return list(found.values())


def _in_lanes(loop: Loop, verdict: Verdict, used: Collection[str]) -> list[Edit]:
    """An innermost loop whose passes need no order: several at once in the lanes of a core, or unrolled."""
    plain = verdict.parallel and not (verdict.histograms or verdict.scan or verdict.extremes)
    simple = all(
        operator in ("+", "*", "min", "max", "&", "|", "^", "&&", "||") for operator in verdict.reductions.values()
    )
    if "simd-reduction" in used and plain and simple:
        pragma = f"\n#pragma omp simd {' '.join(_clauses(verdict))}\n"
        return [ahead(loop.node, pragma), *_counted_plainly(loop)]
    if "loop-unrolling" in used and (loop.passes is None or loop.passes >= 4):
        return [ahead(loop.node, "\n#pragma GCC unroll 4\n")]
    return []


def _with_extremes(nest: Nest, loop: Loop, verdict: Verdict) -> list[Edit]:
    """Each thread has its own best; they meet one after the other, and of equals the one that the serial code would have."""
    own, merged, edits = list[str](), list[str](), list[Edit]()
    body = field(loop.node, "body")
    assert loop.head is not None
    for number, one in enumerate(verdict.extremes):
        when, names = f"when_{number}", (one.best, *one.others)
        own += [f"{element_type(nest, name)} own_{name} = {name};" for name in names]
        own.append(f"long {when} = -1;")
        merged.append(_merging(one, when, names))
        edits += [over(i, f"own_{text(i)}") for i in walk(body, "identifier") if text(i) in names]
        inside = field(one.node, "consequence")
        edits += [ahead(inside, f"{{ {when} = {_pass(loop)}; "), behind(inside, " }")]
    seen = " ".join(f"long seen_{n} = -1;" for n in range(len(verdict.extremes)))
    loops = f"#pragma omp for {' '.join(_clauses(verdict))} schedule(static)"
    before = f"{seen}\n#pragma omp parallel\n{{ {' '.join(own)}\n{loops}\n"
    after = f"\n#pragma omp critical\n{{ {' '.join(merged)} }} }} }}"
    return [ahead(loop.node, "{ " + before), behind(loop.node, after), *edits]


def _pass(loop: Loop) -> str:
    assert loop.head is not None
    return (
        f"({loop.head.variable} - ({loop.head.low}))"
        if loop.head.step > 0
        else f"(({loop.head.low}) - {loop.head.variable})"
    )


def _merging(one: Extreme, when: str, names: tuple[str, ...]) -> str:
    """One thread's best into the common one."""
    seen = when.replace("when", "seen")
    strict = one.order.rstrip("=")
    tie = f"{when} < {seen}" if strict == one.order else f"{when} > {seen}"
    known = f"{seen} >= 0 && " if strict == one.order else ""
    take = " ".join(f"{name} = own_{name};" for name in names)
    better = f"own_{one.best} {strict} {one.best} || ({known}own_{one.best} == {one.best} && {tie})"
    return f"if ({when} >= 0 && ({better})) {{ {take} {seen} = {when}; }}"


def _scanned(loop: Loop, scan: Scan, verdict: Verdict) -> list[Edit]:
    """OpenMP's scan: one part of the body gives, the other takes. Empty: both share a local."""
    parts = list(field(loop.node, "body").named_children)
    place = parts.index(scan.update)
    takes = [mentions(p, scan.variable) for p in parts]
    exclusive = any(takes[:place])
    cut = place if exclusive else place + 1
    if exclusive and any(takes[place + 1 :]):
        return []
    locals_ = {text(n) for p in parts[:cut] for _, _, n in declared(p)}
    again = [p for p in parts[:cut] if p.type == "declaration" and not any(walk(p, "call_expression"))]
    needed = any(mentions(p, name) for p in parts[cut:] for name in locals_)
    if cut in (0, len(parts)) or (needed and locals_ != {text(n) for p in again for _, _, n in declared(p)}):
        return []
    repeated = " ".join(text(p) for p in again) if needed else ""
    kind = "exclusive" if exclusive else "inclusive"
    private = [f"private({', '.join(verdict.private)})"] if verdict.private else []
    head = f"\n#pragma omp parallel for reduction(inscan, {scan.operator}:{scan.variable}) {' '.join(private)}\n"
    start, middle, end = parts[0].start_byte, parts[cut].start_byte, parts[-1].end_byte
    assert loop.head is not None
    some = (
        "" if loop.passes else f"if ({loop.head.passes} > 0) {{"
    )  # gcc asks for memory by a difference without a sign
    return [
        ahead(loop.node, some + head),
        *[behind(loop.node, " }")] * bool(some),
        *_counted_plainly(loop),
        (start, start, "{ "),
        (middle, middle, f"}}\n#pragma omp scan {kind}({scan.variable})\n{{ {repeated}"),
        (end, end, " }"),
    ]
