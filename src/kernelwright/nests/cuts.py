"""Loops that become several: cut around the one pass that keeps the others in order, or parted from what comes before it.

In step `k` of Floyd's paths row `k` alone is both written and read by other rows: what lies before it needs no order, and
neither does what lies behind it. A cut leaves every pass where it was; isl says whether it gains anything.
"""

from collections.abc import Mapping, Sequence

import islpy
from tree_sitter import Node

from kernelwright.nests.calls import impure
from kernelwright.nests.dependence import bounds, carried, keeps_nothing, meeting, verdicts
from kernelwright.nests.edits import edited, over
from kernelwright.nests.events import assigned
from kernelwright.nests.heads import leaves, unconditional
from kernelwright.nests.loops import Access, Loop, Nest, jumps
from kernelwright.nests.names import declared_names, identifiers
from kernelwright.nests.normal import unique
from kernelwright.nests.plan import within, work
from kernelwright.nests.reader import read_nest
from kernelwright.nests.syntax import field, text, walk

WORTH = 4096
"""Passes, with those of the loops within, from which on a loop is cut: its parts meet each time."""
_Pair = tuple[Access, Access]


def cut(code: str, name: str, sizes: Mapping[str, int]) -> str:
    """Loops that one of their passes keeps in order, as what comes before it, itself, and what comes behind it."""
    for _ in range(20):
        nest = read_nest(code, name, sizes)
        known = verdicts(nest)
        ordered = (
            loop
            for loop in nest.all_loops
            if known[loop].reason
            and not within(loop, known, 1)
            and not any(known[o].parallel for o in loop.around[:-1])
        )
        found = next(((loop, place) for loop in ordered if (place := _alone(nest, loop))), None)
        if found is None:
            return code
        code = unique(edited(code, [over(found[0].node, _three(*found))]), name)
    return code


def _alone(nest: Nest, loop: Loop) -> str:
    """The pass without which none would meet, as C; empty: there is none, or it may not be among the passes."""
    counted = loop.head is not None and abs(loop.head.step) == 1 and loop.low is not None and loop.high is not None
    if not counted or work(loop) < WORTH or leaves(field(loop.node, "body"), "continue_statement"):
        return ""
    if not keeps_nothing(nest, loop):
        return ""
    inside = [a for a in nest.accesses if loop in a.loops and a.root not in declared_names(loop.node)]
    met = [(a, b) for a in inside for b in inside if (a.write or b.write) and a.meets(b) and carried(a, b, loop)]
    if any(a.place is None for pair in met for a in pair):
        return ""
    for outer, factor, number in _places(met[0], loop) if met else []:
        place = f"({factor}*{outer.variable} + {number})" if outer else f"({number})"
        others = f"{loop.variable}a != {place} and {loop.variable}b != {place}"
        if not any(carried(a, b, loop, more=others) for a, b in met) and _among(place, loop):
            return _said(outer, factor, number)
    return ""


def _said(outer: Loop | None, factor: int, number: int) -> str:
    if outer is None or outer.head is None:
        return f"({number})"
    return f"({'-' if factor < 0 else ''}{outer.head.variable}{f' + ({number})' if number else ''})"


def _places(pair: _Pair, loop: Loop) -> list[tuple[Loop | None, int, int]]:
    """What one of two passes that meet always is: a number, or a number before or behind the variable of a loop around."""
    found = list[tuple[Loop | None, int, int]]()
    names, asked = meeting(*pair, loop)
    for end in "ab":
        for outer, factor in [(None, 0), *((o, f) for o in loop.around[:-1] if o.head for f in (1, -1))]:
            what = f"{loop.variable}{end}" + (f" - {factor}*{outer.variable}" if outer else "")
            span = islpy.Set(f"{{ [w] : exists {', '.join(names)} : w = {what} and {' and '.join(asked)} }}")
            low, high = span.dim_min_val(0), span.dim_max_val(0)
            if low.is_int() and high.is_int() and low == high:
                found.append((outer, factor, int(low.to_python())))
    return found


def _among(place: str, loop: Loop) -> bool:
    """Whether each run of the loop has that pass."""
    names = ", ".join(o.variable for o in loop.around[:-1])
    every = islpy.Set(f"{{ [{names}] : {' and '.join(bounds(loop.around[:-1])) or '0 = 0'} }}")
    asked = " and ".join([f"{loop.variable} = {place}", *bounds(loop.around)])
    return bool(every.is_subset(islpy.Set(f"{{ [{names}] : exists {loop.variable} : {asked} }}")))


def _three(loop: Loop, place: str) -> str:
    head, body = loop.head, text(field(loop.node, "body"))
    assert head is not None
    kind, step = text(field(field(loop.node, "initializer"), "type")), f"{head.variable} += {head.step}"
    near, far = (
        f"{head.variable} {'<' if head.step > 0 else '>'} {place}",
        f"{head.variable} {head.order} ({head.high})",
    )
    first = f"for ({kind} {head.variable} = {head.low}; {near}; {step}) {body}"
    last = f"for ({kind} {head.variable} = {place} + ({head.step}); {far}; {step}) {body}"
    return f"{{ {first} {{ const {kind} {head.variable} = {place}; {body} }} {last} }}"


def parted(code: str, name: str, sizes: Mapping[str, int]) -> str:
    """What stands before a loop's inner one gets a loop of its own, where it needs nothing of an earlier inner one."""
    nest = read_nest(code, name, sizes)
    for outer in nest.all_loops:
        body = list(unconditional(field(outer.node, "body")))
        if outer.head is None or len(outer.children) != 1 or len(body) < 2 or body[-1] != outer.children[0].node:
            continue
        kept = not any(identifiers(one) & assigned(body[-1]) for one in body[:-1])
        known = outer.low is not None and outer.high is not None
        whole = known and not jumps(outer) and not impure(nest, outer.node)
        if whole and kept and all(_moves(one) for one in body[:-1]) and not _needed(nest, outer, body[:-1]):
            head = nest.code.encode()[outer.node.start_byte : field(outer.node, "body").start_byte].decode()
            first = " ".join(text(one) for one in body[:-1])
            said = f"{{ {head} {{ {first} }} {head} {{ {text(body[-1])} }} }}"
            return unique(edited(code, [over(outer.node, said)]), name)
    return code


def _moves(one: Node) -> bool:
    """Whether a statement does nothing but store elements."""
    plain = one.type == "expression_statement" and not any(walk(one, "call_expression", "update_expression"))
    return plain and not assigned(one)


def _needed(nest: Nest, outer: Loop, first: Sequence[Node]) -> bool:
    """Whether what comes first in a pass meets what an earlier pass did in its inner loop."""
    assert outer.head is not None
    inside = [a for a in nest.accesses if outer in a.loops]
    own = [a for a in inside if any(o.start_byte <= a.node.start_byte < o.end_byte for o in first)]
    later = ">" if outer.head.step > 0 else "<"
    pairs = ((a, b) for a in own for b in inside if b not in own and (a.write or b.write) and a.meets(b))
    return any(carried(a, b, outer, later) for a, b in pairs)
