"""What depends on what was found so far, in words that can be shared out.

A place that moves only where something is kept is a running sum; a best known by its index alone gets a value; a pointer that
moves now and then is an index; and a number that never changes stands for itself.
"""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.nests.calls import PURE
from kernelwright.nests.edits import Edit, ahead, behind, over, renamed
from kernelwright.nests.events import assigned, writes
from kernelwright.nests.heads import Head, bound_of, counted_head, head_of, step_of, types, unconditional
from kernelwright.nests.names import declarators, declared, declared_names, identifiers, mentions, type_of
from kernelwright.nests.syntax import JUMPS, LOOPS, bare, base_of, called, field, statements, text, walk
from kernelwright.nests.values import indices

GOES_ON = "pass_of"
"""How the variable of a loop begins that once ended at the first hit."""
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
        quiet = not any(walk(condition, *_BUSY)) and not _led_to(function, identifiers(condition)) & _led_to(
            function, kept
        )
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


def _led_to(function: Node, names: set[str]) -> set[str]:
    """These names, and those that their first or later values speak of: a pointer's array."""
    given = [(text(n), o.child_by_field_name("value")) for _, o, n in declared(function)]
    given += [(text(p), value) for p, operator, value in writes(function) if operator == "="]
    found, more = set[str](), set(names)
    while more - found:
        found |= more
        more = {i for name, value in given if name in found and value is not None for i in identifiers(value)}
    return found


def _last(loop: Node) -> Node | None:
    body = [s for s in statements(field(loop, "body")) if text(s) != ";"]
    return body[-1] if body else None


def compared(function: Node) -> list[Edit] | None:
    """`if (f(x[i]) < f(x[k])) k = i;` keeps `f(x[k])` too."""
    for loop in walk(function, "for_statement"):
        head = head_of(loop)
        asking = [s for s in statements(field(loop, "body")) if s.type == "if_statement"] if head is not None else []
        made = (_best(loop, head, one, function) for one in asking if head is not None)
        if edits := next((m for m in made if m), None):
            return edits
    return None


def _best(loop: Node, head: Head, last: Node, function: Node) -> list[Edit] | None:
    """The same of one statement of a loop's body."""
    if last.child_by_field_name("alternative") is not None:
        return None
    kinds, done, asked = types(function), statements(field(last, "consequence")), bare(field(last, "condition"))
    found = re.fullmatch(rf"(\w+) = {head.variable};", text(done[0])) if len(done) == 1 else None
    order = text(field(asked, "operator")) if asked.type == "binary_expression" else ""
    if found is None or order not in ("<", "<=", ">", ">="):
        return None
    at, sides = found[1], [field(asked, side) for side in ("left", "right")]
    best = next((s for s in sides if mentions(s, at)), None)
    value = next((s for s in sides if mentions(s, head.variable)), None)
    if best is None or value is None or best == value or at not in kinds:
        return None
    same = re.sub(rf"\b{at}\b", head.variable, text(best)) == text(value)
    stored = {(text(base_of(p)), p.type) for p, _, _ in writes(loop)} - {(n, "identifier") for n in (at, head.variable)}
    elements = {n for n, place in stored if place != "identifier" or kinds.get(n, ("", True))[1]}
    changed = {n for n, _ in stored} | declared_names(field(loop, "body"))
    met = _led_to(function, elements) & _led_to(function, identifiers(asked)) or changed & identifiers(asked)
    kind = next((kinds[i][0] for i in sorted(identifiers(best)) if i in kinds and kinds[i][1]), "")
    spoken, there = (sum(text(i) == at for i in walk(n, "identifier")) for n in (loop, best))
    if not same or met or not kind or spoken != there + 1:
        return None
    own, new, kind = f"best_{last.start_byte}", f"new_{last.start_byte}", kind.replace("const ", "")
    sorted_ = f"{new} {order} {own}" if value == sides[0] else f"{own} {order} {new}"
    kept = f"{{ const {kind} {new} = {text(value)}; if ({sorted_}) {{ {own} = {new}; {text(done[0])} }} }}"
    return [ahead(loop, f"{{ {kind} {own} = {text(best)}; "), over(last, kept), behind(loop, " }")]


def last_found(function: Node) -> list[Edit] | None:
    """A loop that only says what its latest hit was is the last of all passes that hit, and then what that pass does."""
    for loop in _outermost(function, "for_statement"):
        body, head = statements(field(loop, "body")), head_of(loop)
        last = body[-1] if body else loop
        if head is None or last.type != "if_statement" or last.child_by_field_name("alternative") is not None:
            continue
        done, asked, first = statements(field(last, "consequence")), field(last, "condition"), body[:-1]
        given = [(text(p), v) for s in done for p, o, v in writes(s) if p.type == "identifier" and o == "="]
        values = [v for _, v in given if v is not None]
        plain = len(values) == len(done) and all(s.type == "expression_statement" for s in done)
        quiet = all(s.type == "declaration" for s in first) and not any(_acts(one) for one in [*first, asked, *values])
        names = {name for name, _ in given}
        spoken = {i for one in [*first, asked, *values] for i in identifiers(one)}
        own = declared_names(field(loop, "body"))
        moves = any(identifiers(v) & ({head.variable} | own) for v in values)
        if (
            plain
            and quiet
            and moves
            and not (names & (spoken | own))
            and not any(walk(loop, *JUMPS, "continue_statement"))
        ):
            return [over(loop, _latest(_Places(loop, head), first, asked, done))]
    return None


