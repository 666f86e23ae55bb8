"""Which loops may run their passes in any order, and at what price.

Two accesses of one array, one of them a write, keep a loop in order if two different passes of it may meet in one place. The
question is a set of whole numbers (both iterations, their bounds, strides and guards, equal subscripts), and isl says exactly
whether it is empty. Scalars that outlive a pass are private (written before they are read), reductions, or keep it in order.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as of
from functools import lru_cache

import islpy
from tree_sitter import Node

from kernelwright.nests.calls import impure
from kernelwright.nests.events import exposed, first_event, variable_of, writes
from kernelwright.nests.heads import after, types, unconditional
from kernelwright.nests.loops import ANYWHERE, Access, Linear, Loop, Nest, jumps
from kernelwright.nests.names import declared_names
from kernelwright.nests.reductions import COMBINED, Extreme, Scan, extreme_of, is_statement, reduction_of, scan_of
from kernelwright.nests.searches import GOES_ON
from kernelwright.nests.syntax import JUMPS, LOOPS, field, text, walk

UNSURE = (
    "if_statement",
    "conditional_expression",
    "switch_statement",
    "while_statement",
    "lambda_expression",
    "for_statement",
)
"""What holds code that may be passed over; a loop that counts does so by its bounds."""


@dataclass
class Verdict:
    """What is known of one loop."""

    reason: str = ""
    """Why its passes keep their order; empty: they need not."""
    private: tuple[str, ...] = ()
    reductions: dict[str, str] = of(default_factory=dict)
    """Scalars by name, with the operator."""
    extremes: list[Extreme] = of(default_factory=list)
    histograms: dict[str, str] = of(default_factory=dict)
    """Arrays that passes add to at any place, with the operator."""
    scan: Scan | None = None

    @property
    def parallel(self) -> bool:
        """Whether passes may run side by side once the scalars are private or reduced."""
        return not self.reason

    @property
    def free(self) -> bool:
        """Parallel, and nothing meets."""
        return self.parallel and not (self.reductions or self.extremes or self.histograms or self.scan)


def verdicts(nest: Nest) -> dict[Loop, Verdict]:
    """Of every loop."""
    return {loop: _judge(nest, loop) for loop in nest.all_loops}


def _judge(nest: Nest, loop: Loop) -> Verdict:
    if loop.head is None:
        return Verdict("nobody can say how often it runs")
    if jumps(loop):
        return Verdict("something leaves it before its end")
    call = impure(nest, loop.node)
    if call:
        return Verdict(f"{call} may do anything")
    verdict = Verdict()
    inner = [a for a in nest.accesses if loop in a.loops]
    arrays = _arrays(nest, loop, inner, verdict)
    if arrays:
        return Verdict(arrays)
    _scalars(nest, loop, verdict)
    return verdict


# --- arrays -------------------------------------------------------------------------------------------------------


def _arrays(nest: Nest, loop: Loop, inner: Sequence[Access], verdict: Verdict) -> str:
    """What keeps the loop in order because of an array; empty: nothing does."""
    inside = declared_names(loop.node)
    meeting = [pair for pair in _pairs(inner) if not {a.root for a in pair} & inside and carried(*pair, loop)]
    for array in dict.fromkeys(one.array for pair in meeting for one in pair):
        own = [a for a in inner if a.root == array.split(".")[0]]
        parts = [a for a in own if any(a in pair for pair in meeting)]
        operator = _updated(parts)
        if own[0].root in verdict.private or _compacted(loop, parts):
            continue
        if own[0].root in nest.local_arrays and _all_private(nest, loop, own):
            verdict.private += (own[0].root,)
        elif operator and array != ANYWHERE and not any(a.array != array for a in parts):
            verdict.histograms[array] = operator
        else:
            return f"passes meet in {array}" if array != ANYWHERE else "passes may meet where a pointer leads"
    return ""


def _compacted(loop: Loop, accesses: Sequence[Access]) -> bool:
    """Whether each pass writes at most the place `out[n]`, in the branch that `n` counts, and nobody reads the array."""
    body = field(loop.node, "body")
    for statement in unconditional(body):
        for place, operator, value in writes(statement):
            counted = operator == "+=" and value is not None and text(value).endswith(" ? 1 : 0")
            if (
                counted
                and statement.parent == body
                and all(_kept(a, text(place), text(value or place)) for a in accesses)
            ):
                return True
    return False


def _kept(access: Access, number: str, value: str) -> bool:
    node, inner = access.node.parent, access.node
    index = inner.child_by_field_name("indices") if inner.type == "subscript_expression" else None
    while node is not None and node.type != "if_statement":
        node = node.parent
    asked = f"{text(field(node, 'condition'))} ? 1 : 0" if node is not None else ""
    return access.write and index is not None and text(index) == f"[{number}]" and asked == value


def _pairs(accesses: Sequence[Access]) -> Iterable[tuple[Access, Access]]:
    for place, one in enumerate(accesses):
        for two in accesses[place:]:
            if (one.write or two.write) and one.meets(two):
                yield one, two


def carried(one: Access, two: Access, loop: Loop, order: str = "!=", more: str = "", other: Loop | None = None) -> bool:
    """Whether two different passes of the loop, the others around it the same, may meet in one place.

    `order` is how the first pass compares with the second, which may be one of another loop; `more` is asked for besides.
    """
    lost = ANYWHERE in (one.array, two.array) or one.unit != two.unit
    if one.place is None or two.place is None or lost:
        return True
    names, asked = meeting(one, two, loop, order, other)
    return not _empty(tuple(names), (*asked, more) if more else tuple(asked))


def meeting(
    one: Access, two: Access, loop: Loop, order: str = "!=", other: Loop | None = None
) -> tuple[list[str], list[str]]:
    """The variables of two passes that touch one place, and what holds of them; those of the loops around are the same."""
    outer = loop.around[:-1]
    names = [*(o.variable for o in outer), *_renamed(one, outer, "a"), *_renamed(two, outer, "b")]
    places = [_named(place, outer, end) for place, end in ((one.place or "", "a"), (two.place or "", "b"))]
    asked = [*_bounds(one, outer, "a"), *_bounds(two, outer, "b"), " = ".join(places)]
    return names, [*asked, f"{loop.variable}a {order} {(other or loop).variable}b"]


@lru_cache(maxsize=50_000)
def _empty(names: tuple[str, ...], asked: tuple[str, ...]) -> bool:
    return bool(islpy.Set(f"{{ [{', '.join(names)}] : {' and '.join(asked)} }}").is_empty())


def beyond(nest: Nest, sizes: Mapping[str, int]) -> str:
    """What a search that goes on behind its hit reads outside of its array; empty: nothing."""
    for one in nest.accesses:
        size = sizes.get(one.array, nest.extents.get(one.array, (None,))[0])
        if not any(o.head is not None and o.head.variable.startswith(GOES_ON) for o in one.loops):
            continue
        names = ", ".join(o.variable for o in one.loops)
        asked = " and ".join([*bounds(one.loops), *one.guards, f"({one.place} < 0 or {one.place} >= {size})"])
        if one.place is None or size is None or not islpy.Set(f"{{ [{names}] : {asked} }}").is_empty():
            return text(one.node)
    return ""


def _renamed(access: Access, outer: Sequence[Loop], end: str) -> list[str]:
    return [f"{one.variable}{end}" for one in access.loops if one not in outer]


def _named(value: Linear | str, outer: Sequence[Loop], end: str) -> str:
    same = {o.variable for o in outer}
    return re.sub(r"\bv\d+\b", lambda m: m[0] if m[0] in same else f"{m[0]}{end}", str(value))


def _bounds(access: Access, outer: Sequence[Loop], end: str) -> list[str]:
    """Where the loops around an access are when it happens."""
    return [_named(one, outer, end) for one in (*bounds(access.loops), *access.guards)]


def bounds(loops: Sequence[Loop]) -> list[str]:
    """The values that loops' variables take, as constraints."""
    found = []
    for loop in loops:
        if loop.head is None:
            continue
        up, step = loop.head.step > 0, abs(loop.head.step)
        if loop.low is not None:
            found.append(f"{loop.variable} {'>=' if up else '<='} {loop.low}")
            if step > 1:
                found.append(f"({loop.variable} - {loop.low}) mod {step} = 0")
        if loop.high is not None:
            found.append(f"{loop.variable} {'<' if up else '>'} {loop.high}")
    return found


