"""Which loops of a nest run side by side, and legal changes of their order before that is asked."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import islpy
from tree_sitter import Node

from kernelwright.nests.dependence import Verdict, bounds, carried, keeps_nothing, verdicts
from kernelwright.nests.edits import Edit, edited, over
from kernelwright.nests.events import assigned
from kernelwright.nests.heads import unconditional
from kernelwright.nests.loops import Access, Loop, Nest
from kernelwright.nests.names import declared_names, identifiers
from kernelwright.nests.reader import read_nest
from kernelwright.nests.syntax import field, functions, parse, text, walk

BUSY = 64
"""Passes from which on one loop is enough for the cores of a CPU."""


LEAST = 64
"""Passes, with those of the loops within, from which on it pays to meet for a loop that is run again and again."""
OFTEN = 4096
"""Runs of a loop from which on it needs eight times as many passes."""
WIDE = 16
"""Passes on a line across two loops from which on it pays to meet behind each line."""
UNKNOWN = 1 << 20
"""Passes of a loop that nobody has counted."""


@dataclass(frozen=True)
class Shared:
    """Loops of which each nests perfectly in the one before; their passes run side by side, all at once."""

    loops: tuple[Loop, ...]
    verdict: Verdict


def shared(nest: Nest, known: Mapping[Loop, Verdict], enough: int) -> list[Shared]:
    """The loops to share out: the outermost that can be, each with more of the same nest until there are `enough` passes."""
    return [one for loop in nest.loops for one in within(loop, known, enough)]


def within(loop: Loop, known: Mapping[Loop, Verdict], enough: int, least: int = LEAST) -> list[Shared]:
    """The same of one loop; one that is run within another needs at least so many passes."""
    verdict = known[loop]
    inner = [one for child in loop.children for one in within(child, known, enough, least)]
    better = any(one.verdict.free for one in inner)
    if (
        not verdict.parallel
        or ((verdict.scan or verdict.histograms) and better)
        or (loop.passes is not None and loop.passes < 2)
        or (loop.parent is not None and work(loop) < least * (8 if least == LEAST and runs(loop) >= OFTEN else 1))
    ):
        return inner
    return [Shared(_collapsed(loop, known, enough), verdict)]


def work(loop: Loop) -> int:
    """How many passes a loop has, with those of the loops within it."""
    passes = loop.passes if loop.passes is not None else UNKNOWN
    return passes * max(1, sum(work(child) for child in loop.children))


def runs(loop: Loop) -> int:
    """How often a loop is run, as far as that has been counted."""
    return math.prod(one.passes or 1 for one in loop.around[:-1])


def _collapsed(loop: Loop, known: Mapping[Loop, Verdict], enough: int) -> tuple[Loop, ...]:
    found, passes = [loop], loop.passes
    while known[loop].free and passes is not None and passes < enough:
        inner = perfect(loop)
        if inner is None or not known[inner].free or inner.passes is None or known[inner].private:
            break
        found.append(inner)
        loop, passes = inner, passes * inner.passes
    return tuple(found)


def perfect(loop: Loop) -> Loop | None:
    """The loop that is all of this one's body, with bounds that this one does not move."""
    body = field(loop.node, "body")
    while body.type == "compound_statement" and len(body.named_children) == 1:
        body = body.named_children[0]
    inner = loop.children[0] if len(loop.children) == 1 and loop.children[0].node == body else None
    if inner is None or inner.head is None or loop.head is None:
        return None
    names = re.findall(r"\w+", f"{inner.head.low} {inner.head.high}")
    return inner if loop.head.variable not in names else None


_Wanted = Callable[[Nest, Mapping[Loop, Verdict], Loop, Loop], bool]


# --- order ---------------------------------------------------------------------------------------------------------


def outward(code: str, name: str, sizes: Mapping[str, int]) -> str:
    """A loop that is free goes out of one that is not, where that is legal: the sums of columns, column by column."""
    return _swapped(code, name, sizes, lambda nest, known, outer, inner: not known[outer].free and known[inner].free)


def by_stride(code: str, name: str, sizes: Mapping[str, int]) -> str:
    """The loop that walks through memory in smaller steps becomes the inner one, where that is legal."""
    return _swapped(code, name, sizes, lambda nest, known, outer, inner: _jumps(nest, inner) > _jumps(nest, outer))


