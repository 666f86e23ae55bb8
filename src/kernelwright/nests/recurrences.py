"""Recurrences that are sums by algebra: compensated sums, sums of running sums, and both under a modulus.

A compensated sum is followed with its terms as unknowns: what is zero at first and zero again after every pass, in exact
arithmetic, corrects rounding alone. The sum is then taken in double precision, which loses less than a compensated `float`.
A sum of a running sum counts each term as often as passes are left; and a modulus may be taken at the end, as long as no
number was too large for its type before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.nests.calls import PURE
from kernelwright.nests.edits import Edit, ahead, behind, over
from kernelwright.nests.events import assigned, exposed, first_event, writes
from kernelwright.nests.heads import WHOLE, Head, after, head_of, types, unconditional
from kernelwright.nests.names import declared, declared_names, identifiers
from kernelwright.nests.syntax import JUMPS, LOOPS, bare, base_of, called, field, text, walk

_Sum = dict[str, int]
"""Of each term as written, how often it is added."""
_ZERO = re.compile(r"^0+(\.0*)?[fF]?$")
_SIGNS = {"=": 1, "+=": 1, "-=": -1}
LARGEST = 1 << 31
"""What a modulus stays below, so that products of two remainders and sums of as many passes fit into 64 bits."""
_BYTES = re.compile(r"^(const )?(unsigned char|uint8_t)$")
_LONG = "unsigned long"


# --- compensated sums ---------------------------------------------------------------------------------------------


def compensated(function: Node) -> list[Edit] | None:
    """A sum whose other variables correct its rounding, in double precision and without these."""
    kinds = types(function)
    for loop in walk(function, "for_statement"):
        body = field(loop, "body")
        if head_of(loop) is None or any(walk(body, *JUMPS, *LOOPS, "continue_statement")) or not _computes(body):
            continue
        given = assigned(body) - declared_names(body)
        state = {v for v in given if first_event([body], v) == "read" or first_event(list(after(loop)), v) == "read"}
        kept, dirty = _apart(body, given)
        floats = all(kinds.get(v, ("", True)) == ("float", False) for v in state) and not state & exposed(function)
        if not floats or not all(_real(kinds.get(v)) for v in dirty):
            continue
        for name in sorted(state):
            zero = state - {name}
            terms = _terms(body, name, zero, dirty) if zero else {}
            if terms and all(_ZERO.match(_begins(function, v, loop)) for v in zero):
                own = f"wide_{loop.start_byte}"
                added = " + ".join(f"{often} * (double)({term})" for term, often in terms.items())
                return [
                    ahead(loop, f"{{ double {own} = 0; "),
                    over(body, f"{{ {' '.join(map(text, kept))} {own} += {added}; }}"),
                    behind(loop, f" {name} = (float)({name} + {own}); }}"),
                ]
    return None


def _real(kind: tuple[str, bool] | None) -> bool:
    return kind is not None and not kind[1] and kind[0].replace("const", "").strip() in ("float", "double")


def _computes(body: Node) -> bool:
    """Whether a body stores nothing but scalars, and calls what only computes."""
    plain = all(place.type == "identifier" for place, _, _ in writes(body))
    return plain and all(called(call) in PURE for call in walk(body, "call_expression"))


def _begins(function: Node, name: str, loop: Node) -> str:
    """What a variable is declared as, where nothing but this loop gives it another value; else empty."""
    value = next((o.child_by_field_name("value") for _, o, n in declared(function) if text(n) == name), None)
    places = (place for place, _, _ in writes(function) if text(place) == name)
    within = all(loop.start_byte <= p.start_byte < loop.end_byte for p in places)
    return text(value) if value is not None and within else ""


def _apart(body: Node, given: set[str]) -> tuple[list[Node], set[str]]:
    """The declarations that say nothing of what passes hand on, and the variables that may."""
    dirty, kept = given | {text(place) for place, _, _ in writes(body)}, list[Node]()
    for one in walk(body, "declaration"):
        if identifiers(one) & dirty:
            dirty |= declared_names(one)
        elif one.parent == body:
            kept.append(one)
    return kept, dirty


def _terms(body: Node, name: str, zero: set[str], dirty: set[str]) -> _Sum:
    """What a pass adds to a variable, where all others are zero after it if they were before; empty: it is no such sum."""
    known = {name: {name: 1}, **{other: {} for other in zero}}
    if not _follow(body, known, dirty) or any(known[other] for other in zero):
        return {}
    return {term: often for term, often in known[name].items() if term != name} if known[name].get(name) == 1 else {}


def _follow(block: Node, known: dict[str, _Sum], dirty: set[str]) -> bool:
    """Carry sums through statements; False: something is no sum. Both ways of a choice must come to the same."""
    for one in unconditional(block):
        given = list[tuple[str, str, Node | None]]()
        if one.type == "declaration":
            given = [(text(name), "=", o.child_by_field_name("value")) for _, o, name in declared(one)]
        elif one.type == "expression_statement":
            given = [(text(place), operator, value) for place, operator, value in writes(one)]
        elif not _either_way(one, known, dirty):
            return False
        for name, operator, value in given:
            worth = _worth(value, known, dirty) if value is not None and len(given) == 1 else None
            if worth is None or operator not in _SIGNS or (operator != "=" and name not in known):
                return False
            known[name] = worth if operator == "=" else _plus(known[name], worth, _SIGNS[operator])
    return True


def _either_way(choice: Node, known: dict[str, _Sum], dirty: set[str]) -> bool:
    other = choice.child_by_field_name("alternative") if choice.type == "if_statement" else None
    if other is None or any(True for _ in writes(field(choice, "condition"))):
        return False
    left, right = dict(known), dict(known)
    ways = ((field(choice, "consequence"), left), (other.named_children[-1], right))
    same = all(_follow(way, found, dirty) for way, found in ways) and left == right
    known.update(left)
    return same


def _worth(node: Node, known: Mapping[str, _Sum], dirty: set[str]) -> _Sum | None:
    """An expression as a sum of terms that know nothing of other passes; None: it is none."""
    node = bare(node)
    if text(node) in known:
        return known[text(node)]
    if _ZERO.match(text(node)):
        return {}
    operator = text(field(node, "operator")) if node.type in ("binary_expression", "unary_expression") else ""
    if operator in ("+", "-"):
        parts = ("left", "right") if node.type == "binary_expression" else ("argument",)
        worth = [_worth(field(node, part), known, dirty) for part in parts]
        first, last = ({}, worth[0]) if len(worth) == 1 else worth
        return None if first is None or last is None else _plus(first, last, 1 if operator == "+" else -1)
    return None if identifiers(node) & dirty else {text(node): 1}


def _plus(one: _Sum, two: _Sum, times: int) -> _Sum:
    both = {term: one.get(term, 0) + times * two.get(term, 0) for term in (*one, *two)}
    return {term: often for term, often in both.items() if often}


# --- sums of running sums, and remainders ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Step:
    """`name += value`, or `name = (name + value) % modulus`."""

    statement: Node
    name: str
    value: Node
    modulus: int


def summed_twice(function: Node) -> list[Edit] | None:
    """`s += x; t += s;` adds each `x` to `t` as often as passes are left; a modulus is taken at the end."""
    kinds = types(function)
    for loop in walk(function, "for_statement"):
        head, body = head_of(loop), field(loop, "body")
        if head is None or abs(head.step) != 1 or any(walk(body, *JUMPS, "continue_statement")):
            continue
        steps = [step for one in unconditional(body) if (step := _step(one)) is not None]
        for one in steps:
            two = next((t for t in steps if text(bare(t.value)) == one.name and t.modulus == one.modulus), None)
            own = {one.name, two.name} if two else {one.name}
            alone = (two or one.modulus) and _apart_from(function, body, own, one, two)
            if alone and _fits(function, loop, one, two, kinds):
                return _weighted(loop, head, one, two, kinds)
    return None


def _step(one: Node) -> _Step | None:
    found = list(writes(one)) if one.type == "expression_statement" else []
    if len(found) != 1 or found[0][0].type != "identifier" or found[0][2] is None:
        return None
    name, operator, value = text(found[0][0]), found[0][1], bare(found[0][2])
    if operator == "+=":
        return _Step(one, name, value, 0)
    whole = value.type == "binary_expression" and text(field(value, "operator")) == "%" and operator == "="
    modulus = _number(field(value, "right")) if whole else 0
    added = bare(field(value, "left")) if whole else value
    if not 1 < modulus < LARGEST or added.type != "binary_expression" or text(field(added, "operator")) != "+":
        return None
    sides = [bare(field(added, side)) for side in ("left", "right")]
    other = next((b for a, b in (sides, sides[::-1]) if text(a) == name), None)
    return _Step(one, name, other, modulus) if other is not None else None


def _number(node: Node) -> int:
    """A literal's value; 0: it is none."""
    found = re.fullmatch(r"(\d+)[uUlL]*", text(bare(node)))
    return int(found[1]) if found and not found[1].startswith("0") else 0