def _updated(accesses: Sequence[Access]) -> str:
    """The operator of updates, where an array is spoken of in updates of one kind alone; else empty."""
    operators = set()
    for access in accesses:
        node = access.node.parent
        if node is None or node.type not in ("assignment_expression", "update_expression"):
            return ""
        if node.type == "assignment_expression" and field(node, "left") != access.node:
            return ""
        if not is_statement(access.node):
            return ""
        operators.add(COMBINED.get(text(field(node, "operator")), ""))
    return operators.pop() if len(operators) == 1 else ""


def only_updated(nest: Nest, loop: Loop, array: str) -> bool:
    """Whether a loop does nothing with an array but add to it: then each may add to a copy of its own."""
    return bool(_updated([a for a in nest.accesses if a.array == array and loop in a.loops]))


def _all_private(nest: Nest, loop: Loop, own: Sequence[Access]) -> bool:
    """The same of an array as a whole, or of each member of its structures."""
    arrays = {a.array for a in own}
    alone = all(len({a.unit for a in own if a.array == one}) == 1 for one in arrays)
    whole = own[0].root not in arrays or len(arrays) == 1
    return alone and whole and all(_private(nest, loop, [a for a in own if a.array == one]) for one in arrays)


def _private(nest: Nest, loop: Loop, own: Sequence[Access]) -> bool:
    """Whether each pass writes all that it reads of an array of the function's own, and nobody reads it afterwards."""
    if first_event(list(after(loop.node)), own[0].root) == "read" and any(
        a.root == own[0].root and loop not in a.loops and not a.write for a in nest.accesses
    ):
        return False
    sure = [w for w in own if w.write and certain(w, loop.node)]
    return all(_filled(read, sure, loop) for read in own if not read.write)