def _swapped(code: str, name: str, sizes: Mapping[str, int], wanted: _Wanted) -> str:
    for _ in range(20):
        nest = read_nest(code, name, sizes)
        known = verdicts(nest)
        pairs = ((loop, inner) for loop in nest.all_loops if (inner := perfect(loop)) is not None)
        pair = next((p for p in pairs if wanted(nest, known, *p) and _may_swap(nest, known, *p)), None)
        if pair is None:
            break
        code = edited(code, _heads_swapped(*(one.node for one in pair)))
    return code


def _jumps(nest: Nest, loop: Loop) -> int:
    """How many accesses leave their line of memory from one pass to the next."""
    places = [a.place for a in nest.accesses if loop in a.loops]
    return sum(place is None or abs(place.factors.get(loop.variable, 0)) > 1 for place in places)


def _may_swap(nest: Nest, known: Mapping[Loop, Verdict], outer: Loop, inner: Loop) -> bool:
    """No two passes that meet change their order, and no scalar but a sum goes from one to the next."""
    for one in (outer, inner):
        verdict = known[one]
        if not verdict.parallel or verdict.scan or verdict.extremes:
            return False
    inside = [a for a in nest.accesses if inner in a.loops]
    met = ((a, b) for a in inside for b in inside if (a.write or b.write) and a.meets(b))
    return not any(_turned(a, b, outer, inner) for a, b in met if a.array not in known[outer].histograms)


def _turned(one: Access, two: Access, outer: Loop, inner: Loop) -> bool:
    return carried(one, two, outer, "<", f"{inner.variable}a > {inner.variable}b")


def _heads_swapped(outer: Node, inner: Node) -> list[Edit]:
    spans = [(n.start_byte, field(n, "body").start_byte) for n in (outer, inner)]
    own = [text(n)[: end - start] for n, (start, end) in zip((outer, inner), spans, strict=True)]
    return [(*spans[0], own[1]), (*spans[1], own[0])]


def slanted(code: str, name: str, sizes: Mapping[str, int]) -> str:
    """Two loops of which each needs the order become fronts: what lies on one line across both runs side by side."""
    nest = read_nest(code, name, sizes)
    for outer in reversed(nest.all_loops):
        inner, sunk = _with_sunk(outer)
        if inner is None or not all(one.head and abs(one.head.step) == 1 for one in (outer, inner)):
            continue
        if not all(keeps_nothing(nest, one) for one in (outer, inner)):
            continue
        for weight in (1, 2, 3):
            front = _front(nest, outer, inner, weight)
            if front is not None:
                return edited(code, [over(outer.node, _fronts(outer, inner, sunk, weight, front))])
    return code


def _with_sunk(outer: Loop) -> tuple[Loop | None, str]:
    """The loop that is all of a body but for pointers and numbers that it begins with, and those."""
    body = list(unconditional(field(outer.node, "body")))
    inner = outer.children[0] if len(outer.children) == 1 and body and outer.children[0].node == body[-1] else None
    if inner is None or inner.head is None:
        return None, ""
    for one in body[:-1]:
        busy = any(walk(one, "call_expression", "update_expression", "assignment_expression", "subscript_expression"))
        if one.type != "declaration" or busy or declared_names(one) & assigned(field(inner.node, "body")):
            return None, ""
    return inner, " ".join(text(one) for one in body[:-1])


def _line(outer: Loop, inner: Loop, weight: int, end: str) -> str:
    ahead_ = [one.head.step if one.head else 1 for one in (outer, inner)]
    return f"({weight * ahead_[0]}*{outer.variable}{end} + {ahead_[1]}*{inner.variable}{end})"


def _front(nest: Nest, outer: Loop, inner: Loop, weight: int) -> tuple[int, int, int, int] | None:
    """The first and last line, and pass of the outer loop; None: passes would change their order, or a line is too short."""
    inside = [a for a in nest.accesses if outer in a.loops]
    met = [(a, b) for a in inside for b in inside if (a.write or b.write) and a.meets(b)]
    known = all(v is not None for one in inner.around for v in (one.low, one.high))
    if not known or outer.head is None or any(inner not in a.loops for a, _ in met):
        return None
    order = "<" if outer.head.step > 0 else ">"
    wrong = f"{_line(outer, inner, weight, 'a')} >= {_line(outer, inner, weight, 'b')}"
    if any(carried(a, b, outer, order, wrong) for a, b in met):
        return None
    names = ", ".join(one.variable for one in inner.around)
    spans = list[int]()
    for what in (_line(outer, inner, weight, ""), outer.variable, inner.variable):
        found = islpy.Set(f"{{ [w] : exists {names} : w = {what} and {' and '.join(bounds(inner.around))} }}")
        if found.is_empty():
            return None
        spans += [int(found.dim_min_val(0).to_python()), int(found.dim_max_val(0).to_python())]
    lines, rows, columns = (last - first + 1 for first, last in zip(spans[::2], spans[1::2], strict=True))
    return (spans[0], spans[1], spans[2], spans[3]) if rows * columns >= WIDE * lines else None


