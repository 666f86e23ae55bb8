"""What depends on what was found so far, in words that can be shared out.

A place that moves only where something is kept is a running sum; a best known by its index alone gets a value; a pointer that
moves now and then is an index; and a number that never changes stands for itself.
"""

import re

from tree_sitter import Node

from kernelwright.nests.heads import head_of, types, unconditional
from kernelwright.nests.syntax import (
    JUMPS,
    LOOPS,
    Edit,
    ahead,
    assigned,
    bare,
    base_of,
    behind,
    declarators,
    declared,
    declared_names,
    field,
    identifiers,
    mentions,
    over,
    statements,
    text,
    type_of,
    walk,
    writes,
)

_BUSY = ("call_expression", "update_expression", "assignment_expression", "lambda_expression")
_SUM = ("identifier", "number_literal", "binary_expression", "parenthesized_expression")


def told(function: Node) -> list[Edit] | None:
    """`int first = row - half;`, which stays so, is said where it is used."""
    body = field(function, "body")
    for declaration, one, name in declared(body):
        value, variable = one.child_by_field_name("value"), text(name)
        scope = declaration.parent
        if (
            value is None
            or scope is None
            or scope.type != "compound_statement"
            or type_of(declaration) not in ("int", "const int")
        ):
            continue
        sums = all(n.type in _SUM for n in walk(value) if n.is_named) and re.fullmatch(r"[\w\s()+-]+", text(value))
        used = [i for i in walk(scope, "identifier") if text(i) == variable and i != name]
        stored = {text(p) for p, _, _ in writes(body)}
        moved = {text(p) for p, _, _ in writes(scope)} | declared_names(scope)
        kept = all(i not in moved and _only(i, function) for i in identifiers(value))
        pointed = any(text(n) == f"&{variable}" for n in walk(body, "pointer_expression"))
        if sums and kept and used and variable not in stored and not pointed:
            said = text(value) if value.type in ("identifier", "number_literal") else f"({text(value)})"
            return [over(i, said) for i in used]
    return None


def _only(name: str, function: Node) -> bool:
    """Whether a name is an `int`."""
    return types(function).get(name, ("", True)) in (("int", False), ("const int", False))


def placed(function: Node) -> list[Edit] | None:
    """`T *to = out; … *to++ = v;` somewhere in a branch: `to` is `out + to_at`."""
    body, kinds = field(function, "body"), types(function)
    for declaration, one, name in declared(body):
        value, variable = one.child_by_field_name("value"), text(name)
        plain = value is not None and value.type == "identifier" and kinds.get(text(value), ("", False))[1]
        if not plain or value is None or declaration.type != "declaration" or len(declarators(declaration)) != 1:
            continue
        array, steps = text(value), [(p, o) for p, o, _ in writes(body) if text(p) == variable]
        wild = any(o not in ("++", "--", "+=", "-=") for _, o in steps) or array in assigned(function)
        if wild or not any(_perhaps(p, body) for p, _ in steps) or text(field(one, "declarator")).count("*") != 1:
            continue
        own, made = f"{variable}_at", list[Edit]()
        for i in walk(body, "identifier"):
            if text(i) == variable and i != name:
                made.append(_place(i, array, own, {p.start_byte for p, _ in steps}))
        return [over(declaration, f"long {own} = 0;"), *made]
    return None


def _perhaps(place: Node, body: Node) -> bool:
    """Whether a step stands in a branch of a loop."""
    node, branch = place, False
    while node.parent is not None and node != body:
        branch = branch or node.type == "if_statement"
        if node.type in LOOPS and branch:
            return True
        node = node.parent
    return False


def _place(i: Node, array: str, own: str, steps: set[int]) -> Edit:
    outer = i.parent
    if i.start_byte in steps:
        return over(i, own)
    if outer is not None and outer.type == "pointer_expression" and text(field(outer, "operator")) == "*":
        return over(outer, f"{array}[{own}]")
    if outer is not None and outer.type == "subscript_expression" and field(outer, "argument") == i:
        index = text(outer)[i.end_byte - outer.start_byte :].strip()[1:-1]
        return over(outer, f"{array}[{own} + ({index})]")
    return over(i, f"({array} + {own})")