def _apart_from(function: Node, body: Node, own: set[str], one: _Step, two: _Step | None) -> bool:
    """Whether a body speaks of the sums in these steps alone, and what is added changes nothing."""
    steps = [one.statement, *([two.statement] if two else [])]
    spoken = sum(text(i) in own for i in walk(body, "identifier"))
    inside = sum(text(i) in own for step in steps for i in walk(step, "identifier"))
    calls = all(called(c) in PURE for c in walk(one.value, "call_expression"))
    calls = calls and not any(walk(one.value, "update_expression", "assignment_expression"))
    alone = not identifiers(one.value) & own and len(own) == len(steps)
    return spoken == inside and alone and calls and not own & exposed(function)


def _fits(function: Node, loop: Node, one: _Step, two: _Step | None, kinds: Mapping[str, tuple[str, bool]]) -> bool:
    """Whether types and numbers are such that neither order of adding can be told from the other but by rounding."""
    given = [kinds.get(step.name, ("", True)) for step in (one, two) if step]
    plain = {kind.replace("const", "").strip() for kind, many in given}
    if any(many for _, many in given) or len(plain) != 1:
        return False
    if not one.modulus:
        return plain < {"float", "double"} or (WHOLE.match(next(iter(plain))) is not None and _whole(one.value, kinds))
    most = _most(one.value, kinds)
    begins = (_begins(function, step.name, loop) for step in (one, two) if step)
    below = all(re.fullmatch(r"\d{1,9}[uUlL]*", said) and int(said.rstrip("uUlL")) < one.modulus for said in begins)
    wide = re.fullmatch(r"unsigned( int| long)?|int|long|u?int(32|64)_t|size_t", next(iter(plain)))
    return bool(wide) and below and most is not None and max(2 * one.modulus, one.modulus + most) < LARGEST


