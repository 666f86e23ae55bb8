"""Places that a whole loop updates become locals: a sum into `out[i]`, and a running sum `a[i] = a[i - 1] + x[i]`."""

import re

from tree_sitter import Node

from kernelwright.nests.edits import Edit, ahead, behind, over
from kernelwright.nests.events import assigned, writes
from kernelwright.nests.heads import head_of, types
from kernelwright.nests.names import declared, declared_names, mentions
from kernelwright.nests.syntax import JUMPS, bare, base_of, field, statements, text, walk
from kernelwright.nests.values import unit_of


def promoted(function: Node) -> list[Edit] | None:
    """The outermost loop in which a place that never moves is updated, and its array is not spoken of otherwise."""
    kinds = types(function)
    for loop in walk(function, "for_statement"):
        if head_of(loop) is None or any(walk(loop, *JUMPS)):
            continue
        for place, operator, _ in writes(loop):
            array = text(base_of(place))
            if (
                place.type not in ("subscript_expression", "pointer_expression")
                or operator == "="
                or array not in kinds
                or _aliased(function, array)
            ):
                continue
            moving = assigned(loop) | declared_names(loop)
            spoken = [i for i in walk(loop, "identifier") if text(i) == array]
            places = [p for p, o, _ in writes(loop) if text(p) == text(place) and o != "="]
            if (
                len(spoken) != len(places)
                or any(text(i) in moving for i in walk(place, "identifier"))
                or _stores(loop, place)
            ):
                continue
            own = f"acc_{loop.start_byte}"
            kind = unit_of(kinds[array][0])
            return [
                ahead(loop, f"{{ {kind} {own} = {text(place)}; "),
                *(over(p, own) for p in places),
                behind(loop, f" {text(place)} = {own}; }}"),
            ]
    return None


def _aliased(function: Node, array: str) -> bool:
    """Whether another pointer of the function may lead to the same array."""
    made = [d for _, d, _ in declared(function) if d.type == "init_declarator" and "*" in text(field(d, "declarator"))]
    return any(mentions(d, array) for d in made) or any(text(p) == array for p, _, _ in writes(function))


def _stores(loop: Node, place: Node) -> bool:
    """Whether the loop writes what the place's subscript reads."""
    read = {text(base_of(s)) for s in walk(place, "subscript_expression") if s != place}
    return any(text(base_of(p)) in read for p, _, _ in writes(loop))


def running(function: Node) -> list[Edit] | None:
    """`a[i] = a[i - 1] + e` in a loop over `i` that does nothing else with `a`: the sum so far becomes a local."""
    kinds = types(function)
    for loop in walk(function, "for_statement"):
        head, body = head_of(loop), statements(field(loop, "body"))
        if (
            head is None
            or head.step != 1
            or len(body) != 1
            or body[0].type != "expression_statement"
            or not body[0].named_children
        ):
            continue
        one = bare(body[0].named_children[0])
        found = _recurrence(one, head.variable) if one.type == "assignment_expression" else None
        if found is None or found[0] not in kinds or _aliased(function, found[0]):
            continue
        array, before, value = found
        own, kind = f"run_{loop.start_byte}", unit_of(kinds[array][0])
        first = re.sub(rf"\b{head.variable}\b", f"({head.low})", before)
        return [
            ahead(loop, f"if (({head.high}) > ({head.low})) {{ {kind} {own} = {first}; "),
            (body[0].start_byte, body[0].end_byte, f"{{ {own} += {value}; {text(field(one, 'left'))} = {own}; }}"),
            behind(loop, " }"),
        ]
    return None


def _recurrence(one: Node, variable: str) -> tuple[str, str, str] | None:
    """The array, the place before, and what is added to it."""
    left, right, operator = field(one, "left"), bare(field(one, "right")), text(field(one, "operator"))
    here = _squeezed(left)
    back = {here.replace(f"[{variable}]", f"[{variable}-1]"), re.sub(rf"\b{variable}\]", f"{variable}-1]", here)}
    ahead_ = re.fullmatch(rf"(.*[\[+]{variable})\+(\d+)\]", here)  # `a[i + 1] = a[i] + e`
    if ahead_:
        back.add(f"{ahead_[1]}{f'+{int(ahead_[2]) - 1}' if ahead_[2] != '1' else ''}]")
    array = text(base_of(left))
    back.discard(here)
    if left.type != "subscript_expression" or not back:
        return None
    if operator == "+=" and _squeezed(right) in back:
        return array, text(right), text(left)
    if operator != "=" or right.type != "binary_expression" or text(field(right, "operator")) != "+":
        return None
    for before, value in ((field(right, "left"), field(right, "right")), (field(right, "right"), field(right, "left"))):
        if _squeezed(before) in back and (not mentions(value, array) or _squeezed(value) == here):
            return array, text(before), f"({text(value)})"
    return None


def _squeezed(node: Node) -> str:
    return re.sub(r"\s", "", text(node))