def certain(access: Access, outer: Node) -> bool:
    """Whether an access surely happens in every pass of the loops around it within a node, and how often they run is known."""
    if access.place is None or access.guards:
        return False
    node = access.node
    while node.parent is not None and node != outer:
        if node.parent.type in UNSURE and not (node.parent.type in LOOPS[:1] and field(node.parent, "body") == node):
            return False
        if node.parent.type == "binary_expression" and text(field(node.parent, "operator")) in ("&&", "||"):
            return False
        node = node.parent
    left = (j for j in walk(outer, *JUMPS, "continue_statement") if j.start_byte < access.node.start_byte)
    known = (
        one.head and one.low is not None and one.high is not None for one in access.loops if _holds(outer, one.node)
    )
    return not any(left) and all(known)


def _holds(outer: Node, inner: Node) -> bool:
    return outer != inner and outer.start_byte <= inner.start_byte < outer.end_byte


def _filled(read: Access, writes_: Sequence[Access], loop: Loop) -> bool:
    """Whether each place that is read was written earlier in the same pass of the loop."""
    if read.place is None:
        return False
    around = loop.around
    inner = [one.variable for one in read.loops if one not in around]
    names = ", ".join([*(one.variable for one in around), *inner])
    wanted = islpy.Set(f"{{ [{names}] : {' and '.join([*bounds(read.loops), *read.guards]) or '0 = 0'} }}")
    given = islpy.Set(f"{{ [{names}] : 0 = 1 }}")
    for write in writes_:
        own = [one for one in write.loops if one not in around]
        place = _named(write.place or "", around, "w")
        asked = [*(_named(one, around, "w") for one in bounds(write.loops)), f"{place} = {read.place}"]
        exists = f"exists {', '.join(f'{one.variable}w' for one in own)} : " if own else ""
        for before in _earlier(write, read, [one for one in own if one in read.loops]):
            given = given.union(islpy.Set(f"{{ [{names}] : {exists}{' and '.join([*asked, *before])} }}"))
    return bool(wanted.is_subset(given))


def _earlier(write: Access, read: Access, both: Sequence[Loop]) -> Iterable[list[str]]:
    """The ways in which a write may come before a read: in an earlier pass of a loop around both, or earlier in the text."""
    same = [f"{one.variable}w = {one.variable}" for one in both]
    for place, one in enumerate(both):
        order = "<" if one.head is not None and one.head.step > 0 else ">"
        yield [*same[:place], f"{one.variable}w {order} {one.variable}"]
    if write.node.end_byte <= _statement(read.node).start_byte:
        yield same


def _statement(node: Node) -> Node:
    while node.parent is not None and node.type not in ("expression_statement", "declaration", "return_statement"):
        if node.parent.type not in ("expression_statement", "declaration") and node.parent.type.endswith("statement"):
            break
        node = node.parent
    return node


# --- scalars ------------------------------------------------------------------------------------------------------


def keeps_nothing(nest: Nest, loop: Loop) -> bool:
    """Whether no scalar goes from one pass to the next, nothing leaves the loop, and its calls only compute."""
    verdict = Verdict()
    _scalars(nest, loop, verdict)
    return verdict.free and not jumps(loop) and not impure(nest, loop.node)


def _scalars(nest: Nest, loop: Loop, verdict: Verdict) -> None:
    body = field(loop.node, "body")
    inside = declared_names(loop.node)
    plain = {variable_of(p) for p, _, _ in writes(body)} - inside - {""}
    elsewhere = exposed(nest.function)
    arrays = set(nest.local_arrays)
    for name in sorted(plain - arrays):
        if name in elsewhere:
            verdict.reason = f"a pointer leads to {name}"
            return
        if first_event([body], name) != "read" and first_event(list(after(loop.node)), name) != "read":
            verdict.private += (name,)
            continue
        operator = reduction_of(body, name)
        extreme = extreme_of(body, name)
        if operator:
            verdict.reductions[name] = operator
        elif extreme is not None:
            verdict.extremes += [] if extreme in verdict.extremes else [extreme]
        elif (scan := scan_of(loop, body, name)) is not None and verdict.scan is None and not _reads_back(nest, loop):
            verdict.scan = scan
        else:
            verdict.reason = f"{name} goes from one pass to the next"
            return
    if verdict.scan is not None and (verdict.reductions or verdict.extremes or verdict.histograms):
        verdict.reason = f"{verdict.scan.variable} is a running sum beside others"


def _reads_back(nest: Nest, loop: Loop) -> bool:
    """Whether a pass may read memory behind a statement of its own that wrote it."""
    inside = [a for a in nest.accesses if loop in a.loops]
    stored = [(a, _statement(a.node).end_byte) for a in inside if a.write]
    return any(not b.write and a.meets(b) and end <= b.node.start_byte for a, end in stored for b in inside)


def element_type(nest: Nest, name: str) -> str:
    """The declared type of a variable of the function, without `const`."""
    return types(nest.function).get(name, ("float", False))[0].replace("const", "").strip()