def _fronts(outer: Loop, inner: Loop, sunk: str, weight: int, front: tuple[int, int, int, int]) -> str:
    assert outer.head is not None
    assert inner.head is not None
    line, key = f"front_{outer.node.start_byte}", (outer.head, inner.head)
    row, column = (one.variable for one in key)
    kind = text(field(field(inner.node, "initializer"), "type"))
    far = f"{line} - {weight * key[0].step} * {row}" if weight * key[0].step > 0 else f"{line} + {weight} * {row}"
    place = far if key[1].step > 0 else f"-({far})"
    asked = [
        f"({h.variable} {'>=' if h.step > 0 else '<='} ({h.low})) && ({h.variable} {h.order} ({h.high}))" for h in key
    ]
    return (
        f"for (int {line} = {front[0]}; {line} <= {front[1]}; ++{line}) "
        f"for (int {row} = {front[2]}; {row} <= {front[3]}; ++{row}) "
        f"{{ const {kind} {column} = {place}; {sunk} if ({' && '.join(asked)}) {{ {text(field(inner.node, 'body'))} }} }}"
    )


def fused(code: str, name: str, sizes: Mapping[str, int]) -> str:
    """Neighbouring loops with the same bounds become one, where no pass of the second needs a later one of the first."""
    for _ in range(20):
        nest = read_nest(code, name, sizes)
        known = verdicts(nest)
        pair = next((p for p in _neighbours(nest) if _may_fuse(nest, known, *p)), None)
        if pair is None:
            break
        one, two = pair
        assert one.head is not None
        assert two.head is not None
        first, second = field(one.node, "body"), field(two.node, "body")
        renamed = [
            (i.start_byte - second.start_byte, i.end_byte - second.start_byte, one.head.variable)
            for i in walk(second, "identifier")
            if text(i) == two.head.variable
        ]
        body = f"{{ {text(first)} {edited(text(second), renamed)} }}"
        code = edited(code, [over(first, body), over(two.node, "")])
    return code


def _neighbours(nest: Nest) -> list[tuple[Loop, Loop]]:
    found = []
    for loops in [nest.loops, *(loop.children for loop in nest.all_loops)]:
        for one, two in pairwise(loops):
            heads = one.head, two.head
            same = (
                heads[0]
                and heads[1]
                and one.low == two.low
                and one.high == two.high
                and heads[0].step == heads[1].step
                and one.low
                and one.high
            )
            if same and one.node.next_named_sibling == two.node:
                found.append((one, two))
    return found


def _may_fuse(nest: Nest, known: Mapping[Loop, Verdict], one: Loop, two: Loop) -> bool:
    if not (known[one].free and known[two].free):
        return False
    pairs = [(a, b) for a in nest.accesses if one in a.loops for b in nest.accesses if two in b.loops]
    if set(known[one].private) & set(known[two].private):
        return False
    return not any(_later(a, b, one, two) for a, b in pairs if (a.write or b.write) and a.meets(b))


def _later(a: Access, b: Access, one: Loop, two: Loop) -> bool:
    """Whether a pass of the first touches what an earlier pass of the second touches too."""
    return carried(a, b, one, ">", "", two)


def reachable(code: str, name: str) -> str:
    """The file without what the function does not call."""
    known, wanted, queue = functions(parse(code)), set[str](), [name]
    while queue:
        one = queue.pop()
        if one in known and one not in wanted:
            wanted.add(one)
            queue += [text(i) for i in walk(known[one], "identifier")]
    cut = [f for n, f in known.items() if n not in wanted]
    declared = [
        n for n in parse(code).named_children if n.type == "declaration" and any(walk(n, "function_declarator"))
    ]
    cut += [d for d in declared if name in (called := identifiers(d)) or not called & wanted]
    return edited(code, [over(c, "") for c in cut]).strip()