class _Places:
    """Names of a search's own variables, and where a loop is in a pass: of the type of its variable, which may wrap around."""

    def __init__(self, loop: Node, head: Head) -> None:
        key = f"_{loop.start_byte}"
        self.head, self.key, self.own, self.hit, self.many = head, key, f"{GOES_ON}{key}", f"hit{key}", f"passes{key}"
        cast = f"({head.kind})" if head.kind else ""
        self.here, self.there = (f"({cast}(({head.low}) + {k} * {head.step}))" for k in (self.own, self.hit))


def _latest(at: _Places, first: list[Node], asked: Node, done: list[Node]) -> str:
    head, key, own, hit, many, here, there = at.head, at.key, at.own, at.hit, at.many, at.here, at.there
    names = {text(n): f"{text(n)}{key}" for one in first for _, _, n in declared(one)}
    each = " ".join(renamed(one, {head.variable: here}) for one in first)
    then = " ".join(renamed(one, {**names, head.variable: there}) for one in [*first, *done])
    return (
        f"{{ const long {many} = {at.head.passes}; long {hit} = -1; for (long {own} = 0; {own} < {many}; ++{own}) "
        f"{{ {each} if {renamed(asked, {head.variable: here})} {{ if ({own} > {hit}) {hit} = {own}; }} }} "
        f"if ({hit} >= 0) {{ {then} }} }}"
    )


def searched(function: Node) -> list[Edit] | None:
    """`while (i < n && c) i++;` is a loop that breaks where `c` does not hold."""
    for loop in _outermost(function, "while_statement"):
        asked, done = bare(field(loop, "condition")), list(unconditional(field(loop, "body")))
        rest = list[str]()
        while asked.type == "binary_expression" and text(field(asked, "operator")) == "&&":
            rest.insert(0, text(field(asked, "right")))
            asked = bare(field(asked, "left"))
        step = done[0].named_children[0] if len(done) == 1 and done[0].type == "expression_statement" else None
        variable = next((text(p) for p, _, _ in writes(step)), "") if step is not None else ""
        if step is not None and rest and step_of(step, variable) and bound_of(asked, variable):
            return [over(loop, f"for (; {text(asked)}; {text(step)}) if (!({' && '.join(rest)})) break;")]
    return None


def _outermost(function: Node, *kinds: str) -> list[Node]:
    return [one for one in walk(function, *kinds) if one.parent is not None and not any(_loops_around(one))]


def _loops_around(node: Node) -> Iterator[Node]:
    return (one for one in _around(node) if one.type in LOOPS)


def _around(node: Node) -> Iterator[Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def first_found(function: Node) -> list[Edit] | None:
    """A loop that breaks at the first hit is the least of all passes that hit, and then what that pass does."""
    for loop in _outermost(function, "for_statement"):
        body = list(unconditional(field(loop, "body")))
        last = body[-1] if body else loop
        head, outside = _head(loop)
        ways = list(unconditional(field(last, "consequence"))) if last.type == "if_statement" else []
        if (
            head is None
            or not ways
            or ways[-1].type != "break_statement"
            or last.child_by_field_name("alternative") is not None
        ):
            continue
        made = [*body[:-1], field(last, "condition")]
        quiet = all(s.type == "declaration" for s in body[:-1]) and not any(_acts(one) for one in made)
        if (
            not quiet
            or sum(1 for _ in walk(loop, *JUMPS, "continue_statement")) != 1
            or head.variable in assigned(field(loop, "body"))
        ):
            continue
        return [over(loop, _least(_Places(loop, head), outside, body[:-1], last, ways[:-1]))]
    return None


def _head(loop: Node) -> tuple[Head | None, bool]:
    """How a loop counts, and whether its variable lives on."""
    condition, update = loop.child_by_field_name("condition"), loop.child_by_field_name("update")
    if loop.child_by_field_name("initializer") is not None or condition is None or update is None:
        return head_of(loop), False
    variable = next((text(p) for p, _, _ in writes(update)), "")
    function = next((n for n in _around(loop) if n.type == "function_definition"), loop)
    kind = types(function).get(variable, ("", True))[0]
    return counted_head(loop, variable, variable, condition, update, kind), True


def _acts(node: Node) -> bool:
    """Whether an expression does more than compute from elements at places that are known."""
    calls = any(called(c) not in PURE for c in walk(node, "call_expression"))
    deep = any(
        any(walk(i, "subscript_expression", "pointer_expression"))
        for s in walk(node, "subscript_expression")
        for i in indices(s)
    )
    return (
        calls
        or deep
        or any(walk(node, "update_expression", "assignment_expression", "lambda_expression", "pointer_expression"))
    )


def _least(at: _Places, outside: bool, first: list[Node], last: Node, done: list[Node]) -> str:
    head, key, own, hit, many, here, there = at.head, at.key, at.own, at.hit, at.many, at.here, at.there
    names = {text(n): f"{text(n)}{key}" for one in first for _, _, n in declared(one)}

    def said(nodes: list[Node], place: str, more: dict[str, str]) -> str:
        return " ".join(renamed(one, {**more, head.variable: place}) for one in nodes)

    there = head.variable if outside else there
    asked = renamed(field(last, "condition"), {head.variable: here})
    return (
        f"{{ const long {many} = {at.head.passes}; long {hit} = {many}; for (long {own} = 0; {own} < {many}; ++{own}) "
        f"{{ {said(first, here, {})} if {asked} {{ if ({own} < {hit}) {hit} = {own}; }} }} "
        + (f"{head.variable} += {hit} * {head.step}; " if outside else "")
        + f"if ({hit} < {many}) {{ {said(first, there, names)} {said(done, there, names)} }} }}"
    )