def _whole(node: Node, kinds: Mapping[str, tuple[str, bool]]) -> bool:
    """Whether all that an expression speaks of is whole, so that wrapping around is the same in any order."""
    named = all(i in kinds and WHOLE.match(kinds[i][0].strip()) for i in identifiers(node))
    numbers = all(re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", text(n)) for n in walk(node, "number_literal"))
    casts = all(WHOLE.match(text(field(n, "type"))) for n in walk(node, "cast_expression"))
    return named and numbers and casts and not any(walk(node, "call_expression", "field_expression"))


def _most(node: Node, kinds: Mapping[str, tuple[str, bool]]) -> int | None:
    """What an expression that is never negative never passes; None: nobody knows."""
    node = bare(node)
    if node.type == "number_literal":
        return _number(node) or None
    if node.type in ("subscript_expression", "pointer_expression", "identifier"):
        pointers = [
            kinds[i][0] for i in identifiers(base_of(node)) if i in kinds and (kinds[i][1] or node == base_of(node))
        ]
        plain = pointers and not any(walk(node, "cast_expression", "call_expression", "field_expression"))
        return 255 if plain and all(map(_BYTES.match, pointers)) else None
    operator = text(field(node, "operator")) if node.type == "binary_expression" else ""
    if operator == "+":
        both = [_most(field(node, side), kinds) for side in ("left", "right")]
        return sum(b for b in both if b is not None) if None not in both else None
    return None


def _weighted(
    loop: Node, head: Head, one: _Step, two: _Step | None, kinds: Mapping[str, tuple[str, bool]]
) -> list[Edit]:
    kind = kinds[one.name][0].replace("const", "").strip()
    wide = "double" if kind in ("float", "double") else _LONG
    key, m, value = loop.start_byte, one.modulus, text(one.value)
    many, total, twice = f"many_{key}", f"sum_{key}", f"twice_{key}"
    left = f"{head.variable} - ({head.low})" if head.step > 0 else f"({head.low}) - {head.variable}"
    late = two is not None and two.statement.start_byte < one.statement.start_byte
    weight = f"({many} - ({_LONG})({left}){' - 1' if late else ''})"
    rest = (lambda said: f"({said}) % {m}") if m else (lambda said: said)
    term = rest(f"{rest(weight)} * {rest(f'({wide})({value})')}")
    passes = f"const {_LONG} {many} = {head.passes}; {wide} {total} = 0;"
    made = [over(one.statement, f"{{ {total} += ({wide})({value});{f' {twice} += {term};' if two else ''} }}")]
    end = f" {one.name} = ({kind})({rest(f'{one.name} + {rest(total)}')});"
    if two is not None:
        passes += f" {wide} {twice} = 0;"
        made.append(over(two.statement, ";"))
        whole = f"{two.name} + ({wide})({rest(many)}) * {one.name} + {twice}"
        end = f" {two.name} = ({kind})({rest(whole)});" + end
    return [ahead(loop, f"{{ {passes} "), *made, behind(loop, f"{end} }}")]