def compacted(function: Node) -> list[Edit] | None:
    """`if (c) { out[n] = v; n++; }` advances `n` outside: `n += (c) ? 1 : 0;`."""
    for loop in walk(function, "for_statement"):
        last = _last(loop)
        if head_of(loop) is None or last is None or last.type != "if_statement":
            continue
        inside, condition = list(unconditional(field(last, "consequence"))), field(last, "condition")
        steps = [s for s in inside if re.fullmatch(r"(\+\+(\w+)|(\w+)\+\+|(\w+) \+= 1);", text(s))]
        if (
            last.child_by_field_name("alternative") is not None
            or len(steps) != 1
            or len(inside) < 2
            or steps[0] != inside[-1]
        ):
            continue
        number = next(text(p) for p, _, _ in writes(steps[0]))
        kept = {text(base_of(p)) for p, _, _ in writes(field(last, "consequence"))}
        quiet = not any(walk(condition, *_BUSY)) and not identifiers(condition) & kept
        alone = sum(text(p) == number for p, _, _ in writes(loop)) == 1
        if quiet and alone and not any(walk(loop, *JUMPS, "continue_statement")):
            step = f" {number} += {text(condition)} ? 1 : 0;"
            body = field(loop, "body")
            block = body.type == "compound_statement"
            return [
                *([] if block else [ahead(body, "{ ")]),
                over(steps[0], ";"),
                behind(last, step + ("" if block else " }")),
            ]
    return None


def _last(loop: Node) -> Node | None:
    body = [s for s in statements(field(loop, "body")) if text(s) != ";"]
    return body[-1] if body else None


def compared(function: Node) -> list[Edit] | None:
    """`if (f(x[i]) < f(x[k])) k = i;` keeps `f(x[k])` too."""
    kinds = types(function)
    for loop in walk(function, "for_statement"):
        head, last = head_of(loop), _last(loop)
        if (
            head is None
            or last is None
            or last.type != "if_statement"
            or last.child_by_field_name("alternative") is not None
        ):
            continue
        done, asked = statements(field(last, "consequence")), bare(field(last, "condition"))
        found = re.fullmatch(rf"(\w+) = {head.variable};", text(done[0])) if len(done) == 1 else None
        order = text(field(asked, "operator")) if asked.type == "binary_expression" else ""
        if found is None or order not in ("<", "<=", ">", ">="):
            continue
        at, sides = found[1], [field(asked, side) for side in ("left", "right")]
        best = next((s for s in sides if mentions(s, at)), None)
        value = next((s for s in sides if mentions(s, head.variable)), None)
        if best is None or value is None or best == value or at not in kinds:
            continue
        same = re.sub(rf"\b{at}\b", head.variable, text(best)) == text(value)
        stored = {text(base_of(p)) for p, _, _ in writes(loop)} - {at, head.variable}
        kind = next((kinds[i][0] for i in sorted(identifiers(best)) if i in kinds and kinds[i][1]), "")
        once = (
            sum(text(i) == at for i in walk(loop, "identifier"))
            == sum(text(i) == at for i in walk(best, "identifier")) + 1
        )
        if not same or stored & identifiers(asked) or not kind or not once:
            continue
        own, new = f"best_{loop.start_byte}", f"new_{loop.start_byte}"
        kind = kind.replace("const ", "")
        sorted_ = f"{new} {order} {own}" if value == sides[0] else f"{own} {order} {new}"
        kept = f"{{ const {kind} {new} = {text(value)}; if ({sorted_}) {{ {own} = {new}; {text(done[0])} }} }}"
        return [ahead(loop, f"{{ {kind} {own} = {text(best)}; "), over(last, kept), behind(loop, " }")]
    return None
